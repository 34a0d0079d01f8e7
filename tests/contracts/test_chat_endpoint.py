"""The generator for OpenAI-compatible servers, against a real server that behaves well or badly."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any

import httpx
import pytest

from citewise.adapters.http import Breaker, Remote
from citewise.adapters.openai.generator import RETRY, OpenAIGenerator
from citewise.errors import Cancelled, Misconfigured, Unavailable
from citewise.model.cancellation import Cancellation
from tests.contexts import a_prompt
from tests.fakes.chat_server import (
    DONE,
    EVENTS,
    STOP,
    ChatServer,
    Reply,
    delta,
    event,
    refusing,
    running_chat_server,
    saying,
)

pytestmark = pytest.mark.server

KEY = "a-key-that-must-not-be-told"
Waits = list[float]
Make = Callable[..., OpenAIGenerator]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with running_chat_server() as running:
        yield running


@pytest.fixture
def make(server: ChatServer, waits: Waits) -> Iterator[Make]:
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=3.0, trust_env=False) as client:

        def generator_with(**options: Any) -> OpenAIGenerator:
            retry = replace(RETRY, sleep=options.pop("sleep", waits.append), jitter=options.pop("jitter", lambda: 1.0))
            remote = Remote(client, "answer", "tiny", retry=retry, breaker=options.pop("breaker", Breaker()))
            return OpenAIGenerator(remote, max_tokens=100, **options)

        yield generator_with


def answer(generator: OpenAIGenerator) -> str:
    return "".join(generator.stream(a_prompt()))


def test_the_prompt_is_sent_as_it_is(make: Make, server: ChatServer) -> None:
    prompt = a_prompt(question="Why \ud800?")
    assert list(make(temperature=0.3).stream(prompt)) == ["Hello."]
    turns = [{"role": message.role.value, "content": message.content} for message in prompt.messages]
    (asked,) = server.asked
    assert asked == {"model": "tiny", "messages": turns, "stream": True, "max_tokens": 100, "temperature": 0.3}
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_pieces_come_as_they_are_sent(make: Make, server: ChatServer) -> None:
    server.rule = Reply([delta("One "), delta("two")], hangs=True)
    with closing(make().stream(a_prompt())) as pieces:
        assert (next(pieces), next(pieces)) == ("One ", "two")


def test_nothing_is_asked_before_the_first_piece_is(make: Make, server: ChatServer) -> None:
    make().stream(a_prompt())
    assert server.asked == []


def in_chunks_of(size: int, reply: Reply) -> Reply:
    data = b"".join(reply.chunks)
    return Reply([data[at : at + size] for at in range(0, len(data), size)])


@pytest.mark.parametrize("size", [1, 2, 7, 100_000])
def test_how_the_bytes_are_cut_does_not_matter(make: Make, server: ChatServer, size: int) -> None:
    server.rule = in_chunks_of(size, saying("Gezeiten: ", "\u00fc\u20ac\U0001f30a ", "a\u2028b"))
    assert answer(make()) == "Gezeiten: \u00fc\u20ac\U0001f30a a\u2028b"


RAW = '{"choices":[{"delta":{"content":"\u2028ok"}}]}'.encode()


@pytest.mark.parametrize(
    "stream",
    [
        b": keep-alive\n\n" + delta("ok") + b":\n\n" + STOP,
        b"event: message\nid: 7\nretry: 100\n" + delta("ok") + DONE,
        delta("ok").replace(b"\n\n", b"\r\n\r\n") + DONE.replace(b"\n\n", b"\r\n\r\n"),
        delta("ok").replace(b"\n\n", b"\n\r\n") + b":\r\n\n" + DONE,
        delta("ok").replace(b"\n\n", b"\r\r") + DONE.replace(b"\n\n", b"\r\r"),
        delta("ok").replace(b"data: ", b"data:") + b"data:[DONE]\n\n",
        b'data: {"choices":\ndata: [{"delta":\ndata: {"content": "ok"}}]}\n\n' + DONE,
        b"data: " + RAW + b"\n\n" + DONE,
        delta("ok") + event({"choices": [], "usage": {"total_tokens": 3}}) + DONE,
        delta("ok") + event({"choices": None}) + b"data: [DONE]",
        event({"choices": [{"delta": None}]}) + event({"choices": [{"delta": {}}]}) + delta("ok") + STOP,
        event({"choices": [{"delta": {"reasoning_content": "hm"}}]}) + delta(None) + delta("ok", finish="stop"),
        delta("ok", finish="") + STOP,
        delta("\n<thi") + delta("nk>Let me see.</th") + delta("ink>\n\n") + delta("ok") + STOP,
        delta("ok", finish="tool_calls"),
    ],
)
def test_what_servers_send_besides_the_answer_is_left_out(make: Make, server: ChatServer, stream: bytes) -> None:
    server.rule = in_chunks_of(5, Reply([stream]))
    assert answer(make()).strip("\u2028") == "ok"


def test_less_than_is_no_thought(make: Make, server: ChatServer) -> None:
    server.rule = saying("<", "th", "e> x")
    assert answer(make()) == "<the> x"


def test_half_a_surrogate_pair_does_no_harm(make: Make, server: ChatServer) -> None:
    server.rule = Reply([event(b'{"choices":[{"delta":{"content":"a\\ud83d b"}}]}'), STOP])
    assert answer(make()) == "a\ufffd b"


def test_an_answer_that_reaches_its_token_limit_ends_in_dots(make: Make, server: ChatServer) -> None:
    server.rule = Reply([delta("The gauge is"), delta(None, finish="length"), DONE])
    assert answer(make()) == "The gauge is \u2026"


@pytest.mark.parametrize(("said", "options"), [("3600", {}), ("7", {"first_seconds": 5.0})])
def test_a_reader_is_told_how_long_to_wait_when_it_is_too_long(
    make: Make, server: ChatServer, waits: Waits, said: str, options: dict[str, float]
) -> None:
    server.rule = refusing(429, retry_after=said)
    with pytest.raises(Unavailable, match=f"answered 429: ask again in {said} seconds"):
        answer(make(**options))
    assert waits == []


BROKEN: list[tuple[Reply, str]] = [
    (Reply([delta("a")]), "broke off: ask again"),
    (Reply([delta("a")], breaks=True), r"broke off .*RemoteProtocolError"),
    (Reply([delta("a")], hangs=True), r"broke off .*not answer in time"),
    (Reply([delta("a"), event(b"{broken")]), "not JSON"),
    (Reply([delta("a"), event(b"\xff\xfe")]), "not JSON"),
    (Reply([delta("a"), event(b"[" * 60_000)]), "not JSON"),
    (Reply([delta("a"), event([1])]), "invalid response"),
    (Reply([delta("a"), event({"error": {"code": "server_error", "message": "m"}})]), r"error \(server_error\)"),
    (Reply([delta("a"), event({"error": "overloaded"})]), "reported an error: ask again"),
    (Reply([delta("a"), event({"object": "error", "message": "m", "code": 40303})]), "reported an error: ask again"),
    (Reply([delta("a"), event({"choices": {"0": 1}})]), "invalid response"),
    (Reply([delta("a"), event({"choices": ["b"]})]), "invalid response"),
    (Reply([delta("a"), event({"choices": [{"delta": "b"}]})]), "invalid response"),
    (Reply([delta("a"), event({"choices": [{"delta": {"content": [1]}}]})]), "invalid response"),
    (Reply([delta("a"), event({"choices": [{"finish_reason": 7}]})]), "invalid response"),
    (Reply([delta("a"), delta(None, finish="content_filter")]), r"withheld the answer \(content_filter\)"),
    (Reply([delta("a" * 100)], is_endless=True), "does not stop after 3,200 characters"),
    (Reply([b"data: " + b"a" * 1_100_000]), "an event of more than 1,000,000 bytes"),
    (Reply([STOP, DONE]), "answered with nothing"),
    (Reply([delta("<think>and so on"), delta(None, finish="length")]), "answered with nothing"),
    (Reply([delta(None, finish="length")]), "answered with nothing"),
    (Reply([b"no gzip"], headers={"Content-Type": EVENTS, "Content-Encoding": "gzip"}), r"broken .*\(DecodingError\)"),
    (refusing(400, {"code": "context_length_exceeded"}), r"400 \(context_length_exceeded\): .*answer\.budget_tokens"),
    (refusing(413), "answered 413"),
    (refusing(422, "no"), "answered 422: it refuses"),
    (Reply([b"[1]"], status=400), "answered 400: it refuses"),
    (Reply([b"<html>"], status=400), "answered 400: it refuses"),
]


@pytest.mark.parametrize(
    ("reply", "reason"), BROKEN, ids=[f"{at}-{reason[:30]}" for at, (_, reason) in enumerate(BROKEN)]
)
def test_an_answer_that_goes_wrong_is_unavailable_at_once(
    make: Make, server: ChatServer, waits: Waits, reply: Reply, reason: str
) -> None:
    server.rule = reply
    with pytest.raises(Unavailable, match=reason):
        answer(make())
    assert (len(server.asked), waits) == (1, [])


@pytest.mark.parametrize(
    ("reply", "is_counted"),
    [
        (Reply([delta(None, finish="content_filter")]), False),
        (Reply([STOP, DONE]), False),
        (Reply([delta("<think>and so on"), delta(None, finish="length")]), False),
        (Reply([delta("<think>" + "a" * 4000)]), False),
        (Reply([event({"error": {"code": 400, "message": "m"}})]), False),
        (Reply([event({"error": {"code": "429", "message": "m"}})]), False),
        (Reply([event({"error": {"code": "content_filter", "message": "m"}})]), False),
        (Reply([event({"error": {"code": None, "type": "invalid_request_error"}})]), False),
        (Reply([event({"object": "error", "message": "m", "code": 40303})]), True),
        (Reply([event({"error": {"code": "server_error", "message": "m"}})]), True),
        (Reply([event(b"{broken")]), True),
    ],
)
def test_an_answer_that_the_question_spoiled_does_not_count_against_the_model(
    make: Make, server: ChatServer, reply: Reply, is_counted: bool
) -> None:
    generator = make(breaker=Breaker(max_failures=2))
    server.rule = reply
    for _ in range(3):
        with pytest.raises(Unavailable):
            answer(generator)
    server.rule = saying("Hello.")
    with pytest.raises(Unavailable, match="circuit breaker open") if is_counted else nullcontext():
        assert answer(generator) == "Hello."


SILENT = {
    "silent": Reply(stalls=True),
    "silent behind its headers": Reply(hangs=True),
    "keeps itself alive": Reply([b": still here\n\n"], pause_seconds=0.02, is_endless=True),
    "sends empty pieces": Reply([delta("")], pause_seconds=0.02, is_endless=True),
    "headers without end": Reply(drips_headers=True),
}


@pytest.mark.parametrize("kind", SILENT)
def test_a_server_that_sends_no_word_is_given_up_after_a_limit(make: Make, server: ChatServer, kind: str) -> None:
    server.rule = SILENT[kind]
    with pytest.raises(Unavailable, match=r"no word of an answer within 1 s: .*answer\.timeout_seconds"):
        answer(make(first_seconds=1.0))


def test_the_limit_is_one_for_all_tries(make: Make, server: ChatServer) -> None:
    server.rule = refusing(503)
    with pytest.raises(Unavailable, match="answered 503, tries: 2"):
        answer(make(first_seconds=1.0, sleep=None))  # half a second before the second try, a second before the third


@pytest.mark.parametrize("kind", ["keeps itself alive", "sends empty pieces", "headers without end"])
def test_a_server_that_keeps_a_read_alive_is_left_when_the_caller_cancels(
    make: Make, server: ChatServer, kind: str
) -> None:
    server.rule = SILENT[kind]
    cancellation = Cancellation()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(lambda: list(make(first_seconds=60.0).stream(a_prompt(), cancellation)))
        while not server.asked:
            time.sleep(0.01)
        cancellation.cancel()
        with pytest.raises(Cancelled):
            reading.result(timeout=30)


def test_an_answer_that_has_begun_in_time_may_take_longer(make: Make, server: ChatServer) -> None:
    server.rule = Reply([*map(delta, "abcdef"), STOP], pause_seconds=0.2)
    assert answer(make(first_seconds=0.6)) == "abcdef"


def test_an_answer_without_an_end_is_left(make: Make, server: ChatServer) -> None:
    server.rule = Reply([delta("a"), b": still here\n\n"], pause_seconds=0.02, is_endless=True)
    with pytest.raises(Unavailable, match="did not finish its answer in time"):
        answer(make(first_seconds=0.5, writing_seconds=0.5))
    assert server.hung_up.wait(5)


def test_closing_the_answer_hangs_up(make: Make, server: ChatServer) -> None:
    server.rule = Reply([delta("on and ")], pause_seconds=0.01, is_endless=True)
    pieces = make().stream(a_prompt())
    assert next(pieces) == "on and "
    pieces.close()
    assert server.hung_up.wait(5)


@pytest.mark.parametrize(("kind", "body"), [("text/html", b"<html>sign in</html>"), ("application/json", b"{}")])
def test_a_server_that_does_not_stream_is_a_wrong_address(
    make: Make, server: ChatServer, kind: str, body: bytes
) -> None:
    server.rule = Reply([body], headers={"Content-Type": kind})
    with pytest.raises(Misconfigured, match=r"did not answer with a stream: check answer\.base_url"):
        answer(make())


NEW_NAME = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."


def test_a_model_that_wants_other_fields_gets_them_from_then_on(make: Make, server: ChatServer, waits: Waits) -> None:
    server.script = [refusing(400, {"message": NEW_NAME}), refusing(400, {"message": "no", "param": "temperature"})]
    generator = make()
    assert (answer(generator), answer(generator)) == ("Hello.", "Hello.")
    fields = [sorted(asked.keys() - {"model", "messages", "stream"}) for asked in server.asked]
    latest = ["max_completion_tokens"]
    assert fields == [["max_tokens", "temperature"], ["max_completion_tokens", "temperature"], latest, latest]
    assert waits == []


def test_a_server_that_never_likes_the_fields_is_left(make: Make, server: ChatServer) -> None:
    server.rule = refusing(400, {"message": NEW_NAME + " 'temperature' too"})
    with pytest.raises(Unavailable, match="answered 400"):
        answer(make())
    assert len(server.asked) == 3


def test_neither_key_nor_passage_is_told(make: Make, server: ChatServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "a private sentence"
    server.script = [refusing(500, {"message": secret}), refusing(400, {"message": f"{KEY} {secret}", "type": secret})]
    with pytest.raises(Unavailable) as raised:
        list(make().stream(a_prompt(question=secret)))
    assert secret in json.dumps(server.asked)
    for shown in (str(raised.value), caplog.text):
        assert secret not in shown
        assert KEY not in shown
