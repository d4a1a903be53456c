"""``hf:REPO[/FILE]``: a GGUF model of the Hugging Face hub, fetched once, then run as a file."""

import errno
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..errors import ProviderError, SettingsError
from ..settings import Settings
from . import gguf

_Found = TypeVar("_Found")

_PREFERRED = re.compile(r"q4_k_m", re.IGNORECASE)
_ALL_GGUF = "--include '*.gguf'"
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)


def build(argument: str, settings: Settings) -> gguf.GgufModel:
    """Build a model of the hub; fetches its file unless it is in the hub's cache on this machine.

    Args:
        argument: ``OWNER/NAME`` or ``OWNER/NAME/FILE.gguf``.
        settings: As for ``gguf:``.

    Raises:
        SettingsError: The name is malformed, or several files could be meant.
        ProviderError: The file is not here and cannot be fetched.
    """
    repo, file = split(argument)
    return gguf.build(str(fetch(repo, file)), settings)


def describe(argument: str, settings: Settings) -> str:
    """Say in a few words which model this is."""
    return f"{argument} on this machine"


def split(argument: str) -> tuple[str, str | None]:
    """Take ``OWNER/NAME/FILE.gguf`` apart.

    Raises:
        SettingsError: It has another form.
    """
    parts = argument.split("/")
    repo, file = "/".join(parts[:2]), "/".join(parts[2:]) or None
    sound = len(parts) >= 2 and all(part and part not in (".", "..") for part in parts)
    if not sound or (file is not None and not file.lower().endswith(".gguf")):
        raise SettingsError(
            f"--llm 'hf:{argument}' names no GGUF model. It needs the form "
            "hf:OWNER/NAME or hf:OWNER/NAME/FILE.gguf. Correct it."
        )
    return repo, file


def fetch(repo: str, file: str | None) -> Path:
    """Return the path of a model's file in the cache, after fetching it if it is not there.

    Raises:
        SettingsError: ``file`` is None and several files could be meant, or there is none.
        ProviderError: It is not in the cache and cannot be fetched.
    """
    kept = _kept_files(repo)
    if file is None:
        name = choose(repo, sorted(kept) or _from_hub(repo, None, _list_files))
    else:
        name = file
    return _all_parts(repo, name, kept)


def choose(repo: str, names: list[str]) -> str:
    """Pick the file to use: the only one, else the only one of the kind Q4_K_M.

    Raises:
        SettingsError: There is no GGUF file, or the choice is the user's.
    """
    found = sorted(n for n in names if n.lower().endswith(".gguf") and _part_number(n) == 1)
    preferred = [name for name in found if _PREFERRED.search(name)]
    for group in (found, preferred):
        if len(group) == 1:
            return group[0]
    if not found:
        raise SettingsError(
            f"'{repo}' has no GGUF file. Models that llama.cpp can run often have 'GGUF' in their "
            "name. Choose another one with --llm hf:OWNER/NAME."
        )
    listed = ", ".join(found[:30])
    raise SettingsError(
        f"'{repo}' has several GGUF files: {listed}. Name one, as in --llm hf:{repo}/{found[0]}"
    )


def _part_number(name: str) -> int:
    """Return the number of a piece of a divided model; 1 for an undivided one."""
    part = _PART.search(name)
    return int(part[1]) if part else 1


def _all_parts(repo: str, name: str, kept: dict[str, Path]) -> Path:
    """Make sure that all pieces of a model are in the cache; return the first one's path."""
    part = _PART.search(name)
    names = [name]
    if part:
        stem = name[: part.start()]
        names = [f"{stem}-{i:05}-of-{part[2]}.gguf" for i in range(1, min(int(part[2]), 999) + 1)]
    paths = [kept.get(n) or Path(_from_hub(repo, n, _download)) for n in names]
    return paths[0]


def _kept_files(repo: str) -> dict[str, Path]:
    """Return the GGUF files of a repository in the cache, by name; the newest download wins."""
    snapshots = sorted(
        (_folder(repo) / "snapshots").glob("*"), key=lambda folder: folder.stat().st_mtime
    )
    return {
        path.relative_to(snapshot).as_posix(): path
        for snapshot in snapshots
        for path in snapshot.rglob("*.gguf")
        if path.exists()
    }


def _from_hub(repo: str, file: str | None, ask: Callable[[str, str | None], _Found]) -> _Found:
    """Ask the hub for something; say in one sentence why it cannot be had."""
    import httpx
    from huggingface_hub.errors import EntryNotFoundError, HFValidationError

    try:
        return ask(repo, file)
    except (OSError, httpx.HTTPError, EntryNotFoundError, HFValidationError) as exc:
        raise _not_fetched(repo, file, exc) from exc


def _not_fetched(repo: str, file: str | None, exc: Exception) -> ProviderError:
    from huggingface_hub import errors

    what = f"{repo}/{file}" if file else repo
    if isinstance(exc, errors.GatedRepoError):
        why = "its owner asks for an agreement first"
    elif isinstance(exc, errors.HFValidationError | errors.RepositoryNotFoundError):
        why = "the hub has no such repository, or keeps it private"
    elif isinstance(exc, errors.RemoteEntryNotFoundError):
        why = "the repository has no such file"
    elif isinstance(exc, errors.HfHubHTTPError) and exc.response is not None:
        why = f"the hub answered {exc.response.status_code}"
    elif isinstance(exc, OSError) and exc.errno in (errno.ENOSPC, errno.EACCES, errno.EROFS):
        why = str(exc.strerror).lower()
    else:
        why = "the hub cannot be reached from here"
    return ProviderError(
        f"The model '{what}' is not in '{_folder(repo)}' and cannot be fetched: {why}. "
        f"Fetch it where there is a network: hf download {repo} {file or _ALL_GGUF}",
    )


def _folder(repo: str) -> Path:
    """Return the folder in which the hub's cache keeps a repository."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    return Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repo, repo_type="model")


def _list_files(repo: str, file: str | None) -> list[str]:
    from huggingface_hub import HfApi

    return list(HfApi().list_repo_files(repo))


def _download(repo: str, file: str | None) -> str:
    from huggingface_hub import hf_hub_download

    return str(hf_hub_download(repo, file or ""))
