"""The documents tell the truth: commands, options, settings, links, what the README shows."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import click
import pytest

from rag.cli import cli
from rag.settings import Settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
MODULES = [
    path for package in ("rag", "ui", "eval") for path in sorted((ROOT / package).rglob("*.py"))
]


def shown_commands():
    """Yield every command line that a document shows in a console block or as inline code."""
    for path in DOCS:
        text = path.read_text("utf-8")
        blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
        lines = [line[2:] for block in blocks for line in block.splitlines() if line[:2] == "$ "]
        for line in [*lines, *re.findall(r"`((?:citewell|make) [^`\n]+)`", text)]:
            yield path.name, line


SHOWN = sorted(set(shown_commands()))
CITEWELL = [one for one in SHOWN if one[1].startswith("citewell ")]
MAKE = [one for one in SHOWN if one[1].startswith("make ")]


def wrong_in(line):
    """Say what a command line of ours names that does not exist; None when all does."""
    words = [word for part in re.split(r"[,|>]", line) for word in shlex.split(part)]
    words = words[words.index("citewell") + 1 :]
    command, known = cli, {"--help"}
    for word in words:
        if isinstance(command, click.Group) and not word.startswith("-"):
            found = command.get_command(click.Context(command), word)
            command = found or getattr(command, "run", None)  # a group that also runs by itself
        if command is None:
            return word
        options = getattr(command, "run", command).params
        known |= {flag for option in options for flag in option.opts}
        if re.match(r"--?[a-z]", word) and word.split("=")[0] not in known:
            return word
    return None


@pytest.mark.parametrize(("page", "line"), CITEWELL, ids=lambda value: value)
def test_every_command_that_is_shown_exists_with_its_options(page, line):
    assert wrong_in(line) is None, page


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("citewell fly", "fly"),
        ("citewell ask --fly x", "--fly"),
        ("citewell eval compare a b --fly", "--fly"),
        ("citewell eval questions.jsonl --fly", "--fly"),
    ],
)
def test_what_does_not_exist_would_be_found(line, wrong):
    assert wrong_in(line) == wrong


def test_documents_show_commands_at_all():
    assert len(CITEWELL) > 20
    assert {line.split()[1] for _, line in MAKE} >= {"ask", "test"}


@pytest.mark.parametrize(("page", "line"), MAKE, ids=lambda value: value)
def test_every_make_target_that_is_shown_exists(page, line):
    assert re.search(rf"^{line.split()[1]}:.*## ", MAKEFILE, re.MULTILINE), page


def test_every_command_is_in_the_readme():
    for name in cli.list_commands(click.Context(cli)):
        assert re.search(rf"`(citewell )?{name}\b", README), name


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_every_setting_is_in_the_readme_with_its_default(name):
    (row,) = re.findall(rf"^\|.*`{name}`.*$", README, re.MULTILINE)
    assert f"CITEWELL_{name.upper()}" in row or "…" in row
    default = Settings.model_fields[name].default
    if isinstance(default, str | int | float):
        assert f"{default:g}" in row if isinstance(default, float) else str(default) in row


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    text = path.read_text("utf-8")
    anchors = {
        re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif not target.startswith("https://"):
            assert (path.parent / target.split("#")[0]).exists(), target


def test_every_page_in_docs_can_be_reached_from_the_readme():
    for path in (ROOT / "docs").iterdir():
        if path.suffix in (".md", ".ipynb"):
            assert f"(docs/{path.name})" in README


def test_every_runtime_dependency_is_explained():
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    explained = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert explained == declared(PYPROJECT["project"]["dependencies"])


def declared(requirements):
    return {re.match(r"[\w-]+", one)[0].lower() for one in requirements}


def imported(path):
    """Return the top-level modules that a file imports, ours and Python's own left out."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.split(".")[0] for name in names} - {*sys.stdlib_module_names, "rag", "ui", "eval"}


def test_every_imported_package_is_declared():
    packages = packages_distributions()
    runtime = declared(PYPROJECT["project"]["dependencies"])
    develop = runtime | declared(PYPROJECT["dependency-groups"]["dev"])
    for path in MODULES:
        allowed = develop if path.parent == ROOT / "eval" / "bench" else runtime
        for module in imported(path):
            names = {name.lower().replace("_", "-") for name in packages[module]}
            assert names & allowed, f"{path}: {module}"


def test_every_declared_package_has_one_pinned_version_within_its_bounds():
    from packaging.requirements import Requirement

    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    pinned = {name.lower().replace("_", "-"): version for name, version in pairs}
    assert len(pinned) == len(pairs)
    named = [*PYPROJECT["project"]["dependencies"], *PYPROJECT["dependency-groups"]["dev"]]
    for requirement in map(Requirement, named):
        assert requirement.specifier.contains(pinned[requirement.name]), requirement
    assert not any("+" in version for version in pinned.values())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_module_says_what_it_is_for(path):
    said = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert said
    assert said.split("\n")[0].endswith((".", "?", "!"))


def test_the_changelog_has_something_for_the_next_release():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^## \[Unreleased\]\n+### \w+\n+- ", text, re.MULTILINE)


# ---- the newcomer's commands -------------------------------------------------------------------


@pytest.fixture
def make(tmp_path):
    """Run make on an environment whose program prints its arguments."""
    program = tmp_path / "venv" / "bin" / "citewell"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "print(json.dumps([sys.argv[1:], 'Q' in os.environ]))\n"
    )
    program.chmod(0o755)
    stamp = tmp_path / "venv" / ".runtime"
    stamp.touch()

    def run(*args, **variables):
        env = {"PATH": os.environ["PATH"], **variables}
        command = ["make", "-C", str(ROOT), "--no-print-directory", f"VENV={tmp_path / 'venv'}"]
        return subprocess.run(
            [*command, *args], env=env, capture_output=True, text=True, check=False
        )

    run.stamp = stamp
    return run


QUESTIONS = [
    'What is "it\'s"?',
    "Costs $5 or $HOME or $$?",
    "`touch pwned` $(touch pwned) $(shell touch pwned)",
    "50% \\ # ; & | * ~ !",
    "-x starts with a dash",
    "哪些论文？",
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("way", ["argument", "environment"])
def test_make_ask_hands_the_question_over_as_it_was_typed(make, question, way):
    done = make("ask", f"Q={question}") if way == "argument" else make("ask", Q=question)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["ask", "--sample", "--", question], False]


def test_make_ask_has_a_question_of_its_own(make):
    (arguments, _) = json.loads(make("ask").stdout)
    assert arguments[-1].endswith("?")


def test_make_names_a_python_that_is_missing_or_too_old(make):
    os.utime(make.stamp, (0, 0))
    done = make("ask", "PYTHON=no-such-python")
    assert done.returncode == 2
    assert "error: 'no-such-python' is missing or older than Python 3.11." in done.stderr
    assert "make ask PYTHON=python3.12" in done.stderr


def test_make_help_lists_every_command(make):
    shown = make("help").stdout
    for target in ("ask", "test", "lint", "types", "clean"):
        assert f"make {target}" in shown


@pytest.mark.model
def test_the_readme_shows_what_make_ask_answers(make, citewell, monkeypatch):
    monkeypatch.delenv("CITEWELL_EVIDENCE_MODEL")
    (arguments, _) = json.loads(make("ask").stdout)
    shown = README.split("$ make ask\n")[1].split("\n```")[0]
    said = citewell(*arguments).out
    stops = "\n\nFurther papers"  # below it, another processor may rank two alike the other way
    assert shown.split(stops)[0] == said.split(stops)[0], "Paste into README.md what it says now."
    assert f'"{arguments[-1]}"' in README


def test_ci_runs_what_a_contributor_types():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["make test"]
