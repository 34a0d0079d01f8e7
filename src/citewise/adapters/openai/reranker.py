"""Scores from a server that speaks `POST rerank` as Cohere, Jina or TEI do. What its answers mean: `http_answers`."""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from threading import Thread
from typing import TypeVar, assert_never

import httpx

from citewise.adapters.scores import sigmoid, whole
from citewise.errors import Misconfigured, Unavailable

Row = dict[object, object]


class RerankStyle(StrEnum):
    """Whose way of asking a server understands."""

    COHERE = "cohere"
    JINA = "jina"
    TEI = "tei"


def request_body(style: RerankStyle, model: str, question: str, texts: Sequence[str]) -> bytes:
    """The question and the texts as the server wants them, with every score asked for and no text sent back."""
    documents = {"model": model, "query": question, "documents": list(texts), "top_n": len(texts)}
    match style:
        case RerankStyle.COHERE:
            body: dict[str, object] = {**documents}
        case RerankStyle.JINA:
            body = {**documents, "return_documents": False}
        case RerankStyle.TEI:
            body = {"query": question, "texts": list(texts), "raw_scores": False, "truncate": True}
        case _:
            assert_never(style)
    return json.dumps(body).encode("ascii")


def numbers_in(style: RerankStyle, body: bytes, *, count: int) -> list[float]:
    """One number for each text, in the order of the texts."""
    score = "score" if style is RerankStyle.TEI else "relevance_score"
    rows = _rows(style, _parsed(body))
    if len(rows) != count:
        raise Unavailable(f"the rerank server returned {len(rows)} scores for {count} passages")
    at = {row.get("index"): _number(row.get(score)) for row in rows if type(row.get("index")) is int}
    if at.keys() != set(range(count)):
        raise Unavailable("the rerank server numbers its scores in a way that makes no sense")
    return [at[place] for place in range(count)]


def as_scores(numbers: Sequence[float], *, are_logits: bool) -> tuple[float, ...]:
    """The numbers in 0..1. Whether they are logits is said, not guessed: a guess would depend on a pair's neighbors."""
    if are_logits:
        return tuple(map(sigmoid, numbers))
    if not all(0.0 <= number <= 1.0 for number in numbers):
        raise Unavailable("the rerank server's scores are not in 0..1: if it sends logits, set rerank.scores to logits")
    return tuple(numbers)


def check_status(status: int, *, model: str) -> None:
    """Raise what a status means that another try would not mend."""
    said = f"the rerank server answered {status}"
    if status in (401, 403):
        raise Misconfigured(f"{said}: check the key in the variable that rerank.api_key_variable names")
    if status == 404:
        raise Misconfigured(f"{said}: check rerank.base_url, rerank.style and rerank.model ({model})")
    if not 200 <= status < 300:
        raise Unavailable(f"{said}: check rerank.base_url, rerank.style and rerank.model ({model})")


def _parsed(body: bytes) -> object:
    try:
        answer: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unavailable("the rerank server's answer is not JSON: check rerank.base_url") from error
    return answer


def _rows(style: RerankStyle, answer: object) -> list[Row]:
    if style is not RerankStyle.TEI:
        answer = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(answer, list) or not all(isinstance(row, dict) for row in answer):
        raise Unavailable(f"the rerank server's answer is none of {style}'s: check rerank.style")
    return answer


def _number(value: object) -> float:
    if type(value) not in (int, float) or not isinstance(value, int | float):
        raise Unavailable("the rerank server returned something else than numbers")
    try:
        number = float(value)
    except OverflowError:  # a whole number of more than 300 digits
        number = float("inf")
    if not isfinite(number):
        raise Unavailable("the rerank server returned a score that is NaN or infinite")
    return number


_PAUSE_SECONDS = 0.2  # before the second try
# Texts in one request. TEI refuses more than 32 unless it was started with another --max-client-batch-size.
_BATCH = {RerankStyle.COHERE: 1000, RerankStyle.JINA: 1000, RerankStyle.TEI: 32}
_BYTES_AROUND = 65_536  # of an answer, beside its rows
_BYTES_A_ROW = 512

_T = TypeVar("_T")


class HttpReranker:
    """Reranks through a server; the client brings its address, its key and its time-outs.

    One deadline covers a call with all its requests, also where the client's time-outs see nothing: a slow name
    server, or bytes that come in drops.
    """

    def __init__(
        self,
        client: httpx.Client,
        *,
        model: str,
        style: RerankStyle,
        are_logits: bool = False,
        deadline_seconds: float = 5.0,
    ) -> None:
        self._client = client
        self._are_logits = are_logits
        self._model = model
        self._style = style
        self._deadline_seconds = deadline_seconds

    @property
    def name(self) -> str:
        """What the scores are made by."""
        return self._model or self._style.value

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        """One score in 0..1 for each text, in order."""
        ends_at = time.monotonic() + self._deadline_seconds
        size = _BATCH[self._style]
        numbers: list[float] = []
        for start in range(0, len(texts), size):
            numbers += self._numbers(question, texts[start : start + size], ends_at)
        return as_scores(numbers, are_logits=self._are_logits)

    def _numbers(self, question: str, texts: Sequence[str], ends_at: float) -> list[float]:
        content = request_body(self._style, self._model, whole(question), [whole(text) for text in texts])
        # A server may send the texts back, asked or not.
        limit = _BYTES_AROUND + len(texts) * _BYTES_A_ROW + 2 * len(content)
        try:
            answer = _within(ends_at - time.monotonic(), lambda: self._answer(content, limit, ends_at))
        except (TimeoutError, httpx.TimeoutException) as error:
            raise Unavailable("the rerank server did not answer in time") from error
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL):
            # Without its cause, which repeats a key that no header can hold.
            raise Misconfigured("the rerank server cannot be called: check rerank.base_url and the key") from None
        except httpx.RequestError as error:
            raise Unavailable(f"the rerank server's answer is broken ({type(error).__name__})") from error
        if isinstance(answer, _Busy):
            raise Unavailable(answer.reason)
        return numbers_in(self._style, answer, count=len(texts))

    def _answer(self, content: bytes, limit: int, ends_at: float) -> "bytes | _Busy":
        """The body of the first answer; of the second, where another try may help and there is time."""
        answer = self._asked(content, limit, ends_at)
        if isinstance(answer, _Busy) and time.monotonic() + _PAUSE_SECONDS < ends_at:
            time.sleep(_PAUSE_SECONDS)
            answer = self._asked(content, limit, ends_at)
        return answer

    def _asked(self, content: bytes, limit: int, ends_at: float) -> "bytes | _Busy":
        headers = {"Content-Type": "application/json"}
        try:
            with self._client.stream("POST", "rerank", content=content, headers=headers) as response:
                status = response.status_code
                if status == 429 or status >= 500:
                    return _Busy(f"the rerank server answered {status}")
                check_status(status, model=self._model)
                return _body(response, limit, ends_at)
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            return _Busy(f"the rerank server cannot be reached ({type(error).__name__})")


@dataclass(frozen=True, slots=True)
class _Busy:
    """No answer; another try may get one."""

    reason: str


def _body(response: httpx.Response, limit: int, ends_at: float) -> bytes:
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > limit:
            raise Unavailable(f"the rerank server answered with more than {limit} bytes")
        if time.monotonic() > ends_at:
            raise TimeoutError
    return bytes(body)


def _within(seconds: float, call: Callable[[], _T]) -> _T:
    """What the call gives or raises; TimeoutError when it is not over by then, and its thread is left behind."""
    outcome: Future[_T] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except Exception as error:  # noqa: BLE001 - it is raised on the thread that waits
            outcome.set_exception(error)

    # No pool: the interpreter would wait for its threads at exit.
    Thread(target=run, name="rerank", daemon=True).start()
    return outcome.result(timeout=seconds)
