"""Foreign exceptions of the model libraries, turned into one plain sentence or two."""

import json
import re
from collections.abc import Mapping

import httpx

from ..errors import ProviderError, RagError
from .provider import Provider

MAX_EXPLANATION = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def translate(exc: Exception, provider: Provider) -> RagError | None:
    """Say what went wrong with a model.

    Args:
        exc: What a client library raised.
        provider: The model it was talking to.

    Returns:
        The error to raise in its place, or None where it is a bug that must keep its traceback.
    """
    if isinstance(exc, RagError):
        return exc
    status, explanation = _status_of(exc)
    if status is not None:
        return _refused(status, _tidy(explanation, provider), provider)
    root = _root(exc)
    if isinstance(root, httpx.ConnectError | httpx.ConnectTimeout | ConnectionRefusedError):
        return _off(_tidy(str(root), provider), provider)
    if isinstance(root, httpx.TimeoutException):
        return silent(provider)
    if isinstance(root, httpx.TransportError | ConnectionError):
        return broken_off(provider, _tidy(str(root), provider))
    if isinstance(root, json.JSONDecodeError | UnicodeDecodeError):
        return _not_understood(provider)
    if explanation:
        return _reported(_tidy(explanation, provider), provider)
    return None


def silent(provider: Provider) -> ProviderError:
    """Say that no token came for too long."""
    return ProviderError(
        f"The model {provider.model!r} was silent for {provider.timeout_s:g} s, so the request was "
        "cancelled. The machine may be busy or the model too large for it. Ask again, or allow "
        "more time with --llm-timeout-s.",
        retryable=True,
    )


def broken_off(provider: Provider, reason: str = "") -> ProviderError:
    """Say that an answer ended before the model had finished it."""
    why = f" ({reason})" if reason else ""
    return ProviderError(
        f"The answer of the model {provider.model!r} broke off before its end{why}. Ask again; if "
        f"it happens again, look at the log of the server at '{provider.address}'.",
        retryable=True,
    )


def endless(provider: Provider, limit: int) -> ProviderError:
    """Say that a model did not stop."""
    return ProviderError(
        f"The model {provider.model!r} wrote more than {limit} characters without an end, so the "
        "request was cancelled. Choose another model with --llm."
    )


def _off(reason: str, provider: Provider) -> ProviderError:
    why = f" ({reason})" if reason else ""
    return ProviderError(
        f"Nothing answers at '{provider.address}', where the model {provider.model!r} should be"
        f"{why}. {provider.off}",
        retryable=True,
    )


def _not_understood(provider: Provider) -> ProviderError:
    return ProviderError(
        f"The server at '{provider.address}' sent something that is not a chat answer. The address "
        "may belong to another program. Correct it with --llm-base-url."
    )


def _reported(explanation: str, provider: Provider) -> ProviderError:
    return ProviderError(
        f"The server at '{provider.address}' reported an error while the model {provider.model!r} "
        f"was answering: {explanation} Ask again, or look at the server's log.",
        retryable=True,
    )


def _refused(status: int, explanation: str, provider: Provider) -> ProviderError:
    where = f"The {provider.kind!r} server at '{provider.address}'"
    said = f" ({status}): {explanation}" if explanation else f" ({status})."
    if status in (401, 403):
        return ProviderError(f"{where} rejected the API key{said} {provider.key}")
    if status == 404:
        return ProviderError(
            f"{where} does not know the model {provider.model!r}{said} {provider.missing}"
        )
    if status == 429:
        return ProviderError(
            f"{where} is asked too often{said} Wait a minute, then ask again.", retryable=True
        )
    if status >= 500:
        return ProviderError(
            f"{where} failed{said} Look at the server's log, then ask again.", retryable=True
        )
    return ProviderError(
        f"{where} refused the request{said} Change the setting it names, or choose another model "
        "with --llm."
    )


def _root(exc: BaseException) -> BaseException:
    """Return the first cause: the client libraries wrap httpx's own errors."""
    seen = exc
    while seen.__cause__ is not None and not isinstance(seen, httpx.TransportError):
        seen = seen.__cause__
    return seen


def _status_of(exc: Exception) -> tuple[int | None, str]:
    """Return the HTTP status and the server's own words, as far as an exception holds them."""
    import ollama
    import openai

    if isinstance(exc, ollama.ResponseError):
        return (exc.status_code if exc.status_code > 0 else None), exc.error
    if isinstance(exc, openai.APIStatusError):
        return exc.status_code, _words(exc.body) or exc.response.text
    if isinstance(exc, openai.APIError) and not isinstance(exc, openai.APIConnectionError):
        return None, _words(exc.body) or exc.message
    return None, ""


def _words(body: object) -> str:
    """Find the sentence in an error body: ``{"error": {"message": …}}`` and its relatives."""
    for _ in range(3):
        if not isinstance(body, Mapping):
            break
        body = body.get("error") or body.get("message") or body.get("detail")
    return body if isinstance(body, str) else ""


def _tidy(text: str, provider: Provider) -> str:
    """Make foreign words fit for a message: one short line, no secrets, no terminal codes."""
    for secret in provider.secrets:
        text = text.replace(secret, "…")
    text = " ".join(_CONTROL.sub(" ", text[: 10 * MAX_EXPLANATION]).split())
    if text.startswith("<"):
        return "it sent a web page instead of an explanation."
    if len(text) > MAX_EXPLANATION:
        text = text[:MAX_EXPLANATION].rstrip() + " …"
    return text
