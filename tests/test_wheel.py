"""The wheel: all files are in it, and what it installs runs far away from the checkout."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import rag
from rag.cli import cli

ROOT = Path(__file__).parents[1]
PACKAGES = ("rag", "ui", "eval")
DATA = (
    *("rag/py.typed", "rag/prompts/answer.md", "rag/weights/evidence.json"),
    *("eval/data/sample_questions.jsonl", "eval/report/templates/report.html"),
)
COMMANDS = sorted(cli.list_commands(None))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Install the wheel in a new environment; what it depends on is taken from this one."""
    place = tmp_path_factory.mktemp("env")
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps"]
    subprocess.run([*command, "--no-index", str(wheel)], check=True, capture_output=True)
    (site,) = place.glob("lib/python*/site-packages")
    # A path in a .pth file is searched last, and its own .pth files (this checkout) are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return site


@pytest.fixture
def run(installed, tmp_path):
    """Run a program of the new environment in an empty folder."""
    env = {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}

    def call(program, *args):
        command = [str(installed.parents[2] / "bin" / program), *args]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_the_wheel_holds_every_file_of_the_three_packages_and_nothing_else(wheel):
    files = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    ours = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files == ours
    assert files >= set(DATA)
    assert sum(name.startswith("rag/sample/") for name in files) == 2


def test_its_metadata_says_what_a_user_wants_to_know(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().splitlines()
    for line in ("Name: citewell", "License-Expression: Apache-2.0", "Requires-Python: >=3.11"):
        assert line in lines
    assert f"Version: {rag.__version__}" in lines
    needed = [line for line in lines if line.startswith("Requires-Dist: ")]
    assert not any("pytest" in line or "smollm2" in line for line in needed)


def test_what_is_installed_comes_from_the_wheel(run, installed):
    code = "import rag, ui, eval; print(rag.__file__, ui.__file__, eval.__file__)"
    assert run("python", "-c", code).split() == [
        str(installed / package / "__init__.py") for package in PACKAGES
    ]
    assert run("citewell", "--version") == f"citewell {rag.__version__} from {installed / 'rag'}\n"


def test_every_command_shows_its_help(run):
    listed = run("citewell", "--help")
    for name in COMMANDS:
        assert f"\n  {name} " in listed
        assert run("citewell", name, "--help").startswith(f"Usage: citewell {name}")
    assert "(cannot be loaded)" not in listed


@pytest.mark.model
def test_the_sample_is_answered_from_the_wheel_alone(run):
    asked = "How much faster is EDGE than earlier methods?"
    answer = json.loads(run("citewell", "ask", "--sample", asked, "--json"))
    assert "18×" in answer["answer"]
    assert answer["citations"][0]["authors"][0] == "Zhenghao Zhao"
