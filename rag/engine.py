"""Question → cited answer: the LlamaIndex query engine that joins searching, reading, writing."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from . import question as questions
from .abstention import ABSTENTION, abstention_text, as_citations, nearest_told
from .acronyms import expand
from .agreement import Disagreement, disagreement, with_both
from .completing import added_text, completed
from .evidence import MOST_HOLDERS, Reader, Reading
from .evidence_model import packaged_model
from .index import Index
from .names import systems_in
from .question import KnownPapers, Question, Stated
from .retrieval import PaperRetriever, Searcher, nodes_of
from .schema import Answer, Citation, Evidence, Filters, RankedPaper, Turn
from .selection import choose
from .settings import Settings
from .synthesis import Draft, LLMSynthesizer, QuoteSynthesizer, Synthesizer
from .verification import build_verifier

EMPTY = "This library holds no papers yet. Add some: citewell add FILE"
NO_MATCH = "No paper in this library matches the filters. Change or drop them."
COURTESY = "Ask me about the papers in this library."
MOST_SYSTEMS = 4  # names of a comparison that are looked up one by one
NAMED_SHARE = 1 / 3  # of the usual probability is enough for a question that names a system
MANY_SHARE = 2 / 3  # the same for a question about several papers
MORE_STATEMENTS = 2  # in an answer that lists or compares
LLM_EVIDENCE = 6  # sentences in a prompt: about 200 tokens


@dataclass
class _Trace:
    """Stage timings of one question."""

    began: float = field(default_factory=time.perf_counter)
    last: float = field(default_factory=time.perf_counter)
    timings_ms: dict[str, float] = field(default_factory=dict)

    def mark(self, stage: str) -> None:
        now = time.perf_counter()
        self.timings_ms[stage] = round(1000 * (now - self.last), 2)
        self.last = now

    def total(self) -> dict[str, float]:
        return {**self.timings_ms, "total": round(1000 * (time.perf_counter() - self.began), 2)}


class AnswerEngine(BaseQueryEngine):
    """Answers questions from one library.

    Args:
        index: The library's index.
        settings: How many papers, statements, and when to abstain.
        synthesizer: Writes the answers; by default it quotes.
        llm_name: What the synthesizer's model is called in answers; None for quotes.
        reader: Scores sentences; by default with the packaged weights.
    """

    def __init__(
        self,
        index: Index,
        settings: Settings,
        *,
        synthesizer: Synthesizer | None = None,
        llm_name: str | None = None,
        reader: Reader | None = None,
    ) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self.index = index
        self._settings = settings
        self._synthesizer = synthesizer or QuoteSynthesizer()
        self._llm_name = llm_name
        load = packaged_model if settings.evidence_model == "packaged" else None
        self._reader = reader or Reader(index, load_model=load)
        self._searcher = Searcher(index, candidates=settings.candidates, mode=settings.retrieval)

    # ---- LlamaIndex ----------------------------------------------------------------------------

    def retriever(self, filters: Filters | None = None, *, alike: bool = True) -> PaperRetriever:
        """Return this engine's search as a LlamaIndex retriever; ``alike`` as in ``search``."""
        return PaperRetriever(
            self._searcher, top_k=self._settings.top_k, filters=filters, alike=alike
        )

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return the ranked papers of a question as nodes."""
        many = questions.understand(query_bundle.query_str, ()).many
        return self.retriever(alike=many).retrieve(query_bundle)

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}

    def _query(self, query_bundle: QueryBundle) -> Response:
        answer = self.answer(query_bundle.query_str)
        nodes = nodes_of(answer.papers)
        return Response(answer.text, source_nodes=nodes, metadata={"answer": answer})

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return self._query(query_bundle)

    # ---- answering -----------------------------------------------------------------------------

    def answer(
        self, text: str, *, history: Sequence[Turn] = (), filters: Filters | None = None
    ) -> Answer:
        """Answer a question; see ``stream`` for arguments and errors."""
        (last,) = deque(self.stream(text, history=history, filters=filters), maxlen=1)
        if not isinstance(last, Answer):
            raise TypeError("a stream ends with its answer")
        return last

    def stream(
        self, text: str, *, history: Sequence[Turn] = (), filters: Filters | None = None
    ) -> Iterator[str | Answer]:
        """Answer a question piece by piece.

        Args:
            text: The question as typed.
            history: Earlier turns, oldest first; never changed.
            filters: Only papers that match may be used; None lets the question's own words decide.

        Yields:
            Pieces of the answer's text, then, last, the whole ``Answer``. Closing the iterator
            early stops the model.

        Raises:
            QuestionError: The question is empty, too long or not text.
            ProviderError: The language model failed before it said anything.
        """
        trace = _Trace()
        typed = questions.check(text, max_chars=self._settings.max_question_chars)
        question = questions.understand(typed, history)
        if question.courtesy:
            yield COURTESY
            yield Answer(typed, COURTESY, abstained=False, llm=self._llm_name)
            return
        question = questions.respelled(question, self.index.words.corrections(question.asked))
        stated = Stated() if filters else questions.stated(question, self._known())
        wanted = filters or stated.filters
        asked = self._read(question, stated, wanted, trace)
        if self._answers(asked):
            yield from self._write(asked)
            return
        told = nearest_told(asked.reading) if asked.papers else ()
        text = abstention_text(told) if asked.papers else self._nothing(wanted)
        yield text
        yield replace(self._abstention(text, asked), tells=as_citations(told))

    def _read(
        self, question: Question, stated: Stated, wanted: Filters | None, trace: _Trace
    ) -> "_Asked":
        """Search and read; whoever embeds in the background gives way, and one budget is shared."""
        with self.index.asking.marked(), self.index.fine.one_question():
            question, papers = self._search(question, wanted, trace)
            reading = self._reader.read(question, self._with_named(question, papers, wanted))
        trace.mark("read")
        return _Asked(question, _as_read(papers, reading), reading, stated, trace)

    def _known(self) -> KnownPapers:
        return KnownPapers(self.index.catalogue)

    def _search(
        self, question: Question, filters: Filters | None, trace: _Trace
    ) -> tuple[Question, tuple[RankedPaper, ...]]:
        """Search, and once more with what the papers found say that an acronym stands for."""
        search = partial(
            self._searcher.search,
            top_k=self._settings.top_k,
            filters=filters,
            alike=question.many,
        )
        found = search(question.search)
        more = expand(question.asked, [ranked.paper for ranked in found.papers])
        if more:
            question = replace(question, search=" ".join([question.search, *more]))
            found = search(question.search)
        trace.mark("search")
        trace.timings_ms.update({k: round(v, 2) for k, v in found.timings_ms.items()})
        return question, found.papers

    def _with_named(
        self, question: Question, papers: tuple[RankedPaper, ...], filters: Filters | None
    ) -> tuple[RankedPaper, ...]:
        """Put papers before all others that a follow-up points at or whose names it compares."""
        ranked = {one.paper.id: one for one in papers}
        first = self._preferred(question, papers, filters)
        systems = systems_in(question.search) if question.compare else []
        for system in systems[:MOST_SYSTEMS]:
            for one in self._searcher.search(system, top_k=1, filters=filters).papers:
                low = replace(one, score=papers[-1].score if papers else one.score, mixed=None)
                first.setdefault(one.paper.id, ranked.get(one.paper.id, low))
        return (*first.values(), *(one for one in papers if one.paper.id not in first))

    def _preferred(
        self, question: Question, papers: tuple[RankedPaper, ...], filters: Filters | None
    ) -> dict[str, RankedPaper]:
        """Return the papers of the last answer that a follow-up points at, ranked as the best."""
        allowed = set(self.index.catalogue.matching(filters)) if filters else set(question.prefer)
        known = self.index.catalogue.papers([one for one in question.prefer if one in allowed])
        meant = [known[name] for name in question.prefer if name in known]
        names = questions.preferring(question, meant).prefer
        ranked = {one.paper.id: one for one in papers}
        top = papers[0].score if papers else 1.0
        return {
            name: replace(ranked[name], score=top, mixed=None)
            if name in ranked
            else RankedPaper(known[name], 1, top, None, f"{name}#0")
            for name in names
            if name in known
        }

    def _answers(self, asked: "_Asked") -> bool:
        """Say whether the evidence is good enough to answer.

        A question that names an author or a topic of the library is answered from it. Without the
        evidence model, one that names a system that few of the papers hold needs less: that a name
        is met says more than that model knows, though other fields use "RL" and "SGD" too.
        """
        reading = asked.reading
        if not reading.sentences:
            return False
        threshold = self._settings.abstain_below
        limit = self._reader.weights.abstain_below if threshold is None else threshold
        few = any(len(holders) <= MOST_HOLDERS for holders in reading.named.values())
        if few and not self._reader.reads:
            limit *= NAMED_SHARE
        elif asked.question.many:
            limit *= MANY_SHARE
        return asked.stated.decisive or reading.probability >= limit

    def _nothing(self, filters: Filters | None) -> str:
        """Say why not even a nearest paper was found."""
        if not self.index.catalogue.count():
            return EMPTY
        if filters and not self.index.catalogue.matching(filters):
            return NO_MATCH
        return ABSTENTION

    def _abstention(self, text: str, asked: "_Asked") -> Answer:
        return Answer(
            asked.question.text,
            text,
            abstained=True,
            papers=asked.papers,
            llm=self._llm_name,
            timings_ms=asked.trace.total(),
            searched=asked.question.search,
            confidence=round(asked.reading.probability, 4),
            notes=asked.notes,
        )

    def _write(self, asked: "_Asked") -> Iterator[str | Answer]:
        opposed = None if asked.question.many else disagreement(asked.reading)
        if opposed:
            asked = replace(asked, opposed=opposed.note())
        best = partial(self._chosen, asked, opposed)
        most = self._most(asked)
        evidence = best(self._most_given(asked, most)) if self._llm_name else best(most)
        question, shown = _with_earlier(asked.question), False
        for piece in self._synthesizer.write(question, evidence):
            if isinstance(piece, str):
                shown = True
                yield piece
                continue
            draft = piece
            if self._completes(piece):
                every = bool(opposed) or _wants_several(asked)
                draft = completed(piece, question, best(most), every=every)
            more = added_text(piece, draft) if draft.found else ABSTENTION
            if more:
                yield f"\n\n{more}" if shown else more
            asked.trace.mark("write")
            yield self._finish(draft, asked) if draft.found else self._unfound(draft, asked)

    def _unfound(self, draft: Draft, asked: "_Asked") -> Answer:
        answer = self._abstention(ABSTENTION, asked)
        return replace(answer, raw=draft.raw, notes=(*asked.notes, *draft.notes))

    def _chosen(
        self, asked: "_Asked", opposed: Disagreement | None, most: int
    ) -> tuple[Evidence, ...]:
        """Return the best sentences, with both sides of a disagreement."""
        chosen = choose(asked.question, asked.reading, most=most, whole=asked.stated.decisive)
        return with_both(chosen, opposed) if opposed else chosen

    def _most(self, asked: "_Asked") -> int:
        """Return how many sentences are quoted at most."""
        return self._settings.max_statements + (MORE_STATEMENTS if _wants_several(asked) else 0)

    def _most_given(self, asked: "_Asked", most: int) -> int:
        """Return how many sentences a model gets: of a list, no papers that are not shown."""
        return min(LLM_EVIDENCE, most) if asked.question.many else LLM_EVIDENCE

    def _completes(self, draft: Draft) -> bool:
        """Say whether quotes are added to what a model said."""
        return bool(
            self._llm_name
            and self._settings.complete
            and (draft.found or not self._settings.strict)
        )

    def _finish(self, draft: Draft, asked: "_Asked") -> Answer:
        return Answer(
            question=asked.question.text,
            text=draft.text,
            abstained=False,
            statements=draft.statements,
            citations=_citations(draft),
            papers=asked.papers,
            llm=self._llm_name,
            timings_ms=asked.trace.total(),
            searched=asked.question.search,
            invented=draft.invented,
            raw=draft.raw,
            error=draft.error,
            confidence=round(asked.reading.probability, 4),
            notes=(*asked.notes, *draft.notes),
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question on its way to the answer: what was understood, found and read."""

    question: Question
    papers: tuple[RankedPaper, ...]
    reading: Reading
    stated: Stated
    trace: _Trace
    opposed: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what whoever reads the answer should know of how it came about."""
        read = [f"Read “{typed}” as “{word}”." for typed, word in self.question.corrected]
        opposed = [self.opposed] if self.opposed else []
        return (*read, *self.stated.notes, *self.reading.notes, *opposed)


def _wants_several(asked: _Asked) -> bool:
    """Say whether an answer has several parts: a list, a comparison, the papers of a filter."""
    question = asked.question
    return question.many or question.compare or question.list or asked.stated.decisive


def _as_read(papers: tuple[RankedPaper, ...], reading: Reading) -> tuple[RankedPaper, ...]:
    """Return the ranked list in the order that reading gave, then the papers that were not read."""
    read = {one.paper.id for one in reading.papers}
    found = {one.paper.id for one in papers}
    least = min((one.score for one in reading.papers), default=1.0)
    first = [one for one in reading.papers if one.paper.id in found]
    rest = [replace(one, score=min(one.score, least)) for one in papers if one.paper.id not in read]
    return tuple(replace(one, rank=rank) for rank, one in enumerate([*first, *rest], start=1))


def _with_earlier(question: Question) -> str:
    """Return the question as a model reads it: a follow-up with what it leans on."""
    if not question.earlier:
        return question.text
    return f"{question.text} (asked after: {' '.join(question.earlier)})"


def _citations(draft: Draft) -> tuple[Citation, ...]:
    """Bind every marker to its sentence; its support is that of the statements that use it."""
    support = {n: s.support for s in reversed(draft.statements) for n in s.citations}
    return tuple(
        Citation(n, one.paper, one.passage_id, one.span, one.text, support.get(n, "unchecked"))
        for n, one in enumerate(draft.sources, start=1)
    )


def build_engine(index: Index, settings: Settings) -> AnswerEngine:
    """Build the engine that the settings ask for.

    Raises:
        SettingsError: The model's name is not understood.
        ProviderError: The model cannot be had.
    """
    if settings.llm == "quote":
        return AnswerEngine(index, settings)
    from . import llms

    verifier = build_verifier(settings, lambda: index.embedder)
    synthesizer = LLMSynthesizer(llms.build(settings), verifier)
    return AnswerEngine(index, settings, synthesizer=synthesizer, llm_name=settings.llm)
