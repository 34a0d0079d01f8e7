"""What a chat server sends, as pieces of an answer or as a failure. Nothing is sent from here.

A server is not believed: lines and bodies are bounded, shapes are checked, and of what it says about an error only a
code is shown, since its words may repeat a credential or a passage.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from citewise.model.errors import Misconfigured, Unavailable

MOST_LINE_BYTES = 1_000_000
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
        if len(rest) > MOST_LINE_BYTES:
            raise Unavailable(f"the language model's server sent a line of more than {MOST_LINE_BYTES:,} bytes")
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
