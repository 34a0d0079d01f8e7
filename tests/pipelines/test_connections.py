"""Connections to the servers of models are closed with the library that made them, and not under a request."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from citewise import Library
from citewise.adapters.http import Remote
from citewise.adapters.openai.generator import OpenAIGenerator
from citewise.model.answer import Done, Token
from citewise.settings import Settings
from tests.fakes.chat_server import ChatServer, running_chat_server, saying
from tests.fakes.embedding_server import DIMENSIONS, Reply, running_server
from tests.fakes.rerank_server import running_rerank_server

pytestmark = pytest.mark.server

QUESTION = "When is the tide gauge read?"


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Client]:
    """Every client that citewise makes."""
    made: list[httpx.Client] = []

    class Noted(httpx.Client):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            made.append(self)

    monkeypatch.setattr(httpx, "Client", Noted)
    return made


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with running_chat_server() as server:
        server.rule = saying("It is read ", "at noon [1].")
        yield server


def is_closed(client: httpx.Client, *, seconds: float = 20.0) -> bool:
    """Whether it is closed before long: the thread of its last request may have to end first."""
    ends_at = time.monotonic() + seconds
    while not client.is_closed and time.monotonic() < ends_at:
        time.sleep(0.01)
    return client.is_closed


def answering(chat: ChatServer, tmp_path: Path) -> Settings:
    (tmp_path / "gauge.md").write_text("# Gauge\n\nThe tide gauge is read at noon.\n")
    chosen = {"generator": "openai", "model": "tiny", "base_url": chat.url}
    return Settings(library=tmp_path / "library").changed(answer=chosen)


def test_a_library_closes_its_connections_and_opens_others_for_the_next_question(
    chat: ChatServer, tmp_path: Path, clients: list[httpx.Client]
) -> None:
    with running_server() as vectors, running_rerank_server() as scores:
        embedding = {"provider": "openai", "model": "m", "base_url": vectors.url, "dimensions": DIMENSIONS}
        rerank = {"provider": "http", "style": "jina", "base_url": scores.base_url("jina")}
        library = Library(settings=answering(chat, tmp_path).changed(embedding=embedding, rerank=rerank))
        library.ingest(tmp_path / "gauge.md")
        for opened in (3, 6):
            assert library.as_owner().ask(QUESTION).text == "It is read at noon [1]."
            library.as_owner().ask(QUESTION, selection="The tide gauge is read at noon.")
            assert [client.is_closed for client in clients[opened - 3 :]] == [False] * 3
            library.close()
            assert [is_closed(client) for client in clients] == [True] * opened


def test_an_answer_that_is_under_way_keeps_its_connection_until_it_ends(
    chat: ChatServer, tmp_path: Path, clients: list[httpx.Client]
) -> None:
    with Library(settings=answering(chat, tmp_path)) as library:
        library.ingest(tmp_path / "gauge.md")
        events = library.as_owner().stream(QUESTION)
        assert any(isinstance(event, Token) for event in events)
    assert [client.is_closed for client in clients] == [False]
    assert isinstance(list(events)[-1], Done)
    del events
    assert [is_closed(client) for client in clients] == [True]


def test_a_connection_that_is_handed_in_stays_open(chat: ChatServer, tmp_path: Path) -> None:
    settings = answering(chat, tmp_path)
    with httpx.Client(base_url=chat.url) as client:
        generator = OpenAIGenerator(Remote(client, "answer", "tiny"), max_tokens=100)
        with Library(settings=settings, generator=generator) as library:
            library.ingest(tmp_path / "gauge.md")
            library.as_owner().ask(QUESTION)
        del library, generator
        assert not client.is_closed


@pytest.mark.parametrize(
    ("selection", "said"),
    [(None, ()), ("It is read at noon.", ("ground: not available; what was not embedded was compared by words",))],
    ids=["of the library, which needs no more vectors", "of a selection"],
)
def test_a_question_does_not_wait_for_the_embedding_server_as_an_ingestion_does(
    tmp_path: Path, selection: str | None, said: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "gauge.md").write_text("# Gauge\n\nThe tide gauge is read at noon.\n")
    with running_server() as server:
        embedding = {"provider": "openai", "model": "m", "base_url": server.url, "dimensions": DIMENSIONS}
        with Library(tmp_path / "library", settings=Settings().changed(embedding=embedding)) as library:
            library.ingest(tmp_path / "gauge.md")
            library.as_owner().search(QUESTION)  # its vector is remembered
            server.rule = lambda asked: Reply(429, headers={"Retry-After": "100"})
            degraded = library.as_owner().ask(QUESTION, selection=selection).result.degraded
    assert degraded == said
    assert ("ask again in 100 seconds" in caplog.text) == bool(said)
