"""Citewell's library: find, quote and check evidence in a pile of paper abstracts.

Start with ``open_library``. Heavy imports (LlamaIndex, Chroma, sentence-transformers) happen when
they are first needed, so that importing this package is quick.
"""

from typing import TYPE_CHECKING, Any

from .errors import RagError
from .schema import Answer, Citation, Filters, ImportReport, Paper, RankedPaper, Statement, Turn

if TYPE_CHECKING:
    from .library import Library, open_library
    from .settings import Settings

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Citation",
    "Filters",
    "ImportReport",
    "Library",
    "Paper",
    "RagError",
    "RankedPaper",
    "Settings",
    "Statement",
    "Turn",
    "__version__",
    "open_library",
]


def __getattr__(name: str) -> Any:  # PEP 562: names that would pull in heavy modules
    if name in {"Library", "open_library"}:
        from . import library

        return getattr(library, name)
    if name == "Settings":
        from .settings import Settings

        return Settings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
