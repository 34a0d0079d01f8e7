"""Answers from any server that speaks OpenAI's `POST chat/completions`. What it sends is read in `openai_stream`."""

import json
import random
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager

import httpx

from citewise.adapters.generate.openai_stream import (
    CUT_OFF,
    Fields,
    Later,
    adapted,
    failure_of,
    pieces_of_body,
    pieces_of_stream,
    without_thoughts,
)
from citewise.model.context import Message, Prompt
from citewise.model.errors import Misconfigured, Unavailable

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
        sleep: Callable[[float], None] = time.sleep,
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

    def stream(self, prompt: Prompt) -> Generator[str, None, None]:
        """The answer, piece by piece; nothing is asked before the first one is."""
        deadline = time.monotonic() + self._deadline_seconds
        for number in range(self._tries):
            has_begun = False
            try:
                with closing(self._answer(prompt.messages, self._fields, deadline)) as pieces:
                    for piece in pieces:
                        has_begun = True
                        yield piece
                return
            except Later as later:
                if has_begun:
                    raise Unavailable(f"the language model's answer broke off ({later}): ask again") from later
                self._wait(number, later, deadline)

    def _wait(self, number: int, later: Later, deadline: float) -> None:
        if number + 1 == self._tries:
            raise Unavailable(f"{later}, tries: {self._tries}: ask again later") from later
        seconds = later.wait_seconds
        if seconds is None:
            seconds = self._jitter() * min(_FIRST_WAIT_SECONDS * float(2**number), _LONGEST_WAIT_SECONDS)
        if seconds > min(_LONGEST_WAIT_SECONDS, deadline - time.monotonic()):
            raise Unavailable(f"{later}: ask again in {seconds:.0f} seconds") from later
        self._sleep(seconds)

    def _answer(self, messages: tuple[Message, ...], fields: Fields, deadline: float) -> Generator[str, None, None]:
        content, headers = self._content(messages, fields), {"Content-Type": "application/json"}
        asking = self._client.stream("POST", "chat/completions", content=content, headers=headers)
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
        yield from self._answer(messages, others, deadline)

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
