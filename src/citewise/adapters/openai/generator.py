"""Answers from any server that speaks OpenAI's `POST chat/completions`."""

import itertools
import re
import time
from collections.abc import Generator, Iterable, Iterator, Mapping

import httpx

from citewise.adapters.http import Declined, Refused, Remote, Retry
from citewise.errors import Misconfigured, Unavailable
from citewise.model.answer import Prompt
from citewise.model.cancellation import Cancellation

MAX_EVENT_BYTES = 1_000_000
CUT_OFF = " \u2026"  # ends an answer that reached its token limit: what there is of it stands, and a reader sees why

_EVENT_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_THOUGHT, _THOUGHT_END = "<think>", "</think>"

Fields = Mapping[str, int | float]

RETRY = Retry(tries=3, first_wait_seconds=0.5, max_wait_seconds=20.0)  # a reader is waiting
FIRST_SECONDS = 60.0  # for the first word, with all tries: a reader sees nothing before
_WRITING_SECONDS = 120.0  # for the rest; a slow machine writes 800 tokens in three quarters of that
_CHARS_PER_TOKEN = 32  # at most, on average: a longer answer has ignored its token limit


class OpenAIGenerator:
    """A request is tried again until the first piece has come; from then on a failure is the answer's."""

    def __init__(
        self,
        remote: Remote,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        first_seconds: float = FIRST_SECONDS,
        writing_seconds: float = _WRITING_SECONDS,
    ) -> None:
        self._remote = remote
        self._fields: Fields = {"max_tokens": max_tokens, "temperature": temperature}
        self._max_chars = max_tokens * _CHARS_PER_TOKEN
        self._first_seconds = first_seconds
        self._deadline_seconds = first_seconds + writing_seconds

    @property
    def name(self) -> str:
        return self._remote.model

    def stream(self, prompt: Prompt, cancellation: Cancellation | None = None) -> Generator[str, None, None]:
        ends_at = time.monotonic() + self._deadline_seconds
        turns = [{"role": message.role.value, "content": message.content} for message in prompt.messages]
        cancellation = cancellation or Cancellation()
        while True:
            fields = self._fields
            payload = {"model": self._remote.model, "messages": turns, "stream": True, **fields}
            try:
                yield from self._remote.stream(
                    "chat/completions",
                    payload,
                    self._answer,
                    first_seconds=self._first_seconds,
                    ends_at=ends_at,
                    cancellation=cancellation,
                )
                return
            except Refused as refused:
                self._fields = _adapted(fields, refused)  # so that the next question is not refused first

    def _answer(self, response: httpx.Response, chunks: Iterator[bytes]) -> Iterator[str]:
        """The pieces that are answer; Unavailable if there is none."""
        kind = response.headers.get("Content-Type", "")
        if "html" in kind or "json" in kind:
            raise Misconfigured(f"{response.request.url.host} did not answer with a stream: check answer.base_url")
        is_empty = True
        for piece in _without_thoughts(self._pieces(chunks)):
            if piece and not (is_empty and piece.strip() == CUT_OFF.strip()):
                is_empty = False
                yield piece
        if is_empty:
            raise Declined("the language model answered with nothing: raise answer.max_tokens, or ask again")

    def _pieces(self, chunks: Iterable[bytes]) -> Iterator[str]:
        """Unavailable when the stream stops before the answer does, or the answer does not stop."""
        size = 0
        for data in _events(chunks):
            if data.strip() == b"[DONE]":
                return
            text, finish = _choice(self._remote.parsed(data))
            size += len(text)
            if size > self._max_chars:
                raise Declined(f"the language model does not stop after {self._max_chars:,} characters")
            yield text
            if finish == "content_filter":
                raise Declined("the language model's server withheld the answer (content_filter): ask in other words")
            if finish == "length":
                yield CUT_OFF
            if finish:
                return
        raise Unavailable("the language model's answer broke off: ask again")


def _adapted(fields: Fields, refused: Refused) -> Fields:
    """The optional fields as a server that has just refused them wants them; Unavailable if it refused something else.

    Reasoning models know the token limit by another name, and no temperature.
    """
    if "max_tokens" in fields and b"max_completion_tokens" in refused.body:
        others = {name: value for name, value in fields.items() if name != "max_tokens"}
        return {**others, "max_completion_tokens": fields["max_tokens"]}
    is_temperature = refused.error.get("param") == "temperature" or "'temperature'" in str(refused.error.get("message"))
    if "temperature" in fields and is_temperature:
        return {name: value for name, value in fields.items() if name != "temperature"}
    raise Unavailable(
        f"{refused}: it refuses this question; ask in other words, or lower answer.budget_tokens"
    ) from refused


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


def _events(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The data of each event. Comments keep a connection alive; names, ids and retry times say nothing here."""
    rest = b""
    for chunk in itertools.chain(chunks, [b"\n\n"]):
        *events, rest = _EVENT_END.split(rest + chunk)
        for event in events:
            data = [line[5:].removeprefix(b" ") for line in _LINE_END.split(event) if line.startswith(b"data:")]
            if data:
                yield b"\n".join(data)
        if len(rest) > MAX_EVENT_BYTES:
            raise Unavailable(f"the language model's server sent an event of more than {MAX_EVENT_BYTES:,} bytes")


def _choice(answer: object) -> tuple[str, str]:
    """Text and reason to finish, each empty where there is none; a chunk without choices counts tokens or so."""
    choices = (answer.get("choices") or [{}]) if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) else None
    part = (choice.get("delta") or {}) if isinstance(choice, dict) else None
    text = (part.get("content") or "") if isinstance(part, dict) else None
    finish = (choice.get("finish_reason") or "") if isinstance(choice, dict) else None
    if not isinstance(text, str) or not isinstance(finish, str):
        raise Unavailable("the language model's server sent an invalid response: ask again")
    # Half of a surrogate pair cannot be printed or stored.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), finish
