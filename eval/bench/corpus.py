"""A benchmark's corpus in a library of its own, kept between runs, with its records' own ids."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rag.errors import RagError
from rag.identity import keys_of
from rag.index import Progress
from rag.library import Library, open_library
from rag.readers import read_papers
from rag.schema import ImportReport, Paper
from rag.settings import Settings

from ..report import replace_file
from ..trec import corpus_path

HOME = "bench"  # folder of these libraries under the home of all
_LONGEST_QUESTION = 100_000  # characters; some benchmarks ask with whole abstracts


@dataclass(frozen=True, slots=True)
class Facts:
    """What adding a corpus gave, kept beside its library.

    Attributes:
        records: Records of the file.
        papers: Papers in the library.
        failed: Records that hold no text and can never be found.
        seconds: How long adding took.
        merged: Id of a record that is another one's duplicate → id of the paper that was kept.
    """

    records: int
    papers: int
    failed: int
    seconds: float
    merged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Corpus:
    """An open library with a benchmark's corpus. Close the library when done.

    ``originals`` gives the ids that a paper has in the benchmark: its own, then those of the
    duplicates that the library merged into it.
    """

    library: Library
    facts: Facts
    originals: Mapping[str, tuple[str, ...]]


def open_corpus(folder: Path, settings: Settings, progress: Progress, **wishes: Any) -> Corpus:
    """Open the library of a benchmark's corpus; add the corpus the first time.

    Args:
        folder: Holds ``corpus.jsonl[.gz]``.
        settings: The settings in force; the library lies in ``bench`` under their home.
        progress: Told of every step of adding.
        **wishes: Settings that this benchmark needs.

    Raises:
        RecordError: The folder has no corpus.
        RagError: Not every paper could be embedded.
    """
    path = corpus_path(folder)
    digest = hashlib.sha256(path.read_bytes() + settings.embedder.encode()).hexdigest()[:12]
    name = f"{folder.resolve().name}-{digest}"
    home = settings.home / HOME
    own = {"home": home, "library": name, "max_question_chars": _LONGEST_QUESTION, **wishes}
    library = open_library(name, settings=settings.model_copy(update=own), create=True)
    try:
        facts = _facts(library, path, home / f"{library.folder.name}.json", progress)
        return Corpus(library, facts, _originals(library.papers(), facts.merged))
    except BaseException:
        library.close()
        raise


def _facts(library: Library, path: Path, note: Path, progress: Progress) -> Facts:
    """Return the facts that were kept, or add the corpus and keep them."""
    kept = _read(note)
    if kept and library.papers(limit=1):
        if library.has_work:  # an index of an older form is being made anew
            library.sync(progress)
        return kept
    began = time.perf_counter()
    report = library.add(path, wait=True, progress=progress)
    if report.pending:
        raise RagError(
            f"{report.pending} papers of {str(path)!r} could not be embedded: "
            f"{report.notes[-1].text if report.notes else 'no reason is known'} "
            "Run the command again."
        )
    facts = _counted(library, path, report, time.perf_counter() - began)
    replace_file(note, json.dumps(asdict(facts), ensure_ascii=False) + "\n")
    return facts


def _counted(library: Library, path: Path, report: ImportReport, seconds: float) -> Facts:
    papers = library.papers()
    merged = _merged(papers, path) if report.read - report.failed > len(papers) else {}
    return Facts(report.read, len(papers), report.failed, round(seconds, 1), merged)


def _merged(papers: list[Paper], path: Path) -> dict[str, str]:
    """Find, for each record that is no paper of its own, the paper that it was merged into."""
    own = {own_id(paper) for paper in papers}
    holders: dict[str, str] = {}
    for paper in papers:
        for key in keys_of(paper):
            holders.setdefault(key, paper.id)
    found = {}
    for item in read_papers(path):
        if isinstance(item, Paper) and own_id(item) not in own:
            by_title_last = sorted(keys_of(item), key=lambda key: key.startswith("title:"))
            holder = next((holders[key] for key in by_title_last if key in holders), None)
            if holder:
                found[own_id(item)] = holder
    return found


def own_id(paper: Paper) -> str:
    """Return the id that a paper has in the benchmark's corpus."""
    own = paper.extra.get("_id")
    return str(own) if own not in (None, "") else paper.source.key or paper.id


def _originals(papers: list[Paper], merged: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    ids: dict[str, list[str]] = defaultdict(list)
    for paper in papers:
        ids[paper.id].append(own_id(paper))
    for original, paper_id in merged.items():
        if paper_id in ids:
            ids[paper_id].append(original)
    return {paper_id: tuple(names) for paper_id, names in ids.items()}


def _read(note: Path) -> Facts | None:
    """Return the facts of an earlier run; None where there are none or they cannot be read."""
    try:
        return Facts(**json.loads(note.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
