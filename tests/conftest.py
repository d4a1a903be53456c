"""Shared fixtures: an empty home, no keys, no telemetry, real objects under plain names."""

import os

os.environ.update(
    HF_HUB_OFFLINE="1",
    TRANSFORMERS_OFFLINE="1",
    ANONYMIZED_TELEMETRY="False",
    GRADIO_ANALYTICS_ENABLED="False",
    TOKENIZERS_PARALLELISM="false",
)

import pytest


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """Give each test an empty home, no API keys and no CITEWELL_* variables."""
    for name in list(os.environ):
        if name.startswith("CITEWELL_") or name.endswith(("_API_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("CITEWELL_HOME", str(home / "libraries"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
