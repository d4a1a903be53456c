"""Reading files of questions, and which papers they call relevant."""

import gzip
import json
import zipfile

import openpyxl
import pytest

from eval import tables
from eval.cases import Case, dump_cases, load_cases, relevant_to
from eval.labels import Label, PaperIndex
from rag.errors import RecordError
from rag.schema import Paper, Source, Turn

FULL = {
    "id": "q1",
    "question": "What is faster?",
    "kind": "fact",
    "history": ["Earlier?", {"question": "And then?", "answer": "So."}],
    "answerable": True,
    "relevant": ["10.1000/xyz", {"first_author": "A. Author", "abstract_start": "We study"}],
    "evidence": ["One.", {"text": ["Two.", "Three."]}],
    "must_contain": ["18|eighteen", 5],
    "answer": "It is.",
    "nearest": [{"title": "T"}],
}


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_a_full_line_is_read_and_the_rest_is_kept(tmp_path):
    (case,) = load_cases(write(tmp_path / "q.jsonl", json.dumps(FULL)))
    assert case.history == (Turn("Earlier?"), Turn("And then?", "So."))
    assert case.evidence == ("One.", "Two.", "Three.")
    assert case.must_contain == ("18|eighteen", "5")
    assert [label.name for label in case.relevant] == ["10.1000/xyz", "A. Author: We study"]
    assert case.extra == {"nearest": [{"title": "T"}]}


def test_only_the_question_is_needed_and_ids_are_given_by_position(tmp_path):
    path = write(tmp_path / "q.jsonl", '{"question": "A?"}', "", '{"question": "B?", "id": "x"}')
    first, second = load_cases(path)
    assert (first.id, second.id) == ("case-0001", "x")
    assert first.answerable is None
    assert (first.relevant, first.evidence, first.must_contain) == ((), (), ())


def test_a_given_id_is_never_given_twice(tmp_path):
    path = write(tmp_path / "q.jsonl", '{"question": "A?"}', '{"question": "B", "id": "case-0001"}')
    assert [case.id for case in load_cases(path)] == ["case-0001+", "case-0001"]


def test_cases_survive_being_written_and_read(tmp_path):
    cases = load_cases(write(tmp_path / "q.jsonl", json.dumps(FULL), '{"question": "Ω?"}'))
    again = tmp_path / "again.jsonl"
    again.write_text(dump_cases(cases), encoding="utf-8")
    assert load_cases(again) == cases


def test_every_bad_line_is_named_before_anything_runs(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_bytes(
        b'{"question": "good", "id": "a"}\n'
        b'{"question": \n'
        b'["a list"]\n'
        b'{"question": "  "}\n'
        b'{"question": "caf\xe9"}\n'
        b'{"question": "\\ud800"}\n'
        b'{"question": "x", "answerable": "perhaps"}\n'
        b'{"question": "x", "relevant": [{"year": 2020}]}\n'
        b'{"question": "x", "n": NaN}\n'
        b'{"question": "again", "id": "a"}\n' + b"[" * 100_000 + b"\n"
    )
    with pytest.raises(RecordError, match="10 bad lines") as caught:
        load_cases(path)
    expected = {
        2: "not valid JSON",
        3: "not a JSON object",
        4: "'question' is empty",
        5: "not UTF-8 at byte 17",
        6: "half a surrogate pair",
        7: "'answerable'",
        8: "'relevant.0' names no paper",
        9: "NaN is no JSON number",
        10: "id 'a' was used on line 1",
        11: "nested too deeply",
    }
    for line, reason in expected.items():
        assert any(
            part.startswith(f"line {line}: ") and reason in part
            for part in str(caught.value).splitlines()
        ), (line, str(caught.value))


def test_a_long_list_of_bad_lines_is_cut(tmp_path):
    path = write(tmp_path / "q.jsonl", *["nonsense"] * 30)
    with pytest.raises(RecordError, match="and 10 more") as caught:
        load_cases(path)
    assert "line 20:" in str(caught.value)
    assert "line 21:" not in str(caught.value)


def test_packed_lines_and_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "q.jsonl.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf{"question": "A?"}\n'))
    assert load_cases(path)[0].question == "A?"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
def test_csv_is_read_with_any_usual_delimiter(tmp_path, delimiter):
    head = delimiter.join(["ID", "Question", "Must contain", "answerable", "relevant", "note"])
    row = delimiter.join(['"7"', '"What, why; how?"', '"a|b\nc"', "yes", '"[""X"", ""Y""]"', "hm"])
    path = tmp_path / "q.csv"
    path.write_text(f"\ufeff{head}\r\n{row}\r\n\r\n", encoding="utf-8", newline="")
    (case,) = load_cases(path)
    assert (case.id, case.question, case.answerable) == ("7", "What, why; how?", True)
    assert case.must_contain == ("a|b", "c")
    assert [label.text for label in case.relevant] == ["X", "Y"]
    assert case.extra == {"note": "hm"}


def test_a_bad_row_of_a_csv_is_named_by_the_line_it_starts_on(tmp_path):
    path = write(tmp_path / "q.csv", "question,kind", '"two\nlines",a', ",b", "x,a,b")
    with pytest.raises(RecordError, match="2 bad lines") as caught:
        load_cases(path)
    assert "line 4: 'question'" in str(caught.value)
    assert "line 5: has 3 cells, but the header names 2" in str(caught.value)


def test_b04_a_very_long_cell_rejects_nothing(tmp_path):
    path = write(tmp_path / "q.csv", "question,note", f"A?,{'x' * 200_000}", "B?,y")
    assert [case.question for case in load_cases(path)] == ["A?", "B?"]


def test_xlsx_is_read_with_its_row_numbers(tmp_path):
    book = openpyxl.Workbook()
    for row in [
        ["id", "question", "answerable", "must_contain", "year"],
        [7, "What?", True, "18; a|b", 2024],
        [None, None, None, None, None],
        [8, "Why?", False, 18, None],
    ]:
        book.active.append(row)
    path = tmp_path / "q.xlsx"
    book.save(path)
    first, second = load_cases(path)
    assert (first.id, first.answerable, first.must_contain) == ("7", True, ("18", "a|b"))
    assert first.extra == {"year": "2024"}
    assert (second.id, second.answerable, second.must_contain) == ("8", False, ("18",))
    book.active.append([8, "Again?"])
    book.save(path)
    with pytest.raises(RecordError, match="line 5: id '8' was used on line 4"):
        load_cases(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("q.txt", b"x", "its kind is not known", id="kind"),
        pytest.param("q.jsonl", b"", "holds no question", id="empty"),
        pytest.param("q.csv", b"text,kind\nA,b\n", "no column 'question'.*text, kind", id="column"),
        pytest.param("q.csv", b"question\ncaf\xe9\n", "not UTF-8: byte 12", id="code page"),
        pytest.param("q.xlsx", b"PK no zip", "not an XLSX workbook", id="damaged workbook"),
        pytest.param("q.jsonl.gz", b"plain", "cannot be read", id="not packed"),
    ],
)
def test_a_file_that_cannot_be_used_gets_one_sentence(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(RecordError, match=message):
        load_cases(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(RecordError, match=r"none\.jsonl.*No such file"):
        load_cases(tmp_path / "none.jsonl")
    (tmp_path / "dir.jsonl").mkdir()
    with pytest.raises(RecordError, match="cannot be read"):
        load_cases(tmp_path / "dir.jsonl")


def test_benchmark_field_names_are_understood(tmp_path):
    row = {"question": "A?", "type": "yesno", "relevant_ids": ["12"], "answer": None}
    (case,) = load_cases(write(tmp_path / "qa.jsonl", json.dumps(row)))
    assert (case.kind, case.answer, case.relevant[0].doc_id) == ("yesno", "", "12")


PAPER = Paper(
    id="p1",
    title="Neural Solvers: a “Study”",
    abstract="We study 18× faster Ω(N) solvers.",
    raw_abstract=r"We study 18$\times$ faster $\Omega (N)$ solvers.",
    authors=("Zoë Author", "B. Author"),
    doi="10.1000/abc",
    arxiv_id="2401.01234",
    source=Source("f.jsonl", 1, "12"),
    extra={"doc_id": "conf-12"},
)


@pytest.mark.parametrize(
    ("label", "fits"),
    [
        pytest.param("p1", True, id="paper id"),
        pytest.param("https://doi.org/10.1000/ABC", True, id="DOI as a link"),
        pytest.param("10.1000/abd", False, id="another DOI"),
        pytest.param("arXiv:2401.01234v3", True, id="arXiv id with version"),
        pytest.param("NEURAL SOLVERS - A STUDY", True, id="title"),
        pytest.param("Neural Solvers", False, id="part of a title"),
        pytest.param({"title": "Neural solvers: A study", "doc_id": "x"}, True, id="title first"),
        pytest.param({"title": "Other", "doc_id": "12"}, False, id="a number is no identity"),
        pytest.param({"doc_id": "conf-12"}, True, id="record's own id"),
        pytest.param(
            {"first_author": "Zoe Author", "abstract_start": r"We study 18$\times$ faster"},
            True,
            id="opening with markup",
        ),
        pytest.param(
            {"first_author": "B. Author", "abstract_start": "We study"}, False, id="second author"
        ),
        pytest.param(
            {"first_author": "Zoë Author", "abstract_start": "study 18"}, False, id="not the start"
        ),
    ],
)
def test_labels_and_papers(label, fits):
    case = Case.model_validate({"question": "q", "relevant": [label]})
    assert relevant_to(case, PAPER) is fits
    resolved = PaperIndex([Paper(id="p0", title="Else"), PAPER]).resolve(case.relevant)
    assert resolved.paper_ids == (("p1",) if fits else ())
    assert len(resolved.missing) == (0 if fits else 1)


def test_a_labelled_paper_that_the_library_lacks_still_counts():
    labels = [Label(text="p1"), Label(text="Not held"), Label(doi="10.1000/abc")]
    resolved = PaperIndex([PAPER]).resolve(labels)
    assert resolved.paper_ids == ("p1",)
    assert resolved.missing == ("Not held",)
    assert len(resolved.judged()) == 2


def test_papers_of_one_title_are_told_apart_by_their_own_id():
    papers = [
        Paper(id=f"p{n}", title="Editorial", source=Source("f", n, f"e{n}")) for n in range(3)
    ]
    index = PaperIndex(papers)
    assert index.resolve([Label(title="Editorial", doc_id="e1")]).paper_ids == ("p1",)
    assert index.resolve([Label(title="Editorial")]).paper_ids == ("p0", "p1", "p2")


def test_a_line_too_long_to_be_a_question_is_named_and_the_next_one_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_MAX_LINE", 64)
    long = json.dumps({"question": "x" * 500})
    path = write(tmp_path / "q.jsonl", '{"question": "A?"}', long, "nonsense", '{"question": "B?"}')
    rows = list(tables.read_json_lines(path))
    assert [(row.line, bool(row.fault)) for row in rows] == [
        (1, False),
        (2, True),
        (3, True),
        (4, False),
    ]
    assert rows[1].fault.startswith("longer than")


def test_a_file_too_large_to_be_held_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path / "q.jsonl", *['{"question": "A?"}'] * 20)
    with pytest.raises(RecordError, match="Split it"):
        list(tables.read_json_lines(path, limit=100))
    monkeypatch.setattr(tables, "_MAX_BYTES", 100)
    with pytest.raises(RecordError, match="Split it"):
        load_cases(write(tmp_path / "q.csv", "question", *["A?"] * 100))
    book = openpyxl.Workbook()
    book.save(tmp_path / "q.xlsx")
    with pytest.raises(RecordError, match="Split it"):
        load_cases(tmp_path / "q.xlsx")


def test_a_workbook_without_its_parts_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "q.xlsx", "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(RecordError, match="not an XLSX workbook"):
        load_cases(tmp_path / "q.xlsx")


def test_a_cell_that_only_looks_like_json_is_text(tmp_path):
    path = write(tmp_path / "q.csv", "question,evidence", 'A?,"[1] shows it"')
    assert load_cases(path)[0].evidence == ("[1] shows it",)
