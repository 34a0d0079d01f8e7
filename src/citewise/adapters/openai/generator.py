"""Answers from any server that speaks OpenAI's `POST chat/completions`."""

import itertools
import json
import re
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing

import httpx

from citewise.adapters.http import NoAnswer, Refused, Remote, Retry, error_code
from citewise.errors import Misconfigured, Unavailable
from citewise.model.answer import Message, Prompt
from citewise.model.cancellation import Cancellation

MAX_LINE_BYTES = 1_000_000
CUT_OFF = " \u2026"  # ends an answer that reached its token limit: what there is of it stands, and a reader sees why

_LINE_END = re.compile(rb"\r\n|\n|\r(?=.)", re.DOTALL)  # a last \r may be half of \r\n
_THOUGHT, _THOUGHT_END = "<think>", "</think>"

Fields = Mapping[str, int | float]


RETRY = Retry(tries=3, first_wait_seconds=0.5, max_wait_seconds=20.0)  # a reader is waiting
_DEADLINE_SECONDS = 180.0  # for a whole answer; a slow machine writes 800 tokens in half of that
_CHARS_PER_TOKEN = 32  # at most, on average: a longer answer has ignored its token limit
_BYTES_PER_CHAR = 6  # of JSON, at most: \u2026
_BYTES_AROUND = 65_536


class OpenAIGenerator:
    """Streams answers; the remote brings its address, its retries and its breaker.

    A request is tried again until the first piece has come; from then on a failure is the answer's.
    """

    def __init__(
        self,
        remote: Remote,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        deadline_seconds: float = _DEADLINE_SECONDS,
    ) -> None:
        self._remote = remote
        self._fields: Fields = {"max_tokens": max_tokens, "temperature": temperature}
        self._max_chars = max_tokens * _CHARS_PER_TOKEN
        self._deadline_seconds = deadline_seconds

    @property
    def name(self) -> str:
        return self._remote.model

    def stream(self, prompt: Prompt, cancellation: Cancellation | None = None) -> Generator[str, None, None]:
        cancellation = cancellation or Cancellation()
        ends_at = time.monotonic() + self._deadline_seconds

        def begin() -> tuple[str, Generator[str, None, None]]:
            pieces = self._answer(prompt.messages, self._fields, ends_at, cancellation)
            return next(pieces), pieces

        try:
            piece, pieces = self._remote.begun(begin, ends_at=ends_at, cancellation=cancellation)
            with closing(pieces):
                yield piece
                for piece in pieces:
                    cancellation.raise_if_cancelled()
                    yield piece
        except NoAnswer as error:
            cancellation.raise_if_cancelled()
            raise Unavailable(f"the language model's answer broke off ({error}): ask again") from error
        except (Unavailable, Misconfigured):
            cancellation.raise_if_cancelled()
            raise

    def _answer(
        self, messages: tuple[Message, ...], fields: Fields, ends_at: float, cancellation: Cancellation
    ) -> Generator[str, None, None]:
        turns = [{"role": message.role.value, "content": message.content} for message in messages]
        payload = {"model": self._remote.model, "messages": turns, "stream": True, **fields}
        asking = self._remote.stream("chat/completions", payload, ends_at=ends_at, cancellation=cancellation)
        try:
            with asking as (response, chunks):
                yield from self._checked(self._pieces(response, chunks))
                return
        except Refused as refused:
            others = _adapted(fields, refused)
            if others is None:
                raise Unavailable(
                    f"{refused}: it refuses this question; ask in other words, or lower answer.budget_tokens"
                ) from refused
        self._fields = others  # so that the next question is not refused first
        yield from self._answer(messages, others, ends_at, cancellation)

    def _pieces(self, response: httpx.Response, chunks: Iterator[bytes]) -> Iterator[str]:
        kind = response.headers.get("Content-Type", "")
        if "html" in kind:
            raise Misconfigured(f"{response.request.url.host} answered with a web page: check answer.base_url")
        if "json" not in kind:
            return _pieces_of_stream(chunks)
        body = self._remote.bounded(chunks, self._max_chars * _BYTES_PER_CHAR + _BYTES_AROUND)
        text, finish = _choice(_json(body), key="message")  # of a server that does not stream
        return itertools.chain([text], _ending(finish))

    def _checked(self, pieces: Iterator[str]) -> Iterator[str]:
        """The pieces that are answer; Unavailable if there is none, or no end to it."""
        is_empty = True
        for piece in _without_thoughts(self._counted(pieces)):
            if piece and not (is_empty and piece.strip() == CUT_OFF.strip()):
                is_empty = False
                yield piece
        if is_empty:
            raise Unavailable("the language model answered with nothing: raise answer.max_tokens, or ask again")

    def _counted(self, pieces: Iterator[str]) -> Iterator[str]:
        size = 0
        for piece in pieces:
            size += len(piece)
            if size > self._max_chars:
                raise Unavailable(f"the language model does not stop after {self._max_chars:,} characters")
            yield piece


def _adapted(fields: Fields, refused: Refused) -> Fields | None:
    """The optional fields as a server that has just refused them wants them; None if it refused something else.

    Reasoning models know the token limit by another name, and no temperature.
    """
    if "max_tokens" in fields and b"max_completion_tokens" in refused.body:
        others = {name: value for name, value in fields.items() if name != "max_tokens"}
        return {**others, "max_completion_tokens": fields["max_tokens"]}
    is_temperature = refused.error.get("param") == "temperature" or "'temperature'" in str(refused.error.get("message"))
    if "temperature" in fields and is_temperature:
        return {name: value for name, value in fields.items() if name != "temperature"}
    return None


def _pieces_of_stream(chunks: Iterable[bytes]) -> Iterator[str]:
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


def _without_thoughts(pieces: Iterator[str]) -> Iterator[str]:
    """The answer without what a model thinks aloud before it, and without white space in front."""
    buffer = ""
    for piece in pieces:
        buffer = (buffer + piece).lstrip()
        while buffer.startswith(_THOUGHT) and _THOUGHT_END in buffer:
            buffer = buffer.partition(_THOUGHT_END)[2].lstrip()
        if not _THOUGHT.startswith(buffer[: len(_THOUGHT)]):
            yield buffer
            yield from pieces
            return
    if not buffer.startswith(_THOUGHT):
        yield buffer


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
        raise Unavailable(f"the language model's server reported an error{error_code(data)}: ask again")
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
