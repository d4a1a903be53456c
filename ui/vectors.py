"""How far the vectors of a library are → lines of safe HTML. Pure."""

from dataclasses import dataclass

from .escape import plain

MINUTE_S = 60.0
HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Making:
    """How far the vectors of a library are at one moment.

    ``seconds_left`` is None while not known. ``error`` says why making them ended before all were
    made; ``stalled`` that those left are refused.
    """

    papers: int = 0
    waiting: int = 0
    seconds_left: float | None = None
    error: str | None = None
    stalled: bool = False
    in_background: bool = True

    @property
    def is_shown(self) -> bool:
        """Say whether there is anything to tell: vectors wait, and not only for questions."""
        return self.in_background and self.waiting > 0

    @property
    def is_going_on(self) -> bool:
        """Say whether it will be further soon."""
        return self.is_shown and not self.stalled and self.error is None

    @property
    def made(self) -> int:
        """Return how many papers have their vectors."""
        return max(0, self.papers - self.waiting)


def vectors_html(making: Making) -> str:
    """Return how far it is as a line of the library's tab, or why it ended; empty at the end."""
    if not making.is_shown:
        return ""
    if making.error is not None:
        return (
            f'<p class="cw-vectors cw-bad" role="alert">✗ {_left(making)} no vectors, and no more '
            f"are made; questions find them by their words. Why: {plain(making.error)}</p>"
        )
    if making.stalled:
        return (
            f'<p class="cw-vectors">{_left(making)} no vectors: the embedder does not take them; '
            "the log says why. Questions find them by their words.</p>"
        )
    return (
        f'<p class="cw-vectors"><progress max="{making.papers}" value="{making.made}" '
        f'aria-label="Papers with vectors"></progress><span>{making.made:,} of {making.papers:,} '
        f"papers have their vectors{_time_left(making.seconds_left)}</span></p>"
    )


def _left(making: Making) -> str:
    return f"{making.waiting:,} paper{' has' if making.waiting == 1 else 's have'}"


def _time_left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < MINUTE_S:
        return ", less than a minute left"
    if seconds < HOUR_S:
        return f", about {round(seconds / MINUTE_S)} min left"
    return f", about {seconds / HOUR_S:.1f} h left"


def brief_html(making: Making) -> str:
    """Return the same for the top of the page, in a few characters."""
    if not making.is_shown or making.stalled:
        return ""
    if making.error is not None:
        return '<p class="cw-brief cw-bad">✗ vectors: see Library</p>'
    share = 100 * making.made // max(1, making.papers)
    return f'<p class="cw-brief">vectors {share} %</p>'


def spoken_html(making: Making, *, was_going_on: bool) -> str:
    """Return what a screen reader is told: few sentences, since each is read aloud.

    Args:
        making: How far it is.
        was_going_on: Whether it went on at the last look: only then the end is news.
    """
    if making.is_going_on:
        quarter = min(3, 4 * making.made // max(1, making.papers))
        share = ("", " A quarter is there.", " Half are there.", " Three quarters are there.")
        return f"<p>Vectors are being made in the background.{share[quarter]}</p>"
    if making.is_shown or not was_going_on:
        return ""
    return "<p>All papers have their vectors.</p>"
