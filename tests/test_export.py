import json
import re
from dataclasses import replace
from pathlib import Path

import bibtexparser
import pytest
import rispy

from rag.entries import keys_of, part_name, type_of
from rag.errors import SettingsError
from rag.export import export
from rag.readers import read_papers
from rag.schema import Paper

DATA = Path(__file__).parent / "data" / "export"
FULL = Paper(
    id="doi:10.1000/x_1",
    title="Stable Matching of BERT & Co: 50% of $5",
    abstract="We study markets with ties. The regret is O(n^2) for {0, 1} losses.",
    authors=("Ann Author", "Ludwig van Beispiel", "Bob Writer Jr."),
    more_authors=True,
    year=2025,
    venue="Journal of Examples",
    doi="10.1000/x_1",
    arxiv_id="2501.00001",
    url="https://example.org/a_b?c=1&d=%20#e",
    keywords=("matching", "regret bounds"),
    extra={"volume": 12, "issue": "3", "pages": "10–19"},
)
UNTITLED = Paper(
    id="text:1",
    abstract="We study matching markets with ties, where workers have preferences over firms.",
    authors=("Wu Lin",),
)
HOSTILE = "Evil}\n@article{x,\n title = {y}\r\nER  - \nTY  - JOUR\nTI  - z\x1b[31m\u2028\\input{a}"


def entries_of(text):
    library = bibtexparser.parse_string(text)
    assert not library.failed_blocks
    assert len(library.blocks) == len(library.entries)
    return library.entries


def fields_of(text):
    (entry,) = entries_of(text)
    return {field.key: field.value for field in entry.fields}


def read_back(tmp_path, text, name):
    file = tmp_path / name
    file.write_text(text, "utf-8")
    return list(read_papers(file))


# ---- all formats -----------------------------------------------------------------------------


def test_unknown_format_is_refused_and_the_known_ones_are_named():
    with pytest.raises(SettingsError, match=r"'endnote'.*bibtex, ris, csl-json.*--format"):
        export([FULL], "endnote")


@pytest.mark.parametrize(
    ("format_", "count"),
    [
        pytest.param("bibtex", lambda text: len(entries_of(text)), id="bibtex"),
        pytest.param("ris", lambda text: len(rispy.loads(text)), id="ris"),
        pytest.param("csl-json", lambda text: len(json.loads(text)), id="csl-json"),
    ],
)
def test_repeats_are_dropped_and_the_first_order_is_kept(format_, count):
    text = export([FULL, UNTITLED, FULL], format_)
    assert count(text) == 2
    assert text.index("author2025stable") < text.index("lin-we")
    assert count(export([], format_)) == 0


@pytest.mark.parametrize("format_", ["bibtex", "ris", "csl-json"])
def test_paper_without_title_gets_its_opening_words_in_brackets(format_):
    text = export([UNTITLED], format_)
    assert "[We study matching markets with ties, where workers …]" in text.replace("{", "")


@pytest.mark.parametrize("format_", ["bibtex", "ris", "csl-json"])
def test_title_of_few_words_and_empty_fields_leave_no_traces(format_):
    text = export([Paper(id="1", abstract="Short and whole.")], format_)
    assert "[Short and whole.]" in text
    assert "None" not in text
    assert not re.search(r"\bauthor|AU  -", text)


# ---- keys ------------------------------------------------------------------------------------


def named(number, title, author="Wu Lin", year=2025):
    return Paper(id=str(number), title=title, authors=(author,) if author else (), year=year)


@pytest.mark.parametrize(
    ("papers", "keys"),
    [
        pytest.param([named(1, "We study it")], ["lin2025we"], id="who, when, first word"),
        pytest.param([named(1, "The Art")], ["lin2025art"], id="articles are passed over"),
        pytest.param([named(1, "Art", year=None)], ["lin-art"], id="no year"),
        pytest.param([named(1, "Art", author=None)], ["anon2025art"], id="no author"),
        pytest.param([named(1, "“Ünder” π", "José Ñandú")], ["nandu2025under"], id="ascii"),
        pytest.param([named(1, "论文", "李明", None)], ["anon"], id="no letters of ASCII at all"),
        pytest.param([named(1, "x", "A {}, B%")], ["a2025x"], id="hostile name"),
        pytest.param(
            [named(1, "We a"), named(2, "Art"), named(3, "We b")],
            ["lin2025wea", "lin2025art", "lin2025web"],
            id="letters on a clash",
        ),
        pytest.param(
            [named(1, "We a"), named(2, "wea"), named(3, "We b")],
            ["lin2025web", "lin2025wea", "lin2025wec"],
            id="a letter that would clash is passed over",
        ),
    ],
)
def test_keys_are_readable_and_unique(papers, keys):
    assert keys_of(papers) == keys


def test_b01_hundreds_of_papers_that_would_share_a_key_get_one_each():
    keys = keys_of([named(n, "We") for n in range(800)])
    assert len(set(keys)) == 800
    assert keys[25:28] == ["lin2025wez", "lin2025weaa", "lin2025weab"]


# ---- names and kinds -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "inverted"),
    [
        pytest.param("Ann B. Author", "Author, Ann B.", id="plain"),
        pytest.param("Ludwig van der Beispiel", "van der Beispiel, Ludwig", id="small words"),
        pytest.param("Bob Writer Jr.", "Writer, Bob, Jr.", id="suffix"),
        pytest.param("Bob Writer, Jr.", "Writer, Bob, Jr.", id="suffix after a comma"),
        pytest.param("Author, Ann", "Author, Ann", id="inverted already"),
        pytest.param("Plato", "Plato", id="one name"),
        pytest.param("Research and Development", "Research and Development", id="group with and"),
        pytest.param("Some Collaboration", "Some Collaboration", id="group"),
        pytest.param("  ", "", id="blank"),
    ],
)
def test_names_are_parted(name, inverted):
    assert part_name(name).inverted == inverted


@pytest.mark.parametrize(
    ("venue", "extra", "kind"),
    [
        pytest.param("Journal of Examples", {}, "article", id="journal"),
        pytest.param("IEEE Transactions on Examples", {}, "article", id="transactions"),
        pytest.param("Nature Communications", {}, "article", id="named journal"),
        pytest.param("Proceedings of the IEEE", {}, "article", id="journal called proceedings"),
        pytest.param("Proceedings of the IEEE Conference on X", {}, "inproceedings", id="ieee"),
        pytest.param("NeurIPS 2024", {}, "inproceedings", id="acronym and year"),
        pytest.param("ICML2024", {}, "inproceedings", id="acronym with its year"),
        pytest.param("Workshop on Examples", {}, "inproceedings", id="workshop"),
        pytest.param("arXiv preprint arXiv:2501.00001", {}, "misc", id="arxiv"),
        pytest.param("Somewhere", {}, "misc", id="not known"),
        pytest.param(None, {}, "misc", id="none"),
        pytest.param("Somewhere", {"entry_type": "InProceedings"}, "inproceedings", id="bibtex"),
        pytest.param("Somewhere", {"type_of_reference": "JOUR"}, "article", id="ris"),
        pytest.param(None, {"entry_type": "article{x,"}, "misc", id="hostile type"),
    ],
)
def test_kind_comes_from_the_source_else_from_the_venue(venue, extra, kind):
    assert type_of(Paper(id="1", title="x", venue=venue, extra=extra)) == kind


# ---- BibTeX ----------------------------------------------------------------------------------


def test_bibtex_holds_every_field():
    fields = fields_of(export([FULL], "bibtex"))
    assert fields == {
        "title": r"Stable Matching of {BERT} \& Co: 50\% of \$5",
        "author": "Ann Author and Ludwig van Beispiel and Writer, Jr., Bob and others",
        "journal": "Journal of Examples",
        "year": "2025",
        "volume": "12",
        "number": "3",
        "pages": "10--19",
        "doi": "10.1000/x_1",
        "eprint": "2501.00001",
        "archiveprefix": "arXiv",
        "url": "https://example.org/a_b?c=1&d=%20#e",
        "keywords": "matching, regret bounds",
        "abstract": r"We study markets with ties. The regret is O(n\^{}2) for \{0, 1\} losses.",
    }


@pytest.mark.parametrize(
    ("title", "written"),
    [
        pytest.param(r"a&b%c$d#e_f", r"a\&b\%c\$d\#e\_f", id="escaped by a backslash"),
        pytest.param(r"a~b^c\d", r"a\textasciitilde{}b\^{}c\textbackslash{}d", id="by a word"),
        pytest.param("a {b} c", r"a \{b\} c", id="balanced braces"),
        pytest.param("a } b { c", r"a \textbraceright{} b \textbraceleft{} c", id="crossed braces"),
        pytest.param("a {{b}", r"a \textbraceleft{}\textbraceleft{}b\textbraceright{}", id="open"),
        pytest.param("naïve 论文", "naïve 论文", id="unicode stays"),
        pytest.param("two\n\nlines\x00 \ud800", "two lines", id="control characters"),
        pytest.param("iPhone and GPT-4", "{iPhone} and {GPT}-4", id="capitals inside words"),
        pytest.param("end \\", r"end \textbackslash{}", id="backslash before the closing brace"),
    ],
)
def test_special_characters_do_not_break_latex(title, written):
    assert fields_of(export([Paper(id="1", title=title)], "bibtex"))["title"] == written


def test_bibtex_braces_are_balanced_whatever_a_value_holds():
    hostile = Paper(
        id="1", title=HOSTILE, abstract=HOSTILE, authors=(HOSTILE, "}", "and"), venue=HOSTILE,
        doi="10.1/}{x", arxiv_id="}", url="http://x/}\n@b{", keywords=(HOSTILE,),
        extra={"volume": "}", "entry_type": "}", "pages": "{-}", "publisher": "}}"},
    )  # fmt: skip
    text = export([hostile], "bibtex")
    fields = fields_of(text)
    assert text.count("{") == text.count("}")
    assert len(text.strip().splitlines()) == len(fields) + 2
    assert fields["title"].startswith(r"Evil\textbraceright{} @article\textbraceleft{}x, title")
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("authors", "written"),
    [
        pytest.param(("Research and Development",), "{Research and Development}", id="and"),
        pytest.param(("Acme‚ Inc",), "{Acme, Inc}", id="comma of a group"),
        pytest.param(("others",), "{others}", id="a person called others"),
        pytest.param(("Plato", "A. B & Sons"), r"Plato and A. B \& Sons", id="escaped"),
        pytest.param(("Author,",), "{Author,}", id="lonely comma"),
    ],
)
def test_authors_cannot_be_taken_apart_by_bibtex(authors, written):
    paper = Paper(id="1", title="x", authors=authors)
    assert fields_of(export([paper], "bibtex"))["author"] == written


def test_keywords_with_commas_are_parted_by_semicolons():
    paper = Paper(id="1", title="x", keywords=("a, b", "c"))
    assert fields_of(export([paper], "bibtex"))["keywords"] == "a, b; c"


# ---- RIS -------------------------------------------------------------------------------------


def test_ris_holds_every_field():
    (record,) = rispy.loads(export([FULL], "ris"))
    assert record == {
        "type_of_reference": "JOUR",
        "id": "author2025stable",
        "title": "Stable Matching of BERT & Co: 50% of $5",
        "authors": ["Author, Ann", "van Beispiel, Ludwig", "Writer, Bob, Jr.", "et al."],
        "secondary_title": "Journal of Examples",
        "year": "2025",
        "volume": "12",
        "number": "3",
        "start_page": "10",
        "end_page": "19",
        "doi": "10.1000/x_1",
        "urls": ["https://example.org/a_b?c=1&d=%20#e", "https://arxiv.org/abs/2501.00001"],
        "keywords": ["matching", "regret bounds"],
        "abstract": FULL.abstract,
    }


def test_ris_values_cannot_end_a_record_or_begin_another():
    paper = Paper(
        id="1", title=HOSTILE, abstract=HOSTILE, authors=(HOSTILE,), venue=HOSTILE, doi=HOSTILE,
        arxiv_id=HOSTILE, url=HOSTILE, keywords=(HOSTILE,), extra={"volume": HOSTILE},
    )  # fmt: skip
    text = export([paper, UNTITLED], "ris")
    assert [record["id"] for record in rispy.loads(text)] == [keys_of([paper])[0], "lin-we"]
    assert text.count("\nER  - ") == 2
    assert all(re.match(r"[A-Z][A-Z0-9]  - ", line) for line in text.splitlines() if line)


# ---- CSL-JSON --------------------------------------------------------------------------------


def test_csl_json_holds_every_field():
    (item,) = json.loads(export([FULL], "csl-json"))
    assert item == {
        "id": "author2025stable",
        "type": "article-journal",
        "title": FULL.title,
        "author": [
            {"family": "Author", "given": "Ann"},
            {"family": "van Beispiel", "given": "Ludwig"},
            {"family": "Writer", "given": "Bob", "suffix": "Jr."},
            {"literal": "others"},
        ],
        "container-title": "Journal of Examples",
        "issued": {"date-parts": [[2025]]},
        "volume": "12",
        "issue": "3",
        "page": "10-19",
        "number": "arXiv:2501.00001",
        "DOI": "10.1000/x_1",
        "URL": FULL.url,
        "keyword": "matching, regret bounds",
        "abstract": FULL.abstract,
    }


def test_csl_json_calls_a_preprint_an_article_and_names_a_group_whole():
    preprint = Paper(id="1", title="x", authors=("Acme‚ Inc",), arxiv_id="2501.00001")
    (item,) = json.loads(export([preprint], "csl-json"))
    assert item["type"] == "article"
    assert item["author"] == [{"literal": "Acme, Inc"}]
    assert item["URL"] == "https://arxiv.org/abs/2501.00001"


# ---- there and back --------------------------------------------------------------------------

KEPT = ("title", "abstract", "authors", "more_authors", "year", "venue", "doi", "url", "keywords")


@pytest.mark.parametrize(
    ("format_", "name"),
    [pytest.param("bibtex", "a.bib", id="bibtex"), pytest.param("ris", "a.ris", id="ris")],
)
def test_our_own_readers_read_back_what_was_written(tmp_path, format_, name):
    whole = replace(FULL, authors=("Ann Author", "Ludwig van Beispiel", "Plato"))
    (paper,) = read_back(tmp_path, export([whole], format_), name)
    expected = {field: getattr(whole, field) for field in KEPT}
    assert {field: getattr(paper, field) for field in KEPT} == expected
    assert paper.source.key == "author2025stable"


def test_arxiv_id_comes_back_from_bibtex(tmp_path):
    (paper,) = read_back(tmp_path, export([FULL], "bibtex"), "a.bib")
    assert paper.arxiv_id == "2501.00001"


@pytest.mark.parametrize(
    ("format_", "name"),
    [pytest.param("bibtex", "a.bib", id="bibtex"), pytest.param("ris", "a.ris", id="ris")],
)
def test_hostile_paper_comes_back_as_one_paper(tmp_path, format_, name):
    paper = Paper(id="1", title=HOSTILE, abstract="An abstract of two words.", venue=HOSTILE)
    items = read_back(tmp_path, export([paper, UNTITLED], format_), name)
    assert [type(item) for item in items] == [Paper, Paper]
    assert items[0].abstract == "An abstract of two words."


@pytest.mark.parametrize(
    ("format_", "name"),
    [
        pytest.param("bibtex", "two.bib", id="bibtex"),
        pytest.param("ris", "two.ris", id="ris"),
        pytest.param("csl-json", "two.json", id="csl-json"),
    ],
)
def test_files_are_as_reviewed(format_, name):
    assert export([FULL, UNTITLED], format_) == (DATA / name).read_text("utf-8")
