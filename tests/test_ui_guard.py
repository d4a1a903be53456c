import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from ui.guard import Guard, allowed_path, host_name, names_for


async def page(request):
    return PlainTextResponse("the page")


def client(host="127.0.0.1", **options):
    inner = Starlette(routes=[Route("/{path:path}", page, methods=["GET", "POST"])])
    return TestClient(Guard(inner, names_for(host), **options), base_url="http://127.0.0.1:7860")


@pytest.mark.parametrize(
    "host", ["127.0.0.1:7860", "localhost:7860", "LOCALHOST", "[::1]:7860", "localhost."]
)
def test_the_page_answers_under_this_machines_names(host):
    assert client().get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:7860", "127.0.0.1.evil.example", "127.0.0.1@evil.example",
     "localhost:x", "", "10.0.0.5", "127.0.0.1/..", "2130706433"],
)  # fmt: skip
def test_b36_a_foreign_host_is_refused(host):
    assert client().get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "http://127.0.0.1:9999", "null", "http://localhost:7860",
     "file://", "http://[bad", "chrome-extension://127.0.0.1:7860"],
)  # fmt: skip
def test_b36_a_foreign_origin_is_refused(origin):
    reply = client().post("/gradio_api/queue/join", headers={"origin": origin})
    assert (reply.status_code, reply.text) == (403, "Another site may not use this page.")


def test_the_pages_own_requests_pass_with_headers_that_forbid_foreign_content():
    reply = client().post("/gradio_api/queue/join", headers={"origin": "http://127.0.0.1:7860"})
    assert reply.status_code == 200
    assert "default-src 'self'" in reply.headers["content-security-policy"]
    assert reply.headers["x-frame-options"] == "DENY"


def test_another_site_may_link_here_but_not_load_from_here():
    cross = {"sec-fetch-site": "cross-site"}
    assert client().get("/", headers={**cross, "sec-fetch-mode": "navigate"}).status_code == 200
    assert (
        client().get("/config", headers={**cross, "sec-fetch-mode": "no-cors"}).status_code == 403
    )


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/file=/etc/passwd",
        "/gradio_api/file/etc/passwd",
        "/gradio_api/file=https://example.org/",
        "/gradio_api/proxy=https://example.org/",
        "/gradio_api/stream/x",
        "/gradio_api/component_server",
        "/gradio_api/custom_component/x",
        "/gradio_api/",
        "/file=/etc/passwd",
        "/static/../config",
        "/assets/%2e%2e/../x",
        "/assets//etc/passwd",
        "/assets/..\\x",
        "/monitoring",
        "/docs",
        "/openapi.json",
        "/elsewhere",
    ],
)
def test_b36_nothing_but_the_page_is_served(path):
    assert not allowed_path(path)


@pytest.mark.parametrize(
    "path", ["/", "/config", "/assets/a.js", "/gradio_api/queue/data", "/gradio_api/call/ask"]
)
def test_the_page_itself_is_served(path):
    assert allowed_path(path)


def test_a_foreign_websocket_is_closed():
    with (
        pytest.raises(WebSocketDisconnect) as closed,
        client().websocket_connect("/", headers={"host": "evil.example"}),
    ):
        pass
    assert closed.value.code == 1008


def test_beyond_this_machine_addresses_are_accepted_and_names_are_not():
    wide = client("0.0.0.0", any_address=True)
    assert wide.get("/", headers={"host": "192.168.1.7:7860"}).status_code == 200
    assert wide.get("/", headers={"host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    ("host", "name"),
    [("a:1", "a"), ("[::1]:80", "::1"), ("a:99999", ""), ("user@a", ""), ("a/b", ""), ("A", "a")],
)
def test_host_names_are_read_strictly(host, name):
    assert host_name(host) == name
