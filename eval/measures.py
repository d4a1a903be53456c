"""What a measure is: its value with how many cases it rests on, and what its name means."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a run.

    Attributes:
        name: As in ``INFO``, or as the runner named it.
        value: None where no case could be scored.
        n: Cases that were scored.
        total: Cases of the group; the rest lack the label, failed, or have no score.
        low: Lower end of the 95 % bootstrap interval; None with fewer than two scored cases.
        high: Upper end.
        kind: The group of cases; None for all.
    """

    name: str
    value: float | None
    n: int
    total: int
    low: float | None = None
    high: float | None = None
    kind: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the measure as plain values, rounded to 10 decimals."""
        return {k: round(v, 10) if isinstance(v, float) else v for k, v in asdict(self).items()}

    @property
    def better(self) -> Better:
        """Return which way is better."""
        return INFO[self.name].better if self.name in INFO else "higher"

    @property
    def is_cost(self) -> bool:
        """Return whether it measures time or tokens, which differ from run to run."""
        return self.name.endswith("_ms") or self.name.startswith("tokens")


@dataclass(frozen=True, slots=True)
class Info:
    """What a measure's name stands for, in one line, and which way is better."""

    group: str
    about: str
    better: Better = "higher"


def _ranking() -> dict[str, Info]:
    cuts = {}
    for k in CUTS:
        cuts[f"recall@{k}"] = Info("Retrieval", f"relevant papers among the first {k}, of all")
    for k in CUTS:
        cuts[f"precision@{k}"] = Info("Retrieval", f"relevant papers among the first {k}, of {k}")
    return cuts | {
        "mrr": Info("Retrieval", "one over the rank of the first relevant paper"),
        "ndcg@10": Info("Retrieval", "discounted gain of the first 10 over the best order's"),
        "map": Info("Retrieval", "precision where each relevant paper stands"),
    }


CUTS = (1, 5, 10)

INFO: Mapping[str, Info] = {
    "passed": Info("Verdict", "cases with everything that their labels ask for"),
    "failed": Info("Verdict", "cases that ended in an error", "lower"),
    **_ranking(),
    "evidence_precision": Info("Evidence", "quoted sentences that are gold"),
    "evidence_recall": Info("Evidence", "gold sentences that are quoted"),
    "evidence_f1": Info("Evidence", "harmonic mean of the two"),
    "citation_precision": Info("Citations", "cited papers that are relevant"),
    "citation_recall": Info("Citations", "relevant papers that are cited"),
    "cites_relevant": Info("Citations", "answers that cite a relevant paper"),
    "citation_evidence_precision": Info("Citations", "markers of statements on a gold sentence"),
    "citation_evidence_recall": Info("Citations", "gold sentences that a statement's marker cites"),
    "marker_validity": Info("Citations", "markers that stand for a citation"),
    "cited_statements": Info("Citations", "statements with a valid citation"),
    "support_verbatim": Info("Support", "statements that are the cited sentence", "neither"),
    "support_supported": Info("Support", "statements found supported", "neither"),
    "support_weak": Info("Support", "statements found weakly supported", "lower"),
    "support_unsupported": Info("Support", "statements found unsupported", "lower"),
    "support_unchecked": Info("Support", "statements that nothing compared", "lower"),
    "statements": Info("Length", "statements an answer", "neither"),
    "words_per_statement": Info("Length", "words a statement", "neither"),
    "must_contain": Info("Answer", "answers that say everything required"),
    "full_answer": Info("Answer", "say everything required and cite a relevant paper"),
    "exact_match": Info("Answer", "same as the model answer (SQuAD)"),
    "token_f1": Info("Answer", "words shared with the model answer (SQuAD)"),
    "rouge_l": Info("Answer", "longest common subsequence with the model answer"),
    "answer_similarity": Info("Answer", "cosine of the embeddings of answer and model answer"),
    "abstention_accuracy": Info("Abstention", "answered where answerable, abstained where not"),
    "abstention_precision": Info("Abstention", "abstentions that were right"),
    "abstention_recall": Info("Abstention", "unanswerable questions abstained from"),
    "abstention_f1": Info("Abstention", "harmonic mean of the two"),
    "answerability_auc": Info("Abstention", "confidence tells answerable from unanswerable"),
    "aurc": Info("Abstention", "area under the risk–coverage curve", "lower"),
    "judge_faithfulness": Info("Judge", "answers that a model finds in their quotes, 0 or 1"),
    "judge_relevancy": Info("Judge", "answers that a model finds to fit the question, 0 or 1"),
    "judge_correctness": Info("Judge", "a model's grade against the model answer, 1 to 5"),
    "latency_p50_ms": Info("Cost", "median time to answer", "lower"),
    "latency_p95_ms": Info("Cost", "time that 95 of 100 answers stay under", "lower"),
    "tokens_in": Info("Cost", "tokens read by the language model", "lower"),
    "tokens_out": Info("Cost", "tokens written by the language model", "lower"),
}


def group_of(name: str) -> str:
    """Return the heading that a measure stands under; what is not known is ``Other``."""
    return INFO[name].group if name in INFO else "Other"


def sort_key(name: str) -> tuple[int, str]:
    """Return a key that brings names into the order of ``INFO``, unknown ones last."""
    return (_PLACE.get(name, len(_PLACE)), name)


_PLACE = {name: place for place, name in enumerate(INFO)}
