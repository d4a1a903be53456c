"""B38: nothing but loopback is ever contacted, whatever the home folder is like."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
QUESTION = "How much less acid does the coffee hold?"


@pytest.fixture
def closed(tmp_path):
    """Run the program as its own process, with every way out closed and watched."""
    log = tmp_path / "attempts"
    log.touch()
    environment = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(DATA / "offline"),
        "OFFLINE_LOG": str(log),
    }
    if unshare := shutil.which("unshare"):  # as root: no network at all, native code included
        alone = subprocess.run([unshare, "-n", "true"], capture_output=True, check=False)
        prefix = [unshare, "-n"] if alone.returncode == 0 else []
    else:
        prefix = []

    def run(*args, **variables):
        command = [*prefix, sys.executable, "-m", "rag", *map(str, args)]
        env = environment | {name: str(value) for name, value in variables.items()}
        done = subprocess.run(
            command, capture_output=True, text=True, env=env, cwd=tmp_path, check=False
        )
        assert log.read_text() == ""
        return done

    run.log = log
    run.environment = environment
    return run


def test_an_attempt_would_be_seen(closed):
    code = "import socket; socket.create_connection(('192.0.2.1', 9), timeout=1)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=closed.environment, check=False
    )
    assert done.returncode == 1
    assert "192.0.2.1" in closed.log.read_text()


@pytest.mark.model
def test_b38_adding_and_asking_in_an_empty_home_contacts_nobody(closed, tmp_path):
    home = tmp_path / "empty"
    home.mkdir()
    papers = DATA / "cli" / "papers.jsonl"
    added = closed("add", papers, "--wait", "--json", HOME=home)
    assert (added.returncode, added.stderr) == (0, "")
    assert json.loads(added.stdout)["embedded"] == 3
    began = time.monotonic()
    asked = closed("ask", QUESTION, "--json", HOME=home)
    assert time.monotonic() - began < 120  # no attempt that hangs until it times out
    assert (asked.returncode, asked.stderr) == (0, "")
    assert json.loads(asked.stdout)["papers"][0]["title"] == "Cold brewing"


@pytest.mark.model
def test_b38_a_home_that_cannot_be_written_is_no_trouble_when_libraries_are_elsewhere(
    closed, tmp_path
):
    locked = {"HOME": "/dev/null/home", "CITEWELL_HOME": tmp_path / "libraries"}
    done = closed("add", DATA / "cli" / "papers.jsonl", "--wait", **locked)
    assert (done.returncode, done.stderr) == (0, "")
    done = closed("ask", QUESTION, **locked)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.model
def test_b38_doctor_contacts_nobody(closed, tmp_path):
    done = closed("doctor", HOME=tmp_path)
    assert done.stderr == ""
    assert "weights: MiniLM as published" in done.stdout


def test_b38_a_home_that_cannot_be_written_is_said_in_one_sentence(closed):
    done = closed("add", DATA / "cli" / "papers.jsonl", HOME="/dev/null/home")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: The library 'default' cannot be made in '/dev/null/home")
    assert "CITEWELL_HOME" in done.stderr
