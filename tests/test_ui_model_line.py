"""B32 in a real browser: one answer at a time, the place in the line, Stop, a closed tab."""

import time

import pytest
from playwright.sync_api import expect, sync_playwright

from rag import plugins
from tests.slow_llm import BUSY
from tests.test_ui_browser import Q
from tests.ui_browser import CHROMIUM, FLAGS
from tests.ui_site import running, wait_for

pytestmark = [
    pytest.mark.browser,
    pytest.mark.model,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's package chromium"),
]


@pytest.fixture
def site(tmp_path, monkeypatch):
    llms = {**plugins.BUILTIN["llm"], "slow": "tests.slow_llm:build"}
    monkeypatch.setitem(plugins.BUILTIN, "llm", llms)
    with running(tmp_path, llm="slow:x") as running_site:
        yield running_site


@pytest.fixture
def visit(site):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)

        def open_page():
            page = browser.new_context().new_page()
            page.goto(site.url)
            expect(page.locator(".cw-ready")).to_be_visible(timeout=60_000)
            return page

        yield open_page
        browser.close()


def begin(page, question):
    page.locator("#cw-question textarea").fill(question)
    page.locator("#cw-question textarea").press("Enter")


def test_b32_the_line_stop_and_a_closed_tab(visit):
    one, two, three = visit(), visit(), visit()
    begin(one, Q)
    expect(one.locator("#chat .cw-partial")).to_contain_text("word2", timeout=30_000)
    begin(two, Q)
    expect(two.locator("#chat .cw-busy")).to_contain_text("1 question is before yours")
    begin(three, Q)
    expect(three.locator("#chat .cw-busy")).to_contain_text("2 questions are before yours")
    three.get_by_role("tab", name="Library").click()  # light events are not held up
    expect(three.locator(".cw-paper")).to_have_count(20)
    assert len(BUSY) == 1

    one.locator("#cw-stop").click()
    expect(one.locator("#chat")).to_contain_text("You stopped this answer")
    expect(one.locator("#chat .cw-answer").last).to_contain_text("word2")
    expect(two.locator("#chat .cw-partial")).to_contain_text("word1", timeout=10_000)
    assert len(BUSY) == 1

    began = time.perf_counter()
    two.context.close()
    three.get_by_role("tab", name="Ask").click()
    expect(three.locator("#chat .cw-partial")).to_contain_text("word0", timeout=10_000)
    assert time.perf_counter() - began < 3
    three.context.close()
    wait_for(lambda: not BUSY, 3)
    begin(one, "What does it reduce?")  # a stopped answer is no obstacle to the next
    expect(one.locator("#chat .cw-partial").last).to_contain_text("word1", timeout=10_000)
    one.context.close()
    wait_for(lambda: not BUSY, 3)
