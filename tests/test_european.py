import time
from importlib import resources

import pytest

from rag.european import forms, to_english


@pytest.mark.parametrize(
    ("text", "language", "english"),
    [
        ("Wie viele Datensätze braucht FinchNet?", "de", "how many dataset braucht FinchNet"),
        ("Welche Sprachmodelle übersetzen?", "de", "which language model translation"),
        ("Was ist bestärkendes Lernen?", "de", "what is reinforcement learning"),
        ("Comment réduire la perte ?", "fr", "how reduce the loss"),
        ("Qu'est l'apprentissage par renforcement ?", "fr", "what is the reinforcement learning"),
        ("¿Cuántos grafos de conocimiento hay?", "es", "how many knowledge graph hay"),
        ("¿Qué mejora ORCA7+ en 3.5 horas?", "es", "what improvement ORCA7+ in 3.5 hour"),
        ("", "de", ""),
        ("?!", "fr", ""),
    ],
)
def test_terms_of_the_field_become_english_and_names_stay(text, language, english):
    assert to_english(text, language) == english


def test_a_name_is_never_translated():
    assert to_english("Was ist Daten-Netz und NETZ?", "de") == "what is Daten-Netz and NETZ"


@pytest.mark.parametrize("language", ["de", "fr", "es"])
def test_each_language_has_its_column(language):
    assert sum(map(len, forms(language).values())) > 250


def test_every_line_of_the_list_has_four_columns():
    text = resources.files("rag").joinpath("terms_eu.tsv").read_text("utf-8")
    assert {line.count("\t") for line in text.splitlines()} == {3}


@pytest.mark.parametrize("part", ["a", "a-", "de ", "l'", "-", "réseau de ", "A"])
def test_hostile_questions_become_english_in_linear_time(part):
    text = (part * 4000)[:4000]
    began = time.perf_counter()
    to_english(text, "fr")
    assert time.perf_counter() - began < 1
