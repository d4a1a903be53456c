"""Open a file of papers safely: size, compression, encoding, lines of bounded length."""

import codecs
import gzip
import io
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import RecordError
from ..schema import BadRecord, Note, Paper
from .encodings import detect, is_ascii_based

HEAD = 64 * 1024  # bytes that the format and a binary file are told by
CHUNK = 1024 * 1024
LONGEST_LINE = 10 * 1024 * 1024
LARGEST_WHOLE = 200 * 1024 * 1024  # of a file that must be read in one piece
_SMALL_EXPANSION = 100 * 1024 * 1024  # a compressed file may grow to this in any case,
_EXPANSION = 200  # and further up to this many times its size

Item = Paper | BadRecord | Note

_BINARY = (
    b"%PDF",
    b"PK\x03\x04",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\x7fELF",
    b"SQLite format 3",
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_BINARY_SHARE = 0.01


class _Damaged(RecordError):
    """A compressed file ends early or does not decompress."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. ``problem`` says why its text cannot be trusted, else None."""

    number: int  # from 1
    text: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of papers that was found readable, with its encoding.

    ``head`` is the beginning of its text, for telling the format.
    """

    path: Path
    encoding: str
    head: str
    note: str | None = None

    @property
    def name(self) -> str:
        """Return the file's name without folders."""
        return self.path.name

    def lines(self) -> Iterator[Line]:
        """Yield the lines, holding one at a time; ends of lines are LF, CR LF or CR.

        Raises:
            RecordError: The file vanished or a compressed file is damaged.
        """
        chunks, encoding = _chunks(self.path), self.encoding
        if not is_ascii_based(encoding):
            chunks, encoding = _as_utf8(chunks, self.path, encoding), "utf-8"
        for number, (offset, raw) in enumerate(_split(chunks), 1):
            yield _decoded(number, offset, raw, encoding)

    def text(self) -> str:
        """Return the whole text, for formats that cannot be read line by line.

        Raises:
            RecordError: The file is larger than 200 MB or has bytes that cannot be decoded.
        """
        whole = bytearray()
        for chunk in _chunks(self.path):
            whole += chunk
            if len(whole) > LARGEST_WHOLE:
                raise RecordError(too_large(self.path))
        try:
            return whole.decode(self.encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as exc:
            raise RecordError(
                f"{str(self.path)!r} cannot be read: {_undecodable(exc, 0, self.encoding)}"
            ) from exc


@dataclass(frozen=True, slots=True)
class Reader:
    """A format: what its files end in, how sure one is by their beginning, how they are read."""

    records: Callable[[SourceFile], Iterator[Item]]
    extensions: tuple[str, ...] = ()
    sniff: Callable[[str], float] = lambda head: 0.0  # 0 (no) to 1 (certain)

    def __call__(self, file: SourceFile) -> Iterator[Item]:
        """Yield what the file holds, in its order."""
        return self.records(file)


def open_source(path: Path, encoding: str | None = None) -> SourceFile:
    """Find out whether and how a file can be read.

    Args:
        path: The file; one that ends in ``.gz`` or begins like it is decompressed.
        encoding: Name of its encoding; None detects it.

    Raises:
        RecordError: It is missing, a folder, empty, binary, not permitted or in no known encoding.
    """
    with _plainly(path):
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise RecordError(f"{str(path)!r} is a folder. Name the files in it, one by one.")
        if not stat.S_ISREG(mode):
            raise RecordError(
                f"{str(path)!r} is not a regular file. Save the records to one first."
            )
    head = next(_chunks(path), b"")[:HEAD]
    if not head.strip():
        raise RecordError(f"{str(path)!r} is empty. A file of papers was expected.")
    name, note = detect(path, head, lambda: _undamaged(path), encoding)
    if is_ascii_based(name) and _is_binary(head):
        raise RecordError(
            f"{str(path)!r} is a binary file, not text. Export the records as BibTeX, RIS or JSONL."
        )
    text = codecs.getincrementaldecoder(name)("replace").decode(head).removeprefix("\ufeff")
    return SourceFile(path, name, text, note)


def too_large(path: Path) -> str:
    """Say that a file cannot be read in one piece."""
    return (
        f"{str(path)!r} is larger than {LARGEST_WHOLE // 1024**2} MB and of a format that is read "
        "in one piece. Split it, or convert it to JSONL, which is read line by line."
    )


@contextmanager
def _plainly(path: Path) -> Iterator[None]:
    """Turn the errors of the file system into plain sentences."""
    try:
        yield
    except FileNotFoundError as exc:
        raise RecordError(
            f"There is no file {str(path)!r}. Check the name and the folder."
        ) from exc
    except PermissionError as exc:
        raise RecordError(
            f"{str(path)!r} may not be read by this user. Change its permissions: chmod u+r FILE"
        ) from exc
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise RecordError(f"{str(path)!r} cannot be read: {reason}. Check the file.") from exc


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file."""
    with _plainly(path), path.open("rb") as file:
        if not file.peek(2).startswith(b"\x1f\x8b"):
            while chunk := file.read(CHUNK):
                yield chunk
            return
        yield from _decompressed(path, file)


def _decompressed(path: Path, file: io.BufferedReader) -> Iterator[bytes]:
    most = max(_SMALL_EXPANSION, _EXPANSION * path.stat().st_size)
    total = 0
    with gzip.GzipFile(fileobj=file) as inner:
        while True:
            try:
                chunk = inner.read1(CHUNK)
            except (EOFError, zlib.error, gzip.BadGzipFile) as exc:
                raise _Damaged(
                    f"{str(path)!r} is damaged: it cannot be decompressed to its end. What came "
                    "before was read; fetch the file again and add it once more."
                ) from exc
            if not chunk:
                return
            total += len(chunk)
            if total > most:
                raise RecordError(
                    f"{str(path)!r} decompresses to more than {most // 1024**2} MB, {_EXPANSION} "
                    "times its size, as no file of papers does. Decompress it yourself to add it."
                )
            yield chunk


def _undamaged(path: Path) -> Iterator[bytes]:
    """Yield the bytes up to where a compressed file is damaged."""
    try:
        yield from _chunks(path)
    except _Damaged:
        return


def _is_binary(head: bytes) -> bool:
    return head.startswith(_BINARY) or len(_CONTROL.findall(head)) > len(head) * _BINARY_SHARE


def _as_utf8(chunks: Iterator[bytes], path: Path, encoding: str) -> Iterator[bytes]:
    """Recode what cannot be split into lines as bytes, such as UTF-16."""
    decoder = codecs.getincrementaldecoder(encoding)()
    seen = 0
    for chunk in chunks:
        try:
            yield decoder.decode(chunk).encode()
        except UnicodeError as exc:
            raise RecordError(_broken_off(path, encoding, seen, exc)) from exc
        seen += len(chunk)
    try:
        decoder.decode(b"", final=True)
    except UnicodeError as exc:
        raise RecordError(_broken_off(path, encoding, seen, exc)) from exc


def _broken_off(path: Path, encoding: str, seen: int, exc: UnicodeError) -> str:
    place = seen + (exc.start if isinstance(exc, UnicodeDecodeError) else 0)
    return (
        f"{str(path)!r} is not {encoding!r} from about byte {place:,} on. "
        "Name its encoding: --encoding NAME"
    )


def _split(chunks: Iterator[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line with its offset; None stands for a line that is too long."""
    carried, offset, dropped = b"", 0, 0
    for chunk in chunks:
        parts = (carried + chunk).splitlines(keepends=True)
        carried = b"" if parts[-1].endswith(b"\n") else parts.pop()
        for part in parts:
            too_long = dropped + len(part) > LONGEST_LINE
            yield offset, None if too_long else part.rstrip(b"\r\n")
            offset += dropped + len(part)
            dropped = 0
        if dropped + len(carried) > LONGEST_LINE:
            dropped += len(carried)
            carried = b""
    if carried or dropped:
        yield offset, None if dropped else carried.rstrip(b"\r\n")


def _decoded(number: int, offset: int, raw: bytes | None, encoding: str) -> Line:
    if raw is None:
        limit = LONGEST_LINE // 1024**2
        return Line(
            number, "", f"the line is longer than {limit} MB. One record a line was expected."
        )
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as exc:
        return Line(number, raw.decode(encoding, "replace"), _undecodable(exc, offset, encoding))
    return Line(number, text.removeprefix("\ufeff") if number == 1 else text)


def _undecodable(exc: UnicodeDecodeError, offset: int, encoding: str) -> str:
    value, place = exc.object[exc.start], offset + exc.start
    return (
        f"byte 0x{value:02X} at offset {place:,} is not {encoding!r}. "
        "Name the file's encoding with --encoding NAME, or repair the text."
    )
