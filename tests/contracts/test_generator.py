"""What every generator promises, over each of them."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from threading import Event

import httpx
import pytest

from citewise.adapters.http import Remote, Retry
from citewise.adapters.openai.generator import OpenAIGenerator
from citewise.errors import Cancelled, CitewiseError, Misconfigured, Unavailable
from citewise.model.cancellation import Cancellation
from citewise.ports.models import Generator
from tests.contexts import a_prompt, a_source
from tests.fakes.chat_server import Reply, delta, refusing, running_chat_server, saying
from tests.fakes.scripted_generator import ScriptedGenerator

pytestmark = pytest.mark.server

Answering = AbstractContextManager[Generator]
PIECES = ("The gauge is read", " at noon [1].", " Nobody reads it at night [1].")


@contextmanager
def openai(reply: Reply) -> Iterator[OpenAIGenerator]:
    with running_chat_server() as server, httpx.Client(base_url=server.url, timeout=2.0, trust_env=False) as client:
        server.rule = reply
        yield OpenAIGenerator(Remote(client, "answer", "tiny", retry=Retry(sleep=lambda _: None)), max_tokens=100)


@contextmanager
def scripted(*pieces: str | Exception) -> Iterator[ScriptedGenerator]:
    yield ScriptedGenerator(pieces)


# Makers of a generator that can answer; a new one is one line here.
MAKERS: dict[str, Callable[[], Answering]] = {
    "openai": lambda: openai(saying(*PIECES)),
    "scripted": lambda: scripted(*PIECES),
}

# Makers of generators that fail, and with what; one that asks nobody cannot fail.
BROKEN: dict[str, tuple[Callable[[], Answering], type[CitewiseError]]] = {
    "openai refused": (lambda: openai(refusing(503)), Unavailable),
    "openai broken off": (lambda: openai(Reply([delta("The gauge")], breaks=True)), Unavailable),
    "openai without credentials": (lambda: openai(refusing(401)), Misconfigured),
    "openai without such a model": (lambda: openai(refusing(404)), Misconfigured),
    "scripted": (lambda: scripted("The gauge", Unavailable("no more")), Unavailable),
}


@pytest.fixture(params=MAKERS)
def generator(request: pytest.FixtureRequest) -> Iterator[Generator]:
    with MAKERS[request.param]() as chosen:
        yield chosen


def test_it_has_a_name_to_show_with_its_answers(generator: Generator) -> None:
    assert generator.name.strip()


def test_it_answers_in_pieces_that_are_never_empty(generator: Generator) -> None:
    pieces = list(generator.stream(a_prompt()))
    assert all(pieces)
    assert "noon" in "".join(pieces)


def test_it_points_at_sources_by_number(generator: Generator) -> None:
    assert "[1]" in "".join(generator.stream(a_prompt(a_source(1))))


def test_the_same_prompt_may_be_answered_twice(generator: Generator) -> None:
    prompt = a_prompt()
    assert list(generator.stream(prompt)) == list(generator.stream(prompt))


def test_it_can_be_stopped_and_then_used_again(generator: Generator) -> None:
    stopped = generator.stream(a_prompt())
    assert next(stopped)
    del stopped
    assert "noon" in "".join(generator.stream(a_prompt()))


def test_it_says_nothing_once_it_is_cancelled(generator: Generator) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        list(generator.stream(a_prompt(), cancellation))


def test_it_can_be_cancelled_between_two_pieces_and_then_used_again(generator: Generator) -> None:
    cancellation = Cancellation()
    pieces = generator.stream(a_prompt(), cancellation)
    assert next(pieces)
    cancellation.cancel()
    with pytest.raises(Cancelled):
        list(pieces)
    assert "noon" in "".join(generator.stream(a_prompt(), Cancellation()))


@pytest.mark.parametrize("kind", BROKEN)
def test_a_failure_is_one_of_ours(kind: str) -> None:
    make, error = BROKEN[kind]
    with make() as generator, pytest.raises(error):
        list(generator.stream(a_prompt()))


# A generator that waits for its server is ended by another thread, whatever it waits for

LIMIT_SECONDS = 60.0  # far more than any of this takes; the client itself would wait forever
WaitForRequest = Callable[[], object]


@contextmanager
def silent_server(scheme: str) -> Iterator[tuple[str, WaitForRequest]]:
    """Accepts a connection and never says a word, neither in HTTP nor in TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepted: list[socket.socket] = []
        listener.settimeout(LIMIT_SECONDS)
        yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/v1", lambda: accepted.append(listener.accept()[0])
        for connection in accepted:
            connection.close()


@contextmanager
def replying(reply: Reply) -> Iterator[tuple[str, WaitForRequest]]:
    with running_chat_server() as server:
        server.rule = reply
        yield server.url, lambda: server.waiting.wait(LIMIT_SECONDS)


SERVERS = {
    "silent": lambda: silent_server("http"),
    "silent in the TLS handshake": lambda: silent_server("https"),
    "stalling before its headers": lambda: replying(Reply(stalls=True)),
    "stalling after its headers": lambda: replying(Reply(hangs=True)),
    "stalling in mid-stream": lambda: replying(Reply([delta("The gauge")], hangs=True)),
}


@pytest.mark.parametrize("kind", SERVERS)
def test_a_waiting_read_is_ended_by_another_thread(kind: str) -> None:
    cancellation = Cancellation()
    with (
        ThreadPoolExecutor(1) as pool,
        SERVERS[kind]() as (url, wait_for_request),
        httpx.Client(base_url=url, timeout=None, trust_env=False) as client,
    ):
        generator = OpenAIGenerator(Remote(client, "answer", "tiny"), max_tokens=100)
        reading = pool.submit(lambda: list(generator.stream(a_prompt(), cancellation)))
        wait_for_request()
        cancellation.cancel()
        with pytest.raises(Cancelled):
            reading.result(timeout=LIMIT_SECONDS)


class WatchedCancellation(Cancellation):
    """Tells when somebody has begun to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = Event()

    def wait(self, seconds: float) -> None:
        self.waiting.set()
        super().wait(seconds)


def test_a_wait_before_the_next_try_is_ended_by_another_thread() -> None:
    cancellation = WatchedCancellation()
    with ThreadPoolExecutor(1) as pool, running_chat_server() as server:
        server.rule = refusing(503, retry_after="19")
        with httpx.Client(base_url=server.url, timeout=None, trust_env=False) as client:
            generator = OpenAIGenerator(Remote(client, "answer", "tiny"), max_tokens=100)
            reading = pool.submit(lambda: list(generator.stream(a_prompt(), cancellation)))
            assert cancellation.waiting.wait(LIMIT_SECONDS)
            cancellation.cancel()
            with pytest.raises(Cancelled):
                reading.result(timeout=LIMIT_SECONDS)
        assert len(server.asked) == 1
