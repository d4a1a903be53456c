import logging
import threading

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from tests.ui_site import wait_for
from ui.lobby import Lobby


async def page(request):
    return PlainTextResponse("the page")


def test_the_port_answers_while_the_page_is_built_and_then_hands_over():
    built, told = threading.Event(), []

    def build():
        built.wait(10)
        return Starlette(routes=[Route("/", page)])

    lobby = Lobby(build, lambda: told.append("opened"), lambda: told.append("closed"))
    with TestClient(lobby) as client:
        waiting = client.get("/")
        assert waiting.status_code == 200
        assert "Starting" in waiting.text
        assert client.get("/config").status_code == 503
        built.set()
        wait_for(lambda: client.get("/").text == "the page", 10)
        assert told == ["opened"]
    assert told == ["opened", "closed"]


def test_a_page_that_cannot_be_built_says_so(caplog):
    def build():
        raise ZeroDivisionError

    with (
        caplog.at_level(logging.CRITICAL, "ui.lobby"),
        TestClient(Lobby(build, pytest.fail, lambda: None)) as client,
    ):
        wait_for(lambda: "could not be built" in client.get("/").text, 10)
