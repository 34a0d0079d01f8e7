"""What every generator promises, over each of them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

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
