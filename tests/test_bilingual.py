import re
import time

import pytest

from rag.bilingual import for_embedder, terms, to_english

MINILM = {"name": "minilm"}


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("强化学习", "reinforcement learning"),
        ("深度强化学习", "deep reinforcement learning"),
        ("ORCA7 在多少个数据集上做了实验？", "ORCA7 how many dataset experiment"),
        (
            "FinchNet（图神经网络）压缩 3.5 倍",
            "FinchNet graph neural network compression 3.5 times",
        ),
        ("为什么", "why"),
        ("嗯嗯", ""),
        ("", ""),
    ],
)
def test_chinese_terms_become_english_and_the_rest_stays(text, english):
    assert to_english(text) == english


def test_the_list_is_large_and_each_line_is_chinese_then_english():
    assert len(terms()) > 900
    for chinese, english in terms().items():
        assert re.search(r"[\u3400-\u9fff]", chinese)
        assert re.fullmatch(r"[\x20-\x7e]+", english)


@pytest.mark.parametrize(
    ("embedder", "query", "read"),
    [
        ("minilm", "它快吗？ how fast ORCA7", "how fast ORCA7"),
        ("minilm", "海草有多少？", "海草有多少？"),
        ("minilm", "how fast", "how fast"),
        ("local:models/all-MiniLM-L6-v2", "快 fast", "fast"),
        ("local:models/bge-small-en-v1.5", "快 fast", "fast"),
        ("local:models/paraphrase-multilingual-MiniLM-L12-v2", "快 fast", "快 fast"),
        ("local:models/bge-m3", "快 fast", "快 fast"),
        ("local:models/bge-small-zh-v1.5", "快 fast", "快 fast"),
        ("ollama:unknown", "快 fast", "快 fast"),
    ],
)
def test_an_embedder_that_knows_only_english_is_not_given_chinese(embedder, query, read):
    assert for_embedder(query, {"name": embedder}) == read


def test_a_long_chinese_text_is_looked_up_in_linear_time():
    began = time.perf_counter()
    to_english("强" * 4000)
    to_english("强化学" * 1300)
    assert time.perf_counter() - began < 1
