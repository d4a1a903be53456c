"""Questions with answers on a benchmark's corpus: abstention, evidence sentences, verdicts."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rag.as_json import answer_json
from rag.errors import ProviderError, QuestionError, RecordError
from rag.index import Progress
from rag.library import Library
from rag.schema import Answer, Filters, Paper
from rag.settings import Settings

from .. import metrics as m
from ..cases import Case, load_cases
from ..labels import PaperIndex
from ..measures import Measure
from ..metrics.normal import letters
from ..reply import Reply
from ..stats import Statistic, bootstrap_interval, mean
from .corpus import Corpus, open_corpus
from .results import AnswerTable
from .verdicts import Decider

QUOTES = 3  # sentences of an answer that are looked at
_QUOTING = "quote"


@dataclass(frozen=True, slots=True)
class Questions:
    """A file of questions, or a sample of it."""

    path: Path
    cases: Sequence[Case]
    sampled: int | None

    @property
    def answerable(self) -> set[bool]:
        """Return which of the two sorts of question there are."""
        return {case.answerable for case in self.cases if case.answerable is not None}

    @property
    def with_evidence(self) -> list[Case]:
        """Return the cases whose gold sentences are known."""
        return [case for case in self.cases if case.evidence and case.relevant]

    @property
    def with_verdict(self) -> list[Case]:
        """Return the cases that are answered by yes, no or maybe."""
        return [case for case in self.cases if case.answer.lower() in Decider.VERDICTS]


def find_questions(folder: Path) -> list[Path]:
    """Return a folder's files of questions: ``qa.jsonl[.gz]`` and ``qa_*.jsonl[.gz]``."""
    names = ("qa.jsonl", "qa.jsonl.gz", "qa_*.jsonl", "qa_*.jsonl.gz")
    return [path for name in names for path in sorted(folder.glob(name))]


def read_questions(path: Path, *, limit: int | None, seed: int) -> Questions:
    """Read a file of questions, or a seeded sample of it, in the file's order.

    Raises:
        RecordError: The file is malformed.
    """
    cases = load_cases(path)
    if limit is None or limit >= len(cases):
        return Questions(path, cases, None)
    places = sorted(random.Random(seed).sample(range(len(cases)), limit))
    return Questions(path, [cases[place] for place in places], limit)


def measure(
    folder: Path,
    settings: Settings,
    files: Sequence[Path],
    *,
    limit: int | None = None,
    seed: int = 0,
    progress: Progress,
) -> list[AnswerTable]:
    """Ask files of questions on a benchmark's corpus.

    Args:
        folder: Holds the corpus.
        settings: The settings in force. A language model in them decides yes/no questions; all
            else is measured on quotes, which need none.
        files: The files of questions.
        limit: A seeded sample of so many questions a file; None asks all.
        seed: Seed of samples and intervals.
        progress: Told of every step.

    Returns:
        A table a file; one that has no label for any of the measures says so in its notes.

    Raises:
        RecordError: There is no file, or one is malformed.
    """
    if not files:
        raise RecordError(
            f"{str(folder)!r} holds no 'qa.jsonl' and no 'qa_*.jsonl'. Questions with answers are "
            "expected. Name another folder, or a file with --questions."
        )
    found = [read_questions(path, limit=limit, seed=seed) for path in files]
    return [_table(folder, settings, one, seed=seed, progress=progress) for one in found]


def _table(
    folder: Path, settings: Settings, asked: Questions, *, seed: int, progress: Progress
) -> AnswerTable:
    began = time.perf_counter()
    name = folder.resolve().name
    measures: list[Measure] = []
    notes: list[str] = []

    def told(part: str) -> Callable[[int, int], None]:
        return lambda done, total: progress(f"{name}: {part}", done, total)

    if asked.answerable:
        with open_corpus(folder, settings, progress, llm=_QUOTING).library as library:
            measures += abstention(library, asked.cases, seed=seed, told=told("abstaining"))
    if asked.with_evidence:
        wishes = {"llm": _QUOTING, "abstain_below": 0.0, "max_statements": QUOTES}
        corpus = open_corpus(folder, settings, progress, **wishes)
        with corpus.library:
            measures += evidence(corpus, asked.with_evidence, seed=seed, told=told("evidence"))
    if asked.with_verdict and settings.llm != _QUOTING:
        with open_corpus(folder, settings, progress, abstain_below=0.0).library as library:
            measures += verdicts(library, asked.with_verdict, seed=seed, told=told("deciding"))
    elif asked.with_verdict:
        notes.append("yes/no/maybe needs a language model: --llm")
    if not measures:
        notes.append("no label that is measured here")
    return AnswerTable(
        name,
        asked.path.name,
        len(asked.cases),
        asked.sampled,
        None if settings.llm == _QUOTING else settings.llm,
        round(time.perf_counter() - began, 1),
        tuple(measures),
        tuple(notes),
    )


def abstention(
    library: Library, cases: Sequence[Case], *, seed: int, told: Callable[[int, int], None]
) -> list[Measure]:
    """Measure whether the library knows what it can answer, at the default threshold.

    Returns:
        ``abstained_answerable``, ``abstained_unanswerable`` and, where there are questions of both
        sorts, ``answerability_auc``.
    """
    rows = []
    for done, case in enumerate(cases, start=1):
        if case.answerable is not None and (answer := _ask(library, case)):
            reply = Reply.from_json(answer_json(answer))
            sure = -1.0 if reply.confidence is None else reply.confidence
            rows.append((sure, float(case.answerable), float(answer.abstained)))
        told(done, len(cases))
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    shares = [
        _measure(f"abstained_{name}", table[table[:, 1] == sort, 2], len(cases), seed=seed)
        for name, sort in (("unanswerable", 0.0), ("answerable", 1.0))
    ]
    auc = _measure(
        "answerability_auc",
        table,
        len(cases),
        statistic=lambda drawn: m.area_under_roc(drawn[:, 0], drawn[:, 1]),
        seed=seed,
    )
    return [one for one in (*shares, auc) if one.value is not None]


def evidence(
    corpus: Corpus, cases: Sequence[Case], *, seed: int, told: Callable[[int, int], None]
) -> list[Measure]:
    """Measure which sentences are chosen: within each gold abstract, and across the corpus.

    The answerer never abstains and quotes three sentences, best first. Within an abstract it may
    use that paper alone, and a case has the mean over its papers.

    Returns:
        ``within_hit@1``, ``within_hit@3``, ``within_f1`` and the same ``across``.
    """
    papers = corpus.library.papers()
    index, by_id = PaperIndex(papers), {paper.id: paper for paper in papers}
    within, across = [], []
    for done, case in enumerate(cases, start=1):
        across += _quoted(corpus.library, case, case.evidence, None)
        relevant = [by_id[i] for i in index.resolve(case.relevant).paper_ids]
        gold = {paper.id: held_by(paper, case.evidence) for paper in relevant}
        own = [
            row
            for paper_id, texts in gold.items()
            if texts
            for row in _quoted(corpus.library, case, texts, Filters(paper_ids=(paper_id,)))
        ]
        if own:
            within.append(tuple(np.mean(own, axis=0)))
        told(done, len(cases))
    return [
        _measure(f"{where}_{name}", np.array(rows).reshape(-1, 3)[:, place], len(cases), seed=seed)
        for where, rows in (("within", within), ("across", across))
        for place, name in enumerate(("hit@1", "hit@3", "f1"))
    ]


def held_by(paper: Paper, sentences: Sequence[str]) -> list[str]:
    """Return those of some gold sentences that stand in a paper's abstract."""
    text = letters(f"{paper.abstract} {paper.raw_abstract}")
    return [sentence for sentence in sentences if letters(sentence) in text]


def _quoted(
    library: Library, case: Case, gold: Sequence[str], filters: Filters | None
) -> list[tuple[float, float, float]]:
    """Return hit@1, hit@3 and F1 of the quotes; nothing where the question cannot be asked."""
    quotes = quotes_of(library, case, filters)
    if quotes is None:
        return []
    hits = [any(m.same_sentence(quote, text) for text in gold) for quote in quotes]
    _, _, both = m.evidence_scores(quotes, gold)
    return [(float(any(hits[:1])), float(any(hits)), both or 0.0)]


def quotes_of(library: Library, case: Case, filters: Filters | None) -> list[str] | None:
    """Return the first sentences quoted, best first; None where the question cannot be asked."""
    answer = _ask(library, case, filters)
    if answer is None:
        return None
    return [citation.quote for citation in answer.citations][:QUOTES]


def verdicts(
    library: Library, cases: Sequence[Case], *, seed: int, told: Callable[[int, int], None]
) -> list[Measure]:
    """Measure yes, no or maybe, as a language model decides from the quoted sentences.

    Returns:
        ``verdict_accuracy`` over the replies that held a verdict, and ``verdict_given``, the share
        that did.
    """
    decider = Decider(library)
    right, given = [], []
    for done, case in enumerate(cases, start=1):
        try:
            verdict = decider(case)
        except ProviderError:  # the model failed on this question
            verdict = None
        given.append(float(verdict is not None))
        if verdict is not None:
            right.append(float(verdict == case.answer.lower()))
        told(done, len(cases))
    return [
        _measure("verdict_accuracy", np.array(right), len(cases), seed=seed),
        _measure("verdict_given", np.array(given), len(cases), seed=seed),
    ]


def _ask(library: Library, case: Case, filters: Filters | None = None) -> Answer | None:
    """Return the quoted answer; None for a question that cannot be asked as it is."""
    try:
        return library.ask(case.question, history=case.history, filters=filters, llm=_QUOTING)
    except QuestionError:
        return None


def _measure(
    name: str,
    rows: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]",
    total: int,
    *,
    statistic: Statistic = mean,
    seed: int,
) -> Measure:
    value = statistic(rows) if len(rows) else None
    blank = Measure(name, value, len(rows) if value is not None else 0, total)
    if value is None:
        return blank
    low, high = bootstrap_interval(rows, statistic, seed=seed) or (None, None)
    return replace(blank, low=low, high=high)
