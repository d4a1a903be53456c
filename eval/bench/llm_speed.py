"""What a language model reads and how soon it answers: Citewell beside LlamaIndex's own engine."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import PrivateAttr

from rag import llms
from rag.errors import SettingsError
from rag.index import Progress, no_progress
from rag.library import Library, open_library
from rag.retrieval import nodes_of
from rag.schema import Answer
from rag.settings import Settings

from ..manifest import versions
from ..report import replace_file
from . import speed_table
from .llm_meter import Call, MeteredLLM
from .speed_corpus import read_questions
from .speed_rows import Row, SpeedResults, compare, machine, rounds_of

MARKS = "citewell bench llm"
AGAINST = "CitationQueryEngine"
WARM = "What do these papers measure?"
BLOCK = 5  # questions that one engine is asked before it is the other's turn

Ask = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class LLMWishes:
    """What to measure.

    Attributes:
        questions: A file of questions.
        library: The library to ask; None takes it from the settings.
        limit: So many of the questions.
        abstracts: How many abstracts the other engine gives to the model.
        seed: Seed of the choice of questions.
        out: Where ``llm-speed.json`` goes; None writes none.
    """

    questions: Path
    library: str | None = None
    limit: int = 10
    abstracts: int = 3
    seed: int = 0
    out: Path | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """One answer: seconds from the question on, and tokens; None where nothing was told."""

    first_s: float
    last_s: float
    prompt: int | None
    computed: int | None
    written: int | None


class Abstracts(BaseRetriever):
    """The papers that Citewell's search finds, as whole abstracts: the same for both engines."""

    _library: Library = PrivateAttr()
    _top_k: int = PrivateAttr()

    def __init__(self, library: Library, top_k: int) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self._library, self._top_k = library, top_k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes_of(self._library.search(query_bundle.query_str, top_k=self._top_k))


def run(settings: Settings, wishes: LLMWishes, *, progress: Progress = no_progress) -> SpeedResults:
    """Ask both engines the same questions with the same model.

    Args:
        settings: The settings in force; ``llm`` names the model.
        wishes: What to ask.
        progress: Told of every question.

    Returns:
        Rows of tokens and seconds, one round a question. Questions that one of the two answers
        without the model are left out of all rows and counted.

    Raises:
        SettingsError: No language model is named.
        RecordError: The file holds no question.
        ProviderError: The model failed.
    """
    if settings.llm == llms.QUOTE:
        raise SettingsError(
            "No language model is named, and its reading is what is measured. Name one: "
            "--llm gguf:MODEL.gguf"
        )
    asked = read_questions(Path(), wishes.questions, wishes.limit, wishes.seed)
    before = machine()
    with open_library(wishes.library, settings=settings) as library, _metered(settings) as model:
        told = _ask_all(library, model, asked, wishes.abstracts, progress)
        papers = library.status().papers
    pairs = [told[text] for text in asked if None not in told[text]]
    made = {
        "corpus": wishes.library or settings.library,
        "records": papers,
        "llm": settings.llm.rpartition("/")[2],
        "repeats": len(pairs),
        "asked": len(asked),
        "seed": wishes.seed,
        "versions": versions(),
        "before": before,
        "after": machine(),
    }
    results = SpeedResults(_rows(pairs, len(asked)), made)
    if wishes.out is not None:
        wishes.out.mkdir(parents=True, exist_ok=True)
        replace_file(wishes.out / "llm-speed.json", speed_table.as_json(results) + "\n")
    return results


@contextmanager
def _metered(settings: Settings) -> Iterator[MeteredLLM]:
    """Let Citewell build its engine around a model that notes its calls; closed at the end."""
    usual, inner = llms.build, llms.build(settings)
    model = MeteredLLM(inner)
    llms.build = lambda settings: model
    try:
        yield model
    finally:
        llms.build = usual
        if (close := getattr(inner, "close", None)) is not None:
            close()


def _ask_all(
    library: Library,
    model: MeteredLLM,
    questions: Sequence[str],
    abstracts: int,
    progress: Progress,
) -> dict[str, tuple[Told | None, Told | None]]:
    """Return question → what Citewell and the other engine took.

    The engines take turns block by block, not question by question: a model keeps the beginning of
    its last prompt, and each engine has its own. A block begins with a question that is not timed.
    """
    engine = CitationQueryEngine.from_args(
        None,  # type: ignore[arg-type]  # not used beside a retriever
        llm=model,
        retriever=Abstracts(library, abstracts),
        streaming=True,
    )
    ways: list[Ask] = [lambda text: _ours(library, text), lambda text: _theirs(engine, text)]
    found: dict[str, list[Told | None]] = {text: [None, None] for text in questions}
    blocks = rounds_of(questions, -(-len(questions) // BLOCK))
    done = 0
    for number, block in enumerate(blocks):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            _told(model, ways[side], WARM)
            for text in block:
                found[text][side] = _told(model, ways[side], text)
                done += 1
                progress("answers", done, 2 * len(questions))
    return {text: (pair[0], pair[1]) for text, pair in found.items()}


def _ours(library: Library, text: str) -> object:
    last: str | Answer = ""
    for piece in library.stream(text):
        last = piece
    return last


def _theirs(engine: CitationQueryEngine, text: str) -> object:
    response: Any = engine.query(text)
    return "".join(response.response_gen)


def _told(model: MeteredLLM, ask: Ask, text: str) -> Told | None:
    """Ask and return what the model's calls noted; None where it was not called or said nothing."""
    model.take_calls()
    began = time.perf_counter()
    ask(text)
    return summed(began, model.take_calls())


def summed(began: float, calls: Sequence[Call]) -> Told | None:
    """Return one question's calls together; None where the model said nothing."""
    firsts = [call.first for call in calls if call.first is not None]
    lasts = [call.last for call in calls if call.last is not None]
    if not firsts or not lasts:
        return None
    return Told(
        min(firsts) - began,
        max(lasts) - began,
        _sum([call.prompt_tokens for call in calls]),
        _sum([call.computed_tokens for call in calls]),
        _sum([call.written_tokens for call in calls]),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _rows(pairs: Sequence[tuple[Told | None, Told | None]], asked: int) -> list[Row]:
    """Return a row a figure, over the questions that both answered with the model."""
    both = [(own, other) for own, other in pairs if own is not None and other is not None]
    left = asked - len(both)
    note = f"{left} of {asked} questions were answered without the model" if left else ""
    figures: tuple[tuple[str, str, Callable[[Told], float | None]], ...] = (
        ("tokens of the prompt", "tokens", lambda told: told.prompt),
        ("of them not cached", "tokens", lambda told: told.computed),
        ("tokens written", "tokens", lambda told: told.written),
        ("first token", "s", lambda told: told.first_s),
        ("last token", "s", lambda told: told.last_s),
    )
    rows = []
    for name, unit, of in figures:
        values = [(of(own), of(other)) for own, other in both]
        known = [(a, b) for a, b in values if a is not None and b]
        if known:
            ours, theirs = zip(*known, strict=True)
            rows.append(
                compare("llm", name, unit, ours=ours, theirs=theirs, n=len(known),
                        against=AGAINST, note=note)
            )  # fmt: skip
    return rows
