"""Requests to remote models over httpx: the same limits, retries, breaker and errors for every adapter."""

import json
import logging
import os
import random
import re
import socket
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Lock, Thread, Timer
from typing import Any, Self, TypeVar

import httpx

from citewise.errors import Cancelled, CitewiseError, Misconfigured, Unavailable
from citewise.model.cancellation import Cancellation

_log = logging.getLogger(__name__)

T = TypeVar("T")
Row = dict[str, object]
Read = Callable[[httpx.Response, Iterator[bytes]], Iterator[T]]
Trace = Callable[[str, Mapping[str, Any]], None]

_RETRIED = frozenset({408, 409, 425, 429})  # and every 5xx
_REFUSED = frozenset({400, 413, 422})
NAMES = {"embedding": "the embedding server", "rerank": "the rerank server", "answer": "the language model's server"}
_MAX_ERROR_BYTES = 65_536  # of the body of an error; what comes behind them is not read
_CODE = re.compile(r"[a-z][a-z_]{2,60}")
_OF_REQUEST = re.compile(r"4\d\d|.*(?:invalid_request|content_(?:filter|policy)|context_length|rate_limit).*")
_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,9})?")


class _NoAnswer(Exception):
    """A request got no usable answer; another try may get one."""

    def __init__(self, reason: str, wait_seconds: float | None = None, status: int = 0) -> None:
        super().__init__(reason)
        self.wait_seconds = wait_seconds  # as the server asked
        self.kind = Declined if 400 <= status < 500 else Unavailable  # if it is the last one


class Declined(Unavailable):
    """The server is there and gave no answer. The request may be why, so no breaker counts it: others have theirs."""


class Refused(Declined):
    """The server refuses this content; it may take other content."""

    def __init__(self, reason: str, body: bytes) -> None:
        super().__init__(reason)
        self.body = body
        self.error = _error_in(body)


@dataclass(frozen=True, slots=True)
class Retry:
    """When a request is tried again: after a random wait whose bound doubles, or when the server says."""

    tries: int = 3
    first_wait_seconds: float = 0.5  # bound of the first wait; 0: at once, with everybody else who was refused
    max_wait_seconds: float = 20.0  # a server that asks for more is given up; the message says how long
    sleep: Callable[[float], None] | None = None
    jitter: Callable[[], float] = lambda: random.random()

    def __call__(self, attempt: Callable[[], T], *, ends_at: float, sleep: Callable[[float], None]) -> T:
        for number in range(1, self.tries + 1):
            try:
                return attempt()
            except _NoAnswer as error:
                seconds = error.wait_seconds
                if seconds is None:
                    seconds = self.jitter() * min(self.first_wait_seconds * 2 ** (number - 1), self.max_wait_seconds)
                is_too_long = seconds > min(self.max_wait_seconds, ends_at - time.monotonic())
                if number == self.tries or (is_too_long and error.wait_seconds is None):
                    raise error.kind(f"{error}, tries: {number}") from error
                if is_too_long:
                    raise error.kind(f"{error}: ask again in {seconds:.0f} seconds") from error
                (self.sleep or sleep)(seconds)
        raise AssertionError("there is at least one try")


@dataclass(slots=True, eq=False)
class Breaker:
    """A circuit breaker: a server that keeps failing is left alone for a while. Threads may share it."""

    server: str = "the server"
    max_failures: int = 5  # in a row; 1: opens at a single hiccup; many: a dead server is waited for often
    pause_seconds: float = 30.0  # short: a dead server is waited for again and again; long: its return goes unseen
    clock: Callable[[], float] = time.monotonic
    _lock: Lock = field(default_factory=Lock, init=False)
    _failures: int = field(default=0, init=False)
    _retry_at: float | None = field(default=None, init=False)  # None: closed

    def __call__(self, call: Callable[[], T]) -> T:
        """What the call returns or raises; Unavailable at once while the server is left alone.

        After the pause one call goes through, and its outcome decides for the others; if it has none, another may try
        after another pause.
        """
        with self._lock:
            left_seconds = 0.0 if self._retry_at is None else self._retry_at - self.clock()
            if left_seconds > 0:
                failed = f"{self.server} failed {self._failures} times in a row"  # not how: requests are not told apart
                raise Unavailable(f"{failed}: circuit breaker open for another {left_seconds:.0f} s")
            if self._retry_at is not None:
                self._retry_at = self.clock() + self.pause_seconds
        try:
            answer = call()
        except Cancelled:  # says nothing about the server
            raise
        except CitewiseError as error:
            self._record(error if isinstance(error, Unavailable) and not isinstance(error, Declined) else None)
            raise
        self._record(None)
        return answer

    def _record(self, error: Unavailable | None) -> None:
        with self._lock:
            was_open = self._retry_at is not None
            self._failures = self._failures + 1 if error else 0
            is_open = error is not None and (was_open or self._failures >= self.max_failures)
            self._retry_at = self.clock() + self.pause_seconds if is_open else None
        if is_open:
            _log.warning("circuit breaker open for %.0f s: %s", self.pause_seconds, error)
        elif was_open:
            _log.info("circuit breaker closed: %s answers again", self.server)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Remote:
    """The server of a model: every request to it goes through here."""

    client: httpx.Client  # brings the address, the key and the time-outs
    section: str  # of the settings: embedding, rerank or answer; messages name it
    model: str
    key_variable: str = ""  # the environment variable that has the key, for messages
    retry: Retry = Retry()
    breaker: Breaker = field(default_factory=Breaker)

    @classmethod
    def at(
        cls, base_url: str, section: str, model: str, key_variable: str, seconds: float, retry: Retry, guard: Breaker
    ) -> Self:
        """The server at an address. Its key is read from the environment, and stored and logged nowhere.

        Its connections are closed when nobody has it any more: a request under way has it, and ends undisturbed.
        """
        key = os.environ.get(key_variable, "")
        if not key.isascii() or not key.isprintable():
            raise Misconfigured(f"the key in {key_variable} has characters that no key has: set it again")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            client = httpx.Client(base_url=base_url, headers=headers, timeout=seconds)
        except (httpx.InvalidURL, ValueError) as error:
            raise Misconfigured(f"setting {section}.base_url is not a valid URL: {type(error).__name__}") from error
        remote = cls(client, section, model, key_variable, retry, guard)
        weakref.finalize(remote, client.close)
        return remote

    @property
    def name(self) -> str:
        return NAMES[self.section]

    def post(self, path: str, payload: object, *, max_bytes: int, ends_at: float) -> object:
        """The JSON of a successful answer; `ends_at` (time.monotonic) is the limit for all tries together."""

        def body() -> bytes:
            received = bytearray()
            with self._asked(path, payload, ends_at) as (_, chunks):
                for chunk in chunks:
                    received += chunk
                    if len(received) > max_bytes:
                        raise Declined(f"{self.name} answered with more than {max_bytes:,} bytes")
            return bytes(received)

        def attempt() -> bytes:
            # In a thread, since a slow name server and drops of bytes pass the client's time-outs.
            try:
                return within(ends_at - time.monotonic(), body)
            except TimeoutError as error:
                raise _NoAnswer(f"{self.name} did not answer in time") from error

        return self.parsed(self.breaker(lambda: self.retry(attempt, ends_at=ends_at, sleep=time.sleep)))

    def stream(
        self,
        path: str,
        payload: object,
        read: Read[T],
        *,
        first_seconds: float,
        ends_at: float,
        cancellation: Cancellation,
    ) -> Generator[T, None, None]:
        """What `read` makes of a response and its body, as it comes: one item at least.

        Tried again until the first item has come; then errors are final. It must come within `first_seconds` of all
        tries together, whatever else the server sends meanwhile. `cancellation` ends it while it waits, for headers
        too.
        """
        stop = Cancellation()  # by the caller, or because nothing has come in time
        first_by = min(ends_at, time.monotonic() + first_seconds)

        def check() -> None:
            cancellation.raise_if_cancelled()
            if stop.cancelled:
                remedy = f"ask again, or raise {self.section}.timeout_seconds"
                raise Unavailable(f"{self.name} sent no word of an answer within {first_seconds:.0f} s: {remedy}")

        def attempt() -> Generator[T, None, None]:
            check()
            try:
                with _shut_by(stop) as trace, self._asked(path, payload, ends_at, trace, first_by) as (response, body):
                    for item in read(response, body):
                        check()
                        yield item
            except (CitewiseError, _NoAnswer):
                check()  # which is why it broke off
                raise

        def begin() -> tuple[T, Generator[T, None, None]]:
            items = attempt()
            return next(items), items

        with cancellation.on_cancel(stop.cancel):
            with _alarm(first_by, stop.cancel):
                item, items = self.breaker(lambda: self.retry(begin, ends_at=first_by, sleep=cancellation.wait))
            with closing(items):
                yield item
                try:
                    yield from items
                except _NoAnswer as error:
                    raise Unavailable(f"{self.name} broke off its answer ({error}): ask again") from error

    def parsed(self, body: bytes) -> object:
        try:
            answer: object = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Unavailable(f"{self.name} sent something that is not JSON: check {self.section}.base_url") from error
        if isinstance(answer, dict) and (answer.get("error") or answer.get("object") == "error"):
            codes = [str(_error_in(body).get(key)) for key in ("code", "type")]
            kind = Declined if any(map(_OF_REQUEST.fullmatch, codes)) else Unavailable
            raise kind(f"{self.name} reported an error{_error_code(body)}: ask again")
        return answer

    def rows(self, rows: object, count: int, *, need_index: bool = True) -> list[Row]:
        """The rows of an answer, one for each text, in the order of the texts."""
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise Unavailable(f"{self.name} sent no list of results: check the settings {self.section}")
        if len(rows) != count:
            raise Unavailable(f"{self.name} returned {len(rows)} results for {count} texts")
        if not need_index and all(row.get("index") is None for row in rows):
            return rows
        by_index = {row["index"]: row for row in rows if type(row.get("index")) is int}
        if by_index.keys() != set(range(count)):
            raise Unavailable(f"{self.name} returned invalid indexes")
        return [by_index[at] for at in range(count)]

    @contextmanager
    def _asked(
        self, path: str, payload: object, ends_at: float, trace: Trace | None = None, connect_by: float = 0.0
    ) -> Iterator[tuple[httpx.Response, Iterator[bytes]]]:
        """A successful response and its body, as it comes; httpx's errors as ours."""
        # Plain ASCII: half a surrogate pair in a text must reach the server, not break the call.
        content, headers = json.dumps(payload).encode("ascii"), {"Content-Type": "application/json"}
        if trace:  # a connection of its own: that of an earlier request would be open already, and not be traced
            headers["Connection"] = "close"
        extensions = {"trace": trace, "timeout": self._limits(connect_by)} if trace else None

        def chunks(response: httpx.Response) -> Iterator[bytes]:
            for chunk in response.iter_bytes():
                if time.monotonic() > ends_at:
                    raise Unavailable(f"{self.name} did not finish its answer in time: ask for less, or again later")
                yield chunk

        try:
            with self.client.stream("POST", path, content=content, headers=headers, extensions=extensions) as response:
                if not response.is_success:
                    raise self._error(response, chunks(response))
                yield response, chunks(response)
        except httpx.TimeoutException as error:
            raise _NoAnswer(f"{self.name} did not answer in time") from error
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL):
            # Without its cause, which repeats a key that no header can hold.
            setting = f"{self.section}.base_url"
            raise Misconfigured(f"{self.name} cannot be called: check {setting} and the API key") from None
        except httpx.TransportError as error:
            host = self.client.base_url.netloc.decode("ascii").rpartition("@")[2]
            raise _NoAnswer(
                f"{self.name} at {host} cannot be reached ({type(error).__name__}); check {self.section}.base_url"
            ) from error
        except httpx.RequestError as error:
            raise Unavailable(f"{self.name} sent a broken answer ({type(error).__name__})") from error

    def _limits(self, connect_by: float) -> dict[str, float | None]:
        """The client's, and for connecting no more than is left."""
        limits = self.client.timeout.as_dict()
        seconds = max(0.001, connect_by - time.monotonic())  # 0 would be no limit
        return {**limits, "connect": min(seconds, limits["connect"] or seconds)}

    def _error(self, response: httpx.Response, chunks: Iterator[bytes]) -> Exception:
        body = b""
        while len(body) <= _MAX_ERROR_BYTES and (chunk := next(chunks, b"")):
            body += chunk
        status, url = response.status_code, response.request.url
        said = f"{self.name} answered {status}{_error_code(body)}"
        if status in _RETRIED or status >= 500:
            return _NoAnswer(said, _retry_after(response.headers.get("Retry-After", "")), status)
        if status in _REFUSED:
            return Refused(said, body)
        if status in (401, 403):
            variable = self.key_variable or f"the variable that {self.section}.api_key_variable names"
            return Misconfigured(f"{said}: check the API key in {variable}")
        settings = f"{self.section}.base_url and {self.section}.model ({self.model})"
        return Misconfigured(f"{said} at {url.host}{url.path}: check {settings}")


def _error_in(body: bytes) -> dict[str, object]:
    """The `error` object of a body, or the body itself where it is one; empty if there is none."""
    try:
        answer: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = answer.get("error", answer) if isinstance(answer, dict) else None
    return error if isinstance(error, dict) else {}


def _error_code(body: bytes) -> str:
    """The code of an error in parentheses. Its message is not shown: it may repeat a key or a text."""
    error = _error_in(body)
    code = error.get("code") or error.get("type")
    return f" ({code})" if isinstance(code, str) and _CODE.fullmatch(code) else ""


@contextmanager
def _alarm(at: float, ring: Callable[[], None]) -> Iterator[None]:
    """Ring at this time (of `time.monotonic`), unless the block has ended before."""
    timer = Timer(max(0.0, at - time.monotonic()), ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _shut_by(cancellation: Cancellation) -> Iterator[Trace]:
    """While the block lasts, cancelling shuts the connection that it opens: a read or a TLS handshake that waits ends.

    Yields httpcore's `trace` extension, which is called at every step of a request, first when it has connected.
    Connecting itself is not ended; the client's time-out is its limit. Closing an httpx response does not wake its
    reader, and TLS takes the socket object over and breaks when another thread shuts it. So what is shut is a duplicate
    of the socket's descriptor, which stands for the same connection.
    """
    lock = Lock()
    sockets: list[socket.socket] = []

    def shut() -> None:
        with lock, suppress(OSError):  # the server has hung up already
            for connected in sockets:
                connected.shutdown(socket.SHUT_RDWR)

    def trace(event: str, info: Mapping[str, Any]) -> None:
        if ".connect_" in event and event.endswith(".complete"):
            with lock:
                sockets.append(info["return_value"].get_extra_info("socket").dup())
            if cancellation.cancelled:
                shut()

    try:
        with cancellation.on_cancel(shut):
            yield trace
    finally:
        with lock:
            while sockets:
                sockets.pop().close()


def _retry_after(value: str) -> float | None:
    if _SECONDS.fullmatch(value.strip()):
        return float(value)
    with suppress(ValueError):
        at = parsedate_to_datetime(value)
        return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    return None


def within(seconds: float, call: Callable[[], T]) -> T:
    """What the call returns or raises; TimeoutError when it takes longer, and its thread is left behind."""
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            outcome.set_exception(error)

    # No pool: the interpreter would wait for its threads at exit.
    Thread(target=run, name="citewise-http", daemon=True).start()
    return outcome.result(timeout=seconds)
