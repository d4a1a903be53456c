"""Files of papers → records: one module a format, found through ``rag.plugins``."""

from collections.abc import Iterator
from pathlib import Path

from ..errors import RecordError
from ..plugins import available, load
from ..schema import Note
from .source import Item, Reader, SourceFile, open_source

__all__ = ["Item", "Reader", "SourceFile", "read_papers"]


def read_papers(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002  # as the option is called
    encoding: str | None = None,
) -> Iterator[Item]:
    """Read a file of papers.

    Args:
        path: The file; ``.gz`` is decompressed.
        format: Name of the reader, e.g. ``"bibtex"``; None tells it by the file's ending, else by
            its beginning.
        encoding: The file's encoding; None detects it.

    Returns:
        Papers, records that could not be read, and notes, in the order of the file. Reading
        happens while they are taken, and holds one record at a time.

    Raises:
        RecordError: The file as a whole cannot be read. This is raised at once, save for damage
            that shows only in the middle of the file.
        SettingsError: There is no reader of that name.
    """
    reader: Reader | None = load("reader", format) if format else None
    file = open_source(Path(path), encoding)
    return _items(file, reader or _reader_for(file))


def _items(file: SourceFile, reader: Reader) -> Iterator[Item]:
    if file.note:
        yield Note(file.name, file.note)
    yield from reader(file)


def _reader_for(file: SourceFile) -> Reader:
    """Choose by the file's ending, else by what it begins with."""
    suffixes = [suffix.lower() for suffix in file.path.suffixes]
    suffix = next((s for s in reversed(suffixes) if s != ".gz"), "")
    readers: list[Reader] = [load("reader", name) for name in available("reader")]
    for reader in readers:
        if suffix in reader.extensions:
            return reader
    best = max(readers, key=lambda reader: reader.sniff(file.head))
    if best.sniff(file.head) <= 0:
        known = ", ".join(available("reader"))
        raise RecordError(
            f"The format of {str(file.path)!r} cannot be told by its name or its beginning. "
            f"Name it: --format NAME (one of {known})"
        )
    return best
