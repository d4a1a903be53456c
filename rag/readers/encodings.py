"""Which encoding a file of papers is in."""

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import RecordError

_SAMPLE = 64 * 1024  # bytes that a code page is guessed from
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SOME, _HARDLY, _NEARLY_ALL = 0.1, 0.01, 0.95  # shares of zero bytes; of readable characters
_CLOSE = 0.02  # difference of two guesses' disorder that decides nothing
_CODE_PAGES = [  # the likeliest first
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r",
    "gb18030", "big5", "shift_jis", "euc_jp", "cp949", "mac_roman", "cp437", "cp850",
]  # fmt: skip


def is_ascii_based(encoding: str) -> bool:
    """Say whether bytes of an encoding can be split at line ends before they are decoded."""
    probe = 'a{"}\n\r'
    return probe.encode(encoding) == probe.encode("ascii")


def detect(
    path: Path, head: bytes, chunks: Callable[[], Iterator[bytes]], encoding: str | None
) -> tuple[str, str | None]:
    """Tell the encoding of a file.

    Args:
        path: The file, for messages.
        head: Its first bytes.
        chunks: Opens the file anew and yields all its bytes.
        encoding: What the user says; it wins. None detects.

    Returns:
        The encoding's name, and a note for the user where it is not plain UTF-8.

    Raises:
        RecordError: The user's encoding is unknown, or no encoding fits.
    """
    if encoding is not None:
        return _known(encoding), None
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name, None if name == "utf-8" else f"Read as {name.upper()}, as its mark says."
    wide = _wide_without_mark(head)
    if wide:
        return wide, f"Read as {wide.upper()}, by the zero bytes in it; it has no mark."
    sample = _first_foreign_bytes(chunks())
    return ("utf-8", None) if sample is None else _guess(path, sample)


def _known(encoding: str) -> str:
    try:
        info = codecs.lookup(encoding)
    except LookupError:
        info = None
    if info is None or not getattr(info, "_is_text_encoding", True):
        raise RecordError(
            f"There is no encoding {encoding!r}. Use a name such as utf-8, cp1252 or gb18030."
        )
    return info.name


def _wide_without_mark(head: bytes) -> str | None:
    """Tell UTF-16 without a mark: the first bytes of blanks and plain letters are zero."""
    half = len(head) // 2
    if half < 2:
        return None
    even, odd = head[0 : half * 2 : 2].count(0), head[1 : half * 2 : 2].count(0)
    if odd > half * _SOME and even < half * _HARDLY:
        name = "utf-16-le"
    elif even > half * _SOME and odd < half * _HARDLY:
        name = "utf-16-be"
    else:
        return None
    text = head[: half * 2].decode(name, "replace")
    readable = sum(char.isprintable() or char.isspace() for char in text)
    return name if readable > half * _NEARLY_ALL else None


def _first_foreign_bytes(chunks: Iterator[bytes]) -> bytes | None:
    """Return a stretch around the first bytes that are not UTF-8.

    None means that the file is UTF-8, if perhaps with a few damaged bytes in it.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    seen_utf8 = False
    for chunk in chunks:
        try:
            seen_utf8 |= not decoder.decode(chunk).isascii()
        except UnicodeDecodeError as exc:
            start = max(0, exc.start - _SAMPLE // 2)
            sample = exc.object[start : exc.start + _SAMPLE // 2]
            return None if seen_utf8 or _is_mostly_utf8(sample) else sample
    return None


def _is_mostly_utf8(sample: bytes) -> bool:
    decoded = sample.decode("utf-8", "surrogateescape")
    foreign = sum("\udc80" <= char <= "\udcff" for char in decoded)
    return sum(not char.isascii() for char in decoded) - foreign >= foreign


def _guess(path: Path, sample: bytes) -> tuple[str, str]:
    from charset_normalizer import from_bytes

    matches = list(from_bytes(sample, cp_isolation=_CODE_PAGES))
    if not matches:
        raise RecordError(
            f"The encoding of {str(path)!r} cannot be told. Name it: --encoding NAME (for example "
            "cp1252, cp1253 or gb18030)"
        )
    best = matches[0]
    fitting = {
        name
        for match in matches
        if match.chaos - best.chaos < _CLOSE and match.coherence >= best.coherence
        for name in match.could_be_from_charset
    }
    name, *rivals = sorted(fitting, key=_CODE_PAGES.index)
    doubt = f" ({', '.join(rivals)} would fit as well)" if rivals else ""
    note = (
        f"It is not UTF-8 and was read as {name!r}, a guess by its letters{doubt}. "
        "If letters look wrong, add it again with --encoding NAME."
    )
    return name, note
