"""From a library's display name to a safe folder name. Pure."""

import hashlib
import re
from pathlib import Path

from .errors import SettingsError
from .text import fold

LONGEST_NAME = 200


def folder_for(home: Path, name: str) -> Path:
    """Return the folder of a library.

    A plain name such as ``neurips-2025`` is its own folder; any other is shortened and gets a
    checksum, so that two names never share a folder and no name leads out of ``home``.

    Raises:
        SettingsError: The name is empty, too long or holds control characters.
    """
    shown = name.strip()
    if not shown or len(shown) > LONGEST_NAME or not shown.isprintable():
        raise SettingsError(
            f"The library name {name[:40]!r} cannot be used. A name has 1 to {LONGEST_NAME} "
            "printable characters. Choose another with --library."
        )
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,40}", shown):
        return home / shown
    slug = re.sub(r"[^a-z0-9]+", "-", fold(shown)).strip("-")[:32] or "library"
    return home / f"{slug}-{hashlib.sha256(shown.encode()).hexdigest()[:8]}"
