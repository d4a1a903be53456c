import asyncio
import threading
import time

import pytest

from rag.errors import ProviderError
from rag.schema import Answer
from tests.ui_site import wait_for
from ui.asking import BROKEN, Failed, Job, Line, Loading, Waiting

ANSWER = Answer("q", "a", abstained=False)
READY = lambda wait_s: True  # noqa: E731  # short for a table


def events(job):
    async def collect():
        return [event async for event in job.events()]

    return asyncio.run(asyncio.wait_for(collect(), 10))


def test_pieces_arrive_joined_then_the_answer():
    found = events(Job(lambda: iter(["a", "b", "c", ANSWER]), Line(), READY))
    assert "".join(e for e in found if isinstance(e, str)) == "abc"
    assert found[-1] is ANSWER


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(ProviderError("The server is off."), "The server is off.", id="for the user"),
        pytest.param(ZeroDivisionError("secret"), BROKEN, id="a bug"),
    ],
)
def test_b25_an_error_midway_keeps_the_text_and_says_why(error, message):
    def start():
        yield "half"
        raise error

    assert events(Job(start, Line(), READY)) == ["half", Failed(message)]


class Thinking:
    """A stream that waits for a model in short steps, as the engine does."""

    def __init__(self):
        self.started, self.closed = threading.Event(), threading.Event()

    def __call__(self):
        try:
            yield "first"
            self.started.set()
            while True:
                time.sleep(0.02)
        finally:
            self.closed.set()


def test_b32_stop_frees_a_model_that_says_nothing_within_a_second():
    model, line = Thinking(), Line()
    job = Job(model, line, READY)
    stopper = threading.Thread(target=lambda: (model.started.wait(5), job.cancel()))
    stopper.start()
    assert events(job) == ["first"]
    began = time.perf_counter()
    assert model.closed.wait(1)
    assert time.perf_counter() - began < 1
    stopper.join()
    assert events(Job(lambda: iter([ANSWER]), line, READY)) == [ANSWER]


def test_b32_whoever_leaves_the_page_frees_the_model():
    model = Thinking()

    async def leave():
        stream = Job(model, Line(), READY).events()
        assert await anext(stream) == "first"
        await asyncio.to_thread(model.started.wait, 5)
        await stream.aclose()

    asyncio.run(leave())
    assert model.closed.wait(1)


def test_b32_one_at_a_time_and_the_place_in_the_line_is_told():
    line, held = Line(), threading.Event()

    def slow():
        held.wait(5)
        yield ANSWER

    async def three():
        async def read(job):
            return [event async for event in job.events()]

        jobs = [Job(slow, line, READY) for _ in range(3)]
        tasks = []
        for job in jobs:
            tasks.append(asyncio.create_task(read(job)))
            await asyncio.sleep(0.1)
        held.set()
        return await asyncio.gather(*tasks)

    first, second, third = asyncio.run(three())
    assert first == [ANSWER]
    assert second == [Waiting(1), ANSWER]
    assert third[0] == Waiting(2)
    assert third[-1] is ANSWER


def test_a_stopped_question_leaves_the_line():
    line = Line()
    ticket = line.join()
    waiting = Job(lambda: iter([ANSWER]), line, READY)
    threading.Timer(0.2, waiting.cancel).start()
    assert events(waiting) == [Waiting(1)]
    wait_for(lambda: waiting.is_over, 2)
    line.leave(ticket)
    assert events(Job(lambda: iter([ANSWER]), line, READY)) == [ANSWER]


def test_a_question_waits_for_the_models_to_be_loaded():
    loaded = threading.Event()
    threading.Timer(0.2, loaded.set).start()
    assert events(Job(lambda: iter([ANSWER]), Line(), loaded.wait)) == [Loading(), ANSWER]


def test_a_job_cancelled_before_its_start_asks_nobody():
    asked = []

    def start():
        asked.append(1)
        yield ANSWER

    job = Job(start, Line(), READY)
    job.cancel()
    assert events(job) == []
    assert asked == []
    assert job.cancelled
