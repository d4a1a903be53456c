"""What is known of a language model's provider: for messages, for timing, for whose turn it is."""

import ipaddress
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable
from urllib.parse import SplitResult, urlsplit

from ..errors import SettingsError


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a model runs and what a user can do when it does not answer.

    ``off``, ``key`` and ``missing`` are the next steps when nothing listens, the key is wrong, or
    the model does not exist. ``timeout_s`` is the longest silence in seconds. ``prepare`` loads a
    model that must be loaded first and ``turn`` is held for one answer at a time; None where the
    server sees to both itself. ``secrets`` are cut out of every message.
    """

    kind: str
    model: str
    address: str  # as shown: without user name and password
    timeout_s: float
    off: str
    key: str
    missing: str
    secrets: tuple[str, ...] = field(default=(), repr=False)
    prepare: Callable[[], object] | None = field(default=None, repr=False)
    turn: "threading.Lock | None" = field(default=None, repr=False)


@runtime_checkable
class HasProvider(Protocol):
    """A model built by this package."""

    @property
    def provider(self) -> Provider:
        """Say where the model runs."""


def parse_address(url: str) -> SplitResult:
    """Check the address of a server.

    Args:
        url: What the user gave for --llm-base-url.

    Raises:
        SettingsError: It is not an http or https address with a host.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port  # raises where it is not a number
    except ValueError:
        usable = False
    if not usable:
        shown = repr(url) if "@" not in url else "given"
        raise SettingsError(
            f"The address {shown} of the language model's server cannot be used. It needs the "
            "form http://HOST:PORT/v1. Correct it with --llm-base-url."
        )
    return parts


def shown_address(url: str) -> str:
    """Return an address without user name, password and query, for people to read.

    Raises:
        SettingsError: It is not an http or https address with a host.
    """
    parts = parse_address(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


def is_loopback(url: str) -> bool:
    """Say whether an address is this machine, so that no proxy may stand in between."""
    host = parse_address(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def url_secrets(url: str) -> tuple[str, ...]:
    """Return the password of an address, if it has one, to be kept out of messages."""
    password = parse_address(url).password
    return (password,) if password else ()
