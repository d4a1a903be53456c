r"""Profile a command of Citewell with py-spy and print where its time goes.

py-spy is no dependency: ``pip install py-spy``. It looks at the process from outside, a hundred
times a second, so that what is profiled runs as it does without it.

Examples:
    python -m eval.bench.profiling --keep add.txt -- add papers.jsonl --wait --library speed
    python -m eval.bench.profiling --svg ask.svg -- ask --questions questions.jsonl --library speed
    python -m eval.bench.profiling --read add.txt
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.errors import MissingExtraError, RagError, RecordError

from .speed_peer import command
from .speed_table import table

RATE = 100  # looks a second
TOP = 25
OURS = ("rag", "ui", "eval")
NO_PYTHON = "(no Python code)"  # at the very start and end of a process
HEADS = ("function", "file", "itself", "with what it calls")


@dataclass(frozen=True, slots=True)
class Spent:
    """One function: the share of all samples in it, and in it or what it calls, 0 to 1."""

    function: str
    file: str
    own: float
    whole: float


def record(words: Sequence[str], kept: Path, *, form: str = "raw", rate: int = RATE) -> None:
    """Run a command of Citewell under py-spy.

    Args:
        words: The command with its arguments, as after ``citewell``.
        kept: Where the samples go.
        form: ``raw`` (one line a stack), ``flamegraph`` (SVG) or ``speedscope``.
        rate: Looks a second.

    Raises:
        MissingExtraError: py-spy is not installed.
        RagError: It could not look at the process, or the command failed.
    """
    program = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which(
        "py-spy"
    )
    if program is None:
        raise MissingExtraError(
            "'py-spy' is not installed, and it does the looking. Install it: pip install py-spy"
        )
    options = ["--format", form, "--rate", str(rate), "--output", str(kept), "--nonblocking"]
    done = subprocess.run(
        [program, "record", *options, "--", *command(*words)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if not kept.exists() or not kept.stat().st_size:
        raise RagError(
            f"py-spy recorded nothing: {(done.stderr or done.stdout).strip()[-500:]} It needs the "
            "right to look at other processes. Allow it, or run it as the administrator."
        )


def read_stacks(lines: Iterable[str]) -> list[tuple[tuple[str, ...], int]]:
    """Return stacks, outermost function first, with how often each was seen.

    Args:
        lines: As py-spy writes them: ``outer (file:line);inner (file:line) COUNT``.

    Raises:
        RecordError: A line has another form.
    """
    found = []
    for number, line in enumerate(lines, start=1):
        stack, _, count = line.rstrip().rpartition(" ")
        if not line.strip():
            continue
        if not count.isdigit():
            raise RecordError(
                f"Line {number} of the profile is no stack. Each line needs functions separated by "
                "';' and a count. Record it with: py-spy record --format raw"
            )
        found.append((tuple((stack.strip() or NO_PYTHON).split(";")), int(count)))
    return found


def spent(stacks: Sequence[tuple[tuple[str, ...], int]]) -> list[Spent]:
    """Return every function, those first whose own code was seen most often.

    A function that calls itself counts once a stack.
    """
    own: Counter[tuple[str, str]] = Counter()
    whole: Counter[tuple[str, str]] = Counter()
    for stack, count in stacks:
        frames = [_frame(one) for one in stack]
        own[frames[-1]] += count
        for frame in set(frames):
            whole[frame] += count
    total = sum(count for _, count in stacks) or 1
    found = [Spent(*frame, own[frame] / total, whole[frame] / total) for frame in whole]
    return sorted(found, key=lambda one: (-one.own, -one.whole, one.function))


def _frame(text: str) -> tuple[str, str]:
    """Return (function, file) of ``name (path/file.py:12)``, the path from its package on."""
    name, _, place = text.partition(" (")
    path = place.removesuffix(")").rpartition(":")[0] or place.removesuffix(")")
    parts = Path(path).parts
    for border in ("site-packages", "python3.11", "main"):
        if border in parts:
            parts = parts[len(parts) - parts[::-1].index(border) :]
            break
    return name, "/".join(parts[-3:]).lstrip("/")


def as_markdown(found: Sequence[Spent], *, top: int = TOP) -> str:
    """Return two Markdown tables: functions by their own time, and Citewell's own by the whole."""
    own = [one for one in found if one.file.split("/")[0] in OURS]
    by_whole = sorted(own, key=lambda one: (-one.whole, one.function))
    lines = ["Where the processor was", "", *table(HEADS, map(_cells, found[:top])), ""]
    lines += ["What Citewell wanted of it", "", *table(HEADS, map(_cells, by_whole[:top]))]
    return "\n".join(lines)


def _cells(one: Spent) -> list[str]:
    return [
        f"`{one.function}`",
        f"`{one.file}`",
        f"{100 * one.own:.1f} %",
        f"{100 * one.whole:.1f} %",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Profile a command, or read a profile, and print two tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--top", type=int, default=TOP, help="Functions in a table.")
    parser.add_argument("--keep", type=Path, help="Keep the samples in this file.")
    parser.add_argument("--svg", type=Path, help="Run once more and draw a flame graph here.")
    parser.add_argument("--read", type=Path, help="Read samples that were kept; run nothing.")
    parser.add_argument("words", nargs="*", help="The command, as after 'citewell'.")
    args = parser.parse_args(arguments)
    if (args.read is None) == (not args.words):
        parser.error("give a command, or --read FILE")
    try:
        text = _profiled(args)
    except RagError as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 1
    sys.stdout.write(text + "\n")
    return 0


def _profiled(args: argparse.Namespace) -> str:
    with tempfile.TemporaryDirectory(prefix="citewell-profile-") as work:
        kept = args.read or args.keep or Path(work) / "profile.txt"
        if args.read is None:
            record(args.words, kept)
        if args.svg is not None and args.words:
            record(args.words, args.svg, form="flamegraph")
        try:
            with kept.open(encoding="utf-8", errors="replace") as lines:
                return as_markdown(spent(read_stacks(lines)), top=args.top)
        except OSError as exc:
            raise RecordError(
                f"The profile '{kept}' cannot be read: {exc.strerror}. Name a file that --keep "
                "wrote."
            ) from exc


if __name__ == "__main__":
    sys.exit(main())
