import json
from dataclasses import replace
from pathlib import Path

import pytest

from rag import as_json, render
from rag.schema import (
    Answer,
    BadRecord,
    Citation,
    ImportReport,
    Note,
    Paper,
    RankedPaper,
    Source,
    Span,
    Statement,
    Status,
)

DATA = Path(__file__).parent / "data" / "render"
QUESTION = "How low is the regret?"
FIRST = "We study matching markets with ties, where workers have preferences over firms."
SECOND = "The regret of our rule grows with the logarithm of the horizon."
UNTITLED = Paper(
    id="text:0123456789abcdef",
    abstract=f"{FIRST} {SECOND}",
    authors=("Wu Lin", "Ann Author", "Bob Writer", "Cleo Fourth"),
    topic="Theory · Game Theory",
)
TITLED = Paper(
    id="doi:10.1000/x",
    title="Learning to Match",
    abstract="Workers learn whom they prefer. Firms do not.",
    authors=("Ann Author",),
    more_authors=True,
    year=2025,
    venue="Journal of Examples",
    doi="10.1000/x",
    topic="Theory",
    keywords=("matching", "ties"),
    source=Source("papers.bib", 12, "author2025"),
)
BARE = Paper(id="arxiv:2501.00001", title="On Nothing", arxiv_id="2501.00001")
RANKED = (
    RankedPaper(UNTITLED, 1, 0.031, 0.62, f"{UNTITLED.id}#0"),
    RankedPaper(TITLED, 2, 0.03, None, f"{TITLED.id}#0"),
    RankedPaper(BARE, 3, 0.01, -0.05, f"{BARE.id}#0"),
)


def cited(marker, paper, quote, support="verbatim"):
    start = paper.abstract.index(quote)
    span = Span(start, start + len(quote))
    return Citation(marker, paper, f"{paper.id}#0", span, quote, support)


QUOTED = Answer(
    question=QUESTION,
    text=f"{SECOND} [1]\nWorkers learn whom they prefer. [2]",
    abstained=False,
    statements=(
        Statement(SECOND, (1,), "verbatim"),
        Statement("Workers learn whom they prefer.", (2,), "verbatim"),
    ),
    citations=(
        cited(1, UNTITLED, SECOND),
        cited(2, TITLED, "Workers learn whom they prefer."),
    ),
    papers=RANKED,
    timings_ms={"search": 1.5, "total": 20.0},
    searched=QUESTION,
)
WRITTEN = replace(
    QUOTED,
    text="The regret grows slowly. [1][2] It is known to be optimal.",
    statements=(
        Statement("The regret grows slowly.", (1, 2), "unchecked"),
        Statement("It is known to be optimal.", (), "unchecked"),
    ),
    citations=tuple(replace(citation, support="unchecked") for citation in QUOTED.citations),
    llm="ollama:example",
    searched="How low is the regret in matching markets?",
    invented=(7, 0),
    raw="The regret grows slowly [1][2]. It is known to be optimal [7][0].",
    error="The server stopped in the middle of the answer. Ask again.",
    notes=("Only papers of 2025 were searched.",),
)
ABSTAINED = Answer(
    question="Is there life on Mars?",
    text="The papers in this library do not answer this question.",
    abstained=True,
    papers=RANKED,
    searched="Is there life on Mars?",
)


# ---- answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        pytest.param(QUOTED, "quoted.txt", id="quoted"),
        pytest.param(WRITTEN, "written.txt", id="by a language model"),
        pytest.param(ABSTAINED, "abstained.txt", id="abstention"),
    ],
)
def test_answers_are_shown_as_reviewed(answer, name):
    assert render.answer_text(answer) + "\n" == (DATA / name).read_text("utf-8")


def test_a_quoted_sentence_is_printed_once():
    shown = " ".join(render.answer_text(QUOTED).split())
    assert shown.count(SECOND) == 1
    assert f"{SECOND} [1] — Wu Lin, Ann Author, Bob Writer et al." in shown


def test_two_papers_that_say_the_same_are_told_apart_by_number():
    both = (Statement(SECOND, (1, 2), "verbatim"),)
    shown = render.answer_text(replace(QUOTED, statements=both))
    assert "\n    — [1] Wu Lin" in shown
    assert "\n    — [2] Learning to Match" in shown


def test_what_stands_below_a_streamed_text_does_not_repeat_it():
    below = render.sources_text(WRITTEN)
    assert render.answer_text(WRITTEN).endswith(below)
    assert below.startswith("Sources\n  [1] “")
    assert WRITTEN.text not in below


def test_b19_invented_markers_are_told_in_one_sentence():
    one = render.sources_text(replace(WRITTEN, invented=(7,)))
    assert "The model cited [7], which is no source; it was left out." in one
    three = " ".join(render.sources_text(replace(WRITTEN, invented=(7, 8, 0))).split())
    assert "cited [7], [8] and [0], which are no sources; they were left out." in three


def test_b21_an_answer_without_any_source_is_marked():
    claims = (Statement("Yes.", (), "unchecked"), Statement("Surely.", (), "unsupported"))
    alone = replace(WRITTEN, text="Yes. Surely.", statements=claims, citations=())
    shown = render.answer_text(alone)
    assert "No source stands behind this answer" in shown
    assert "Sources" not in shown


def test_b21_an_abstention_offers_papers_as_nearest_and_cites_none():
    shown = render.answer_text(ABSTAINED)
    assert "Nearest papers (they do not answer it)" in shown
    assert "[1]" not in shown
    many = replace(ABSTAINED, papers=RANKED * 5)
    assert render.answer_text(many).count("\n  - ") == render.MOST_NEAREST


@pytest.mark.parametrize(
    ("support", "told"),
    [
        pytest.param("weak", "Only in part supported by its source: “Slow.”", id="weak"),
        pytest.param("unsupported", "Not supported by its source: “Slow.”", id="unsupported"),
        pytest.param("unchecked", "Written by ollama:example.", id="unchecked"),
    ],
)
def test_doubtful_statements_are_named(support, told):
    doubtful = replace(WRITTEN, statements=(Statement("Slow.", (1,), support),))
    assert told in render.sources_text(doubtful)


def test_supported_statements_raise_no_doubt():
    sure = replace(WRITTEN, statements=(Statement("Slow.", (1,), "supported"),))
    assert "supported" not in render.sources_text(sure)
    assert "Written by" not in render.sources_text(sure)


def test_b23_searched_text_is_shown_only_when_it_differs():
    assert "Searched for: How low is the regret in matching" in render.sources_text(WRITTEN)
    assert "Searched for" not in render.answer_text(replace(QUOTED, searched=f" {QUESTION}\n"))


def test_b25_an_incomplete_answer_keeps_its_text_and_says_why():
    shown = render.answer_text(WRITTEN)
    assert shown.startswith("The regret grows slowly. [1][2]")
    assert "The answer is incomplete: The server stopped in the middle" in shown


def test_an_answer_of_courtesy_is_its_text_alone():
    polite = Answer("thanks!", "Ask me about the papers.", abstained=False)
    assert render.answer_text(polite) == "Ask me about the papers."


def test_lists_keep_a_line_an_item():
    items = (Statement("- First.", (1,), "supported"), Statement("- Second.", (2,), "supported"))
    listed = replace(WRITTEN, statements=items, text="- First. [1]\n- Second. [2]")
    assert render.answer_text(listed).startswith("- First. [1]\n- Second. [2]\n\nSources")


@pytest.mark.parametrize("width", [40, 60, 100])
def test_lines_fit_the_width_but_addresses_stay_whole(width):
    lines = render.answer_text(WRITTEN, width=width).splitlines()
    assert "https://doi.org/10.1000/x" in render.answer_text(WRITTEN, width=width)
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)


def test_b26_prices_formulas_and_rich_markup_stay_as_they_are():
    text = r"Costs fell from $3000 to $25; see $E=mc^2$, \(x_i\), [bold]b[/bold] and {} %s."
    shown = render.answer_text(Answer("q", text, abstained=False), width=200)
    assert shown == text


# ---- terminals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", "␛[31mred␛[0m", id="colour"),
        pytest.param("\x1b]0;title\x07", "␛]0;title␇", id="window title"),
        pytest.param("\x9b31m\x90", "�31m�", id="C1 controls"),
        pytest.param("over\rwritten\x08\x7f\x00", "over␍written␈␡␀", id="cursor"),
        pytest.param("a\u202eb\u2066c\u2028", "a�b�c�", id="direction and line marks"),
        pytest.param("half \ud800", "half �", id="half surrogate"),
        pytest.param("naïve 论文 ✓\n\ttab", "naïve 论文 ✓\n\ttab", id="ordinary text"),
    ],
)
def test_control_characters_cannot_steer_the_terminal(text, shown):
    assert render.plain(text) == shown


def test_b36_no_output_passes_a_control_character_of_a_paper():
    evil = "\x1b[31m\x9b2J\x07Evil"
    paper = replace(
        TITLED, title=evil, abstract=evil, authors=(evil,), venue=evil, topic=evil, url=evil,
        doi=None, keywords=(evil,), id=evil, source=Source(evil, 1),
    )  # fmt: skip
    ranked = RankedPaper(paper, 1, 1.0, None, "p")
    citation = Citation(1, paper, "p", Span(0, len(evil)), evil)
    answer = Answer(
        evil, f"{evil} [1]", abstained=False, statements=(Statement(evil, (1,), "unchecked"),),
        citations=(citation,), papers=(ranked,), searched=f"{evil}!", llm=evil, error=evil,
        notes=(evil,),
    )  # fmt: skip
    report = ImportReport(
        read=1, failed=1, bad=(BadRecord(evil, 1, evil),), notes=(Note(evil, evil),)
    )
    status = Status(evil, evil, 1, 1, 1, 1, 0, evil, 2, problems=(evil,))
    quoted = replace(answer, statements=(Statement(evil, (1,), "verbatim"),))
    outputs = (
        render.answer_text(answer), render.answer_text(quoted), render.paper_text(paper),
        render.answer_text(replace(answer, abstained=True)), render.paper_line(paper),
        render.ranked_text([ranked]), render.report_text(report), render.status_text(status),
    )  # fmt: skip
    for output in outputs:
        assert "Evil" in output
        assert all(char.isprintable() or char == "\n" for char in output)


# ---- JSON ------------------------------------------------------------------------------------


def test_answer_json_has_the_promised_shape():
    found = as_json.answer_json(QUOTED)
    assert json.loads(json.dumps(found)) == found
    promised = {"question", "answer", "abstained", "statements", "citations", "papers", "llm"}
    assert promised | {"timings_ms"} <= set(found)
    assert found["statements"][0] == {"text": SECOND, "citations": [1], "support": "verbatim"}
    first = found["citations"][0]
    assert UNTITLED.abstract[first["start"] : first["end"]] == first["quote"] == SECOND
    kept = ("marker", "paper_id", "label", "authors", "title", "support")
    assert {name: first[name] for name in kept} == {
        "marker": 1,
        "paper_id": UNTITLED.id,
        "label": UNTITLED.label,
        "authors": list(UNTITLED.authors),
        "title": "",
        "support": "verbatim",
    }


def test_answer_json_ranks_papers_with_their_opening_words():
    papers = as_json.answer_json(QUOTED)["papers"]
    assert [paper["score"] for paper in papers] == [0.031, 0.03, 0.01]
    assert [paper["cosine"] for paper in papers] == [0.62, None, -0.05]
    start = "We study matching markets with ties, where workers have preferences over firms."
    assert papers[0]["abstract_start"] == start
    assert papers[2]["abstract_start"] == ""
    assert {"paper_id", "label", "title", "authors", "doi", "year"} <= set(papers[1])


def test_answer_json_keeps_what_a_model_said_and_why_it_stopped():
    found = as_json.answer_json(WRITTEN)
    assert (found["llm"], found["raw"], found["error"]) == (
        "ollama:example",
        WRITTEN.raw,
        WRITTEN.error,
    )
    assert found["invented"] == [7, 0]
    assert found["searched"] == WRITTEN.searched
    assert as_json.answer_json(replace(QUOTED, searched=""))["searched"] == QUESTION


# ---- papers ----------------------------------------------------------------------------------


def test_paper_is_shown_with_its_fields_and_abstract():
    assert render.paper_text(TITLED) == "\n".join(
        [
            "Learning to Match",
            "Authors: Ann Author et al.",
            "Topic: Theory",
            "Venue: Journal of Examples",
            "Year: 2025",
            "DOI: 10.1000/x",
            "Keywords: matching, ties",
            "Source: papers.bib, line 12",
            "Id: doi:10.1000/x",
            "",
            "Workers learn whom they prefer. Firms do not.",
        ]
    )


def test_title_is_never_invented():
    assert render.paper_text(UNTITLED).startswith("(no title)\nAuthors: Wu Lin, Ann Author, ")
    assert render.paper_text(BARE).endswith("\n\n(no abstract)")
    assert as_json.paper_json(UNTITLED)["title"] == ""


def test_paper_json_holds_the_whole_record():
    found = as_json.paper_json(replace(TITLED, extra={"volume": 3}, raw_abstract="raw"))
    assert json.loads(json.dumps(found)) == found
    assert found["extra"] == {"volume": 3}
    assert found["source"] == {"file": "papers.bib", "line": 12, "key": "author2025"}
    assert (found["raw_abstract"], found["keywords"]) == ("raw", ["matching", "ties"])


def test_listed_paper_takes_one_line():
    lines = [render.paper_line(replace(paper, title="Long\n" * 500)) for paper in (TITLED, BARE)]
    assert all("\n" not in line and len(line) < 200 for line in lines)
    assert render.paper_line(TITLED) == (
        "doi:10.1000/x  Learning to Match; Ann Author et al., Journal of Examples, 2025, "
        "https://doi.org/10.1000/x"
    )


def test_b10_thousands_of_authors_are_cut_short():
    crowd = replace(TITLED, authors=tuple(f"A. Author{n}" for n in range(3000)))
    assert "A. Author2 et al." in render.paper_line(crowd)
    assert (
        len(render.answer_text(replace(ABSTAINED, papers=(RankedPaper(crowd, 1, 1, 1, "p"),))))
        < 400
    )


def test_ranked_papers_show_number_and_cosine_where_there_is_one():
    lines = render.ranked_text(RANKED, width=200).splitlines()
    assert lines[0].startswith(" 1. Wu Lin, Ann Author, Bob Writer et al.: “We study matching")
    assert lines[0].endswith("(text:0123456789abcdef, cosine 0.62)")
    assert lines[1].endswith("(doi:10.1000/x)")
    assert lines[2] == (
        " 3. On Nothing, https://arxiv.org/abs/2501.00001 (arxiv:2501.00001, cosine -0.05)"
    )
    assert render.ranked_text([]) == "No paper matches."


# ---- reports ---------------------------------------------------------------------------------

BAD = BadRecord("papers.jsonl", 41, "'abstract' is empty.\nFix the line.")


@pytest.mark.parametrize(
    ("report", "text"),
    [
        pytest.param(
            ImportReport(read=40, added=40, seconds=1.24), "40 records read in 1.2 s: 40 added.",
            id="all new",
        ),
        pytest.param(
            ImportReport(6, 1, 1, 2, 1, 1, bad=(BAD,)),
            "6 records read in 0.0 s: 1 added, 1 updated, 2 unchanged, 1 duplicate, 1 failed.\n"
            "papers.jsonl, line 41: 'abstract' is empty. Fix the line.",
            id="mixed",
        ),
        pytest.param(ImportReport(), "Nothing was stored: no record was found.", id="empty"),
        pytest.param(
            ImportReport(read=1, failed=1, bad=(BadRecord("x.bib", None, "It is a folder."),)),
            "Nothing was stored: 1 record read, 1 failed.\nx.bib: It is a folder.",
            id="b04 zero stored is no success",
        ),
        pytest.param(
            ImportReport(read=1, added=1, pending=1, notes=(Note("a.ris", "2 lines ignored.", 3),)),
            "1 record read in 0.0 s: 1 added.\n"
            "All can be asked now. 1 paper still waits for vectors, which are made when a question "
            "wants them, in the chat page, or\n  by: citewell embed\n"
            "Note: a.ris, line 3: 2 lines ignored.",
            id="pending and notes",
        ),
    ],
)  # fmt: skip
def test_report_says_what_became_of_the_records(report, text):
    assert render.report_text(report, width=120) == text


def test_the_command_that_makes_vectors_names_the_library():
    report = ImportReport(read=2, added=2, pending=2)
    named = "by: citewell embed --library 'my thesis'"
    assert render.report_text(report, library="my thesis", width=200).endswith(named)
    assert named in render.status_text(replace(STATUS, name="my thesis"), width=200)


def test_b04_at_most_twenty_bad_records_are_listed_and_the_rest_counted():
    bad = tuple(BadRecord("a.jsonl", n, "No.") for n in range(1, 36))
    lines = render.report_text(ImportReport(read=36, added=1, failed=35, bad=bad)).splitlines()
    assert lines[1] == "a.jsonl, line 1: No."
    assert lines[20:] == ["a.jsonl, line 20: No.", "and 15 more"]
    found = as_json.report_json(ImportReport(read=36, added=1, failed=35, bad=bad))
    assert len(found["bad"]) == 35


def test_report_json_adds_up():
    report = ImportReport(read=3, added=1, unchanged=1, failed=1, bad=(BAD,), import_id=4)
    found = as_json.report_json(report)
    assert json.loads(json.dumps(found)) == found
    counts = ("added", "updated", "unchanged", "duplicate", "failed")
    assert found["read"] == sum(found[name] for name in counts)
    assert (found["stored"], found["import_id"]) == (2, 4)
    assert found["bad"][0] == {"file": "papers.jsonl", "line": 41, "reason": BAD.reason}


STATUS = Status("default", "/data/default", 40, 52, 50, 40, 1, "minilm", 384)


def test_status_names_problems_and_says_how_deep_it_looked():
    assert render.status_text(replace(STATUS, embedded=52)).splitlines() == [
        "Library 'default' in /data/default",
        "40 papers, 1 of them without an abstract; 40 searchable",
        "52 passages; 52 embedded with minilm (384 dimensions)",
        "No problems found. Compare all parts: citewell status --check",
    ]
    assert render.status_text(replace(STATUS, checked=True)).endswith("No problems found.")
    broken = render.status_text(replace(STATUS, problems=("2 passages wait.",), dim=0))
    assert broken.endswith("Problem: 2 passages wait.")
    assert "dimensions" not in broken
    assert "The others are embedded when a question wants them" in render.status_text(STATUS)


def test_status_json_has_the_promised_keys():
    found = as_json.status_json(replace(STATUS, problems=("One.",)))
    assert json.loads(json.dumps(found)) == found
    assert {"papers", "passages", "embedded", "embedder", "problems"} <= set(found)
    assert found["problems"] == ["One."]
