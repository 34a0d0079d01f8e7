"""Answers from any server that speaks OpenAI's `POST chat/completions`. What it sends is read in `openai_stream`."""

import json
import random
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from citewise.adapters.http import streamed
from citewise.errors import Cancelled, Misconfigured, Unavailable
from citewise.model.answer import Message, Prompt
from citewise.model.cancellation import Cancellation

MAX_LINE_BYTES = 1_000_000
CUT_OFF = " \u2026"  # ends an answer that reached its token limit: what there is of it stands, and a reader sees why

_LATER = frozenset({408, 409, 425, 429})
_REFUSALS = frozenset({400, 413, 422})
_CODE = re.compile(r"[a-z][a-z_]{2,60}")
_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_LINE_END = re.compile(rb"\r\n|\n|\r(?=.)", re.DOTALL)  # a last \r may be half of \r\n
_THOUGHT, _THOUGHT_END = "<think>", "</think>"

Fields = Mapping[str, int | float]


class Later(Exception):
    """No answer; another try may get one."""

    def __init__(self, reason: str, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.wait_seconds = wait_seconds  # as the server asked


def failure_of(
    response: httpx.Response, body: bytes, *, model: str, key_hint: str
) -> Later | Unavailable | Misconfigured:
    """What an error status asks of us."""
    status = response.status_code
    said = f"the language model's server answered {status}{_code_in(body)}"
    if status in _LATER or status >= 500:
        return Later(said, _retry_after(response.headers.get("Retry-After")))
    if status in (401, 403):
        return Misconfigured(f"{said}: check {key_hint}")
    if status in _REFUSALS:
        return Unavailable(f"{said}: it refuses this question; ask in other words, or lower answer.budget_tokens")
    where = f"{response.request.url.host}{response.request.url.path}"
    return Misconfigured(f"{said} at {where}: check answer.base_url and answer.model ({model})")


def adapted(fields: Fields, body: bytes) -> Fields | None:
    """The optional fields as a server that has just refused them wants them; None if it refused something else.

    Reasoning models know the token limit by another name, and no temperature.
    """
    if "max_tokens" in fields and b"max_completion_tokens" in body:
        others = {name: value for name, value in fields.items() if name != "max_tokens"}
        return {**others, "max_completion_tokens": fields["max_tokens"]}
    if "temperature" in fields and _is_about(body, "temperature"):
        return {name: value for name, value in fields.items() if name != "temperature"}
    return None


def pieces_of_body(body: bytes) -> Iterator[str]:
    """The answer of a server that does not stream."""
    text, finish = _choice(_json(body), key="message")
    yield text
    yield from _ending(finish)


def pieces_of_stream(chunks: Iterable[bytes]) -> Iterator[str]:
    """The answer, piece by piece; Unavailable when the stream stops before the answer does."""
    for data in _events(_lines(chunks)):
        if data.strip() == b"[DONE]":
            return
        text, finish = _choice(_json(data), key="delta")
        yield text
        if finish:
            yield from _ending(finish)
            return
    raise Unavailable("the language model's answer broke off: ask again")


def without_thoughts(pieces: Iterator[str]) -> Iterator[str]:
    """What a model thinks aloud before it answers is no answer; nor is white space in front of one."""
    held = ""
    for piece in pieces:
        held = (held + piece).lstrip()
        while held.startswith(_THOUGHT) and _THOUGHT_END in held:
            held = held.partition(_THOUGHT_END)[2].lstrip()
        if not _THOUGHT.startswith(held[: len(_THOUGHT)]):
            yield held
            yield from pieces
            return
    if not held.startswith(_THOUGHT):
        yield held


def _ending(finish: str) -> Iterator[str]:
    if finish == "content_filter":
        raise Unavailable("the language model's server withheld the answer (content_filter): ask in other words")
    if finish == "length":
        yield CUT_OFF


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = _LINE_END.split(rest + chunk)
        yield from lines
        if len(rest) > MAX_LINE_BYTES:
            raise Unavailable(f"the language model's server sent a line of more than {MAX_LINE_BYTES:,} bytes")
    yield rest.removesuffix(b"\r")


def _events(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The data of each event. Comments keep a connection alive; names, ids and retry times say nothing here."""
    data: list[bytes] = []
    for line in lines:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data = []
    if data:
        yield b"\n".join(data)


def _json(data: bytes) -> dict[str, object]:
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unavailable("the language model's server sent something else than JSON: ask again") from error
    if not isinstance(value, dict):
        raise Unavailable("the language model's server sent something else than a JSON object: ask again")
    if value.get("error") or value.get("object") == "error":
        raise Unavailable(f"the language model's server reported an error{_code_in(data)}: ask again")
    return value


def _choice(answer: Mapping[str, object], *, key: str) -> tuple[str, str]:
    """Text and reason to finish, each empty where there is none; a chunk without choices counts tokens or so."""
    choices = answer.get("choices") or [{}]
    choice = choices[0] if isinstance(choices, list) else None
    if not isinstance(choice, dict):
        raise Unavailable("the language model's server sent choices that make no sense: ask again")
    part = choice.get(key) or {}
    text = (part.get("content") or "") if isinstance(part, dict) else None
    finish = choice.get("finish_reason") or ""
    if not isinstance(text, str) or not isinstance(finish, str):
        raise Unavailable("the language model's server sent an answer that makes no sense: ask again")
    # Half of a surrogate pair cannot be printed or stored.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), finish


def _error_in(body: bytes) -> dict[str, object]:
    try:
        answer: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(answer, dict):
        return {}
    error = answer.get("error", answer)
    return error if isinstance(error, dict) else {}


def _code_in(body: bytes) -> str:
    error = _error_in(body)
    code = error.get("code") or error.get("type")
    return f" ({code})" if isinstance(code, str) and _CODE.fullmatch(code) else ""


def _is_about(body: bytes, field: str) -> bool:
    error = _error_in(body)
    return error.get("param") == field or f"'{field}'" in str(error.get("message"))


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    if _SECONDS.fullmatch(value.strip()):
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


_FIRST_WAIT_SECONDS = 0.5  # doubles with every try; the wait is drawn between zero and this
_LONGEST_WAIT_SECONDS = 20.0  # for a server that asks for more, a reader is told to come back
_DEADLINE_SECONDS = 180.0  # for a whole answer; a slow machine writes 800 tokens in half of that
_CHARACTERS_PER_TOKEN = 32  # at most, on average: a longer answer has ignored its token limit
_BYTES_PER_CHARACTER = 6  # of JSON, at most: \u2026
_BYTES_AROUND = 65_536
_KEY_HINT = "the API key in the variable that answer.api_key_variable names"


class OpenAIGenerator:
    """Streams answers; the client brings its address, its credentials and its time-outs.

    A request is tried `tries` times until the first piece has come; from then on a failure is the answer's.
    """

    def __init__(
        self,
        client: httpx.Client,
        *,
        model: str,
        max_tokens: int,
        temperature: float = 0.0,
        tries: int = 3,
        deadline_seconds: float = _DEADLINE_SECONDS,
        key_hint: str = _KEY_HINT,
        sleep: Callable[[float], None] | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._model = model
        self._fields: Fields = {"max_tokens": max_tokens, "temperature": temperature}
        self._most_characters = max_tokens * _CHARACTERS_PER_TOKEN
        self._tries = tries
        self._deadline_seconds = deadline_seconds
        self._key_hint = key_hint
        self._sleep = sleep
        self._jitter = jitter

    @property
    def name(self) -> str:
        """The model's name on its server."""
        return self._model

    def stream(self, prompt: Prompt, cancellation: Cancellation | None = None) -> Generator[str, None, None]:
        """The answer, piece by piece; nothing is asked before the first one is."""
        cancellation = cancellation or Cancellation()
        try:
            yield from self._tried(prompt, cancellation)
        except (Unavailable, Misconfigured) as error:
            if cancellation.cancelled:
                raise Cancelled("cancelled by the caller") from error
            raise

    def _tried(self, prompt: Prompt, cancellation: Cancellation) -> Generator[str, None, None]:
        deadline = time.monotonic() + self._deadline_seconds
        for number in range(self._tries):
            has_begun = False
            try:
                with closing(self._answer(prompt.messages, self._fields, deadline, cancellation)) as pieces:
                    for piece in pieces:
                        cancellation.raise_if_cancelled()
                        has_begun = True
                        yield piece
                return
            except Later as later:
                cancellation.raise_if_cancelled()
                if has_begun:
                    raise Unavailable(f"the language model's answer broke off ({later}): ask again") from later
                self._wait(number, later, deadline, cancellation)

    def _wait(self, number: int, later: Later, deadline: float, cancellation: Cancellation) -> None:
        if number + 1 == self._tries:
            raise Unavailable(f"{later}, tries: {self._tries}: ask again later") from later
        seconds = later.wait_seconds
        if seconds is None:
            seconds = self._jitter() * min(_FIRST_WAIT_SECONDS * float(2**number), _LONGEST_WAIT_SECONDS)
        if seconds > min(_LONGEST_WAIT_SECONDS, deadline - time.monotonic()):
            raise Unavailable(f"{later}: ask again in {seconds:.0f} seconds") from later
        (self._sleep or cancellation.wait)(seconds)
        cancellation.raise_if_cancelled()

    def _answer(
        self, messages: tuple[Message, ...], fields: Fields, deadline: float, cancellation: Cancellation
    ) -> Generator[str, None, None]:
        cancellation.raise_if_cancelled()
        asking = streamed(self._client, "chat/completions", self._content(messages, fields), cancellation)
        with _our_errors(self._client.base_url), asking as response:
            chunks = _in_time(response.iter_bytes(), deadline)
            if response.is_success:
                yield from self._checked(_pieces(response, chunks, limit=self._body_limit))
                return
            body = _bounded(chunks, limit=_BYTES_AROUND)
        others = adapted(fields, body) if response.status_code == 400 else None
        if others is None:
            raise failure_of(response, body, model=self._model, key_hint=self._key_hint)
        self._fields = others  # so that the next question is not refused first
        yield from self._answer(messages, others, deadline, cancellation)

    def _content(self, messages: tuple[Message, ...], fields: Fields) -> bytes:
        # Plain ASCII: a stray surrogate in a passage must reach the server, not break the call.
        turns = [{"role": message.role.value, "content": message.content} for message in messages]
        return json.dumps({"model": self._model, "messages": turns, "stream": True, **fields}).encode("ascii")

    @property
    def _body_limit(self) -> int:
        return self._most_characters * _BYTES_PER_CHARACTER + _BYTES_AROUND

    def _checked(self, pieces: Iterator[str]) -> Iterator[str]:
        """What of the pieces is answer; Unavailable if there is none, or no end to it."""
        is_empty = True
        for piece in without_thoughts(self._counted(pieces)):
            if piece and not (is_empty and piece.strip() == CUT_OFF.strip()):
                is_empty = False
                yield piece
        if is_empty:
            raise Unavailable("the language model answered with nothing: raise answer.max_tokens, or ask again")

    def _counted(self, pieces: Iterator[str]) -> Iterator[str]:
        size = 0
        for piece in pieces:
            size += len(piece)
            if size > self._most_characters:
                raise Unavailable(f"the language model does not stop after {self._most_characters:,} characters")
            yield piece


def _pieces(response: httpx.Response, chunks: Iterator[bytes], *, limit: int) -> Iterator[str]:
    kind = response.headers.get("Content-Type", "")
    if "html" in kind:
        raise Misconfigured(f"{response.request.url.host} answered with a web page: check answer.base_url")
    if "json" not in kind:
        return pieces_of_stream(chunks)
    body = _bounded(chunks, limit=limit)
    if len(body) > limit:
        raise Unavailable(f"the language model's server answered with more than {limit:,} bytes")
    return pieces_of_body(body)


def _bounded(chunks: Iterator[bytes], *, limit: int) -> bytes:
    """The bytes up to and with the chunk that passes the limit."""
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > limit:
            break
    return bytes(body)


def _in_time(chunks: Iterator[bytes], deadline: float) -> Iterator[bytes]:
    for chunk in chunks:
        if time.monotonic() > deadline:
            raise Unavailable("the language model did not finish its answer in time: ask for less, or again later")
        yield chunk


@contextmanager
def _our_errors(address: httpx.URL) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise Later("the language model's server did not answer in time") from error
    except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
        raise Misconfigured(
            "the language model's server cannot be called: check answer.base_url and the API key"
        ) from error
    except httpx.TransportError as error:
        server = f"{address.host}:{address.port}" if address.port else address.host
        raise Later(
            f"the language model's server {server} cannot be reached ({type(error).__name__}); check answer.base_url"
        ) from error
    except httpx.RequestError as error:
        raise Unavailable(f"the language model's server sent a broken answer ({type(error).__name__})") from error
