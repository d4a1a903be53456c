"""A real Chromium for tests of the page; every request beyond this machine is refused and counted.

Screenshots go to ``screenshots/``, which git ignores.
"""

from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
SHOTS = Path(__file__).parent.parent / "screenshots"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip
MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's package chromium"),
]


@contextmanager
def started():
    """Run a browser until the block ends."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def visiting(chromium, site):
    """Open pages of new visitors; at the end nothing may have left this machine or gone wrong."""
    contexts, outside, wrong = [], [], []

    def open_page(width=1440, height=900, **options):
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)

        def door(route):
            if route.request.url.startswith((site.url, "data:", "blob:")):
                route.continue_()
            else:
                outside.append(route.request.url)
                route.abort()

        context.route("**/*", door)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())
        page.goto(site.url)
        expect(page.locator(".cw-ready")).to_be_visible(timeout=60_000)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert outside == []
    assert wrong == []


def ask(page, question):
    """Ask and wait for the whole answer; return its element."""
    before = page.locator("#chat .cw-tools").count()
    page.locator("#cw-question textarea").fill(question)
    page.locator("#cw-question textarea").press("Enter")
    expect(page.locator("#chat .cw-tools")).to_have_count(before + 1, timeout=30_000)
    return page.locator("#chat .cw-answer").last


def shoot(page, name, **options):
    SHOTS.mkdir(exist_ok=True)
    page.wait_for_timeout(300)  # smooth scrolling
    page.screenshot(path=SHOTS / f"{name}.png", **options)
