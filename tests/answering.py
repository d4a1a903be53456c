"""A dozen small papers, and models that misbehave, for the tests of the answering half."""

import importlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from llama_index.core.base.llms.types import CompletionResponse
from pydantic import ConfigDict, Field

from rag.engine import AnswerEngine
from rag.schema import Answer, Evidence, Paper, Span
from rag.sentences import sentence_spans
from rag.settings import Settings
from rag.synthesis import LLMSynthesizer
from rag.testing import ScriptedLLM
from tests.storage import add, new_index

DATA = Path(__file__).parent / "data" / "answering"


def papers() -> list[Paper]:
    """Return the papers of the small library as a reader gives them."""
    rows = [json.loads(line) for line in (DATA / "papers.jsonl").read_text("utf-8").splitlines()]
    return [
        Paper("", **{**row, "authors": tuple(row["authors"])}, raw_abstract=row["abstract"])
        for row in rows
    ]


def library(folder, records=None, model=None):
    """Make an index of some papers; by default the dozen."""
    index = new_index(folder, model)
    add(index, papers() if records is None else records)
    return index


def by_title(index, words):
    """Return the id of the one paper whose title or abstract begins with some words."""
    (found,) = (
        one.id
        for one in index.catalogue.each()
        if one.title.startswith(words) or one.abstract.startswith(words)
    )
    return found


def engine(index, *replies, llm=None, **values):
    """Return an engine that quotes, or whose model gives some replies; it never abstains itself.

    Quotes are not added to the replies unless ``complete`` is given.
    """
    defaults = {"abstain_below": 0.0, "complete": False}
    settings = Settings(embedder="word-hash", **{**defaults, **values})
    if not replies and llm is None:
        return AnswerEngine(index, settings)
    model = llm or ScriptedLLM(replies=list(replies))
    return AnswerEngine(index, settings, synthesizer=LLMSynthesizer(model), llm_name="scripted")


def collected(stream) -> tuple[str, Answer]:
    """Return the streamed text and the answer that ends the stream."""
    *pieces, last = stream
    assert all(isinstance(piece, str) and piece for piece in pieces)
    assert isinstance(last, Answer)
    return "".join(pieces), last


def forbid_defaults(monkeypatch) -> None:
    """Make LlamaIndex's global defaults, which are remote, fail the test that reaches for them."""
    defaults = importlib.import_module("llama_index.core.settings")._Settings
    for name in ("llm", "embed_model", "tokenizer", "node_parser", "prompt_helper"):
        refuse = property(lambda self, name=name: pytest.fail(f"Settings.{name} was asked for"))
        monkeypatch.setattr(defaults, name, refuse)


def words(text: str) -> list[str]:
    return text.split()


def sentences(name: str, abstract: str, **fields) -> list[Evidence]:
    """Return every sentence of one abstract as evidence, scores falling from 0."""
    paper = Paper(name, abstract=abstract, **fields)
    spans: Sequence[Span] = sentence_spans(abstract) or [Span(0, 0)]
    return [Evidence(paper, f"{name}#0", span, -float(n)) for n, span in enumerate(spans)]


class DyingLLM(ScriptedLLM):
    """Fails after the first pieces of its reply, as a server does that closes the socket."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    pieces: int = 3
    error: Exception

    def stream_complete(self, prompt, formatted=False, **kwargs):
        whole = super().stream_complete(prompt, formatted, **kwargs)

        def dying():
            for n, piece in enumerate(whole):
                if n == self.pieces and len(self.prompts) == 1:  # the next turn works
                    raise self.error
                yield piece

        return dying()


class EndlessLLM(ScriptedLLM):
    """Writes until it is stopped, and says that it was."""

    stopped: threading.Event = Field(default_factory=threading.Event)

    def stream_complete(self, prompt, formatted=False, **kwargs):
        self._next(prompt)

        def endless():
            try:
                while True:
                    yield CompletionResponse(text="", delta="on and on ")
            finally:
                self.stopped.set()

        return endless()
