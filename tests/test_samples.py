"""The sample library: built once, from the files that ship."""

import pytest

from rag.samples import NAME, open_sample, sample_files
from rag.settings import load_settings


def test_the_files_that_ship_hold_forty_papers_with_34_topics():
    settings = load_settings(embedder="word-hash")
    assert len(sample_files()) == 2
    with open_sample(settings) as library:
        papers = library.papers()
    assert library.name == NAME
    assert len(papers) == 40
    assert sum(paper.topic is not None for paper in papers) == 34
    assert not any(paper.title for paper in papers)


def test_it_is_built_once(monkeypatch):
    settings = load_settings(embedder="word-hash")
    stages = []
    open_sample(settings, progress=lambda stage, *_: stages.append(stage)).close()
    assert "embedding" in stages
    stages.clear()
    monkeypatch.setattr("rag.library.Library.add", None)
    open_sample(settings, progress=lambda stage, *_: stages.append(stage)).close()
    assert stages == []


def stopped(*_, **__):
    raise KeyboardInterrupt


def test_it_is_finished_after_it_was_stopped_half_way(monkeypatch):
    settings = load_settings(embedder="word-hash")
    with monkeypatch.context() as patch:
        patch.setattr("rag.index.Index.sync", stopped)
        with pytest.raises(KeyboardInterrupt):
            open_sample(settings)
    with open_sample(settings) as library:
        status = library.status(check=True)
    assert (status.papers, status.problems) == (40, ())
    assert status.embedded == status.passages
