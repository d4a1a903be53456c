import os
import re
import time
from functools import partial
from pathlib import Path

import pytest

from rag.errors import RecordError, SettingsError
from rag.library import open_library
from rag.schema import BadRecord, Filters, ImportReport, Note
from rag.settings import load_settings
from rag.testing import WordHashEmbedding
from tests.test_ui_render import EVIL, OTHER, PAPER, Tags
from tests.ui_site import wait_for
from ui.background import Background
from ui.imports import BROKEN, ImportJob, safe_name, take_uploads
from ui.library_tab import _filters
from ui.papers import ImportState, Shown, import_html, papers_html, scope_html
from ui.vectors import Making, brief_html, spoken_html, vectors_html

GOOD = '{"title": "Trees", "abstract": "Trees grow in forests."}\n'
BAD = '{"id": "x"}\n'


@pytest.fixture
def library(tmp_path):
    with open_library(
        "small", settings=load_settings(embedder="word-hash", home=tmp_path / "h"), create=True
    ) as opened:
        yield opened


@pytest.fixture
def uploads(tmp_path):
    folder = tmp_path / "uploads"
    folder.mkdir()
    return folder


def dropped(uploads, name, text):
    folder = uploads / f"hash-{name}"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return str(folder / name)


def finished(job):
    wait_for(lambda: job.state.is_over, 20)
    job.wait(5)
    return job.state


# ---- the list --------------------------------------------------------------------------------


def test_papers_can_be_picked_and_opened_by_their_place():
    shown = papers_html(Shown((PAPER, OTHER), page=1, has_more=True), {"p2"})
    assert re.findall(r'data-papers="([^"]+)"', shown) == [
        "pick-1", "paper-1", "pick-2", "paper-2", "page-0", "page-1"
    ]  # fmt: skip
    assert re.findall(r'aria-checked="(\w+)"', shown) == ["false", "true"]
    assert "Page 2, in the order they were added" in shown


def test_an_untitled_paper_is_not_named_twice():
    assert (
        papers_html(Shown((OTHER,)), ()).count("Unknown authors") == 2
    )  # label and its aria-label


def test_nothing_found_is_said():
    assert "No paper matches" in papers_html(Shown(), ())


@pytest.mark.parametrize(
    "html",
    [
        papers_html(Shown((EVIL,)), ()),
        scope_html(Filters(author="<img src=x>", topic="<b>", venue="'\"<i>", source="<u>")),
        import_html(
            ImportState(
                ("<b>.bib",), (("<b>.bib", ImportReport(
                    failed=1, bad=(BadRecord("<i>", 1, "<script>"),), notes=(Note("<u>", "<s>"),)
                )),), error="<embed>", is_over=True,
            )
        ),
        import_html(ImportState(("<img src=x>",), stage="<svg>")),
    ],
    ids=["list", "scope", "import over", "import running"],
)  # fmt: skip
def test_b36_papers_filters_and_file_names_are_text(html):
    ours = {"button", "dd", "details", "div", "dl", "dt", "li", "p", "progress", "span", "strong",
            "summary", "ul"}  # fmt: skip
    assert {tag for tag, _ in Tags(html).seen} <= ours


def test_the_scope_names_every_restriction_and_offers_all_papers():
    filters = Filters("Lin", "Vision", "ICML", 2020, 2024, "a.bib", ("p1",))
    shown = scope_html(filters)
    for words in ("author “Lin”", "topic “Vision”", "venue “ICML”", "from 2020", "up to 2024",
                  "file “a.bib”", "1 picked paper "):  # fmt: skip
        assert words in shown
    assert 'data-papers="all-0"' in shown
    assert scope_html(Filters()) == ""


@pytest.mark.parametrize("year", ["20x4", "99999", "-5", "２０２４", "2024.5"])
def test_a_year_that_is_none_is_refused(year):
    with pytest.raises(SettingsError, match="not a year"):
        _filters(None, None, None, None, year, None)


@pytest.mark.parametrize("odd", [None, 5, [], {}, "  ", True])
def test_b36_filters_take_text_and_nothing_else(odd):
    assert not _filters(odd, odd, odd, odd, None, None)


def test_filters_are_read():
    assert _filters(" Lin ", "", None, "a.bib", "2020", "2024") == Filters(
        author="Lin", source="a.bib", year_from=2020, year_to=2024
    )


# ---- uploads ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../../etc/passwd", "", "nothing", None, 5, ["x"], {"path": "/etc/passwd"}],
)
def test_b36_only_uploaded_files_are_taken(path, uploads):
    with pytest.raises(RecordError, match="not a file that was uploaded here"):
        take_uploads([path], uploads)


def test_b36_a_link_out_of_the_uploads_is_refused(uploads, tmp_path):
    secret = tmp_path / "secret.bib"
    secret.write_text("x")
    (uploads / "link.bib").symlink_to(secret)
    with pytest.raises(RecordError, match="not a file that was uploaded"):
        take_uploads([str(uploads / "link.bib")], uploads)


def test_empty_files_that_gradio_leaves_are_swept_when_they_are_old(uploads):
    for name, content, age in (("tmpold", "", 900), ("tmpnew", "", 0), ("tmpfull", "x", 900)):
        (uploads / name).write_text(content)
        os.utime(uploads / name, (time.time() - age,) * 2)
    take_uploads([], uploads)
    assert sorted(path.name for path in uploads.iterdir()) == ["tmpfull", "tmpnew"]


def test_too_many_files_are_refused(uploads):
    with pytest.raises(RecordError, match="at most 50"):
        take_uploads(["x"] * 51, uploads)


def test_b36_uploads_are_read_under_generated_names(uploads):
    path = dropped(uploads, "x.bib", "@article{a}")
    (taken,) = take_uploads([path], uploads)
    assert re.fullmatch(r"import-[0-9a-f]{16}", taken.parent.name)
    assert taken.name == "x.bib"
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../x.bib", "x.bib"),
        ("..", "papers"),
        (".hidden", "papers.hidden"),
        ("a b/c\\d.ris", "a_b_c_d.ris"),
        ("x" * 300 + ".jsonl", "x" * 80 + ".jsonl"),
        ("論文.bib", "論文.bib"),
        ("", "papers"),
        ("x.<script>", "x.script"),
    ],
)
def test_file_names_keep_what_is_harmless(name, safe):
    assert safe_name(name) == safe


# ---- imports ---------------------------------------------------------------------------------


def test_an_import_counts_reports_and_deletes_the_files(library, uploads):
    files = take_uploads(
        [dropped(uploads, "a.jsonl", GOOD + BAD), dropped(uploads, "b.jsonl", GOOD)], uploads
    )
    state = finished(ImportJob(library, files))
    shown = import_html(state)
    assert "Finished: 2 of 2 files" in shown
    assert "a.jsonl, line 2: " in shown
    assert [report.added for _, report in state.reports] == [1, 0]
    assert not any(path.parent.exists() for path in files)


def test_an_import_can_be_undone(library, uploads):
    job = ImportJob(library, take_uploads([dropped(uploads, "a.jsonl", GOOD)], uploads))
    finished(job)
    assert job.undo() == 1
    assert library.papers() == []


def test_a_cancelled_import_keeps_what_was_stored(library, uploads):
    class Slow:
        def add(self, path, progress, watch):
            report = library.add(path, watch=watch)
            job.cancel()
            progress("reading", 1, 0)
            return report

        undo_import = library.undo_import

    files = [dropped(uploads, f"{n}.jsonl", GOOD.replace("Trees", f"T{n}")) for n in range(3)]
    job = ImportJob(Slow(), take_uploads(files, uploads))
    state = finished(job)
    assert state.cancelled
    assert "Cancelled; what was stored stays" in import_html(state)
    assert len(library.papers()) == 1
    assert job.undo() == 1
    assert library.papers() == []


@pytest.mark.parametrize(
    ("error", "shown"),
    [(RecordError("The disk is full."), "The disk is full."), (ZeroDivisionError(), BROKEN)],
)
def test_an_import_that_fails_says_why(error, shown, uploads):
    class Broken:
        def add(self, path, progress, watch):
            raise error

    state = finished(ImportJob(Broken(), take_uploads([dropped(uploads, "a.bib", "x")], uploads)))
    assert state.error == shown
    assert "Nothing was stored" in import_html(state)


def test_while_it_runs_the_file_the_step_and_the_count_are_shown():
    running = ImportState(("a.bib", "b.bib"), (), "embedding", 32, 64)
    shown = import_html(running)
    assert "0 of 2 files done; a.bib: embedding 32 of 64" in shown
    assert '<progress value="32" max="64">' in shown


def test_bad_records_and_counts_are_shown_while_vectors_are_still_made():
    report = ImportReport(
        read=3, added=2, failed=1, bad=(BadRecord("a.bib", 7, "it is not closed."),), import_id=4
    )
    shown = import_html(ImportState(("a.bib",), (), "embedding", 1, 2, running=("a.bib", report)))
    assert "a.bib, line 7: it is not closed." in shown
    assert "<dt>added</dt><dd>2</dd>" in shown


def test_an_import_ends_before_any_vector_is_made(library, uploads):
    job = ImportJob(library, take_uploads([dropped(uploads, "a.jsonl", GOOD)], uploads))
    state = finished(job)
    assert library.waiting == 1
    assert library.search("forests")[0].paper.title == "Trees"
    assert "1 paper can be asked now; questions make the vectors they need." in import_html(state)


def test_an_import_says_that_vectors_are_made_in_the_background(library, uploads):
    background = Background()
    then = partial(background.start, library)
    files = take_uploads([dropped(uploads, "a.jsonl", GOOD + GOOD.replace("Tree", "Bee"))], uploads)
    shown = import_html(finished(ImportJob(library, files, then)))
    assert "2 papers can be asked now; their vectors follow in the background." in shown
    wait_for(lambda: library.waiting == 0, 20)


def test_a_file_added_again_brings_nothing_that_could_be_asked_only_now(library, uploads):
    for _ in range(2):
        files = take_uploads([dropped(uploads, "a.jsonl", GOOD)], uploads)
        state = finished(ImportJob(library, files))
    assert "asked now" not in import_html(state)


def test_papers_of_an_import_stay_when_nobody_can_begin_with_their_vectors(library, uploads):
    def broken():
        raise ZeroDivisionError

    files = take_uploads([dropped(uploads, "a.jsonl", GOOD)], uploads)
    state = finished(ImportJob(library, files, broken))
    assert (state.error, state.in_background) == (None, False)
    assert len(library.papers()) == 1


def test_an_import_is_undone_while_its_vectors_are_made(library, uploads, monkeypatch):
    slow(monkeypatch, 0.02)
    many = "".join(GOOD.replace("Trees", f"Tree{n}") for n in range(60))
    files = take_uploads([dropped(uploads, "a.jsonl", many)], uploads)
    job = ImportJob(library, files, partial(Background().start, library))
    finished(job)
    wait_for(lambda: library.indexing().done > 4, 20)
    assert job.undo() == 60
    assert library.papers() == []
    wait_for(lambda: library.indexing().waiting == 0, 20)
    assert library.indexing().error is None
    assert library.status(check=True).problems == ()


# ---- vectors ---------------------------------------------------------------------------------


def slow(monkeypatch, seconds):
    """Make the embedder take so long for each text."""
    at_once = WordHashEmbedding._get_text_embedding

    def later(self, text):
        time.sleep(seconds)
        return at_once(self, text)

    monkeypatch.setattr(WordHashEmbedding, "_get_text_embedding", later)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "papers have their vectors<"),
        (0.0, "vectors, less than a minute left"),
        (59.0, "vectors, less than a minute left"),
        (240.0, "vectors, about 4 min left"),
        (9000.0, "vectors, about 2.5 h left"),
    ],
)
def test_how_far_the_vectors_are_is_a_line(seconds, words):
    shown = vectors_html(Making(papers=5183, waiting=3979, seconds_left=seconds))
    assert "1,204 of 5,183 papers have their vectors" in shown
    assert words in shown
    assert brief_html(Making(papers=5183, waiting=3979)) == '<p class="cw-brief">vectors 23 %</p>'


@pytest.mark.parametrize(
    "making",
    [
        pytest.param(Making(papers=9), id="all made"),
        pytest.param(Making(papers=9, waiting=9, in_background=False), id="only for questions"),
        pytest.param(Making(), id="not open"),
    ],
)
def test_where_nothing_is_made_there_is_no_line(making):
    assert vectors_html(making) == brief_html(making) == ""
    assert spoken_html(making, was_going_on=False) == ""
    assert not making.is_going_on


def test_why_no_more_vectors_are_made_is_said_with_what_to_do():
    making = Making(papers=9, waiting=2, error="<b>The disk is full.</b>")
    shown = vectors_html(making)
    assert "2 papers have no vectors, and no more are made; questions find them" in shown
    assert "Why: &lt;b&gt;The disk is full.&lt;/b&gt;" in shown
    assert "cw-bad" in brief_html(making)
    assert not making.is_going_on


def test_papers_that_the_embedder_refuses_end_the_line():
    making = Making(papers=9, waiting=1, stalled=True)
    assert "1 paper has no vectors: the embedder does not take them" in vectors_html(making)
    assert brief_html(making) == ""
    assert not making.is_going_on


def test_screen_readers_hear_the_quarters_and_the_end_and_nothing_between():
    heard = [
        spoken_html(Making(papers=100, waiting=waiting), was_going_on=True)
        for waiting in range(100, -1, -1)
    ]
    assert len(set(heard)) == 5
    assert "All papers have their vectors" in heard[-1]
