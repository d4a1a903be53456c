"""Reports of a small run whose texts try to break out of every format."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from eval.measures import INFO, Measure
from eval.report import (
    Gate,
    build_run,
    check_gates,
    explain,
    load_run,
    parse_gate,
    write_report,
)
from eval.report.junit import render_junit
from eval.report.markdown import render_markdown
from eval.report.page import render_html
from rag.errors import RecordError, SettingsError

FOLDER = Path(__file__).parent / "data" / "eval" / "run"


@pytest.fixture(scope="module")
def run():
    return load_run(FOLDER)


@pytest.fixture(scope="module")
def page(run):
    gates = check_gates([Gate("must_contain", 0.3), Gate("passed", 0.9)], run.measures)
    return render_html(run, gates)


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.handlers, self.links = [], [], [], []
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.links += [value for name, value in attrs if name in {"src", "href", "action"}]

    def handle_data(self, data):
        if self.open and self.open[-1] not in {"script", "style"}:
            self.texts.append(data)


def test_rows_are_put_in_the_order_of_the_cases(run):
    assert [outcome.case_id for outcome in run.outcomes] == [case.id for case in run.cases]
    assert run.pending == 0


def test_each_case_says_why_it_is_not_whole(run):
    reasons = {o.case_id: explain(case, o) for case, o in run.pairs}
    assert reasons["good"] == []
    assert reasons["bad"] == [
        "It does not say “cubic|n^3”.",
        "It does not quote 1 of 1 gold sentences.",
        "The library does not hold “Not held”.",
        "It cites no relevant paper; the best one was ranked 2.",
        "Markers that stand for no citation: [7].",
    ]
    assert reasons["none"] == ["It answered, though the library holds no answer."]
    assert reasons["silent"] == ["It abstained, though the library holds an answer."]
    assert reasons["broken"][0].startswith("The case failed: The 'openai' provider failed")


def test_b36_nothing_in_the_page_runs_or_leaves_it(page):
    tags = Tags(page)
    assert tags.tags.count("script") == 1
    assert tags.handlers == []
    assert tags.links == []
    assert not {"img", "iframe", "link", "object", "b onmouseover"} & set(tags.tags)
    assert "default-src 'none'" in page
    assert not re.search(r"@import|url\(", page)
    shown = " ".join(tags.texts)
    assert "<script>alert(1)</script>" in shown  # as text
    assert "<img src=x onerror=alert(2)>" in shown


def test_the_page_holds_tables_filters_plots_and_every_case(page):
    for needed in ('id="filters"', 'name="kind"', 'name="outcome"', "aria-expanded", "<th"):
        assert needed in page
    for title in ("Risk–coverage", "Latency", "Retrieval with 95 % intervals", "Passed by kind"):
        assert f'aria-label="{title}"' in page
    assert page.count('<tbody data-kind="') == 5
    for text in ("Why it is not whole", "Must say: cubic or n^3", "Asked before", "Not held"):
        assert text in page
    assert "must_contain ≥ 0.3: met, 0.3333 (3 of 5 cases)" in page
    assert "passed ≥ 0.9: not met, 0.25 (4 of 5 cases)" in page


def test_the_script_is_the_one_that_the_policy_allows(page):
    import base64
    import hashlib

    script = re.search(r"<script>(.*)</script>\n</body>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page


def test_the_markdown_holds_every_measure_with_n_of_n_and_no_markup_of_strangers(run):
    text = render_markdown(run, [])
    assert "| `must_contain` | 0.333 | 0.000 to 1.000 | 3 of 5 |" in text
    assert "| fact | 2 | 0.500 |" in text
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "**bad** (incomplete): Is \\<script\\>alert(1)\\</script\\> \\| safe" in text


def test_junit_has_gates_as_failures_and_broken_cases_as_errors(run):
    gates = check_gates([Gate("must_contain", 0.3), Gate("passed", 0.9)], run.measures)
    tree = ElementTree.fromstring(render_junit(run, gates))
    assert (tree.get("tests"), tree.get("failures"), tree.get("errors")) == ("7", "1", "1")
    failed = tree.find(".//testcase[failure]")
    assert failed.get("name") == "passed ≥ 0.9"
    broken = tree.find(".//testcase[error]")
    assert broken.get("name") == "broken: Does it break?"
    assert "<script>" in broken.find("error").get("message")
    assert "cites no relevant paper" in tree.find(".//testcase[@classname='cases.fact'][2]")[0].text


def test_the_files_are_the_same_for_the_same_run(run, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = write_report(tmp_path / "a", run)
    shuffled = build_run(run.cases, list(reversed(run.outcomes)), run.manifest)
    second = write_report(tmp_path / "b", shuffled)
    assert [path.name for path in first] == [
        "answers.jsonl",
        "metrics.json",
        "timings.json",
        "report.md",
        "report.html",
        "junit.xml",
    ]
    for left, right in zip(first, second, strict=True):
        assert left.read_bytes() == right.read_bytes(), left.name
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == sorted(p.name for p in first)


def test_metrics_do_not_depend_on_time(run, tmp_path):
    write_report(tmp_path, run)
    metrics = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    timings = json.loads((tmp_path / "timings.json").read_text(encoding="utf-8"))
    assert metrics["cases"] == metrics["finished"] == 5
    names = {measure["name"] for measure in metrics["measures"]}
    assert {"must_contain", "failed"} <= names
    assert not any(name.endswith("_ms") for name in names)
    assert {m["name"] for m in timings["measures"]} == {"latency_p50_ms", "latency_p95_ms"}


def test_a_run_that_was_stopped_can_be_reported(run, tmp_path):
    part = build_run(run.cases, run.outcomes[:2])
    assert part.pending == 3
    write_report(tmp_path, part)
    assert "2 of 5 cases are finished" in (tmp_path / "report.md").read_text(encoding="utf-8")
    write_report(tmp_path, build_run(run.cases, []))
    assert "0 of 5 cases are finished" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "gate"),
    [("recall@5=0.9", Gate("recall@5", 0.9)), ("mrr = 1", Gate("mrr", 1.0))],
)
def test_a_gate_is_read(text, gate):
    assert parse_gate(text) == gate


@pytest.mark.parametrize("text", ["mrr", "=0.5", "mrr=high", "mrr=nan", ""])
def test_what_is_no_gate_is_refused(text):
    with pytest.raises(SettingsError, match="is no gate"):
        parse_gate(text)


@pytest.mark.parametrize(
    ("value", "gate", "passed"),
    [
        (0.6, Gate("m", 0.6), True),
        (0.59, Gate("m", 0.6), False),
        (None, Gate("m", 0.0), False),
        (900.0, Gate("m", 1000.0, is_upper=True), True),
        (1001.0, Gate("m", 1000.0, is_upper=True), False),
    ],
    ids=["met", "missed", "not scored", "under the limit", "over the limit"],
)
def test_gates(value, gate, passed):
    (result,) = check_gates([gate], [Measure("m", value, 1, 2), Measure("m", 0.0, 1, 1, kind="k")])
    assert result.passed is passed


def test_a_gate_on_an_unknown_measure_is_refused():
    with pytest.raises(SettingsError, match=r"no measure 'acuracy'.*Known: mrr"):
        check_gates([Gate("acuracy", 0.5)], [Measure("mrr", 1.0, 1, 1)])


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(RecordError, match=r"holds no 'answers\.jsonl'"):
        load_run(tmp_path)


def test_a_manifest_that_is_no_json_is_named(tmp_path):
    for name in ("cases.jsonl", "answers.jsonl"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    assert load_run(tmp_path).manifest == {}
    (tmp_path / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(RecordError, match=r"manifest\.json' cannot be read"):
        load_run(tmp_path)


def test_every_measure_is_explained_in_the_docs():
    docs = (Path(__file__).parents[1] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    names = {re.sub(r"@\d+$", "@k", name) for name in INFO} | {"judge_correctness"}
    missing = [n for n in names if f"`{n}`" not in docs and not n.startswith("support_")]
    assert missing == []
