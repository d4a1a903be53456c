"""One answer scored against one case; rows; the summary of a run."""

import json

import pytest

from eval.cases import Case
from eval.labels import Resolved
from eval.outcome import Outcome, dump_outcome, read_outcomes
from eval.reply import Reply
from eval.score import score
from eval.summary import risk_points, summarise, values_by_case
from rag.errors import RecordError

GOLD = "Distributions over only stable matchings can incur linear utility losses for workers."
SIDE = "We study matching markets with ties in which workers hold preferences over jobs."


def answer(**changes):
    value = {
        "question": "How much?",
        "answer": f"{GOLD} [1] {SIDE} [2]",
        "abstained": False,
        "statements": [{"text": GOLD, "citations": [1]}, {"text": SIDE, "citations": [2]}],
        "citations": [
            {"marker": 1, "paper_id": "p1", "label": "P1", "quote": GOLD, "support": "verbatim"},
            {"marker": 2, "paper_id": "p2", "label": "P2", "quote": SIDE, "support": "verbatim"},
        ],
        "papers": [
            {"paper_id": "p2", "label": "P2", "score": 2.0, "cosine": 0.4},
            {"paper_id": "p1", "label": "P1", "score": 1.0, "cosine": 0.6},
        ],
        "llm": None,
        "timings_ms": {},
    }
    return value | changes


ABSTENTION = {
    "answer": "The library holds no answer.",
    "abstained": True,
    "statements": [],
    "citations": [],
}
LABELS = {
    "question": "How much?",
    "answerable": True,
    "relevant": ["p1"],
    "evidence": [GOLD],
    "must_contain": ["linear"],
    "answer": "linear losses",
}


def scored(labels=LABELS, relevant=None, **changes):
    relevant = Resolved(("p1",)) if relevant is None else relevant
    return score(Case.model_validate(labels), answer(**changes), relevant)


def test_a_good_answer_by_hand():
    expected = {
        "recall@1": 0,
        "recall@5": 1,
        "precision@5": 1 / 5,
        "mrr": 1 / 2,
        "map": 1 / 2,
        "evidence_precision": 1 / 2,
        "evidence_recall": 1,
        "evidence_f1": 2 / 3,
        "citation_precision": 1 / 2,
        "citation_recall": 1,
        "cites_relevant": 1,
        "citation_evidence_precision": 1 / 2,
        "citation_evidence_recall": 1,
        "marker_validity": 1,
        "cited_statements": 1,
        "support_verbatim": 1,
        "support_unchecked": 0,
        "statements": 2,
        "words_per_statement": 12.5,
        "must_contain": 1,
        "full_answer": 1,
        "exact_match": 0,
        "abstention_accuracy": 1,
        "passed": 1,
    }
    found = scored()
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_a_missing_label_is_none_and_never_zero():
    found = scored({"question": "How much?"}, Resolved())
    named = {name for name, value in found.items() if value is None}
    assert {"recall@5", "map", "evidence_f1", "citation_precision", "must_contain"} <= named
    assert {"full_answer", "token_f1", "abstention_accuracy", "passed"} <= named
    assert found["marker_validity"] == 1  # needs no label


@pytest.mark.parametrize(
    ("labels", "changes", "passed"),
    [
        pytest.param(LABELS, ABSTENTION, 0, id="abstains though answerable"),
        pytest.param(LABELS | {"must_contain": ["cubic"]}, {}, 0, id="does not say it"),
        pytest.param({"question": "q", "answerable": False}, {}, 0, id="answers nonsense"),
        pytest.param({"question": "q", "answerable": False}, ABSTENTION, 1, id="rightly abstains"),
        pytest.param({"question": "q", "answerable": True}, {}, 1, id="asked only to answer"),
        pytest.param({"question": "q", "evidence": [GOLD]}, {}, 1, id="asked only for evidence"),
    ],
)
def test_what_passes(labels, changes, passed):
    relevant = Resolved(("p1",)) if "relevant" in labels else Resolved()
    assert scored(labels, relevant, **changes)["passed"] == passed


def test_an_abstention_says_nothing_and_has_no_statements():
    found = scored(**ABSTENTION)
    assert (found["must_contain"], found["token_f1"], found["cites_relevant"]) == (0, 0, 0)
    assert (found["statements"], found["words_per_statement"]) == (None, None)
    assert (found["evidence_precision"], found["evidence_recall"]) == (None, 0)
    assert found["marker_validity"] is None


def test_a_model_answer_to_an_unanswerable_question_is_not_compared():
    labels = {"question": "q", "answerable": False, "answer": "None of the papers covers this."}
    assert scored(labels, Resolved(), **ABSTENTION)["token_f1"] is None


def test_a_relevant_paper_that_the_library_lacks_lowers_recall():
    found = scored(relevant=Resolved(("p1",), ("Not held",)))
    assert (found["recall@5"], found["citation_recall"]) == (1 / 2, 1 / 2)


def test_invented_markers_and_uncited_statements_are_measured():
    statements = [{"text": GOLD, "citations": [1, 7]}, {"text": SIDE, "citations": []}]
    found = scored(answer=f"{GOLD} [1, 9]", statements=statements, invented=[8])
    assert found["marker_validity"] == 1 / 4  # 1 of 1, 7, 8, 9
    assert found["cited_statements"] == 1 / 2


def test_a_statement_has_its_own_support_else_the_worst_of_its_citations():
    citations = answer()["citations"]
    citations[1] = citations[1] | {"support": "weak"}
    statements = [
        {"text": "a", "citations": [1], "support": "unsupported"},
        {"text": "b", "citations": [1, 2]},
        {"text": "c", "citations": [1]},
        {"text": "d", "citations": []},
    ]
    reply = Reply.from_json(answer(citations=citations, statements=statements))
    supports = [statement.support for statement in reply.statements]
    assert supports == ["unsupported", "weak", "verbatim", "unchecked"]


def test_confidence_is_the_answers_own_else_the_highest_cosine():
    assert Reply.from_json(answer()).confidence == 0.6
    assert Reply.from_json(answer(confidence=0.2)).confidence == 0.2
    assert Reply.from_json(answer(papers=[])).confidence is None


def test_fields_of_a_wrong_type_read_as_absent():
    reply = Reply.from_json({"answer": 3, "citations": "x", "papers": [1, {}], "abstained": "no"})
    assert (reply.text, reply.citations, reply.abstained) == ("", (), False)
    assert [paper.paper_id for paper in reply.papers] == [""]


def row(case_id, value=None, **fields):
    case = Case.model_validate(LABELS | {"id": case_id})
    metrics = {} if value is None else score(case, value, Resolved(("p1",)))
    return case, Outcome(case_id, "How much?", answer=value, metrics=metrics, **fields)


@pytest.fixture
def rows():
    return [
        row("a", answer(), kind="fact", latency_ms=10.0),
        row("b", answer(**ABSTENTION), kind="fact", latency_ms=30.0),
        row("c", error="The model failed.", kind="list", latency_ms=5000.0),
    ]


def by_name(rows, kind=None):
    measures = summarise([o for _, o in rows], [c for c, _ in rows])
    return {measure.name: measure for measure in measures if measure.kind == kind}


def test_a_failed_case_is_counted_and_scored_by_nothing_else(rows):
    found = by_name(rows)
    assert (found["failed"].value, found["failed"].n, found["failed"].total) == (1 / 3, 3, 3)
    must = found["must_contain"]
    assert (must.value, must.n, must.total) == (1 / 2, 2, 3)
    assert (found["latency_p50_ms"].value, found["latency_p50_ms"].n) == (20, 2)
    assert (found["evidence_precision"].value, found["evidence_precision"].n) == (1 / 2, 1)


def test_measures_are_given_for_each_kind_too(rows):
    assert by_name(rows, "fact")["must_contain"].total == 2
    only_failed = by_name(rows, "list")
    assert only_failed["failed"].value == 1
    assert "must_contain" not in only_failed
    assert only_failed["abstention_f1"].value is None


def test_an_interval_needs_two_cases(rows):
    found = by_name(rows)
    assert (found["evidence_precision"].low, found["evidence_precision"].high) == (None, None)
    assert (found["must_contain"].low, found["must_contain"].high) == (0, 1)


def test_the_measures_of_a_set_of_cases():
    wrong, right = answer(answer="x", statements=[], citations=[]), answer()
    no = Case.model_validate({"id": "n", "question": "q", "answerable": False})
    rows = [
        row("a", right | {"confidence": 0.9}),
        row("b", wrong | {"confidence": 0.5}),
        row("c", answer(**ABSTENTION, confidence=0.2)),
    ]
    for case_id, value in (("n", wrong | {"confidence": 0.5}), ("m", answer(**ABSTENTION))):
        case = no.model_copy(update={"id": case_id})
        rows.append(
            (case, Outcome(case_id, "q", answer=value, metrics=score(case, value, Resolved())))
        )
    found = by_name(rows)
    assert found["abstention_precision"].value == 1 / 2  # c wrongly, m rightly
    assert found["abstention_recall"].value == 1 / 2  # n answered, m abstained
    # answerable .9 .5 .2, unanswerable .5 and (highest cosine) .6: 2, .5 and 0 pairs of 6
    assert found["answerability_auc"].value == pytest.approx(2.5 / 6)
    # answered: a at .9 right; b and n at .5 wrong: risks 0, 2/3, 2/3
    assert found["aurc"].value == pytest.approx((2 / 3 + 2 / 3) / 3)
    points = [number for p in risk_points(rows) for number in (p.coverage, p.risk)]
    assert points == pytest.approx([1 / 5, 0, 3 / 5, 2 / 3])


def test_b29_an_unreadable_verdict_is_no_score(rows):
    case, _ = rows[0]
    judged = [
        (case, Outcome("a", "q", answer=answer(), metrics={"judge_correctness": 0.8})),
        (
            case.model_copy(update={"id": "b"}),
            Outcome(
                "b",
                "q",
                answer=answer(),
                metrics={"judge_correctness": None},
                notes={"judge_correctness": "the judge replied 'I would say four'"},
            ),
        ),
    ]
    found = by_name(judged)["judge_correctness"]
    assert (found.value, found.n, found.total) == (0.8, 1, 2)


def test_values_by_case_leave_out_what_has_no_score(rows):
    outcomes = [outcome for _, outcome in rows]
    assert values_by_case(outcomes, "must_contain") == {"a": 1, "b": 0}
    assert values_by_case(outcomes, "failed") == {"a": 0, "b": 0, "c": 1}


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"error": "It broke."}, "error"),
        ({"answer": answer(), "metrics": {"passed": 1.0}}, "passed"),
        (
            {"answer": answer(), "metrics": {"passed": 0.0, "abstention_accuracy": 1.0}},
            "incomplete",
        ),
        (
            {"answer": answer(), "metrics": {"passed": 0.0, "abstention_accuracy": 0.0}},
            "wrongly answered",
        ),
        ({"answer": answer(**ABSTENTION), "metrics": {"passed": 0.0}}, "wrongly abstained"),
        ({"answer": answer(), "metrics": {"passed": None}}, "unlabelled"),
    ],
)
def test_verdicts(fields, verdict):
    assert Outcome("a", "q", **fields).verdict == verdict


def test_a_row_survives_being_written_and_read(rows, tmp_path):
    outcomes = [outcome for _, outcome in rows]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(map(dump_outcome, outcomes)), encoding="utf-8")
    assert read_outcomes(path) == outcomes


def test_a_row_with_what_json_cannot_hold_is_still_written():
    line = dump_outcome(Outcome("a", "\ud800?", answer={"answer": "x", "score": float("nan")}))
    value = json.loads(line.encode("utf-8"))
    assert (value["question"], value["answer"]["score"]) == ("??", None)


def test_b29_a_killed_run_can_be_read(rows, tmp_path):
    outcomes = [outcome for _, outcome in rows]
    whole = "".join(map(dump_outcome, outcomes))
    path = tmp_path / "answers.jsonl"
    path.write_text(whole[:-40], encoding="utf-8")  # the last row was cut
    assert read_outcomes(path) == outcomes[:2]
    path.write_text(whole + dump_outcome(outcomes[0]), encoding="utf-8")
    assert [o.case_id for o in read_outcomes(path)] == ["b", "c", "a"]  # the last one counts


def test_a_line_before_the_last_that_is_no_row_is_named(rows, tmp_path):
    path = tmp_path / "answers.jsonl"
    line = dump_outcome(rows[0][1])
    path.write_text(line + "cut\n" + line, encoding="utf-8")
    with pytest.raises(RecordError, match=r"answers\.jsonl, line 2 is no row of a run"):
        read_outcomes(path)
    path.write_text('{"question": "q"}\n' + line, encoding="utf-8")
    with pytest.raises(RecordError, match=r"line 1 is no row.*no 'id'"):
        read_outcomes(path)


def test_a_missing_file_of_rows_is_named(tmp_path):
    with pytest.raises(RecordError, match=r"answers\.jsonl' cannot be read: No such file"):
        read_outcomes(tmp_path / "answers.jsonl")
