"""The progress bar: shown in a terminal only, with count, rate and time."""

import io
import sys

import pytest

from rag.progress import Bar


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def run_bar(monkeypatch, stream, *steps):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with Bar() as bar:
        for step in steps:
            bar(*step)
    return stream.getvalue()


def test_nothing_is_shown_where_stderr_is_no_terminal(monkeypatch):
    assert run_bar(monkeypatch, io.StringIO(), ("embedding", 1, 2)) == ""


def test_nothing_is_shown_before_there_is_something_to_do(monkeypatch):
    assert run_bar(monkeypatch, Terminal()) == ""


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        (("embedding", 1200, 2400), ["Embedding", "1,200/2,400 passages", "/s"]),
        (("reading", 40, 0), ["Reading", "40 papers"]),
        (("sweeping", 1, 2), ["Sweeping", "1/2"]),
    ],
    ids=["how many of how many", "total not known", "a stage without a unit"],
)
def test_a_terminal_shows_stage_count_and_rate(monkeypatch, step, shown):
    stage, total = step[0], step[2]
    text = run_bar(monkeypatch, Terminal(), (stage, 0, total), (stage, 0.5, total), step)
    for part in shown:
        assert part in text


def test_stages_stand_below_each_other(monkeypatch):
    text = run_bar(monkeypatch, Terminal(), ("reading", 3, 0), ("embedding", 1, 3))
    last = text[text.rindex("Reading") :]
    assert last.index("3 papers") < last.index("Embedding")


def test_without_a_terminal_one_line_tells_of_a_long_wait(capsys):
    with Bar() as bar:
        bar("embedding", 128, 5360)
        bar("embedding", 256, 5360)
    assert capsys.readouterr().err == "Embedding 5,360 passages; this takes a while.\n"


def test_without_a_terminal_a_short_wait_is_silent(capsys):
    with Bar() as bar:
        bar("embedding", 32, 64)
    assert capsys.readouterr().err == ""
