"""BM25 over short texts in memory, as the plain search by words that ours is compared with."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

K1, B = 1.2, 0.75  # Lucene's own


class Bm25:
    """Scores texts by a query's words (Robertson and Zaragoza 2009, with Lucene's weights).

    Args:
        texts: The words of each text, in order, repeats included.
    """

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, words in enumerate(texts):
            for word, times in Counter(words).items():
                found[word].append((number, times))
        self._held = {word: np.asarray(pairs, np.int64) for word, pairs in found.items()}
        lengths = np.asarray([len(words) for words in texts], float)
        self._norm = K1 * (1 - B + B * lengths / max(1.0, lengths.mean() if len(texts) else 0.0))

    def scores(self, query: Iterable[str]) -> NDArray[np.float64]:
        """Return one number a text, 0 where it holds no word of the query.

        Args:
            query: Words as in the texts; one that comes twice counts twice.
        """
        total = len(self._norm)
        scores = np.zeros(total)
        for word in query:
            if word not in self._held:
                continue
            numbers, times = self._held[word].T
            weight = math.log(1 + (total - len(numbers) + 0.5) / (len(numbers) + 0.5))
            scores[numbers] += weight * times / (times + self._norm[numbers])
        return scores
