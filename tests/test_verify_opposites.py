import json

import pytest

from eval.bench import antonyms as made
from rag.verify.antonyms import antonyms, compare_antonyms
from rag.verify.causes import compare_causes
from rag.verify.compare import compare
from rag.verify.counted import compare_counted
from rag.verify.direction import compare_directions
from rag.verify.negation import compare_negation
from rag.verify.reading import read
from rag.verify.restrictions import compare_restrictions
from rag.verify.stems import akin
from rag.verify.valence import compare_valence
from tests.answering import sentences


@pytest.mark.parametrize(
    ("statement", "text", "found"),
    [
        ("Cooperation among gardeners grows moss.", "Competition among gardeners grows moss.", 1),
        ("The task is tractable on dry roofs.", "The task is intractable on dry roofs.", 1),
        ("Moss needs overwatering.", "Moss needs underwatering.", 1),
        ("Moss that is completely dry.", "Incomplete moss that is entirely dry.", 0),
        ("Moss grows abnormally here.", "Moss grows normally here.", 1),
        ("Cooperation of gardeners pays.", "We study competition in the price of salt.", 0),
        ("Cooperation among gardeners.", "Competition and cooperation among gardeners.", 0),
        ("No cooperation among gardeners.", "Competition among gardeners grows moss.", 0),
        ("Cooperation rather than competition.", "Competition among gardeners of moss.", 0),
    ],
)
def test_an_opposite_of_the_dictionary_counts_when_said_of_the_same_thing(statement, text, found):
    assert len(compare_antonyms(read(statement), read(text))) == found


def test_the_table_holds_its_licence_and_the_forms_of_its_words():
    assert "ones" not in antonyms()
    assert "disconnecting" in antonyms()["connected"]


@pytest.mark.parametrize(
    ("statement", "text", "found"),
    [
        ("Dry moss leads to hot roofs.", "Hot roofs lead to dry moss.", 1),
        ("Hot roofs are caused by dry moss.", "Hot roofs cause dry moss.", 1),
        ("Hot roofs are due to dry moss.", "Dry moss results from hot roofs.", 1),
        ("Because of dry moss, roofs are hot.", "Dry moss is due to hot roofs.", 1),
        ("Moss rather than grass is sown.", "They sow grass rather than moss.", 1),
        ("Instead of grass, they sow moss.", "They sow grass instead of moss.", 1),
        ("Dry moss is caused by hot roofs.", "Hot roofs cause dry moss.", 0),
        ("Dry moss is due to hot roofs.", "Hot roofs, in summer, lead to dry moss.", 0),
        ("Grass is sown, not moss.", "They sow grass instead of moss.", 0),
        ("Moss in heat-induced drought dies.", "Drought induced by heat kills moss.", 0),
    ],
)
def test_causes_and_choices_keep_their_sides(statement, text, found):
    assert len(compare_causes(read(statement), read(text))) == found


@pytest.mark.parametrize(
    ("statement", "text", "found"),
    [
        ("It spans 14 tasks.", "It spans 14 languages.", 1),
        ("It takes 12 GPU days.", "It takes 12 GPU hours.", 1),
        ("It asks 200 patients.", "It reads 200 papers on patients.", 1),
        ("It asks 200 participants.", "It asks 200 patients.", 0),
        ("It has 70B parameters.", "It beats 70B-parameter models.", 0),
        ("It spans 14 corpora.", "It spans 14 datasets.", 0),
        ("It spans 14 tasks.", "It spans 14 hard ones.", 0),
        ("It spans 14 tasks.", "It spans 14 languages and 14 tasks.", 0),
    ],
)
def test_a_number_counts_what_it_counts_in_the_source(statement, text, found):
    assert len(compare_counted(read(statement), read(text))) == found


@pytest.mark.parametrize(
    ("statement", "text", "found"),
    [
        ("Moss is less fragile than grass.", "Moss is more robust than grass.", 0),
        ("Moss is more fragile than grass.", "Moss is more robust than grass.", 1),
        ("Moss is less robust than grass.", "Moss is more robust than grass.", 1),
        ("Moss is more sensitive to heat.", "Moss is more robust to heat.", 1),
    ],
)
def test_less_of_an_opposite_is_more(statement, text, found):
    assert len(compare_directions(read(statement), read(text))) == found


@pytest.mark.parametrize(
    ("statement", "text", "found"),
    [
        ("Fences are not able to prevent theft.", "Fences are able to prevent theft.", 1),
        ("Fences prevent theft.", "Fences cannot prevent theft of moss.", 1),
        ("Fences prevent theft.", "Fences are able to prevent theft.", 0),
    ],
)
def test_a_verb_that_denies_can_be_denied(statement, text, found):
    assert len(compare_negation(read(statement), read(text))) == found


@pytest.mark.parametrize(
    ("statement", "text", "found"),
    [
        ("They water the moss every week.", "Every day, they water the moss.", 1),
        ("They water the moss each day.", "Every day, they water the moss.", 0),
        ("It takes only very few plots.", "It takes two plots.", 0),
        ("Moss is seen only in part.", "Moss is seen partially.", 0),
        ("It takes only wet plots.", "It takes two plots.", 1),
        ("Besides moss, it finds fern.", "It finds not only moss but also fern.", 0),
        ("Besides moss, it finds fern.", "It only finds moss.", 1),
    ],
)
def test_periods_and_only_are_compared(statement, text, found):
    assert len(compare_restrictions(read(statement), read(text))) == found


@pytest.mark.parametrize(
    ("statement", "text", "found"),
    [
        ("Roofs with moss escape drought.", "Roofs stay wet without drought.", 0),
        ("Without help, moss cannot grow.", "Moss cannot be grown on roofs with no help.", 0),
        ("With help, moss can grow.", "Moss cannot be grown on roofs with no help.", 1),
    ],
)
def test_denials_in_other_words_are_no_contradiction(statement, text, found):
    assert len(compare_negation(read(statement), read(text))) == found


@pytest.mark.parametrize(
    ("statement", "text", "found"),
    [
        ("Time falls and yield does not suffer.", "It reduces time without harming yield.", 0),
        ("The yield suffers.", "It raises the yield without water.", 1),
    ],
)
def test_what_does_not_suffer_need_not_rise(statement, text, found):
    assert len(compare_directions(read(statement), read(text))) == found


def test_the_best_of_a_hard_task_is_no_praise():
    source = read("The top net scores 12 %, so the task is challenging.")
    assert not compare_valence(read("With 12 % for the best net, the task is hard."), source)


def test_names_that_differ_in_signs_are_not_akin():
    assert not akin("moss-net", "moss-net++")
    (source,) = sentences("p", "MossNet++ outperforms MossNet on wet plots.")
    assert compare("MossNet outperforms MossNet++ on wet plots.", [source]).verdict != "supported"


WORDNET = {
    "data.adj": "  1 licence\n"
    "00000001 00 a 01 wet(p) 0 001 ! 00000002 a 0101 | damp\n"
    "00000002 00 a 02 dry 0 arid 0 001 ! 00000001 a 0101 | not wet\n",
    "data.verb": "00000003 00 v 01 go 0 001 ! 00000004 v 0101 01 + 01 00 | move\n"
    "00000004 00 v 01 come 0 001 ! 00000003 v 0101 01 + 01 00 | arrive\n",
    "LICENSE.txt": "Free\nfor all",
}


def test_the_table_is_made_of_wordnets_files(tmp_path):
    for name, text in WORDNET.items():
        (tmp_path / name).write_text(text, "latin-1")
    out = tmp_path / "table.json"
    assert made.main(["--wordnet", str(tmp_path), "--out", str(out)]) == 0
    table = json.loads(out.read_text("utf-8"))
    assert (table["adj"], table["verb"], table["licence"]) == ("dry:wet", "", "Free for all")


def test_a_folder_without_wordnet_is_told(tmp_path, capsys):
    assert made.main(["--wordnet", str(tmp_path), "--out", str(tmp_path / "t.json")]) == 1
    assert "Name the folder dict" in capsys.readouterr().err
