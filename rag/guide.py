"""Which candidates of a question to embed next: the words' best, then those like what proved near.

A few vectors tell of the others: a candidate that shares many rare words with papers whose vectors
turned out near the question's is probably near as well. Measured in docs/speed.md.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from .embedders import Vectors
from .stores.lexical import TermStore

SHARPNESS = 8.0  # how much more the most alike papers count than the others
LIKENESS_WEIGHT = 0.3  # of what is expected from likeness, against the words' score


class Guide:
    """Orders the candidates of one question.

    Args:
        terms: The lexical index, for the words of texts and how rare they are.
        scores: Paper id → the words' score, above 0.
        texts: Paper id → title and abstract; papers without count by their score alone.
    """

    def __init__(
        self, terms: TermStore, scores: Mapping[str, float], texts: Mapping[str, str]
    ) -> None:
        self._terms = terms
        top = max(scores.values(), default=1.0) or 1.0
        self._scores = {paper_id: score / top for paper_id, score in scores.items()}
        self._texts = texts
        self._row: dict[str, int] = {}
        self._alike: Vectors | None = None

    def order(self, rest: Sequence[str], near: Mapping[str, float]) -> list[str]:
        """Return papers, the most promising first.

        Args:
            rest: Papers without a vector.
            near: Paper id → cosine of those that have one.
        """
        expected = dict.fromkeys(rest, 0.0)
        known = [one for one in near if one in self._texts]
        guessed = [one for one in rest if one in self._texts]
        if known and guessed:
            expected.update(zip(guessed, self._expected(guessed, known, near), strict=True))
        worth = {one: self._scores.get(one, 0.0) + LIKENESS_WEIGHT * expected[one] for one in rest}
        return sorted(rest, key=lambda one: -worth[one])

    def _expected(
        self, rest: Sequence[str], known: Sequence[str], near: Mapping[str, float]
    ) -> list[float]:
        """Return 0 to 1 for each paper: the cosines of known ones, weighted by likeness."""
        alike = self._likeness()
        of_rest = [self._row[one] for one in rest]
        of_known = [self._row[one] for one in known]
        weights = np.exp(SHARPNESS * alike[np.ix_(of_rest, of_known)])
        cosines = np.asarray([near[one] for one in known], np.float32)
        guess = (weights @ cosines) / weights.sum(axis=1)
        width = float(guess.max() - guess.min())
        return [float(one) for one in (guess - guess.min()) / (width or 1.0)]

    def _likeness(self) -> Vectors:
        """Return the cosine of every two texts by their words, each weighted by its rarity."""
        if self._alike is None:
            counts = [Counter(self._terms.terms(text)) for text in self._texts.values()]
            rarity = self._terms.weights(term for count in counts for term in count)
            column = {term: n for n, term in enumerate(rarity)}
            matrix = np.zeros((len(counts), len(column)), np.float32)
            for n, count in enumerate(counts):
                matrix[n, [column[term] for term in count]] = [
                    (1 + math.log(times)) * rarity[term] for term, times in count.items()
                ]
            lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
            matrix /= np.where(lengths == 0, 1.0, lengths)
            self._row = {paper_id: n for n, paper_id in enumerate(self._texts)}
            self._alike = matrix @ matrix.T
        return self._alike
