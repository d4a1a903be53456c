"""What a language model said, compared with the sentences it was given.

Every statement gets a verdict and a reason; a marker that stands at the wrong sentence is changed.
docs/verification.md says what is compared and how well that works.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import RagError
from .schema import Evidence, Statement
from .settings import Settings
from .verify.compare import RANK, Comparison, Entailment, Similarity, compare

if TYPE_CHECKING:
    from .embedders import Embedder, Vectors

__all__ = ["Cosines", "Verified", "Verifier", "build_verifier", "verify"]

log = logging.getLogger(__name__)

NO_SENTENCE = "no sentence that the model was given says this"
_SLACK = 0.1  # a better marker may be so much less close in its words


@dataclass(frozen=True, slots=True)
class Verified:
    """Statements with their verdicts; ``sources[n - 1]`` is what their marker ``n`` stands for."""

    statements: tuple[Statement, ...]
    sources: tuple[Evidence, ...]


def verify(
    statements: Sequence[Statement],
    sources: Sequence[Evidence],
    evidence: Sequence[Evidence],
    *,
    question: str = "",
    similarity: Similarity | None = None,
    entailment: Entailment | None = None,
) -> Verified:
    """Compare every statement with the sentences it cites, or, if it cites none, with all.

    Args:
        statements: What a model said, without markers in the texts.
        sources: ``sources[n - 1]`` is what marker ``n`` of the statements stands for.
        evidence: Every sentence that the model was given.
        question: What was asked; names in it need no source.
        similarity: Cosine of a statement and a sentence; None compares words only.
        entailment: Probability that a statement follows from a sentence; None leaves it out.

    Returns:
        The statements in order, each with ``support``, ``reason`` and ``nearest``. A marker is
        changed, or added where there was none, when another sentence supports the statement and
        the cited ones do not; ``repaired_from`` then holds the old markers. Sources are numbered
        in order of first use.
    """
    weigh = partial(compare, question=question, similarity=similarity, entailment=entailment)
    judged = [_judge(one, sources, evidence, weigh) for one in statements]
    return _numbered(judged)


Weigh = Callable[[str, Sequence[Evidence]], Comparison]


@dataclass(frozen=True, slots=True)
class _Judged:
    statement: Statement
    cited: tuple[Evidence, ...]


def _judge(
    statement: Statement, sources: Sequence[Evidence], evidence: Sequence[Evidence], weigh: Weigh
) -> _Judged:
    """Judge one statement and find the sentences that it should cite."""
    text = statement.text.removeprefix("- ")
    cited = tuple(sources[n - 1] for n in statement.citations)
    best = _best(weigh(text, group) for group in _groups(cited))
    others = [one for one in evidence if one not in cited]
    if best is None or RANK[best.verdict] < RANK["supported"]:
        other = _best(weigh(text, (one,)) for one in others)
        if other and _is_better(other, best):
            repaired = replace(
                _told(statement, other, weigh, text), repaired_from=statement.citations
            )
            return _Judged(repaired, other.sources)
        if best is None:
            reason = other.reason if other and other.verdict == "weak" else NO_SENTENCE
            support = other.verdict if other else "unsupported"
            nearest = other.sources[0].text if other else ""
            told = replace(statement, support=support, reason=reason, nearest=nearest)
            return _Judged(told, cited)
    return _Judged(_told(statement, best, weigh, text), cited)


def _groups(cited: tuple[Evidence, ...]) -> list[tuple[Evidence, ...]]:
    """Return each cited sentence alone, and all together."""
    return [*((one,) for one in cited), *([cited] if len(cited) > 1 else [])]


def _best(comparisons: Iterable[Comparison]) -> Comparison | None:
    return max(comparisons, key=lambda one: one.order, default=None)


def _is_better(other: Comparison, cited: Comparison | None) -> bool:
    if other.verdict != "supported":
        return False
    return cited is None or other.closeness >= cited.closeness - _SLACK


def _told(statement: Statement, found: Comparison, weigh: Weigh, text: str) -> Statement:
    """Return the statement with its verdict and the sentence that is nearest to it."""
    nearest = found.sources[0]
    if len(found.sources) > 1:
        nearest = max(found.sources, key=lambda one: weigh(text, (one,)).closeness)
    return replace(statement, support=found.verdict, reason=found.reason, nearest=nearest.text)


def _numbered(judged: Sequence[_Judged]) -> Verified:
    """Number the sources anew, in order of first use."""
    order: list[Evidence] = []
    statements = []
    for one in judged:
        for source in one.cited:
            if source not in order:
                order.append(source)
        markers = tuple(dict.fromkeys(order.index(source) + 1 for source in one.cited))
        statements.append(replace(one.statement, citations=markers))
    return Verified(tuple(statements), tuple(order))


class Cosines:
    """Cosines of statements and sentences, each text embedded once.

    Args:
        embedder: The library's embedder.
        texts: Texts that will be asked for, embedded at once.
    """

    def __init__(self, embedder: "Embedder", texts: Sequence[str] = ()) -> None:
        self._embedder = embedder
        known = list(dict.fromkeys(texts))
        self._vectors: dict[str, Vectors] = dict(
            zip(known, embedder.embed_texts(known), strict=True)
        )

    def __call__(self, statement: str, sentence: str) -> float:
        """Return the cosine of two texts, -1 to 1."""
        return float(self._vector(statement) @ self._vector(sentence))

    def _vector(self, text: str) -> "Vectors":
        if text not in self._vectors:
            self._vectors[text] = self._embedder.embed_texts([text])[0]
        return self._vectors[text]


class Verifier:
    """Checks what a language model said.

    Args:
        load_embedder: Returns the embedder for cosines, called at the first check; None compares
            words only.
        entailment: Probability that a statement follows from a sentence; None leaves it out.
        strict: Whether unsupported statements are to be left out; for whoever calls ``check``.
    """

    def __init__(
        self,
        load_embedder: "Callable[[], Embedder] | None" = None,
        *,
        entailment: Entailment | None = None,
        strict: bool = False,
    ) -> None:
        self._load_embedder = load_embedder
        self._entailment = entailment
        self.strict = strict

    def check(
        self,
        question: str,
        statements: Sequence[Statement],
        sources: Sequence[Evidence],
        evidence: Sequence[Evidence],
    ) -> Verified:
        """Return the statements with verdicts and repaired markers; see ``verify``.

        Where the embedder fails, words alone are compared.
        """
        return verify(
            statements,
            sources,
            evidence,
            question=question,
            similarity=self._similarity(statements, evidence),
            entailment=self._entailment,
        )

    def _similarity(
        self, statements: Sequence[Statement], evidence: Sequence[Evidence]
    ) -> Similarity | None:
        if self._load_embedder is None:
            return None
        texts = [one.text.removeprefix("- ") for one in statements]
        try:
            return Cosines(self._load_embedder(), [*texts, *(one.text for one in evidence)])
        except RagError as exc:
            log.warning("Statements are compared without cosines: %s", exc)
            return None


def build_verifier(settings: Settings, load_embedder: "Callable[[], Embedder]") -> Verifier:
    """Build the checker that the settings ask for.

    Args:
        settings: ``strict`` and ``verifier`` are read.
        load_embedder: Returns the library's embedder; called at the first check.

    Raises:
        SettingsError: The folder of ``verifier`` holds no model that knows entailment.
    """
    entailment = None
    if settings.verifier is not None:
        from .verify.entailment import CrossEncoderEntailment

        entailment = CrossEncoderEntailment(Path(settings.verifier).expanduser())
    return Verifier(load_embedder, entailment=entailment, strict=settings.strict)
