"""A real Chromium asks, hovers, clicks."""

import json
import re
import time
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rag.library import open_library
from rag.settings import load_settings
from tests.ui_browser import MARKS, ask, shoot, started, visiting
from tests.ui_site import running

Q = "How does 4D3R refine camera poses?"

pytestmark = [*MARKS, pytest.mark.model]

EVIL = {
    "title": "<img src=x onerror=alert(1)> sequoia",
    "abstract": "We study sequoia seedlings. Sequoia seedlings cost from $3000 to $25 "
    "${alert(2)} {{x}} today. <script>alert(3)</script> is left out.",
    "authors": ["A. Author", "<svg onload=alert(4)>"],
    "year": 2021,
    "url": "javascript:alert(5)",
    "doi": "10.1000/abc",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    home = tmp_path_factory.mktemp("site")
    file = home / "evil.jsonl"
    file.write_text(json.dumps(EVIL))
    with open_library("evil", settings=load_settings(home=home), create=True) as library:
        library.add(file, wait=True)
    with running(home) as running_site:
        yield running_site


@pytest.fixture(scope="module")
def chromium():
    with started() as browser:
        yield browser


@pytest.fixture
def visit(chromium, site):
    """Open pages of new visitors of the site."""
    with visiting(chromium, site) as open_page:
        yield open_page


def slowly(route):
    """Answer later than the page takes a mouse that rests for a question."""
    time.sleep(0.4)
    route.fallback()


def test_a_marker_opens_its_sentence_in_the_whole_abstract(visit):
    page = visit()
    expect(page.locator("#cw-brand")).to_contain_text("abstracts of your papers, not their full")
    answer = ask(page, Q)
    statement = answer.locator(".cw-statement").last
    expect(statement.locator(".cw-badge")).to_have_text("❝ quoted")
    marker = statement.locator("a.cw-cite")
    marker.click()
    number = marker.inner_text()
    mark = page.locator(f"#cw-sources mark.cw-m-1-{number}")
    expect(mark).to_have_class(re.compile(r"\bcw-on\b"))
    expect(mark).to_be_focused()
    expect(mark).to_be_in_viewport()
    assert statement.inner_text().startswith(mark.inner_text())
    expect(page.locator("#cw-sources .cw-about").first).to_contain_text("Mengqi Guo")
    shoot(page, "wide")


def test_hovering_shows_the_sentence_and_keeps_the_focus(visit):
    page = visit()
    answer = ask(page, Q)
    answer.locator("a.cw-cite").nth(1).hover()
    expect(page.locator("#cw-sources mark.cw-m-1-2")).to_have_class(re.compile(r"\bcw-on\b"))
    expect(page.locator("#cw-question textarea")).to_be_focused()


def test_markers_can_be_reached_and_opened_from_the_keyboard(visit):
    page = visit()
    answer = ask(page, Q)
    marker = answer.locator("a.cw-cite").first
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        if marker.evaluate("one => one === document.activeElement"):
            break
    expect(marker).to_be_focused()
    expect(marker).to_have_attribute("aria-label", re.compile("^Source 1: Mengqi Guo"))
    page.keyboard.press("Enter")
    expect(page.locator("#cw-sources mark.cw-m-1-1")).to_be_focused()
    page.keyboard.press("Escape")
    expect(marker).to_be_focused()


def test_the_sources_of_an_earlier_answer_come_back(visit):
    page = visit()
    ask(page, Q)
    ask(page, "What does the patent retrieval method learn?")
    expect(page.locator("#cw-sources .cw-m-1-1")).to_have_count(0)
    page.route("**/gradio_api/run/**", slowly)
    page.locator('#chat a[href="#source-1-1"]').click()
    expect(page.locator("#cw-sources mark.cw-m-1-1")).to_be_focused()


def test_an_abstention_looks_like_one_and_shows_the_nearest_papers(visit):
    page = visit()
    answer = ask(page, "Which vaccine protects cattle from anthrax?")
    expect(answer).to_have_class(re.compile("cw-abstained"))
    expect(answer.locator(".cw-cite")).to_have_count(0)
    answer.locator("a.cw-near").nth(1).click()
    expect(page.locator("#cw-sources .cw-near-1-2")).to_be_focused()
    expect(page.locator("#cw-sources mark")).to_have_count(0)
    shoot(page, "abstention")


def test_b23_the_searched_question_is_shown_and_can_be_edited(visit):
    page = visit()
    ask(page, Q)
    answer = ask(page, "And what does it reduce?")
    expect(answer).to_contain_text(f"Searched for: {Q} And what does it reduce?")
    answer.get_by_text("Edit", exact=True).click()
    box = page.locator("#cw-question textarea")
    expect(box).to_have_value(f"{Q} And what does it reduce?")
    edited = ask(page, "What does it reduce in 4D3R?")
    expect(edited).not_to_contain_text("Searched for")


def test_copy_gives_the_original_characters(visit, site):
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    answer = ask(page, Q)
    said = answer.locator(".cw-statement").first.inner_text().split("\n")[0]
    answer.get_by_text("Copy", exact=True).click()
    expect(answer.get_by_text("Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(said[:80])
    assert "\n\n[1] Mengqi Guo et al." in copied


def test_the_theme_changes_and_is_remembered(visit):
    page = visit()
    ask(page, Q)
    dark = "document.body.classList.contains('dark')"
    before = page.evaluate(dark)
    page.locator("#cw-theme").click()
    assert page.evaluate(dark) is not before
    shoot(page, "dark" if not before else "light")
    page.reload()
    expect(page.locator("#cw-question textarea")).to_be_visible()
    assert page.evaluate(dark) is not before


@pytest.mark.parametrize(
    ("name", "size"),
    [("phone", (390, 844)), ("zoomed to 200 %", (720, 450))],
    ids=["phone", "zoom"],
)
def test_narrow_pages_stack_and_never_scroll_sideways(visit, name, size):
    page = visit(*size)
    answer = ask(page, Q)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    answer.locator("a.cw-cite").first.click()
    mark = page.locator("#cw-sources mark.cw-m-1-1")
    expect(mark).to_be_focused()
    expect(mark).to_be_in_viewport()
    shoot(page, name.split()[0])
    back = page.locator("#cw-sources .cw-back")
    back.click()
    expect(page.locator("#cw-question textarea")).to_be_in_viewport()


def test_b28_two_visitors_never_see_each_other(visit):
    one, two = visit(), visit()
    ask(one, Q)
    ask(two, "Which vaccine protects cattle from anthrax?")
    expect(one.locator("#chat")).not_to_contain_text("anthrax")
    expect(two.locator("#chat")).not_to_contain_text("4D3R refine")
    two.reload()
    expect(two.locator("#cw-question textarea")).to_be_visible()
    expect(two.locator("#chat .cw-answer")).to_have_count(0)


def test_b36_html_in_a_question_is_text(visit):
    page = visit()
    evil = '<img src=x onerror="alert(1)"> <script>alert(2)</script> **x** $3000 to $25 $E=mc^2$?'
    ask(page, evil)
    shown = page.locator("#chat .cw-question").last
    expect(shown).to_contain_text('<img src=x onerror="alert(1)"> <script>alert(2)</script> **x**')
    expect(shown).to_contain_text("$3000 to $25")
    expect(shown.locator(".katex")).to_have_count(1)
    expect(page.locator("#chat img, #chat script")).to_have_count(0)


def test_what_cannot_be_asked_is_said_in_the_chat(visit):
    page = visit()
    answer = ask(page, "?!")
    expect(answer).to_contain_text("has no word to search for")
    answer.get_by_text("Try again").click()
    expect(page.locator("#cw-question textarea")).to_have_value("?!")
    page.locator("#cw-new").click()
    expect(page.locator("#chat .cw-answer")).to_have_count(0)


def turn_to(page, library):
    """Choose a library in the side bar and wait until it is open."""
    box = page.get_by_label("Library", exact=True).first
    box.click()
    page.get_by_role("option", name=library, exact=True).click()
    expect(page.locator(".cw-ready")).to_contain_text(library, timeout=60_000)


def test_b36_html_in_a_paper_is_text_wherever_it_is_shown(visit):
    page = visit()
    turn_to(page, "evil")
    answer = ask(page, "What do sequoia seedlings cost?")
    expect(answer).to_contain_text("from $3000 to $25 ${alert(2)} {{x}}")
    expect(answer).to_contain_text("<svg onload=alert(4)>")
    answer.locator("a.cw-cite").first.click()
    panel = page.locator("#cw-sources")
    expect(panel).to_contain_text("<img src=x onerror=alert(1)> sequoia")
    links = panel.locator(".cw-links a")
    assert [one.get_attribute("href") for one in links.all()] == ["https://doi.org/10.1000/abc"]
    page.get_by_role("tab", name="Library").click()
    page.locator(".cw-paper").first.click()
    expect(page.locator("#cw-detail")).to_contain_text("<script>alert(3)</script>")
    assert page.locator("img[src*=evil], img[src=x], .cw-panel script, #cw-papers img").count() == 0


def test_papers_are_found_read_picked_and_asked_alone(visit):
    page = visit()
    page.get_by_role("tab", name="Library").click()
    expect(page.locator(".cw-paper")).to_have_count(20)
    page.locator("#cw-papers").get_by_text("Later ›").click()
    expect(page.locator("#cw-papers")).to_contain_text("Page 2")
    page.get_by_label("Author").fill("Mengqi Guo")
    page.locator("#cw-show").click()
    expect(page.locator(".cw-paper")).to_have_count(1)
    page.locator(".cw-pick").click()
    expect(page.locator(".cw-pick")).to_have_attribute("aria-checked", "true")
    shoot(page, "library")
    page.locator("#cw-only").click()
    page.get_by_role("tab", name="Ask").click()
    expect(page.locator("#cw-scope")).to_contain_text("1 picked paper")
    answer = ask(page, Q)
    names = answer.locator(".cw-by").all_inner_texts()
    assert set(names) == {"Mengqi Guo et al."}
    page.get_by_text("Ask all papers").click()
    expect(page.locator("#cw-scope")).to_be_empty()


def test_files_are_added_with_counts_and_errors_and_the_import_is_undone(visit, tmp_path, site):
    page = visit()
    page.get_by_text("New library").click()
    page.get_by_label("Name", exact=True).fill("Ünïcode ✓ trees")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".cw-ready")).to_contain_text(
        "Ünïcode ✓ trees, 0 abstracts", timeout=60_000
    )
    file = tmp_path / "trees.jsonl"
    lines = [
        json.dumps({"title": f"Tree {n}", "abstract": f"Tree {n} is an oak."}) for n in range(99)
    ]
    file.write_text("\n".join([*lines, "no json", '{"id": "empty"}']))
    page.get_by_role("tab", name="Library").click()
    page.get_by_text("Add papers").click()
    page.locator("#cw-files input[type=file]").set_input_files(file)
    expect(page.locator("#cw-files")).to_contain_text("trees")
    page.locator("#cw-start").click()
    progress = page.locator("#cw-progress")
    expect(progress).to_contain_text("Finished: 1 of 1 files.", timeout=60_000)
    shoot(page, "import")
    assert progress.locator("dd").all_inner_texts() == ["101", "99", "0", "0", "0", "2"]
    expect(progress).to_contain_text("trees.jsonl, line 100: the record is not JSON")
    expect(page.locator(".cw-ready")).to_contain_text("99 abstracts")
    page.locator("#cw-undo").click()
    expect(progress).to_contain_text("99 papers deleted again.")
    assert not [path for path in site.uploads.rglob("*") if path.is_file() and path.stat().st_size]


def test_conversations_are_exported_rated_kept_and_reopened(visit):
    page = visit()
    answer = ask(page, "Which benchmark evaluates causal inference?")
    with page.expect_download() as download:
        page.locator("#cw-export").click()
    text = Path(download.value.path()).read_text("utf-8")
    assert download.value.suggested_filename == "which-benchmark-evaluates-causal-inferen.md"
    assert text.startswith("# Which benchmark evaluates causal inference?")
    answer.locator("a.cw-down").click()
    expect(page.locator("#chat a.cw-down.cw-on")).to_be_visible()
    page.get_by_label("Note to the answer").fill("not this one")
    page.get_by_role("button", name="Save note").click()
    expect(page.locator("#cw-noting")).to_be_hidden()
    page.reload()
    expect(page.locator(".cw-ready")).to_be_visible(timeout=60_000)
    page.locator("#cw-kept-list .cw-kept").first.click()
    expect(page.locator("#chat a.cw-down.cw-on")).to_be_visible()
    expect(page.locator("#cw-sources mark").first).to_be_visible()
    page.get_by_label("Rename the open one").fill("My <b>causes</b>")
    page.get_by_label("Rename the open one").press("Enter")
    first = page.locator("#cw-kept-list .cw-kept").first
    expect(first).to_contain_text("My <b>causes</b>")
    shoot(page, "kept")
    page.locator("#cw-delete").click()
    expect(page.locator("#cw-kept-list")).not_to_contain_text("My <b>causes</b>")
    expect(page.locator("#chat .cw-answer")).to_have_count(0)


def test_who_answers_is_shown_with_reasons_for_those_who_cannot(visit):
    page = visit()
    expect(page.get_by_label("Answers by")).to_have_value("Quotes only")
    page.get_by_text("Why not others?").click()
    expect(page.locator("#cw-side")).to_contain_text("Start with --llm-base-url URL.")


def test_an_evaluation_runs_shows_what_failed_and_opens_a_case(visit, monkeypatch, tmp_path):
    point = EntryPoint("default", "eval.interface:start", "citewell.evaluation")
    monkeypatch.setattr("ui.evaluate_tab.entry_points", lambda group: [point])
    case = {"id": "1", "question": Q, "answerable": False}
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(case) + "\n")
    page = visit()
    page.get_by_role("tab", name="Evaluate").click()
    page.locator("#cw-questions input[type=file]").set_input_files(file)
    expect(page.locator("#cw-questions")).to_contain_text("cases")
    page.locator("#cw-run").click()
    result = page.locator("#cw-result")
    expect(result).to_contain_text("Not passed", timeout=60_000)
    shoot(page, "evaluation")
    with page.expect_download() as download:
        page.locator("#cw-report").click()
    assert download.value.suggested_filename == "citewell-report.html"
    result.get_by_text(Q).first.click()
    expect(page.locator("#cw-question textarea")).to_have_value(Q)
    expect(page.locator("#cw-question textarea")).to_be_visible()


def test_without_an_evaluation_installed_the_tab_says_so(visit, monkeypatch):
    monkeypatch.setattr("ui.evaluate_tab.entry_points", lambda group: [])
    page = visit()
    page.get_by_role("tab", name="Evaluate").click()
    page.locator("#cw-run").click()
    expect(page.locator("#cw-result")).to_contain_text("Nothing that evaluates is installed")
