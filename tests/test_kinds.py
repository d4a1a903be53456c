import time

import pytest

from rag.kinds import _sets_names_apart, kinds_of, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Which metals were measured in moss?", "en"),
        ("moss lead", "en"),
        ("Welche Metalle wurden im Moos gemessen?", "de"),
        ("Wie viele Moose gibt es?", "de"),
        ("Quels métaux sont dans la mousse ?", "fr"),
        ("¿Qué metales hay en el musgo?", "es"),
        ("苔藓里有什么金属？", "zh"),
        ("MIT-Lab moss", "en"),
        ("Wie viele Datensätze braucht FinchNet?", "de"),
        ("Pourquoi ORCA7 ?", "fr"),
        ("¿Cuánto mejora ORCA7?", "es"),
        ("Was lead found by Müller?", "en"),
        ("Comment on moss", "en"),
        ("How does Erdős–Rényi moss grow?", "en"),
    ],
)
def test_a_language_is_told_by_its_script_and_function_words(text, language):
    assert language_of(text) == language


def flags_of(text):
    read = kinds_of(text, language_of(text))
    return {name for name in ("many", "number", "list", "compare", "yes_no") if getattr(read, name)}


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("SetSync在多少个数据集上做了实验？", {"number"}),
        ("苔藓里有哪些金属？", {"list"}),
        ("有没有论文研究苔藓？", {"many"}),
        ("ORCA7 和 FinchNet 有什么区别？", {"compare"}),
        ("与 FinchNet 相比，ORCA7 快几倍？", {"compare", "number"}),
        ("对比学习是什么？", set()),
        ("不同的模型如何合并？", set()),
        ("几乎所有模型都失败的原因", set()),
        ("铅能否损害苔藓？", {"yes_no"}),
        ("Wie viele Moose wurden gemessen?", {"number"}),
        ("Welche Metalle sind im Moos?", {"list"}),
        ("Wie unterscheidet sich ORCA7 von dem Netz?", {"compare"}),
        ("Ist das Moos in der Stadt sauber?", {"yes_no"}),
        ("Welche Arbeiten gibt es zum Moos?", {"many", "list"}),
        ("Combien de métaux sont dans la mousse ?", {"number"}),
        ("Quels métaux sont dans la mousse ?", {"list"}),
        ("Quelle est la différence entre les mousses ?", {"compare"}),
        ("Un marais peut-il garder le plomb ?", {"yes_no"}),
        ("¿Cuántos metales hay en el musgo?", {"number"}),
        ("¿Cuáles son los metales del musgo?", {"list"}),
        ("¿En qué se diferencia el musgo frente a la hierba?", {"compare"}),
        ("¿Puede el plomo dañar el musgo?", {"yes_no"}),
        ("Is moss greener in parks?", {"yes_no"}),
        ("In parks, does moss hold lead?", {"yes_no"}),
        ("Is it true that moss holds lead?", {"yes_no"}),
        ("Moss in parks: a sign of clean air?", {"yes_no"}),
        ("Moss after rain--does it hold lead?", {"yes_no"}),
        ("Moss and lead. Are parks safe?", {"yes_no"}),
        ("Moss in parks: what does it hold?", set()),
        ("Moss in parks: how clean is the air?", set()),
        ("Tell me about moss: lead.", set()),
        ("Which moss is green?", set()),
        ("How does moss hold lead, and is it safe?", set()),
        ("Are there any papers on moss?", {"many"}),
        ("How many papers study moss?", {"number"}),
        ("What work is there on moss?", {"many"}),
        ("Which works study moss?", {"many", "list"}),
        ("Is there any research on moss?", {"many"}),
        ("Any literature about moss?", {"many"}),
        ("Is there anything on moss?", {"many"}),
        ("Something about moss", {"many"}),
        ("Research on moss", {"many"}),
        ("Which ones use zinc?", {"many", "list"}),
        ("Who else works on moss?", {"many"}),
        ("What's there on moss?", {"many"}),
        ("What do we have on moss?", {"many"}),
        ("What have we got about moss?", {"many"}),
        ("What do we have to do with moss?", set()),
        ("What happens to moss in springs?", set()),
        ("Name three birds of the marsh", {"list"}),
        ("What are the metals in moss?", {"list"}),
    ],
)
def test_forms_of_questions_are_read_in_five_languages(text, flags):
    assert flags_of(text) == flags


@pytest.mark.parametrize(
    "text",
    [
        "Which model works best on moss?",
        "Which network works well in parks?",
        "Which method works for moss?",
        "How many studies measured lead?",
        "What does this work show?",
    ],
)
def test_works_that_are_a_verb_and_papers_that_are_counted_ask_for_no_list_of_papers(text):
    assert not kinds_of(text, "en").many


@pytest.mark.parametrize(
    ("text", "compares"),
    [
        ("What does each of ORCA7 and FinchNet prune?", True),
        ("Do ORCA7 and the FinchNet use the same penalty?", True),
        ("What do both ORCA7, and FinchNet keep?", True),
        ("ORCA7 or FinchNet: which trains twice?", True),
        ("Is either ORCA7 or FinchNet trained twice?", True),
        ("Do moss, ORCA7 and FinchNet each prune?", True),
        ("What do ORCA7 and FinchNet prune?", True),
        ("Do moss and herons share the same park?", False),
        ("Does ORCA7 share the same heads and layers?", False),
        ("Does ORCA7 read the same parks as FinchNet?", False),
    ],
)
def test_two_names_that_are_asked_about_one_by_one_are_compared(text, compares):
    assert kinds_of(text, "en").compare is compares


@pytest.mark.parametrize("part", ["a", "A1", "A1 and ", "each ", "a-", "d'"])
def test_hostile_questions_take_linear_time(part):
    began = time.process_time()
    _sets_names_apart("each " + part * 20_000)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("text", "wanted", "unit"),
    [
        ("How many attention heads does ORCA7 remove?", "number", "attention heads"),
        ("By how many dB did noise fall?", "number", "dB"),
        ("How many seconds does it take?", "number", "seconds"),
        ("How many more parameters does it have?", "number", "parameters"),
        ("How much faster is ORCA7?", "number", "times"),
        ("What percentage of moss holds lead?", "number", "%"),
        ("What share of the moss is wet?", "number", "%"),
        ("What is the accuracy of ORCA7?", "number", ""),
        ("ORCA7 快多少倍？", "number", "times"),
        ("训练用了多少小时？", "number", "小时"),
        ("Wie viele Moose sind es?", "number", "Moose"),
        ("Which metals were measured?", "list", ""),
        ("Which metal was measured?", "name", ""),
        ("Where do herons sleep?", "name", ""),
        ("Who wrote the paper on moss?", "authors", ""),
        ("Who are the authors?", "authors", ""),
        ("谁写了这篇论文？", "authors", ""),
        ("Does moss hold lead?", "yes/no", ""),
        ("Why do herons leave?", "reason", ""),
        ("为什么苔藓是绿的？", "reason", ""),
        ("Warum ist das Moos grün?", "reason", ""),
        ("How does ORCA7 prune heads?", "way", ""),
        ("如何剪枝？", "way", ""),
        ("What is ORCA7?", "definition", ""),
        ("What does FMC stand for?", "definition", ""),
        ("什么是剪枝？", "definition", ""),
        ("Which papers study moss?", "papers", ""),
        ("Is there anything on moss?", "papers", ""),
        ("How many papers study moss?", "number", "papers study moss"),
        ("Moss in parks", "", ""),
    ],
)
def test_the_kind_of_answer_and_its_unit_are_named(text, wanted, unit):
    read = kinds_of(text, language_of(text))
    assert (read.wanted, read.unit) == (wanted, unit)


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Moss in parks holds lead.", True),
        ("Lead is not taken up by moss", True),
        ("ORCA7 outperforms larger models on retrieval.", True),
        ("Moss holds lead.", False),  # too short to be told from a heading
        ("Does moss hold lead.", False),
        ("Name the metals that were found.", False),
        ("Please list what was found in moss.", False),
        ("In which cities is moss found", False),
        ("Moss in parks: what is it a sign of", False),
        ("Moss in parks is a sign of clean air?", False),
        ("ORCA7 attention heads number of layers", False),
        ("Papers on moss that are newer than 2020", False),
        ("Moos in Parks ist ein Zeichen für saubere Luft.", False),
        ("苔藓里有铅。", False),
    ],
)
def test_a_claim_states_something_and_asks_nothing(text, claims):
    assert kinds_of(text, language_of(text)).claim is claims


@pytest.mark.parametrize("part", ["a ", "ab", "-", "a-", "is ", " ", "in x "])
def test_a_long_text_is_told_from_a_claim_at_once(part):
    began = time.perf_counter()
    kinds_of(part * 2000, "en")
    assert time.perf_counter() - began < 2
