import json
import threading
from pathlib import Path

import httpx
import pytest
from gradio_client import Client

from tests.ui_site import running

pytestmark = pytest.mark.model

Q = "How does 4D3R refine camera poses?"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with running(tmp_path_factory.mktemp("site")) as running_site:
        yield running_site


@pytest.fixture(scope="module")
def program(site, tmp_path_factory):
    return Client(site.url, verbose=False, download_files=tmp_path_factory.mktemp("client"))


def handler_of(site, name):
    """Return the number of a handler, as anybody can read it from the page's configuration."""
    functions = httpx.get(f"{site.url}/config").json()["dependencies"]
    return next(f["id"] for f in functions if f["api_name"] == name)


def call(site, name, data, session="stranger", **more):
    """Call a handler directly, past the page; return what the server sends."""
    body = {"data": data, "fn_index": handler_of(site, name), "session_hash": session, **more}
    joined = httpx.post(f"{site.url}/gradio_api/queue/join", json=body)
    if joined.status_code != 200:
        return joined.text
    with httpx.stream(
        "GET", f"{site.url}/gradio_api/queue/data", params={"session_hash": session}, timeout=60
    ) as lines:
        for line in lines.iter_lines():
            if line.startswith("data: ") and "process_completed" in line:
                return json.loads(line[6:])["output"]
    raise AssertionError("the handler never finished")


def test_the_first_question_waits_for_the_models_and_is_answered(program):
    answer = program.predict(Q, api_name="/ask")
    assert not answer["abstained"]
    assert answer["citations"][0]["quote"] in answer["answer"]


def test_programs_see_what_they_may_call_and_nothing_else(program):
    assert sorted(program.view_api(return_format="dict")["named_endpoints"]) == [
        "/ask", "/libraries"
    ]  # fmt: skip
    assert program.predict(api_name="/libraries") == ["sample"]


@pytest.mark.parametrize(
    ("question", "library", "message"),
    [
        pytest.param("", "", "The question is empty", id="empty"),
        pytest.param("?!", "", "has no word", id="no word"),
        pytest.param("x" * 5000, "", "at most 4,000", id="too long"),
        pytest.param("What?", "../../etc/passwd", "no such library", id="path"),
        pytest.param("What?", "unknown", "no such library", id="unknown library"),
    ],
)
def test_programs_get_sentences_for_what_cannot_be_asked(program, question, library, message):
    with pytest.raises(Exception, match=message):
        program.predict(question, library, api_name="/ask")


def test_twenty_people_at_once_get_answers(site):
    answers, errors = [], []

    def person(number):
        try:
            client = Client(site.url, verbose=False)
            answers.append(client.predict(f"{Q} Number {number}?", api_name="/ask"))
        except Exception as exc:
            errors.append(exc)

    people = [threading.Thread(target=person, args=(n,)) for n in range(20)]
    for one in people:
        one.start()
    for one in people:
        one.join(120)
    assert errors == []
    assert len(answers) == 20


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {"host": "evil.example"}, 421),
        ("POST", "/gradio_api/queue/join", {"origin": "https://evil.example"}, 403),
        ("POST", "/gradio_api/upload", {"origin": "https://evil.example"}, 403),
        ("GET", "/gradio_api/file=/etc/passwd", {}, 404),
        ("GET", "/gradio_api/file=../../etc/passwd", {}, 404),
        ("GET", "/gradio_api/proxy=https://evil.example/x", {}, 404),
        ("GET", "/monitoring", {}, 404),
        ("GET", "/docs", {}, 404),
        ("GET", "/static/..%2f..%2f..%2fetc/passwd", {}, 404),
    ],
)
def test_b36_the_running_server_refuses(site, method, path, headers, status):
    reply = httpx.request(method, site.url + path, headers=headers)
    assert reply.status_code == status


@pytest.mark.parametrize(
    "value", [None, 7, [], {}, "../../etc/passwd", "source-999999-1", "source-1-1", "x" * 10_000]
)
def test_b36_a_handler_called_directly_checks_its_own_input(site, value):
    output = call(site, "page_follow", [None], event_data={"value": value})
    assert "error" not in output
    assert all(isinstance(one, dict) and "value" not in one for one in output["data"])


def test_b28_one_session_cannot_read_anothers_answers(site):
    mine = call(site, "page_ask", [Q, None], session="mine")
    assert "error" not in mine
    stolen = call(site, "page_follow", [None], session="other", event_data={"value": "source-1-1"})
    assert "4D3R" not in json.dumps(stolen)
    own = call(site, "page_follow", [None], session="mine", event_data={"value": "source-1-1"})
    assert "4D3R" in json.dumps(own)


@pytest.mark.parametrize("question", [None, 5, ["x"], {"a": 1}, "", "  \n "])
def test_b36_the_page_refuses_what_is_no_question(site, question):
    assert "error" not in call(site, "page_ask", [question, None], session=f"odd-{question!r}"[:20])


def test_a_page_with_a_password_shows_nothing_without_it(tmp_path):
    with running(tmp_path, auth=("user", "secret")) as closed:
        assert httpx.get(f"{closed.url}/config").status_code == 401
        wrong = {"username": "user", "password": "guess"}
        assert httpx.post(f"{closed.url}/login", data=wrong).status_code == 400
        with pytest.raises(Exception, match=r"(?i)auth|login"):
            Client(closed.url, verbose=False)
        client = Client(closed.url, verbose=False, auth=("user", "secret"))
        assert client.predict(api_name="/libraries") == ["sample"]


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../../etc/passwd", "papers.bib"], ids=["absolute", "relative", "name"]
)
def test_b36_a_file_of_the_server_cannot_be_added_as_an_upload(site, path):
    file = {"path": path, "meta": {"_type": "gradio.FileData"}}
    output = call(site, "page_add", [None, [file]], session="thief")
    assert "root:" not in json.dumps(output)
    assert site.shelf.library("sample").status().papers == 40


def test_b36_an_upload_is_never_served_again(site):
    reply = httpx.post(
        f"{site.url}/gradio_api/upload", files={"files": ("../../x.bib", b"@article{a}")}
    )
    (stored,) = reply.json()
    assert Path(stored).resolve().is_relative_to(site.uploads.resolve())
    assert httpx.get(f"{site.url}/gradio_api/file={stored}").status_code == 404


@pytest.mark.parametrize("name", ["../../etc", "unknown", None, 5])
def test_b36_a_library_that_does_not_exist_cannot_be_turned_to(site, name):
    call(site, "page_switch", [name, None], session="lost")
    answer = call(site, "page_ask", [Q, None], session="lost")
    assert "4D3R" in json.dumps(answer)


@pytest.mark.parametrize("value", [None, "open-1", "open-999", "../x", 5])
def test_b36_a_conversation_that_is_not_listed_cannot_be_opened(site, value):
    output = call(site, "page_open", [None], session="nosy", event_data={"value": value})
    assert "cw-answer" not in json.dumps(output)
