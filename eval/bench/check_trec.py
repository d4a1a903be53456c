"""Compare our ranking measures with pytrec_eval's, query by query, on any run.

python -m eval.bench.check_trec BENCHMARK_FOLDER RUN_FILE...
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag.errors import MissingExtraError, RagError

from ..trec import CUTS, Qrels, Run, load_benchmark, measure_run, read_run

TOLERANCE = 1e-6
THEIRS: Mapping[str, str] = {
    "ndcg@10": "ndcg_cut_10",
    "map": "map",
    "mrr": "recip_rank",
    **{f"recall@{k}": f"recall_{k}" for k in CUTS},
    **{f"precision@{k}": f"P_{k}" for k in CUTS},
}
_ASKED = {"map", "recip_rank", "ndcg_cut.10"} | {f"{m}.{k}" for m in ("recall", "P") for k in CUTS}


def largest_difference(run: Run, qrels: Qrels) -> float:
    """Return the largest difference of any measure of any query from pytrec_eval's.

    Args:
        run: The scores.
        qrels: The judgments. A query without a relevant document is not compared: there we say
            nothing and trec_eval says 0.

    Returns:
        0 or more; below 1e-6 the two agree.

    Raises:
        MissingExtraError: pytrec_eval is not installed.
    """
    ours, theirs = measure_run(run, qrels), _theirs(run, qrels)
    pairs = (
        (scores[name], theirs.get(query, {}).get(THEIRS[name], 0.0))
        for query, scores in ours.items()
        for name in scores
    )
    return max((abs(mine - other) for mine, other in pairs), default=0.0)


def _theirs(run: Run, qrels: Qrels) -> Mapping[str, Mapping[str, float]]:
    try:
        import pytrec_eval
    except ModuleNotFoundError as exc:
        raise MissingExtraError(
            "'pytrec_eval' is not installed, and the comparison needs it. "
            "Install it with: pip install pytrec-eval-terrier"
        ) from exc
    judged = {query: dict(grades) for query, grades in qrels.items()}
    evaluator: Any = pytrec_eval.RelevanceEvaluator(judged, _ASKED)
    found: Mapping[str, Mapping[str, float]] = evaluator.evaluate(
        {query: dict(scores) for query, scores in run.items()}
    )
    return found


def main(argv: list[str] | None = None) -> int:
    """Compare run files; the exit code is 1 where one differs by 1e-6 or more."""
    parser = argparse.ArgumentParser(description="Compare our measures with pytrec_eval's.")
    parser.add_argument("folder", type=Path, help="a benchmark folder in BEIR's layout")
    parser.add_argument("runs", type=Path, nargs="+", help="TREC run files")
    args = parser.parse_args(argv)
    try:
        qrels = load_benchmark(args.folder).qrels
        found = {path: largest_difference(read_run(path), qrels) for path in args.runs}
    except RagError as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 1
    for path, difference in found.items():
        sys.stdout.write(f"{path.name}: largest difference {difference:.1e}\n")
    return int(any(difference >= TOLERANCE for difference in found.values()))


if __name__ == "__main__":
    sys.exit(main())
