import json

import pytest

from eval.bench import verification as bench
from rag import render
from rag.as_json import answer_json
from rag.embedders import wrap
from rag.errors import RagError, SettingsError
from rag.schema import Answer, Statement
from rag.settings import Settings, load_settings
from rag.synthesis import LLMSynthesizer
from rag.testing import ScriptedLLM, WordHashEmbedding
from rag.transcript import pack, unpack
from rag.verification import NO_SENTENCE, Verifier, build_verifier, verify
from rag.verify.compare import compare
from rag.verify.entailment import CrossEncoderEntailment
from tests.answering import sentences
from ui.render import answer_html

MOSS = (
    "Moss takes up lead. Lead in soil fell by 14 % within 12 weeks, but zinc did not fall. "
    "MossNet outperforms SoilBot on PeatBench with fewer samples. "
    "It needs 13 plots in 19 regions and improves the upper bound of the uptake rate. "
    "The plots were not selected at random. Sampling is non-uniform."
)
EVIDENCE = sentences("moss", MOSS, title="Moss and Metals")
LEAD, NET, PLOTS, CHOICE, UNIFORM = EVIDENCE[1:6]


def judged(statement, source, **wishes):
    return compare(statement, [source], **wishes)


# ---- markers


def test_a_marker_at_the_wrong_sentence_is_repaired():
    wrong = Statement("MossNet outperforms SoilBot.", (1,), "unchecked")
    found = verify([wrong], [LEAD], EVIDENCE)
    (statement,) = found.statements
    assert (statement.support, statement.citations) == ("supported", (1,))
    assert statement.repaired_from == (1,)
    assert statement.nearest == NET.text
    assert found.sources == (NET,)


def test_a_statement_without_a_marker_gets_the_one_that_supports_it():
    found = verify([Statement("Moss takes up lead.", (), "unsupported")], [], EVIDENCE)
    (statement,) = found.statements
    assert (statement.support, statement.citations) == ("supported", (1,))
    assert statement.repaired_from == ()
    assert found.sources == (EVIDENCE[0],)


def test_a_statement_that_nothing_supports_keeps_its_markers():
    wrong = Statement("Lead in soil fell by 41 %.", (1,), "unchecked")
    (statement,) = verify([wrong], [LEAD], EVIDENCE).statements
    assert (statement.support, statement.citations) == ("unsupported", (1,))
    assert statement.repaired_from is None
    assert statement.nearest == LEAD.text


def test_a_statement_without_a_marker_that_nothing_supports_says_so():
    (statement,) = verify([Statement("Auctions sell spectrum.")], [], EVIDENCE).statements
    assert (statement.support, statement.reason) == ("unsupported", NO_SENTENCE)
    assert verify([Statement("Auctions sell.")], [], []).statements[0].support == "unsupported"


def test_two_cited_sentences_may_support_a_statement_together():
    both = Statement(
        "Moss takes up lead, which in soil fell by 14 % within 12 weeks.", (1, 2), "unchecked"
    )
    (statement,) = verify([both], EVIDENCE[:2], EVIDENCE).statements
    assert (statement.support, statement.citations) == ("supported", (1, 2))
    assert statement.nearest == LEAD.text


def test_sources_stay_numbered_in_order_of_first_use():
    said = [
        Statement("Sampling is non-uniform.", (1,)),
        Statement("Moss takes up lead.", (2,)),
        Statement("The plots were not selected at random.", (3,)),
    ]
    found = verify(said, [LEAD, EVIDENCE[0], CHOICE], EVIDENCE)
    assert [one.citations for one in found.statements] == [(1,), (2,), (3,)]
    assert found.sources == (UNIFORM, EVIDENCE[0], CHOICE)


def test_list_items_are_compared_without_their_dash():
    (statement,) = verify(
        [Statement("- Moss takes up lead.", (1,))], EVIDENCE[:1], EVIDENCE
    ).statements
    assert (statement.text, statement.support) == ("- Moss takes up lead.", "supported")


# ---- in the synthesizer


def written(reply, **wishes):
    verifier = Verifier(lambda: wrap(WordHashEmbedding(), "word-hash"), **wishes)
    synthesizer = LLMSynthesizer(ScriptedLLM(replies=[reply]), verifier)
    *pieces, draft = synthesizer.write("What does moss take up?", EVIDENCE)
    return "".join(pieces), draft


def test_a_draft_carries_verdicts_and_the_stream_stays():
    text, draft = written("Moss takes up lead [1]. Lead in soil fell by 41 % [2].")
    assert text == "Moss takes up lead [1]. Lead in soil fell by 41 % [2]."
    assert [one.support for one in draft.statements] == ["supported", "unsupported"]
    assert draft.found
    assert draft.notes == ()


def test_strict_checking_leaves_out_what_nothing_supports():
    _, draft = written("Lead in soil fell by 41 % [2]. Moss takes up lead [1].", strict=True)
    assert [one.text for one in draft.statements] == ["Moss takes up lead."]
    assert draft.statements[0].citations == (1,)
    assert draft.sources == (EVIDENCE[0],)
    assert draft.notes == (
        "1 statement of the model was left out: no sentence it was given supports it.",
    )


def test_strict_checking_that_leaves_nothing_makes_the_draft_not_found():
    _, draft = written("Lead fell by 41 % [2]. Zinc in soil rose by 99 % [2].", strict=True)
    assert (draft.found, draft.statements, draft.sources) == (False, (), ())
    assert draft.notes[0].startswith("2 statements of the model were left out")


def test_a_refusal_is_not_compared():
    text, draft = written("NOT IN THE PAPERS", strict=True)
    assert (text, draft.found, draft.notes) == ("", False, ())


def test_a_failing_embedder_leaves_the_comparison_of_words(caplog):
    def fail():
        raise RagError("No embedder.")

    found = Verifier(fail).check(
        "?", [Statement("Moss takes up lead.", (1,))], EVIDENCE[:1], EVIDENCE
    )
    assert found.statements[0].support == "supported"
    assert "without cosines" in caplog.text


# ---- the verifier of the user's own


def folder_with(tmp_path, labels):
    (tmp_path / "config.json").write_text(json.dumps({"id2label": labels}), "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        pytest.param({"0": "LABEL_0"}, "none is called 'entailment'", id="one label"),
        pytest.param({"0": "no", "1": "not_entailment"}, "none is called", id="no such label"),
        pytest.param(None, "names no labels", id="no labels"),
    ],
)
def test_a_verifier_without_a_label_for_entailment_is_refused(tmp_path, labels, told):
    with pytest.raises(SettingsError, match=told):
        build_verifier(Settings(verifier=str(folder_with(tmp_path, labels))), lambda: None)


def test_a_verifier_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"holds no config\.json"):
        CrossEncoderEntailment(tmp_path)


def test_a_verifier_that_cannot_be_loaded_says_so_when_it_is_asked(tmp_path):
    labels = {"0": "contradiction", "1": "entailment", "2": "neutral"}
    model = CrossEncoderEntailment(folder_with(tmp_path, labels))
    with pytest.raises(SettingsError, match="cannot be used"):
        model("Moss takes up lead.", "Moss takes up lead.")


class Scores:
    """Stands for the weights of a cross-encoder: fixed scores for every pair."""

    def __init__(self, *scores):
        self._scores = scores
        self.pairs = []

    def predict(self, pairs, **wishes):
        import numpy as np

        self.pairs += pairs
        return np.array([self._scores])


def test_the_label_called_entailment_is_read_as_a_probability(tmp_path):
    model = CrossEncoderEntailment(folder_with(tmp_path, {"0": "neutral", "1": "ENTAILMENT"}))
    model._model = Scores(0.0, 0.0)
    assert model("said", "known") == pytest.approx(0.5)
    assert model._model.pairs == [("known", "said")]


def test_other_scores_than_labels_are_an_error(tmp_path):
    model = CrossEncoderEntailment(folder_with(tmp_path, {"0": "neutral", "1": "entailment"}))
    model._model = Scores(0.0)
    with pytest.raises(SettingsError, match="1 scores for 2 labels"):
        model("said", "known")


@pytest.mark.parametrize(
    ("chance", "verdict"), [(0.9, "supported"), (0.3, "weak"), (0.05, "unsupported")]
)
def test_entailment_can_only_lower_a_verdict(chance, verdict):
    found = judged("Lead in soil fell by 14 %.", LEAD, entailment=lambda said, known: chance)
    assert found.verdict == verdict
    wrong = judged("Lead in soil fell by 41 %.", LEAD, entailment=lambda said, known: chance)
    assert wrong.verdict == "unsupported"


def test_strict_and_verifier_are_settings():
    assert load_settings(strict=True, verifier="x").strict
    assert build_verifier(Settings(strict=True), lambda: None).strict
    assert not build_verifier(Settings(), lambda: None).strict


# ---- measuring


def test_a_wilson_interval_is_that_of_the_formula():
    found = bench.wilson(8, 10)
    assert (found.share, found.n) == (0.8, 10)
    assert found.low == pytest.approx(0.4902, abs=1e-4)
    assert found.high == pytest.approx(0.9433, abs=1e-4)
    assert bench.wilson(0, 0).share is None


def test_labelled_statements_are_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    name, (paper, *_) = next(iter(bench.sample_papers().items()))
    sentence = paper.abstract.split(". ")[0] + "."
    common = {"paper": name, "sentence": sentence}
    rows = [
        {"id": "a", **common, "statement": sentence, "kind": "paraphrase", "supported": True},
        {"id": "b", **common, "statement": "Xylo9 is 77 %.", "kind": "name", "supported": False},
    ]
    file = tmp_path / "statements.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert bench.main(["--statements", str(file), "--json"]) == 0
    found = {row["kind"]: row for row in json.loads(capsys.readouterr().out)["statements"]}
    assert found["paraphrase"]["caught"]["count"] == 0
    assert found["name"]["unsupported"]["count"] == 1


def test_a_malformed_line_of_statements_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    file = tmp_path / "statements.jsonl"
    file.write_text('{"id": "a"}\n', "utf-8")
    assert bench.main(["--statements", str(file)]) == 1
    assert "Line 1 of the statements cannot be used" in capsys.readouterr().err


def test_scifact_claims_meet_their_rationales_and_other_sentences(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(
        json.dumps({"_id": "7", "title": "Moss", "text": MOSS}) + "\n", "utf-8"
    )
    evidence = [{"doc_id": "7", "label": "SUPPORT", "sentences": [0], "text": [EVIDENCE[0].text]}]
    row = {"id": "c", "question": "Lead is taken up by moss.", "evidence": evidence}
    (tmp_path / "qa.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    kinds = [(one.kind, one.supported) for one in bench.scifact_pairs(tmp_path)]
    assert kinds == [("SUPPORT", True), *[("OTHER", False)] * 3]


# ---- shown


def shown(**fields):
    statement = Statement("Moss takes up lead.", (1,), **fields)
    return Answer("?", "Moss takes up lead. [1]", False, (statement,), llm="scripted")


def test_reason_and_repair_are_shown_in_the_terminal_on_the_page_and_in_json():
    answer = shown(support="weak", reason="says “a”", nearest="Moss.", repaired_from=(2,))
    text = " ".join(render.sources_text(answer).split())
    assert "Only in part supported by its source: “Moss takes up lead.” – says “a”." in text
    assert "The model cited [2] in its own numbering; [1] supports it better" in text
    page = answer_html(answer, 1)
    assert "Says “a”." in page
    assert "The model cited [2] in its own numbering" in page
    (row,) = answer_json(answer)["statements"]
    assert (row["reason"], row["nearest"], row["repaired_from"]) == ("says “a”", "Moss.", [2])


def test_an_added_marker_is_shown_as_added():
    text = " ".join(render.sources_text(shown(support="supported", repaired_from=())).split())
    assert "The model cited nothing; [1] was added, which supports it" in text


def test_a_checked_statement_is_stored_and_read_whole():
    answer = shown(support="weak", reason="why", nearest="Moss.", repaired_from=())
    record, papers = pack(answer)
    assert unpack(record, papers.__getitem__).statements == answer.statements


def test_a_statement_stored_before_there_were_checks_still_loads():
    record, papers = pack(shown(support="supported"))
    (stored,) = json.loads(record)["answer"]["statements"]
    assert sorted(stored) == ["citations", "support", "text"]
    assert unpack(record, papers.__getitem__).statements[0].repaired_from is None


@pytest.mark.parametrize(
    ("streamed", "changed"),
    [("Moss  takes up lead [1].", False), ("Moss takes up lead [2].", True), ("Zinc.", True)],
)
def test_a_streamed_answer_that_checking_changed_is_noticed(streamed, changed):
    assert render.is_changed(shown(), streamed) is changed


def test_a_strictly_checked_answer_that_holds_nothing_is_an_abstention(citewell):
    question = "Which papers use diffusion models?"
    chosen = ("--embedder", "word-hash", "--llm", "scripted:Cats sing at night [1].")
    run = citewell("ask", "--sample", question, "--strict", *chosen)
    assert run.code == 0
    assert "Cats sing" in run.out
    assert "do not answer this question" in run.out
