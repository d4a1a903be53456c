"""Asks a running server instead of loading everything: the command line's short way.

Nothing heavy is imported here, pydantic included: what the caller set is sent as it stands and
resolved by the server with the same rules.
"""

import json
import logging
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from . import serving_files as files
from .serving_files import HOST, NONCE, PROOF, Announcement

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

log = logging.getLogger(__name__)

CONFIG_NAME = "citewell.toml"
NOT_FROM_A_FOLDER = frozenset({"llm", "llm_base_url", "llm_api_key"})
PREFIX = "citewell_"
KEYS = {"openai": "OPENAI_API_KEY", "ollama": "OLLAMA_API_KEY"}
NO_FILES = frozenset({"hf", "ollama", "openai"})  # kinds of models that are not named by a path
HELLO_S = 2.0  # a server that is not there by then is too busy to be of help
SILENCE_S = 30.0  # it gives a sign of life every two seconds

Event = dict[str, Any]
Given = dict[str, dict[str, Any]]


class Lost(Exception):  # no error of the user's: whoever asks does it alone then
    """The server went away, or something went wrong in it, before all was said."""


def events(path: str, wanted: Mapping[str, Any], flags: Mapping[str, Any]) -> "Reply | None":
    """Ask a running server of the caller's home.

    Args:
        path: ``"/ask"``, ``"/search"`` or ``"/status"``.
        wanted: What is asked, as JSON values.
        flags: Settings given as options; None means "not given".

    Returns:
        Its events; close them. None where no server can be asked.

    Raises:
        Lost: While iterating: the server failed, or is gone.
    """
    set_by = given(flags)
    if set_by is None:
        return None
    merged = {**set_by["files"], **set_by["environment"], **set_by["flags"]}
    home = str(merged.get("home") or platformdirs.user_data_dir("citewell"))
    for one in files.announced(Path(home)):
        if not one.is_ours or (one.folder != files.here() and _is_relative(home, merged)):
            continue
        body = json.dumps({**wanted, "settings": set_by})
        if (asked := _ask(one, Path(home), path, body)) is not None:
            return Reply(*asked)
    return None


def given(flags: Mapping[str, Any]) -> Given | None:
    """Return what the caller set, by where: in files, in the environment, as options.

    Returns:
        Plain values, not checked; None where a settings file cannot be used, which whoever answers
        without a server explains.
    """
    try:
        in_files = {**_file(_users_file()), **_folders()}
        json.dumps(in_files)
    except (OSError, ValueError, TypeError, RecursionError):  # also TOML and UTF-8 errors
        return None
    environment = {
        name.lower().removeprefix(PREFIX): value
        for name, value in os.environ.items()
        if name.lower().startswith(PREFIX)
    }
    options = {name: _plain(value) for name, value in flags.items() if value is not None}
    llm = str({**in_files, **environment, **options}.get("llm", ""))
    if key := os.environ.get(KEYS.get(llm.partition(":")[0], "")):
        environment.setdefault("llm_api_key", key)
    return {"files": in_files, "environment": environment, "flags": options}


def _users_file() -> Path:
    return Path(platformdirs.user_config_dir("citewell")) / CONFIG_NAME


def _folders() -> dict[str, Any]:
    found = _file(Path(CONFIG_NAME))
    if NOT_FROM_A_FOLDER & set(found):
        raise ValueError("a folder's file may not say this")
    return found


def _file(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _is_relative(home: str, merged: Mapping[str, Any]) -> bool:
    """Say whether something names a file by its place in the caller's folder."""
    named = [home, str(merged.get("verifier") or "")]
    for name in ("embedder", "llm"):
        kind, _, argument = str(merged.get(name) or "").partition(":")
        named.append("" if kind in NO_FILES else argument)
    return any(one and not one.startswith("~") and not os.path.isabs(one) for one in named)


def _ask(
    one: Announcement, home: Path, path: str, body: str
) -> "tuple[HTTPConnection, HTTPResponse] | None":
    """Make sure that it is the server, send it the question, and return the beginning reply."""
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection(HOST, one.port, timeout=HELLO_S)
    try:
        connection.connect()
    except OSError:  # nobody listens: it ended without a word
        files.withdraw(home, one)
        return None
    connection.auto_open = 0  # what follows goes to the one who gave the proof, or to nobody
    try:
        if _send(connection, one, "GET", "/hello").status == 200:
            _sock(connection).settimeout(SILENCE_S)
            reply = _send(connection, one, "POST", path, body)
            if reply.status == 200:
                return connection, reply
    except (OSError, HTTPException) as exc:
        log.debug("The server at port %d does not answer: %s", one.port, exc)
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def _sock(connection: "HTTPConnection") -> Any:
    return connection.sock


def _send(
    connection: "HTTPConnection", one: Announcement, method: str, path: str, body: str | None = None
) -> "HTTPResponse":
    """Send a request with our proof and return a reply that holds the server's.

    Raises:
        OSError: The proof is missing or wrong.
    """
    nonce = files.new_nonce()
    headers = {NONCE: nonce, PROOF: files.proof(one.token, "caller", nonce, path)}
    if body is not None:
        headers["Content-Type"] = "application/json"
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    if not files.is_proof(reply.headers.get(PROOF, ""), one.token, "server", nonce, path):
        raise ConnectionRefusedError("somebody else listens there")
    if method == "GET":
        reply.read()
    return reply


class Reply(Iterator[Event]):
    """The events of a server, as they come. Closing it ends what the server does.

    Args:
        connection: Closed at the end.
        reply: Holds an event a line; a blank line is a sign of life.
    """

    def __init__(self, connection: "HTTPConnection", reply: "HTTPResponse") -> None:
        self._connection, self._reply = connection, reply
        self._is_over = False

    def close(self) -> None:
        """Hang up."""
        self._is_over = True
        self._reply.close()
        self._connection.close()

    def __next__(self) -> Event:
        if self._is_over:
            raise StopIteration
        try:
            event = self._next()
        except BaseException:
            self.close()
            raise
        if "end" in event or "refused" in event:
            self.close()
        return event

    def _next(self) -> Event:
        from http.client import HTTPException

        try:
            while (line := self._reply.readline()) and not line.strip():
                continue
            event: Event = json.loads(line)
        except (OSError, HTTPException, ValueError) as exc:  # also at an early end
            raise Lost("it went away") from exc
        if "broken" in event:
            raise Lost("it failed")
        return event
