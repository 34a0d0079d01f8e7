"""A generator that waits for its server is ended by another thread, whatever it waits for."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import httpx
import pytest

from citewise.adapters.http import Remote
from citewise.adapters.openai.generator import OpenAIGenerator
from citewise.errors import Cancelled
from citewise.model.cancellation import Cancellation
from tests.contexts import a_prompt
from tests.fakes.chat_server import Reply, delta, refusing, running_chat_server

pytestmark = pytest.mark.server

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
