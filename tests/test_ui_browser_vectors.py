"""A file is dropped and asked at once, in a real Chromium, while its vectors are made."""

import json
import time

import pytest
from playwright.sync_api import expect

from rag.library import open_library
from rag.settings import load_settings
from rag.testing import WordHashEmbedding
from tests.ui_browser import MARKS, ask, shoot, started, visiting
from tests.ui_site import running

pytestmark = MARKS


@pytest.fixture
def slow_site(tmp_path, monkeypatch):
    """A page on an empty library, whose embedder takes its time."""
    at_once = WordHashEmbedding._get_text_embedding

    def later(self, text):
        time.sleep(0.05)
        return at_once(self, text)

    monkeypatch.setattr(WordHashEmbedding, "_get_text_embedding", later)
    settings = load_settings(home=tmp_path / "site", embedder="word-hash")
    open_library("trees", settings=settings, create=True).close()
    with running(settings.home, first="trees", embedder="word-hash") as running_site:
        yield running_site


def test_a_dropped_file_is_asked_at_once_while_its_vectors_come(slow_site, tmp_path):
    file = tmp_path / "trees.jsonl"
    lines = [{"title": f"Tree {n}", "abstract": f"Oak number {n} is a tree."} for n in range(99)]
    file.write_text("\n".join(map(json.dumps, lines)))
    with started() as chromium, visiting(chromium, slow_site) as visit:
        page, calls = visit(), []
        page.on("request", lambda request: calls.append(request.url))
        page.get_by_role("tab", name="Library").click()
        page.get_by_text("Add papers").click()
        page.locator("#cw-files input[type=file]").set_input_files(file)
        expect(page.locator("#cw-files")).to_contain_text("trees")
        top = page.locator("#cw-papers").bounding_box()["y"]
        page.locator("#cw-start").click()
        told = page.locator("#cw-progress")
        expect(told).to_contain_text("99 papers can be asked now; their vectors follow")
        line = page.locator("#cw-made")
        expect(line).to_contain_text("of 99 papers have their vectors")
        assert page.locator("#cw-papers").bounding_box()["y"] == top
        expect(page.locator("#cw-spoken")).to_have_attribute("role", "status")
        expect(page.locator("#cw-brief")).to_contain_text("vectors ")
        page.get_by_label("Author").fill("typed meanwhile")
        shoot(page, "vectors")
        page.get_by_role("tab", name="Ask").click()
        answer = ask(page, "What is oak number 7?")
        expect(answer).to_contain_text("Oak number 7 is a tree.")
        assert slow_site.shelf.library("trees").waiting > 0
        page.get_by_role("tab", name="Library").click()
        expect(line).to_be_empty(timeout=60_000)
        expect(page.locator("#cw-spoken")).to_have_text("All papers have their vectors.")
        expect(page.get_by_label("Author")).to_have_value("typed meanwhile")
        seen = len(calls)
        page.wait_for_timeout(3_500)
        assert len(calls) == seen  # nobody looks any more
        page.locator("#cw-undo").click()
        expect(told).to_contain_text("99 papers deleted again.")
