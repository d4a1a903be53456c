import json
import math
from pathlib import Path

import pytest

from rag.readers import read_papers
from rag.readers.names import in_reading_order, split_authors
from rag.readers.records import json_value, year_of
from rag.schema import BadRecord, Note, Paper

DATA = Path(__file__).parent / "data" / "readers"


def parted(items):
    items = list(items)
    kinds = (Paper, BadRecord, Note)
    return tuple([item for item in items if isinstance(item, kind)] for kind in kinds)


def from_text(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    return parted(read_papers(path))


# RIS


def test_b02_junk_between_records_is_counted_and_lands_in_none():
    papers, bad, notes = parted(read_papers(DATA / "vendors.ris"))
    assert [paper.title for paper in papers] == [
        "First title of two lines",
        "Second title",
        "Third title",
    ]
    assert not bad
    assert [note.text for note in notes] == [
        "6 lines outside the records were ignored, the first at line 1."
    ]
    everything = repr([paper.extra for paper in papers])
    assert "strategy" not in everything
    assert "custom1" not in everything


def test_ris_fields_come_from_whichever_tag_holds_them():
    first, second, third = parted(read_papers(DATA / "vendors.ris"))[0]
    assert first.authors == ("Bob B. Author", "Ann Author")
    assert first.abstract == "An abstract that goes on for a second line."
    assert first.keywords == ("alpha", "beta")
    assert (first.year, first.venue, first.doi) == (2019, "Journal of Tests", "10.1000/abc")
    assert (first.source.line, first.source.key) == (4, "101")
    assert first.extra["notes"] == ["a note", "another note"]
    assert (second.abstract, second.year) == ("Text under another tag.", 2020)
    assert (second.venue, second.arxiv_id) == ("Proceedings of Tests", "2401.00001")
    assert (third.year, third.extra["year"], third.abstract) == (None, "in press", "")


def test_a_ris_record_without_its_end_is_kept_and_noted(tmp_path):
    papers, _, notes = from_text(
        tmp_path, "a.ris", "TY  - JOUR\nTI  - A\nTY  - JOUR\nTI  - B\nAB  - cu"
    )
    assert [paper.title for paper in papers] == ["A", "B"]
    assert [note.line for note in notes] == [1, 3]


def test_an_empty_ris_record_is_a_bad_record(tmp_path):
    papers, bad, _ = from_text(
        tmp_path, "a.ris", "TY  - JOUR\nTI  - A\nER  -\n\nTY  - GEN\nER  -\n"
    )
    assert len(papers) == 1
    assert bad[0].line == 5
    assert bad[0].reason.startswith("'title' and 'abstract' are missing or empty")


def test_a_damaged_byte_loses_one_ris_record(tmp_path):
    records = [f"TY  - JOUR\nTI  - Größe {n}\nER  - \n".encode() for n in range(3)]
    path = tmp_path / "a.ris"
    path.write_bytes(records[0] + records[1].replace(b" 1", b" \xff") + records[2])
    papers, bad, _ = parted(read_papers(path))
    assert [paper.title for paper in papers] == ["Größe 0", "Größe 2"]
    assert (bad[0].line, "byte 0xFF" in bad[0].reason) == (4, True)


def test_a_ris_record_without_end_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("rag.readers.ris.LONGEST_LINE", 1000)
    text = "TY  - JOUR\nTI  - A\n" + "more words\n" * 200 + "ER  - \nTY  - JOUR\nTI  - B\nER  - \n"
    papers, bad, _ = from_text(tmp_path, "a.ris", text)
    assert [paper.title for paper in papers] == ["B"]
    assert bad[0].reason.startswith("the record is longer than")


def test_ris_tags_with_single_blanks_are_understood(tmp_path):
    papers, _, _ = from_text(tmp_path, "a.ris", "TY - JOUR\nTI - A\nAB - b - c\nER -\n")
    assert (papers[0].title, papers[0].abstract) == ("A", "b - c")


def test_words_in_capitals_are_no_tags(tmp_path):
    text = "TY  - JOUR\nTI  - A\nAB  - We saw\nIL - 6 rise.\nER  - \n"
    papers, _, _ = from_text(tmp_path, "a.ris", text)
    assert papers[0].abstract == "We saw IL - 6 rise."


# BibTeX


@pytest.fixture(scope="module")
def bibliography():
    return parted(read_papers(DATA / "mixed.bib"))


def test_b04_one_bad_entry_loses_no_other(bibliography):
    papers, bad, _ = bibliography
    assert [paper.source.key for paper in papers] == ["wang2017", "wang2017", "child", "parent"]
    assert [(item.line, item.reason.partition(" (")[0]) for item in bad] == [
        (25, "the entry is not BibTeX"),
        (42, "'title' and 'abstract' are missing or empty"),
    ]


def test_b01_papers_under_one_key_are_both_kept_and_the_clash_is_noted(bibliography):
    papers, _, notes = bibliography
    assert papers[0].id != papers[1].id
    assert [(note.line, note.text) for note in notes] == [
        (
            17,
            "The key 'wang2017' stands for several entries, at lines 6 and 17. All were read; "
            "a key is only a label here.",
        )
    ]


def test_b01_true_copies_get_one_id(tmp_path):
    entry = "@article{k, title={Some Title of Length}, year=2020}\n"
    papers, _, notes = from_text(tmp_path, "a.bib", entry * 2)
    assert len(papers) == 2
    assert papers[0].id == papers[1].id
    assert len(notes) == 1


def test_bibtex_fields_are_decoded(bibliography):
    first, second, *_ = bibliography[0]
    assert first.title == "Growing Plants in the DARK"
    assert first.authors == ("José García", "The Plant, Root and Leaf Group", "Ann van der Berg")
    assert first.more_authors
    assert (first.venue, first.year, first.extra["month"]) == ("Journal of Tests", 2017, "jul")
    assert first.abstract == "Plants grow at 18× speed."
    assert first.doi == "10.1000/a_b"
    assert first.keywords == ("plants", "dark")
    assert (second.year, second.arxiv_id) == (2018, "1801.00001")


def test_crossref_inherits_from_the_parent(bibliography):
    child = bibliography[0][2]
    assert (child.title, child.venue, child.year) == (
        "A Chapter of Some Length",
        "Proceedings of Tests",
        2021,
    )
    assert child.extra["publisher"] == "Test Press"


@pytest.mark.parametrize(
    ("entry", "title"),
    [
        (r"@misc{k, title = {The {\$}x{\_}{\{}12{\}}{\$} case}}", "The x_12 case"),
        (r"@misc{k, title = {On {\$}\backslashalpha{\$} decay}}", "On α decay"),
        (r'@misc{k, title = "A {"}b{"} c"}', 'A "b" c'),
        ("@misc(k, title = {In (round) brackets})", "In (round) brackets"),
        ("@MISC{k, TITLE={Upper}, title={lower}}", "Upper"),
        ("@misc{k, title=und # {efined}}", "undefined"),
        ("@misc{k, title={Rock \\& Roll&nbsp;now}}", "Rock & Roll now"),
    ],
)
def test_bibtex_values_are_read_as_they_are_meant(tmp_path, entry, title):
    papers, bad, _ = from_text(tmp_path, "a.bib", entry)
    assert [paper.title for paper in papers] == [title]
    assert not bad


def test_a_damaged_byte_loses_one_bibtex_entry(tmp_path):
    path = tmp_path / "a.bib"
    entries = [f"@misc{{k{n},\n title={{Größe {n}}}\n}}\n".encode() for n in range(3)]
    path.write_bytes(b"".join((entries[0], entries[1].replace(b"1}", b"\xff}"), entries[2])))
    papers, bad, _ = parted(read_papers(path))
    assert [paper.title for paper in papers] == ["Größe 0", "Größe 2"]
    assert "byte 0xFF" in bad[0].reason
    assert bad[0].line == 5


# JSONL


def test_b04_bad_lines_are_named_and_blank_ones_passed_over(tmp_path):
    text = '{"title": "A"}\n\n{"title": "trunc\n[1]\n"text"\n{"title": ""}\n{"title": "B"}'
    papers, bad, notes = from_text(tmp_path, "a.jsonl", text)
    assert [paper.title for paper in papers] == ["A", "B"]
    assert [(item.line, item.reason.split(".")[0]) for item in bad] == [
        (3, "the record is not JSON (Invalid control character at at character 18)")
        if "control" in bad[0].reason
        else (3, "the record is not JSON (Unterminated string starting at at character 11)"),
        (4, "the record is a JSON list, not an object"),
        (5, "the record is a JSON str, not an object"),
        (6, "'title' and 'abstract' are missing or empty (found: nothing)"),
    ]
    assert notes == [Note("a.jsonl", "1 blank line was passed over.")]


def test_b12_odd_values_survive_or_become_text(tmp_path):
    huge = "9" * 60
    text = (
        '{"title": "A title", "year": null, "authors": ["A", "B"], "keywords": [], '
        f'"nested": {{"deep": [1, {{"x": null}}]}}, "nan": NaN, "huge": {huge}, "small": 7, '
        f'"endless": {"9" * 6000}, "float": 1e999, "flag": true, "half": "\\ud800x"}}'
    )
    (paper,), bad, _ = from_text(tmp_path, "a.jsonl", text)
    assert not bad
    assert paper.year is None
    assert (paper.authors, paper.keywords) == (("A", "B"), ())
    assert paper.extra == {
        "nested": {"deep": [1, {"x": None}]},
        "nan": "NaN",
        "huge": huge,
        "small": 7,
        "endless": "9" * 6000,
        "float": "inf",
        "flag": True,
        "half": "x",
    }
    assert json.loads(json.dumps(paper.extra, allow_nan=False)) == paper.extra


def test_deep_nesting_is_no_crash(tmp_path):
    deep = "[" * 500 + "]" * 500
    papers, bad, _ = from_text(
        tmp_path, "a.jsonl", f'{{"title": "A", "x": {deep}}}\n{"[" * 100_000}\n{{"title": "B"}}'
    )
    assert [paper.title for paper in papers] == ["A", "B"]
    assert bad[0].line == 2
    json.dumps(papers[0].extra)


def test_all_fields_of_a_json_record_are_taken(tmp_path):
    record = {
        "id": 7,
        "title": "A  <b>title</b>",
        "abstract": "Text.",
        "authors": "Doe, Jane; Roe, Richard",
        "year": "2020-05-01",
        "venue": "Tests",
        "doi": "https://doi.org/10.1000/X",
        "url": "https://arxiv.org/abs/2401.00001v1",
        "keywords": "a, b, a",
        "topic": "Theory",
        "labels": ["kept"],
    }
    (paper,), _, _ = from_text(tmp_path, "a.jsonl", json.dumps(record))
    assert (paper.title, paper.abstract, paper.year, paper.venue) == (
        "A title",
        "Text.",
        2020,
        "Tests",
    )
    assert paper.authors == ("Jane Doe", "Richard Roe")
    assert (paper.doi, paper.arxiv_id, paper.url) == ("10.1000/x", "2401.00001", record["url"])
    assert (paper.keywords, paper.topic) == (("a", "b"), "Theory")
    assert (paper.id, paper.source.key) == ("doi:10.1000/x", "7")
    assert paper.extra == {"id": 7, "labels": ["kept"]}


def test_records_of_a_retrieval_benchmark_are_read(tmp_path):
    line = '{"_id": "d1", "title": "T of more words", "text": "Body.", "metadata": {}}'
    (paper,), _, _ = from_text(tmp_path, "corpus.jsonl", line)
    assert (paper.abstract, paper.source.key) == ("Body.", "d1")


def test_records_of_arxiv_are_known_by_their_id(tmp_path):
    line = '{"id": "0704.0001", "title": "T", "abstract": " A\\n b.\\n", "categories": "hep-ph"}'
    (paper,), _, _ = from_text(tmp_path, "a.jsonl", line)
    assert (paper.id, paper.abstract) == ("arxiv:0704.0001", "A b.")


@pytest.mark.parametrize(
    "text",
    [
        '[{"title": "A"},\n{"title": "B"}]',
        '{"title": "A"}\n{\n"title":\n"B"}\n',
        '{"title": "A"}{"title": "B"}',
    ],
    ids=["array", "objects", "run together"],
)
def test_a_json_file_is_read_value_by_value(tmp_path, text):
    papers, bad, _ = from_text(tmp_path, "a.json", text)
    assert [paper.title for paper in papers] == ["A", "B"]
    assert not bad
    assert papers[1].source.line == 1 + text[: text.rindex("{")].count("\n")


def test_a_broken_array_gives_what_came_before(tmp_path):
    papers, bad, _ = from_text(
        tmp_path, "a.json", '[{"title": "A"},\n{"title": B}, {"title": "C"}]'
    )
    assert [paper.title for paper in papers] == ["A"]
    assert bad[0].line == 2
    assert "What follows in the file was not read" in bad[0].reason


def test_b10_title_only_records_are_kept(tmp_path):
    lines = [{"title": f"Title {n}", "abstract": text} for n, text in enumerate(("", "   ", None))]
    lines.append({"title": "Title 3"})
    papers, bad, _ = from_text(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines)))
    assert [paper.abstract for paper in papers] == [""] * 4
    assert not bad


# Parts that all formats share


@pytest.mark.parametrize(
    ("value", "names", "more"),
    [
        ("A B, C D and E F", ("A B", "C D", "E F"), False),
        ("A B, C D, and E F", ("A B", "C D", "E F"), False),
        ("Doe, Jane; Roe, Richard", ("Jane Doe", "Richard Roe"), False),
        ("Doe, Jane and Roe, Richard", ("Jane Doe", "Richard Roe"), False),
        ("Doe, J., Roe, R. M.", ("J. Doe", "R. M. Roe"), False),
        ("Doe, Jane", ("Jane Doe",), False),
        ("Jane Doe, Richard Roe", ("Jane Doe", "Richard Roe"), False),
        ("Jane Doe et al.", ("Jane Doe",), True),
        ("Jane Doe, Richard Roe 等", ("Jane Doe", "Richard Roe"), True),
        ("Jane Doe and others", ("Jane Doe",), True),
        (
            ["Doe, Jane", "Roe, Jr., Richard", "Plain Name"],
            ("Jane Doe", "Richard Roe Jr.", "Plain Name"),
            False,
        ),
        (
            [{"given": "Jane", "family": "Doe"}, {"name": "R. Roe"}, 5, None],
            ("Jane Doe", "R. Roe"),
            False,
        ),
        (["Jane Doe", "et al."], ("Jane Doe",), True),
        ('Zhangyang "Atlas" Wang, Pan Li', ('Zhangyang "Atlas" Wang', "Pan Li"), False),
        (r"C. Bal\'azs, P. Nadolsky", ("C. Balázs", "P. Nadolsky"), False),
        ("", (), False),
        (None, (), False),
        (3, (), False),
    ],
)
def test_authors_are_split_and_put_in_reading_order(value, names, more):
    assert split_authors(value) == (names, more)


def test_b10_thousands_of_authors_are_read():
    names, _ = split_authors("; ".join(f"Author, A{n}" for n in range(3000)))
    assert len(names) == 3000


def test_a_suffix_is_no_first_name():
    assert in_reading_order("John Doe, Jr.") == "John Doe, Jr."


@pytest.mark.parametrize(
    ("value", "year"),
    [
        (2020, 2020),
        (2020.0, 2020),
        ("2020", 2020),
        ("2020-05-01", 2020),
        ("1999/05//", 1999),
        ("May 2020", 2020),
        ("20200501", 2020),
        ([2019, 2020], 2019),
        (0, None),
        ("0000", None),
        ("10 15", None),
        ("n.d.", None),
        (None, None),
        (True, None),
        (math.nan, None),
        (10**60, None),
    ],
)
def test_b12_a_year_is_a_year_or_absent(value, year):
    assert year_of(value) == year


def test_values_of_other_kinds_become_text():
    assert json_value({1: (b"x", 10**5000, -math.inf)}) == {"1": ["b'x'", hex(10**5000), "-inf"]}


def test_an_entry_without_key_lends_its_fields_to_nobody(tmp_path):
    text = "@article{, title={No key at all}, year={1999}}\n@misc{b, title={Second of them}}\n"
    papers, _, _ = from_text(tmp_path, "p.bib", text)
    second = next(paper for paper in papers if paper.title == "Second of them")
    assert (second.venue, second.year) == (None, None)


def test_text_behind_a_json_array_is_named_not_dropped(tmp_path):
    text = '[{"title": "First of all", "abstract": "We see."}]\n[{"title": "Second of all"}]\n'
    papers, bad, _ = from_text(tmp_path, "p.json", text)
    assert [paper.title for paper in papers] == ["First of all"]
    assert [(one.line, "was not read" in one.reason) for one in bad] == [(2, True)]
