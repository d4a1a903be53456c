"""Read rows from JSONL, CSV, TSV and XLSX with their line numbers. The files are untrusted."""

import csv
import gzip
import io
import json
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from rag.errors import RecordError

_MAX_BYTES = 256 * 2**20
_MAX_LINE = 4 * 2**20
_LISTS = frozenset({"history", "relevant", "evidence", "also", "must_contain"})


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a file: its values, or the fault that keeps it from being read."""

    line: int
    values: dict[str, Any] = field(default_factory=dict)
    fault: str = ""


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a table; blank ones are passed over.

    Args:
        path: ``.jsonl``, ``.ndjson``, ``.json`` (one object a line), each also with ``.gz``;
            ``.csv``, ``.tsv``; ``.xlsx``.

    Raises:
        RecordError: The file is missing, unreadable, too large or of no known kind.
    """
    reader = _READERS.get(_kind(path))
    if reader is None:
        known = ", ".join(sorted(_READERS))
        raise RecordError(
            f"{path.name!r} is no file of questions: its kind is not known. Known: {known}. "
            "Save it as one of these."
        )
    try:
        yield from reader(path)
    except (OSError, EOFError, zlib.error) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise RecordError(
            f"{str(path)!r} cannot be read: {reason}. Check the name and the permissions."
        ) from exc


def read_json_lines(path: Path, limit: int | None = _MAX_BYTES) -> Iterator[Row]:
    """Yield one row a line of JSON; a line that is no object becomes a row with a fault.

    Args:
        path: The file, packed where its name ends in ``.gz``.
        limit: Bytes after which reading stops with an error; None for a file read as a stream.
    """
    with open_plain_or_gz(path) as stream:
        for number, line in enumerate(_lines(stream, path, limit), start=1):
            if len(line) > _MAX_LINE:
                yield Row(number, fault=f"longer than {_MAX_LINE // 2**20} MiB")
            elif text := line.removeprefix(b"\xef\xbb\xbf").strip():
                yield _parse(number, text)


def _parse(number: int, line: bytes) -> Row:
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as exc:
        return Row(number, fault=f"not UTF-8 at byte {exc.start}")
    except UnicodeEncodeError:
        return Row(number, fault="holds half a surrogate pair, which is no character")
    except (ValueError, RecursionError) as exc:
        return Row(number, fault=f"not valid JSON ({_brief(exc)})")
    if not isinstance(value, dict):
        return Row(number, fault="not a JSON object")
    return Row(number, value)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _brief(exc: Exception) -> str:
    return "nested too deeply" if isinstance(exc, RecursionError) else str(exc).split(" (char")[0]


def _lines(stream: IO[bytes], path: Path, limit: int | None) -> Iterator[bytes]:
    """Yield lines, a longer one than allowed cut, and stop before memory runs out."""
    seen = 0
    while line := stream.readline(_MAX_LINE + 1):
        seen += len(line)
        while not line.endswith(b"\n") and len(line) > _MAX_LINE:
            rest = stream.readline(_MAX_LINE)
            seen += len(rest)
            if not rest or rest.endswith(b"\n") or (limit and seen > limit):
                break
        if limit and seen > limit:
            raise _too_large(path)
        yield line


def _too_large(path: Path) -> RecordError:
    return RecordError(
        f"{path.name!r} holds more than {_MAX_BYTES // 2**20} MiB. A file of questions is read as "
        "a whole. Split it."
    )


def open_plain_or_gz(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, unpacked where its name ends in ``.gz``."""
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _delimited(path: Path) -> Iterator[Row]:
    """Yield the rows of a CSV or TSV file; the header names the fields."""
    with open_plain_or_gz(path) as stream:
        data = stream.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise _too_large(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise RecordError(
            f"{path.name!r} is not UTF-8: byte {exc.start} does not fit. "
            "Save it as UTF-8 (in a spreadsheet: 'CSV UTF-8'), or as XLSX."
        ) from exc
    yield from _table(path, _csv_rows(text))


def _csv_rows(text: str) -> Iterator[tuple[int, list[Any]]]:
    header = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=header.count)
    limit = csv.field_size_limit(_MAX_LINE)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        start = 1
        for cells in reader:
            yield start, cells
            start = reader.line_num + 1
    finally:
        csv.field_size_limit(limit)


def _workbook(path: Path) -> Iterator[Row]:
    """Yield the rows of the first sheet of an XLSX file; formulas by their stored value."""
    from openpyxl import load_workbook  # type: ignore[import-untyped]  # no stubs; slow to import

    _refuse_bomb(path)
    try:
        with warnings.catch_warnings():  # of features that do not matter here, such as validation
            warnings.simplefilter("ignore")
            book = load_workbook(path, read_only=True, data_only=True)
            rows = list(enumerate(book.worksheets[0].iter_rows(values_only=True), start=1))
            book.close()
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, SyntaxError) as exc:
        raise _no_workbook(path) from exc  # what openpyxl raises for a damaged file
    yield from _table(path, ((number, list(cells)) for number, cells in rows))


def _refuse_bomb(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except zipfile.BadZipFile as exc:
        raise _no_workbook(path) from exc
    if size > _MAX_BYTES:
        raise _too_large(path)


def _no_workbook(path: Path) -> RecordError:
    return RecordError(
        f"{path.name!r} is not an XLSX workbook that can be read. It is damaged or of another "
        "kind. Save it again as XLSX or CSV."
    )


def _table(path: Path, rows: Iterable[tuple[int, list[Any]]]) -> Iterator[Row]:
    """Turn cells into rows by the header; the first row with any text is the header."""
    filled = ((line, cells) for line, cells in rows if any(_cell(cell) for cell in cells))
    _, header = next(filled, (0, []))
    names = ["_".join(_cell(name).casefold().split()) for name in header]
    if "question" not in names:
        raise RecordError(
            f"{path.name!r} has no column 'question'. Its columns: "
            f"{', '.join(filter(None, names)) or 'none'}. Name the columns in the first row."
        )
    for line, cells in filled:
        yield _named(line, names, cells)


def _named(line: int, names: list[str], cells: list[Any]) -> Row:
    values: dict[str, Any] = {}
    for name, cell in zip(names, cells, strict=False):
        text = _cell(cell)
        if name and text:
            values[name] = _items(name, text) if name in _LISTS else text
    if any(_cell(cell) for cell in cells[len(names) :]):
        return Row(line, fault=f"has {len(cells)} cells, but the header names {len(names)}")
    return Row(line, values)


def _cell(value: object) -> str:
    """Return a cell as text; a whole number without the point a spreadsheet adds."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _items(name: str, text: str) -> object:
    """Read a cell that holds a list: JSON, or one item a line; must_contain also by ``;``."""
    if text[0] in "[{":
        try:
            return json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return text.splitlines()  # a text that only looks like JSON
    parts = text.replace(";", "\n") if name == "must_contain" else text
    return [part.strip() for part in parts.splitlines() if part.strip()]


def _kind(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix.casefold()


_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json_lines,
    ".csv": _delimited,
    ".tsv": _delimited,
    ".xlsx": _workbook,
}
