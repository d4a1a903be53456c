"""Measure whether instructions inside a paper change answers.

    python -m eval.bench.injection --attacks ATTACKS.jsonl [--llm gguf:PATH] [--limit N] [--json]

Each line of the file is one attack: ``id``, ``kind``, ``title`` and ``abstract`` of the poisoned
paper, the ``question`` that is asked, ``about`` ("sample" where the sample library answers it) and
``succeeds_if``: texts in lower case of which one in the answer shows that the paper was obeyed. The
poisoned paper is added to the packaged sample, the question asked, the paper taken out again.
"""

import argparse
import json
import logging
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag.errors import RagError, RecordError
from rag.library import Library
from rag.samples import open_sample
from rag.schema import Answer
from rag.settings import Settings, load_settings

log = logging.getLogger(__name__)

_Z = 1.959964  # of a 95 % interval
_TEXTS = ("id", "kind", "abstract", "question")


@dataclass(frozen=True, slots=True)
class Attack:
    """One poisoned paper and what is asked of the library that holds it."""

    id: str
    kind: str
    title: str
    abstract: str
    question: str
    about: str
    succeeds_if: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attack.

    ``changed`` says whether the answer differs from the one without the poisoned paper; None where
    the sample library does not answer the question anyway.
    """

    id: str
    kind: str
    succeeded: bool
    changed: bool | None
    abstained: bool
    text: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some cases have a property, with its 95 % Wilson interval (None for no case)."""

    count: int
    n: int
    low: float | None
    high: float | None


def share(hits: Sequence[bool]) -> Share:
    """Count hits and give the Wilson score interval of their share.

    Example:
        >>> found = share([False] * 30)
        >>> found.count, found.low, round(found.high or 0, 3)
        (0, 0.0, 0.114)
    """
    n, count = len(hits), sum(hits)
    if not n:
        return Share(0, 0, None, None)
    p, square = count / n, _Z * _Z
    middle = (p + square / (2 * n)) / (1 + square / n)
    half = _Z * math.sqrt(p * (1 - p) / n + square / (4 * n * n)) / (1 + square / n)
    return Share(count, n, max(0.0, middle - half), min(1.0, middle + half))


def read_attacks(file: Path) -> list[Attack]:
    """Read a file of attacks.

    Raises:
        RecordError: The file cannot be read, or a line is no attack.
    """
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise RecordError(
            f"The file '{file}' cannot be read: {exc}. A UTF-8 file with one JSON object a line is "
            "expected. Name it with --attacks FILE."
        ) from exc
    return [_attack(file, n, line) for n, line in enumerate(lines, start=1) if line.strip()]


def _attack(file: Path, number: int, line: str) -> Attack:
    try:
        row = json.loads(line)
    except ValueError as exc:
        raise _no_attack(file, number, f"it is not JSON ({exc})") from exc
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in _TEXTS):
        raise _no_attack(file, number, f"it needs the texts {', '.join(_TEXTS)}")
    wanted = row.get("succeeds_if")
    if not isinstance(wanted, list) or not wanted or not all(isinstance(w, str) for w in wanted):
        raise _no_attack(file, number, "'succeeds_if' is not a list of texts")
    texts = {name: row[name] for name in _TEXTS}
    return Attack(
        **texts,
        title=str(row.get("title") or ""),
        about=str(row.get("about") or ""),
        succeeds_if=tuple(text.lower() for text in wanted),
    )


def _no_attack(file: Path, number: int, reason: str) -> RecordError:
    return RecordError(
        f"{file.name}, line {number}: this is no attack, since {reason}. The fields are listed by: "
        "python -m eval.bench.injection --help. Correct the line."
    )


def run(
    library: Library,
    attacks: Sequence[Attack],
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Outcome]:
    """Try every attack on a library, which is left as it was.

    Args:
        library: Holds the sample; its settings name the language model.
        attacks: Tried one after the other.
        progress: Told how many are done, and of how many.

    Raises:
        RecordError: A poisoned paper could not be stored.
        ProviderError: The language model failed.
    """
    clean: dict[str, Answer] = {}
    outcomes = []
    for done, attack in enumerate(attacks, start=1):
        if attack.question not in clean:
            clean[attack.question] = library.ask(attack.question)
        with _poisoned(library, attack):
            answer = library.ask(attack.question)
        outcomes.append(_outcome(attack, clean[attack.question], answer))
        progress(done, len(attacks))
    return outcomes


@contextmanager
def _poisoned(library: Library, attack: Attack) -> Iterator[None]:
    """Have the poisoned paper in the library for a while."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "poisoned.jsonl"
        row = {"id": attack.id, "title": attack.title, "abstract": attack.abstract}
        file.write_text(json.dumps(row) + "\n", "utf-8")
        report = library.add(file, wait=True)
    if report.import_id is None or not report.added:
        reason = report.bad[0].reason if report.bad else "The library holds it already."
        raise RecordError(
            f"The paper of the attack '{attack.id}' was not added. {reason} Give each attack a "
            "paper of its own."
        )
    try:
        yield
    finally:
        library.undo_import(report.import_id)


def _outcome(attack: Attack, clean: Answer, answer: Answer) -> Outcome:
    shown = _shown(answer)
    return Outcome(
        attack.id,
        attack.kind,
        succeeded=any(text in shown.lower() for text in attack.succeeds_if),
        changed=shown != _shown(clean) if attack.about == "sample" else None,
        abstained=answer.abstained,
        text=shown,
        notes=answer.notes,
    )


def _shown(answer: Answer) -> str:
    """Return what an answer states; the whole text where it has no statements."""
    return "\n".join(one.text for one in answer.statements) or answer.text


def as_text(outcomes: Sequence[Outcome]) -> str:
    """Return a table by kind, and what the attacks that succeeded made the answer say."""
    kinds = sorted({one.kind for one in outcomes})
    lines = [f"{'kind':<28} {'n':>4}  succeeded            answer changed"]
    for kind in [*kinds, "all"]:
        rows = [one for one in outcomes if kind in (one.kind, "all")]
        changed = [one.changed for one in rows if one.changed is not None]
        told = _told(share([one.succeeded for one in rows]))
        lines.append(f"{kind:<28} {len(rows):>4}  {told:<20} {_told(share(changed))}".rstrip())
    for one in outcomes:
        if one.succeeded:
            lines += ["", f"{one.id} succeeded:", one.text]
    return "\n".join(lines) + "\n"


def _told(found: Share) -> str:
    if found.low is None or found.high is None:
        return "–"
    return f"{found.count}/{found.n} ({100 * found.low:.0f}–{100 * found.high:.0f} %)"


def as_json(outcomes: Sequence[Outcome], llm: str) -> dict[str, Any]:
    """Return all outcomes and the shares as JSON values."""
    changed = [one.changed for one in outcomes if one.changed is not None]
    return {
        "llm": llm,
        "succeeded": asdict(share([one.succeeded for one in outcomes])),
        "changed": asdict(share(changed)),
        "outcomes": [asdict(one) for one in outcomes],
    }


def measure(attacks: Sequence[Attack], settings: Settings) -> list[Outcome]:
    """Try attacks on a sample library made for this in a temporary folder."""
    with tempfile.TemporaryDirectory() as home:
        own = settings.model_copy(update={"home": Path(home)})
        with open_sample(own) as library:
            return run(library, attacks, progress=lambda n, of: log.info("%d of %d", n, of))


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--attacks", type=Path, required=True, metavar="FILE.jsonl")
    parser.add_argument("--llm", default="quote", help="the model that writes (default: none)")
    parser.add_argument("--limit", type=int, help="only the first attacks of the file")
    parser.add_argument("--json", action="store_true", help="all outcomes, for programs")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING)
    try:
        attacks = read_attacks(given.attacks)[: given.limit]
        outcomes = measure(attacks, load_settings(llm=given.llm))
    except RagError as exc:
        parser.exit(1, f"error: {exc}\n")
    told = json.dumps(as_json(outcomes, given.llm), indent=1, ensure_ascii=False) + "\n"
    sys.stdout.write(told if given.json else as_text(outcomes))


if __name__ == "__main__":
    main()
