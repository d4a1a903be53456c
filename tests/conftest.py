"""Shared fixtures: an empty home, no keys, no telemetry, real objects under plain names."""

import os

os.environ.update(
    HF_HUB_OFFLINE="1",
    HF_HUB_DISABLE_TELEMETRY="1",
    TRANSFORMERS_OFFLINE="1",
    ANONYMIZED_TELEMETRY="False",
    GRADIO_ANALYTICS_ENABLED="False",
    TOKENIZERS_PARALLELISM="false",
)

import json
import sys
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Run:
    """What one call of the program left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def rows(self):
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def citewell(monkeypatch, capsys):
    """Call the program as a user does, in this process: arguments in, exit code and text out."""
    from rag.cli import main

    def run(*args):
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["citewell", *map(str, args)])
        monkeypatch.setattr(sys.modules["__main__"], "__package__", None)  # `python -m pytest`
        code = 0
        try:
            main()
        except SystemExit as exc:
            code = exc.code or 0
        return Run(code, *capsys.readouterr())

    return run


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
    monkeypatch.setenv("CITEWELL_EVIDENCE_MODEL", "none")  # tests that want it delete this
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
