"""Question → cited answer: the LlamaIndex query engine that joins searching, reading, writing."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from . import question as questions
from .evidence import Reader, Reading, systems_in
from .index import Index
from .question import Question
from .retrieval import PaperRetriever, Searcher, nodes_of
from .schema import Answer, Citation, Filters, RankedPaper, Turn
from .selection import choose
from .settings import Settings
from .synthesis import Draft, LLMSynthesizer, QuoteSynthesizer, Synthesizer

ABSTENTION = "The papers in this library do not answer this question."
EMPTY = "This library holds no papers yet. Add some: citewell add FILE"
NO_MATCH = "No paper in this library matches the filters. Change or drop them."
COURTESY = "Ask me about the papers in this library."
MOST_SYSTEMS = 4  # names of a comparison that are looked up one by one
MOST_HOLDERS = 3  # of the papers read: a name that more of them hold singles none out
NAMED_SHARE = 1 / 3  # of the usual probability is enough for a question that names a system
MOST_BY_NAME = 1000  # papers looked at one by one for an author's whole name
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
        self._reader = reader or Reader(index)
        self._searcher = Searcher(index, candidates=settings.candidates, mode=settings.retrieval)

    # ---- LlamaIndex ----------------------------------------------------------------------------

    def retriever(self, filters: Filters | None = None) -> PaperRetriever:
        """Return the search of this engine as a LlamaIndex retriever."""
        return PaperRetriever(self._searcher, top_k=self._settings.top_k, filters=filters)

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return the ranked papers as nodes."""
        return self.retriever().retrieve(query_bundle)

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
        asked = questions.check(text, max_chars=self._settings.max_question_chars)
        question = questions.understand(asked, history)
        if question.courtesy:
            yield COURTESY
            yield Answer(asked, COURTESY, abstained=False, llm=self._llm_name)
            return
        stated = None if filters else self._stated(question)
        wanted = filters or stated
        papers = self._search(question, wanted, trace)
        reading = self._reader.read(question, self._with_named(question, papers, wanted))
        trace.mark("read")
        if not self._answers(reading, stated):
            text = ABSTENTION if papers else self._nothing(wanted)
            yield text
            yield self._abstention(text, question, papers, reading, trace)
            return
        yield from self._write(question, papers, reading, trace, whole=stated is not None)

    def _stated(self, question: Question) -> Filters | None:
        return questions.filters_for(question, self._known)

    def _known(self, found: Filters) -> Filters | None:
        """Return a filter if papers match it; one for an author is held to the whole name."""
        ids = self.index.catalogue.matching(found)
        if found.author and len(ids) <= MOST_BY_NAME:
            papers = self.index.catalogue.papers(ids).values()
            ids = [one.id for one in papers if questions.is_named(found.author, one.authors)]
            found = Filters(paper_ids=tuple(ids))
        return found if ids else None

    def _search(
        self, question: Question, filters: Filters | None, trace: _Trace
    ) -> tuple[RankedPaper, ...]:
        found = self._searcher.search(question.search, top_k=self._settings.top_k, filters=filters)
        trace.mark("search")
        trace.timings_ms.update({k: round(v, 2) for k, v in found.timings_ms.items()})
        return found.papers

    def _with_named(
        self, question: Question, papers: tuple[RankedPaper, ...], filters: Filters | None
    ) -> tuple[RankedPaper, ...]:
        """Put the papers of the systems that a comparison names before all others."""
        systems = systems_in(question.search) if question.compare else []
        ranked = {one.paper.id: one for one in papers}
        named: dict[str, RankedPaper] = {}
        for system in systems[:MOST_SYSTEMS]:
            for one in self._searcher.search(system, top_k=1, filters=filters).papers:
                low = replace(one, score=papers[-1].score if papers else one.score)
                named[one.paper.id] = ranked.get(one.paper.id, low)
        return (*named.values(), *(one for one in papers if one.paper.id not in named))

    def _answers(self, reading: Reading, stated: Filters | None) -> bool:
        """Say whether the evidence is good enough to answer.

        A question that names an author or a topic of the library is answered from it. One that
        names a system that few of the papers hold needs less: that a name is met says more than
        the model knows, though other fields use "RL" and "SGD" too.
        """
        if not reading.sentences:
            return False
        threshold = self._settings.abstain_below
        limit = self._reader.weights.abstain_below if threshold is None else threshold
        if any(len(holders) <= MOST_HOLDERS for holders in reading.named.values()):
            limit *= NAMED_SHARE
        return stated is not None or reading.probability >= limit

    def _nothing(self, filters: Filters | None) -> str:
        """Say why not even a nearest paper was found."""
        if not self.index.catalogue.count():
            return EMPTY
        if filters and not self.index.catalogue.matching(filters):
            return NO_MATCH
        return ABSTENTION

    def _abstention(
        self,
        text: str,
        question: Question,
        papers: tuple[RankedPaper, ...],
        reading: Reading,
        trace: _Trace,
    ) -> Answer:
        return Answer(
            question.text,
            text,
            abstained=True,
            papers=papers,
            llm=self._llm_name,
            timings_ms=trace.total(),
            searched=question.search,
            confidence=round(reading.probability, 4),
        )

    def _write(
        self,
        question: Question,
        papers: tuple[RankedPaper, ...],
        reading: Reading,
        trace: _Trace,
        *,
        whole: bool,
    ) -> Iterator[str | Answer]:
        most = LLM_EVIDENCE if self._llm_name else self._settings.max_statements
        evidence = choose(question, reading, most=most, whole=whole)
        shown = False
        for piece in self._synthesizer.write(_with_earlier(question), evidence):
            if isinstance(piece, str):
                shown = True
                yield piece
                continue
            trace.mark("write")
            if piece.found:
                answer = self._finish(question, papers, piece, trace)
                yield replace(answer, confidence=round(reading.probability, 4))
                continue
            yield "\n\n" + ABSTENTION if shown else ABSTENTION
            answer = self._abstention(ABSTENTION, question, papers, reading, trace)
            yield replace(answer, raw=piece.raw)

    def _finish(
        self, question: Question, papers: tuple[RankedPaper, ...], draft: Draft, trace: _Trace
    ) -> Answer:
        return Answer(
            question=question.text,
            text=draft.text,
            abstained=False,
            statements=draft.statements,
            citations=_citations(draft),
            papers=papers,
            llm=self._llm_name,
            timings_ms=trace.total(),
            searched=question.search,
            invented=draft.invented,
            raw=draft.raw,
            error=draft.error,
        )


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

    synthesizer = LLMSynthesizer(llms.build(settings))
    return AnswerEngine(index, settings, synthesizer=synthesizer, llm_name=settings.llm)
