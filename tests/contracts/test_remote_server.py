"""Requests to remote models: retries, waits, limits and errors are the same for a body and for a stream."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from citewise.adapters.http import Breaker, Refused, Remote, Retry
from citewise.errors import Cancelled, Misconfigured, Unavailable
from citewise.model.cancellation import Cancellation
from tests.fakes.chat_server import ChatServer, Reply, refusing, running_chat_server

pytestmark = pytest.mark.server

KEY = "a-key-that-must-not-be-told"
SECONDS = 7200.0  # nothing here waits for it
FINE = Reply([b'"fine"'])
Waits = list[float]
Make = Callable[..., Remote]
Call = Callable[[Remote], object]


def posted(remote: Remote) -> object:
    return remote.post("chat/completions", {}, max_bytes=1000, ends_at=time.monotonic() + SECONDS)


def streamed(remote: Remote) -> object:
    def read(response: httpx.Response, chunks: Iterator[bytes]) -> Iterator[object]:
        yield remote.parsed(b"".join(chunks))

    ends_at = time.monotonic() + SECONDS
    limits = {"first_seconds": SECONDS, "ends_at": ends_at}
    (answer,) = remote.stream("chat/completions", {}, read, **limits, cancellation=Cancellation())
    return answer


@pytest.fixture(params=[posted, streamed])
def call(request: pytest.FixtureRequest) -> Call:
    chosen: Call = request.param
    return chosen


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with running_chat_server() as running:
        running.rule = FINE
        yield running


@pytest.fixture
def make(server: ChatServer, waits: Waits) -> Iterator[Make]:
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=3.0, trust_env=False) as client:

        def remote_with(breaker: Breaker | None = None, **options: Any) -> Remote:
            retry = Retry(**{"sleep": waits.append, "jitter": lambda: 1.0, **options})
            return Remote(client, "rerank", "tiny", retry=retry, breaker=breaker or Breaker())

        yield remote_with


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again_after_growing_waits(
    make: Make, server: ChatServer, waits: Waits, call: Call, status: int
) -> None:
    server.script = [refusing(status), refusing(status)]
    assert call(make()) == "fine"
    assert waits == [0.5, 1.0]


def test_waits_are_drawn_between_nothing_and_their_bound(
    make: Make, server: ChatServer, waits: Waits, call: Call
) -> None:
    server.script = [refusing(500), refusing(500)]
    call(make(jitter=lambda: 0.5))
    assert waits == [0.25, 0.5]


@pytest.mark.parametrize(("value", "seconds"), [("7", 7.0), ("0", 0.0), ("1.5", 1.5), ("soon", 0.5)])
def test_a_server_that_says_when_is_asked_then(
    make: Make, server: ChatServer, waits: Waits, call: Call, value: str, seconds: float
) -> None:
    server.script = [refusing(429, retry_after=value)]
    assert call(make()) == "fine"
    assert waits == [seconds]


def test_a_server_may_say_when_by_date(make: Make, server: ChatServer, waits: Waits, call: Call) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    server.script = [refusing(503, retry_after=date)]
    call(make(max_wait_seconds=3600.0))
    assert 3000.0 < waits[0] <= 3600.0


def test_a_server_that_asks_for_too_long_a_wait_is_given_up_at_once(
    make: Make, server: ChatServer, waits: Waits, call: Call
) -> None:
    server.rule = refusing(429, retry_after="3600")
    with pytest.raises(Unavailable, match="answered 429: ask again in 3600 seconds"):
        call(make())
    assert (len(server.asked), waits) == (1, [])


UNREACHED = r"at 127\.0\.0\.1:\d+ cannot be reached \(\w+\); check rerank\.base_url, tries: 3"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (refusing(503), "answered 503, tries: 3"),
        (refusing(429, {"code": "insufficient_quota"}), r"answered 429 \(insufficient_quota\), tries: 3"),
        (Reply(closes=True), UNREACHED),
        (Reply([b"half"], breaks=True), UNREACHED),
        (Reply(hangs=True), "did not answer in time, tries: 3"),
    ],
)
def test_a_server_without_an_answer_is_given_up_after_its_tries(
    make: Make, server: ChatServer, waits: Waits, call: Call, reply: Reply, reason: str
) -> None:
    server.rule = reply
    with pytest.raises(Unavailable, match=reason):
        call(make())
    assert (len(server.asked), len(waits)) == (3, 2)


def test_a_server_that_is_not_there_is_unavailable(waits: Waits, call: Call) -> None:
    with running_chat_server() as server:
        url = server.url
    with httpx.Client(base_url=url, trust_env=False) as client, pytest.raises(Unavailable, match="ConnectError"):
        call(Remote(client, "rerank", "tiny", retry=Retry(sleep=waits.append)))


@pytest.mark.parametrize(
    ("reply", "error", "reason"),
    [
        (refusing(400, {"code": "too_long"}), Refused, r"answered 400 \(too_long\)"),
        (refusing(413), Refused, "answered 413"),
        (refusing(422), Refused, "answered 422"),
        (Reply([b"no gzip"], headers={"Content-Encoding": "gzip"}), Unavailable, r"broken answer \(DecodingError\)"),
        (refusing(401), Misconfigured, r"answered 401: check the API key in .* rerank\.api_key_variable"),
        (refusing(403), Misconfigured, r"answered 403: check the API key in .* rerank\.api_key_variable"),
        (refusing(404), Misconfigured, r"answered 404 .*rerank\.base_url and rerank\.model \(tiny\)"),
        (refusing(301), Misconfigured, r"answered 301 .*rerank\.base_url"),
    ],
)
def test_what_another_try_would_not_change_is_raised_at_once(
    make: Make, server: ChatServer, waits: Waits, call: Call, reply: Reply, error: type[Exception], reason: str
) -> None:
    server.rule = reply
    with pytest.raises(error, match=reason):
        call(make())
    assert (len(server.asked), waits) == (1, [])


def test_a_body_that_is_too_long_is_not_read(make: Make, server: ChatServer) -> None:
    server.rule = Reply([b"a" * 2000])
    with pytest.raises(Unavailable, match="more than 1,000 bytes"):
        posted(make())


def test_neither_key_nor_message_of_the_server_is_shown(make: Make, server: ChatServer, call: Call) -> None:
    server.rule = refusing(401, {"message": f"bad key {KEY}", "code": KEY})
    with pytest.raises(Misconfigured) as raised:
        call(make())
    assert KEY not in str(raised.value)


def test_a_key_that_no_header_can_hold_is_a_wrong_setting(server: ChatServer, call: Call) -> None:
    with (
        httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}\n"}, trust_env=False) as client,
        pytest.raises(Misconfigured, match=r"cannot be called: .* the API key") as raised,
    ):
        call(Remote(client, "rerank", "tiny"))
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("base_url", ["", "not-a-url", "localhost:1", "ftp://127.0.0.1"])
def test_an_address_that_is_none_is_a_wrong_setting(call: Call, base_url: str) -> None:
    with (
        httpx.Client(base_url=base_url, trust_env=False) as client,
        pytest.raises(Misconfigured, match=r"cannot be called: check rerank\.base_url"),
    ):
        call(Remote(client, "rerank", "tiny"))


REFUSALS = [*range(400, 419), *range(421, 427), 428, 429, 431, 451]


@pytest.mark.parametrize(
    ("reply", "is_open"),
    [
        (FINE, False),
        *((refusing(status, {"code": "too_long"}), False) for status in REFUSALS),
        (refusing(429, retry_after="3600"), False),
        *((refusing(status), True) for status in (500, 502, 503, 504)),
        (Reply(closes=True), True),
    ],
)
def test_the_breaker_counts_what_the_server_fails_at_and_nothing_that_a_request_caused(
    make: Make, server: ChatServer, call: Call, reply: Reply, is_open: bool
) -> None:
    remote = make(Breaker("the server", max_failures=2), tries=1)
    server.rule = reply
    for _ in range(3):
        with suppress(Unavailable, Misconfigured):
            call(remote)
    assert len(server.asked) == (2 if is_open else 3)


def test_a_cancelled_stream_tells_the_breaker_nothing(make: Make, server: ChatServer) -> None:
    remote, cancellation = make(Breaker("the server", max_failures=1), tries=1), Cancellation()
    server.rule = Reply([b"half"], hangs=True)

    def read(response: httpx.Response, chunks: Iterator[bytes]) -> Iterator[bytes]:
        next(chunks)
        cancellation.cancel()
        yield from chunks

    limits = {"first_seconds": SECONDS, "ends_at": time.monotonic() + SECONDS}
    with pytest.raises(Cancelled):
        list(remote.stream("chat/completions", {}, read, **limits, cancellation=cancellation))
    server.rule = FINE
    assert posted(remote) == "fine"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{broken", "not JSON"),
        (b'{"error": {"code": "overloaded", "message": "m"}}', r"reported an error \(overloaded\)"),
    ],
)
def test_an_answer_that_is_none_is_unavailable(
    make: Make, server: ChatServer, call: Call, body: bytes, reason: str
) -> None:
    server.rule = Reply([body])
    with pytest.raises(Unavailable, match=reason):
        call(make())
