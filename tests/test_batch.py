"""Files of questions: what a line may hold, and what comes back."""

import json

import pytest

from rag.batch import Asked, answer_all, failed, read_questions
from rag.errors import ProviderError, RecordError
from rag.schema import Answer, Turn


class OneBadDay:
    """A library that fails on one question."""

    def engine(self):
        return None

    def ask(self, question, *, history):
        if "bad" in question:
            raise ProviderError("The server is gone.")
        return Answer(question, f"after {len(history)}", abstained=False)


@pytest.fixture
def file(tmp_path):
    def write(*lines, encoding="utf-8"):
        path = tmp_path / "questions.jsonl"
        texts = [
            one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in lines
        ]
        path.write_text("\n".join(texts), encoding)
        return path

    return write


@pytest.mark.parametrize(
    ("record", "asked"),
    [
        pytest.param({"question": "a"}, Asked("a", 1), id="question alone"),
        pytest.param({"question": "a", "id": "q"}, Asked("a", 1, "q"), id="an id"),
        pytest.param({"question": "a", "id": 0}, Asked("a", 1, 0), id="a number as id"),
        pytest.param({"question": "a", "id": None}, Asked("a", 1), id="no id"),
        pytest.param(
            {"question": "a", "history": ["b"]}, Asked("a", 1, None, (Turn("b"),)), id="history"
        ),
        pytest.param(
            {"question": "a", "history": [{"question": "b", "answer": "c"}]},
            Asked("a", 1, None, (Turn("b", "c"),)),
            id="history with answers",
        ),
        pytest.param({"question": "a", "more": [1]}, Asked("a", 1), id="other fields"),
        pytest.param({"question": "a\u2028b\x85c"}, Asked("a\u2028b\x85c", 1), id="odd line ends"),
    ],
)
def test_a_line_is_a_question_with_id_and_history(file, record, asked):
    assert read_questions(file(record)) == [asked]


def test_blank_lines_are_passed_over_and_lines_keep_their_numbers(file):
    path = file("", {"question": "a"}, "  ", {"question": "b"}, "", encoding="utf-8-sig")
    assert [(one.question, one.line) for one in read_questions(path)] == [("a", 2), ("b", 4)]


def test_all_bad_lines_are_named_at_once(file):
    path = file({"question": "a"}, "{", {"question": 1}, {"question": "b", "id": {}})
    with pytest.raises(
        RecordError, match=r"line 2: [^\n]*\n.*line 3: [^\n]*\n.*line 4: "
    ) as caught:
        read_questions(path)
    assert str(caught.value).endswith("Nothing was asked. Correct these lines and try again.")


def test_a_question_that_fails_is_a_row_and_the_next_is_asked():
    asked = [Asked("a", 1, "x"), Asked("bad", 2, "y"), Asked("c", 3, None, (Turn("a"),))]
    rows = list(answer_all(OneBadDay(), asked))
    assert rows[1] == {"id": "y", "question": "bad", "error": "The server is gone."}
    assert [row.get("answer") for row in rows] == ["after 0", None, "after 1"]
    assert [failed(row) for row in rows] == [False, True, False]
    assert "id" not in rows[2]
