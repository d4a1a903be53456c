"""The corpus that speed is measured on: slices of it, its tokens, and a library of its own."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.errors import RecordError
from rag.index import Progress
from rag.library import Library, open_library, restore
from rag.settings import Settings

from ..tables import read_json_lines, read_rows
from ..trec import corpus_path, read_queries
from .corpus import open_corpus

MODEL_WINDOW = 256  # tokens that MiniLM reads of a text where its folder does not say
FEWEST_KNOWN = 0.98  # share of the corpus that a library named for it must hold
SPEED = "speed"


@dataclass(frozen=True, slots=True)
class Slice:
    """Some records of the corpus in a file of their own."""

    path: Path
    records: Sequence[Mapping[str, Any]]

    def first(self, count: int) -> Sequence[Mapping[str, Any]]:
        """Return the first records."""
        return self.records[:count]


def read_records(folder: Path, limit: int | None = None) -> list[Mapping[str, Any]]:
    """Return the records of a benchmark's corpus that hold text, in the file's order.

    Raises:
        RecordError: There is no corpus, or a line of it is no record.
    """
    path = corpus_path(folder)
    found: list[Mapping[str, Any]] = []
    for row in read_json_lines(path, limit=None):
        if row.fault or "_id" not in row.values:
            raise RecordError(
                f"{path.name}, line {row.line} is {row.fault or 'without an _id'}. Each line needs "
                "_id, title and text. Correct the line."
            )
        if row.values.get("text") or row.values.get("title"):
            found.append({"text": "", **row.values})
        if limit is not None and len(found) >= limit:
            break
    if not found:
        raise RecordError(f"{str(path)!r} holds no record with text. Name another folder.")
    return found


def write_slice(path: Path, records: Sequence[Mapping[str, Any]]) -> Slice:
    """Write records as a corpus of their own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in records)
    return Slice(path, records)


def slices(folder: Path, records: Sequence[Mapping[str, Any]], count: int) -> list[Slice]:
    """Cut the records into slices of about equal size that hold all of them together.

    Returns:
        So many slices, in files in ``folder``; fewer where there are fewer records.
    """
    count = min(count, len(records))
    ends = [len(records) * n // count for n in range(count + 1)]
    return [
        write_slice(folder / f"slice-{n}.jsonl", records[ends[n] : ends[n + 1]])
        for n in range(count)
    ]


class TokenCounter:
    """Counts tokens as MiniLM does, its two special ones included.

    Args:
        folder: The model's folder with ``tokenizer.json``.
    """

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.window = _window(folder)

    def whole(self, texts: Sequence[str]) -> int:
        """Return the tokens of texts, nothing cut."""
        return sum(self._lengths(texts))

    def cut(self, texts: Sequence[str]) -> int:
        """Return the tokens that a model reads which stops at its window."""
        return sum(min(length, self.window) for length in self._lengths(texts))

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(one.ids) for one in self._tokenizer.encode_batch(list(texts))]


def _window(folder: Path) -> int:
    try:
        said = json.loads((folder / "sentence_bert_config.json").read_text("utf-8"))
        return int(said["max_seq_length"])
    except (OSError, ValueError, KeyError, TypeError):
        return MODEL_WINDOW


def text_of(record: Mapping[str, Any]) -> str:
    """Return a record's title and text, as both sides are given them."""
    return f"{record.get('title') or ''}\n{record.get('text') or ''}".strip()


# ---- the fully embedded library ------------------------------------------------------------------


@contextmanager
def embedded_library(
    folder: Path, settings: Settings, name: str | None, progress: Progress
) -> Iterator[Library]:
    """Yield a fully embedded library of a folder's corpus; what is done to it leaves no trace.

    Args:
        folder: The benchmark's folder.
        settings: The settings in force.
        name: A library that holds the corpus already; None makes one under ``bench``, and keeps it.
        progress: Told of every step.

    Raises:
        RecordError: The named library does not hold the corpus.
    """
    with tempfile.TemporaryDirectory(prefix="citewell-speed-") as work:
        saved = Path(work) / "library.citewell"
        if name is None:
            corpus = open_corpus(folder, settings, progress)
            with corpus.library as source:
                finish(source, progress)
                source.backup(saved)
        else:
            with open_library(name, settings=settings) as source:
                _check_holds(source, read_records(folder))
                finish(source, progress)
                source.backup(saved)
        own = settings.model_copy(update={"home": Path(work) / "home", "library": SPEED})
        with restore(saved, SPEED, settings=own) as library:
            library.sync(progress)
            yield library


def finish(library: Library, progress: Progress) -> None:
    """Embed whatever still waits."""
    if library.waiting:
        library.embed(progress=progress)


def _check_holds(library: Library, records: Sequence[Mapping[str, Any]]) -> None:
    from .corpus import own_id

    known = {own_id(paper) for paper in library.papers()}
    held = sum(str(one["_id"]) in known for one in records)
    if held < FEWEST_KNOWN * len(records):
        raise RecordError(
            f"The library '{library.name}' holds {held:,} of the {len(records):,} records of the "
            "corpus. What is measured has to be the same on both sides. Name the library of this "
            "corpus, or leave out --library: one is made."
        )


# ---- questions -----------------------------------------------------------------------------------


def read_questions(folder: Path, file: Path | None, limit: int, seed: int) -> list[str]:
    """Return distinct questions in a seeded order.

    Args:
        folder: The benchmark's folder, whose ``queries.jsonl`` is taken without a file.
        file: JSON lines with ``question`` or ``text``; None takes the folder's queries.
        limit: At most so many.
        seed: Seed of the order.

    Raises:
        RecordError: There are none.
    """
    import random

    if file is None:
        found = list(read_queries(_queries(folder)).values())
    else:
        rows = (row.values for row in read_rows(file) if not row.fault)
        found = [str(one.get("question") or one.get("text") or "") for one in rows]
    asked = [text for text in dict.fromkeys(one.strip() for one in found) if text]
    if not asked:
        raise RecordError(
            f"{str(file or folder)!r} holds no question. Each line needs 'question' or 'text'. "
            "Name another file with --questions."
        )
    random.Random(seed).shuffle(asked)
    return asked[:limit]


def _queries(folder: Path) -> Path:
    paths = [*sorted(folder.glob("queries*.jsonl")), *sorted(folder.glob("queries*.jsonl.gz"))]
    if not paths:
        raise RecordError(
            f"{str(folder)!r} holds no queries.jsonl. Questions are taken from there. Name a file "
            "of questions with --questions."
        )
    return paths[0]


def limited(folder: Path, records: Sequence[Mapping[str, Any]], work: Path) -> Path:
    """Write a benchmark folder with these records and the queries of another."""
    small = work / f"{folder.resolve().name}-{len(records)}"
    write_slice(small / "corpus.jsonl", records)
    for path in folder.glob("queries*.jsonl*"):
        (small / path.name).write_bytes(path.read_bytes())
    return small
