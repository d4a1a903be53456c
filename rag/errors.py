"""Errors a user can act on. Anything else is a bug and keeps its traceback."""

from collections.abc import Iterator
from contextlib import contextmanager


class RagError(Exception):
    """Base of every error that the command line and the page show as one plain message."""


class SettingsError(RagError):
    """A flag, environment variable or settings file holds a value that cannot be used."""


class RecordError(RagError):
    """A file of papers cannot be read at all, or nothing in it could be stored."""


class QuestionError(RagError):
    """The question cannot be asked as it is: empty, too long, or not text."""


class IndexMissingError(RagError):
    """The named library, or a paper in it, does not exist."""


class IndexMismatchError(RagError):
    """The library was built with another embedder, chunking or program version."""


class LibraryBusyError(RagError):
    """Another process is writing to the library."""


class MissingExtraError(RagError, ImportError):
    """A plugin was chosen whose optional dependency is not installed."""


class ProviderError(RagError):
    """A language model or its server failed.

    Args:
        message: One plain sentence or two, as shown to the user.
        retryable: Whether the same call may succeed later without a change by the user.
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


@contextmanager
def needs_extra(extra: str, *modules: str) -> Iterator[None]:
    """Wrap a plugin's imports so that a missing one names the extra that installs it.

    Args:
        extra: Name of the extra of the distribution, e.g. ``"anthropic"``.
        *modules: Top-level module names whose absence the extra explains.

    Raises:
        MissingExtraError: One of ``modules`` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as exc:
        if exc.name not in modules:  # broken inside the dependency: not ours to explain
            raise
        raise MissingExtraError(
            f"{exc.name!r} is not installed, and the {extra!r} plugin needs it. "
            f"Install it with: pip install 'citewell[{extra}]'"
        ) from exc
