"""A progress bar on stderr: what is being done, how far, how fast, how long still."""

import sys
from typing import Any, Self

import click

MUCH = 500  # passages: above, a silent wait would be long
UNITS = {"reading": "papers", "embedding": "passages", "storing": "vectors", "asking": "questions"}


class Bar:
    """Shows progress. Use it in a ``with`` block.

    Where stderr is no terminal there is no bar; one line says so when very much is embedded.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}
        self._shown = sys.stderr.isatty()
        self._told = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that so many of a stage are done; a total of 0 means not known."""
        if not self._shown:
            self._tell(stage, total)
            return
        if self._bar is None:
            self._bar = _build()
            self._bar.start()
        if stage not in self._tasks:
            unit = UNITS.get(stage, "")
            self._tasks[stage] = self._bar.add_task(stage.capitalize(), total=None, unit=unit)
        self._bar.update(self._tasks[stage], completed=done, total=total or None)

    def _tell(self, stage: str, total: int) -> None:
        if stage == "embedding" and total >= MUCH and not self._told:
            self._told = True
            click.echo(f"Embedding {total:,} passages; this takes a while.", err=True)


def _build() -> Any:
    """Build a bar with count, rate, time passed and time left."""
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    class Count(progress.ProgressColumn):
        """How many are done, and of how many where that is known."""

        def render(self, task: progress.Task) -> Text:
            total = "" if task.total is None else f"/{task.total:,.0f}"
            return Text(f"{task.completed:,.0f}{total} {task.fields['unit']}")

    class Rate(progress.ProgressColumn):
        """How many a second."""

        def render(self, task: progress.Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f}/s", style="cyan")

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=24),
        Count(),
        Rate(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
    )
