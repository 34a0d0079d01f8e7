"""Vectors from any server that speaks OpenAI's `POST embeddings`. What an answer means is in `openai_answers`."""

import itertools
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Lock

import httpx
import numpy as np
import numpy.typing as npt

from citewise.errors import Misconfigured, Unavailable
from citewise.model.chunk import EmbeddingFailure, EmbeddingModel, Vector
from citewise.text.secrets import masked

Floats = npt.NDArray[np.float64]

_REFUSALS = frozenset({400, 413, 422})  # of these texts; others may still pass
_LATER = frozenset({408, 425, 429})
_LONGEST_MESSAGE = 200  # characters
_ECHO = 20  # characters of a text; a message that repeats so many is not shown
_PATIENCE_SECONDS = 300.0  # for a body that comes in drops, each in time


@dataclass(frozen=True, slots=True)
class Later:
    """No answer yet; another try may get one."""

    reason: str
    wait_seconds: float | None = None  # as the server asked


@dataclass(frozen=True, slots=True)
class Refused:
    """The server will not embed these texts together, or not at all."""

    reason: str


def bounded_body(response: httpx.Response, *, limit: int) -> bytes | None:
    """The body, or None when it is longer than `limit`; a trickle counts as a time-out."""
    parts: list[bytes] = []
    size = 0
    started = time.monotonic()
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > limit:
            return None
        if time.monotonic() - started > _PATIENCE_SECONDS:
            raise httpx.ReadTimeout("the body takes too long", request=response.request)
    return b"".join(parts)


def failure_of(response: httpx.Response, body: bytes, *, model: str, texts: Sequence[str]) -> Refused | Later:
    """What an error status asks of us; Misconfigured when only a person can help."""
    status = response.status_code
    said = f"the embedding server answered {status}"
    if status in _LATER or status >= 500:
        return Later(said, _retry_after(response.headers.get("Retry-After")))
    if status in _REFUSALS:
        return Refused(said + _message(body, texts))
    if status in (401, 403):
        raise Misconfigured(f"{said}: check the API key in the variable that embedding.api_key_variable names")
    where = f"{response.request.url.host}{response.request.url.path}"
    raise Misconfigured(f"{said} at {where}: check embedding.base_url and embedding.model ({model})")


def vectors_in(body: bytes, *, dimensions: int, count: int) -> list[Floats | EmbeddingFailure] | EmbeddingFailure:
    """One outcome for each text, in the order of the texts, or one failure for all of them."""
    try:
        answer: object = json.loads(body)
    except (ValueError, RecursionError):
        return EmbeddingFailure("the embedding server's answer is not JSON")
    rows = _rows(answer)
    if rows is None:
        return EmbeddingFailure("the embedding server's answer holds no list of vectors")
    if len(rows) != count:
        return EmbeddingFailure(f"the embedding server returned {len(rows)} vectors for {count} texts")
    ordered = _in_order(rows)
    if ordered is None:
        return EmbeddingFailure("the embedding server's answer numbers its vectors in a way that makes no sense")
    _check_dimensions(ordered, dimensions)
    return [_vector(row.get("embedding"), dimensions) for row in ordered]


def unit(vector: Floats) -> Floats | None:
    """The vector at length one; None for one without a direction."""
    largest = np.max(np.abs(vector), initial=0.0)
    if not np.isfinite(largest) or largest == 0.0:
        return None
    scaled: Floats = vector / largest  # squares of very large or small numbers would leave the range of floats
    return scaled / np.linalg.norm(scaled)


def _rows(answer: object) -> list[dict[object, object]] | None:
    rows = answer.get("data") if isinstance(answer, dict) else None
    return rows if isinstance(rows, list) and all(isinstance(row, dict) for row in rows) else None


def _in_order(rows: list[dict[object, object]]) -> list[dict[object, object]] | None:
    places = [row.get("index") for row in rows]
    if all(place is None for place in places):  # some servers leave it out and keep the order
        return rows
    at = {place: row for place, row in zip(places, rows, strict=True) if type(place) is int}
    return [at[place] for place in range(len(rows))] if at.keys() == set(range(len(rows))) else None


def _check_dimensions(rows: list[dict[object, object]], dimensions: int) -> None:
    vectors = [row.get("embedding") for row in rows]
    lengths = {len(vector) if isinstance(vector, list) else dimensions for vector in vectors}
    if len(lengths) == 1 and dimensions not in lengths:
        raise Misconfigured(
            f"the embedding server returns vectors of {lengths.pop()} dimensions, the settings say {dimensions}: "
            "check embedding.model and embedding.dimensions"
        )


def _vector(values: object, dimensions: int) -> Floats | EmbeddingFailure:
    if not isinstance(values, list) or not set(map(type, values)) <= {int, float}:
        return EmbeddingFailure("the embedding server returned something else than numbers")
    if len(values) != dimensions:
        return EmbeddingFailure(f"the embedding server returned {len(values)} dimensions instead of {dimensions}")
    try:
        vector = unit(np.array(values, dtype=np.float64))
    except OverflowError:  # a whole number of more than 300 digits
        vector = None
    if vector is None:
        return EmbeddingFailure("the embedding server returned a vector without a direction (zero, NaN or infinite)")
    return vector


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    now = datetime.now(UTC)
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())


def _message(body: bytes, texts: Sequence[str]) -> str:
    """What the server said, in brackets; nothing if it may repeat a credential or a text."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error = answer.get("error") if isinstance(answer, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    if not isinstance(message, str) or any(text[:_ECHO] in message for text in texts):
        return ""
    return f" ({masked(' '.join(message.split())).text[:_LONGEST_MESSAGE]})"


_FIRST_WAIT_SECONDS = 1.0  # doubles with every try; the wait is drawn between zero and this
_LONGEST_WAIT_SECONDS = 60.0  # also for a server that asks for more: an ingest should end today
_PATIENCE_BATCHES = 2  # that used up their tries in a row; from then on a batch gets one
_TELLING_BATCH = 8  # texts; when a server refuses each of so many alone, the texts are not to blame
_BYTES_PER_COMPONENT = 32  # of JSON: sign, 17 digits, exponent, comma, and white space
_BYTES_AROUND = 65_536

Outcome = Floats | EmbeddingFailure | Refused


class OpenAIEmbedder:
    """Embeds through a server; the client brings its address, its credentials and its time-outs.

    Texts longer than `max_input_chars` are cut at white space and their vectors pooled by length, so no part
    of a text goes unseen. A batch is tried `tries` times; once two in a row got no answer at all, each later
    batch gets a single try until the server answers again.
    """

    def __init__(
        self,
        client: httpx.Client,
        *,
        model: EmbeddingModel,
        remote_name: str,
        batch_size: int = 100,
        tries: int = 3,
        concurrency: int = 2,
        query_prefix: str = "",
        document_prefix: str = "",
        max_input_chars: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._model = model
        self._remote_name = remote_name
        self._batch_size = batch_size
        self._tries = tries
        self._concurrency = concurrency
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._max_input_chars = max_input_chars
        self._sleep = sleep
        self._jitter = jitter
        self._lock = Lock()
        self._unanswered = 0  # batches in a row

    @property
    def model(self) -> EmbeddingModel:
        """What the vectors are made by."""
        return self._model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | EmbeddingFailure, ...]:
        """One vector or failure for each text, in order."""
        return self._embedded(texts, self._document_prefix)

    def query(self, text: str) -> Vector:
        """The vector of a question; Unavailable when there is none to be had."""
        (outcome,) = self._embedded((text,), self._query_prefix)
        if isinstance(outcome, EmbeddingFailure):
            raise Unavailable(f"the question could not be embedded: {outcome.reason}")
        return outcome

    def _embedded(self, texts: Sequence[str], prefix: str) -> tuple[Vector | EmbeddingFailure, ...]:
        windows = [tuple(_windows(text, self._room(prefix))) for text in texts]
        pieces = [prefix + window for parts in windows for window in parts]
        outcomes = iter(self._in_batches(pieces))
        return tuple(_pooled(parts, tuple(itertools.islice(outcomes, len(parts)))) for parts in windows)

    def _room(self, prefix: str) -> int | None:
        return None if self._max_input_chars is None else max(1, self._max_input_chars - len(prefix))

    def _in_batches(self, pieces: Sequence[str]) -> list[Outcome]:
        size = self._batch_size
        batches = [pieces[at : at + size] for at in range(0, len(pieces), size)]
        if len(batches) < 2 or self._concurrency < 2:
            return [outcome for batch in batches for outcome in self._batch(batch)]
        with ThreadPoolExecutor(min(self._concurrency, len(batches))) as pool:
            return [outcome for outcomes in pool.map(self._batch, batches) for outcome in outcomes]

    def _batch(self, texts: Sequence[str]) -> Sequence[Outcome]:
        outcomes = self._halved(texts)
        refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
        if len(refused) == len(texts) >= _TELLING_BATCH:
            raise Misconfigured(
                f"the embedding server refuses every text ({refused[0].reason}): check "
                f"embedding.model ({self._remote_name}) and embedding.base_url"
            )
        return outcomes

    def _halved(self, texts: Sequence[str]) -> Sequence[Outcome]:
        """A refused batch goes again in halves, until only the texts that are refused alone are left out."""
        outcomes = self._tried(texts)
        if not isinstance(outcomes, Refused):
            return outcomes
        if len(texts) == 1:
            return (outcomes,)
        middle = len(texts) // 2
        return (*self._halved(texts[:middle]), *self._halved(texts[middle:]))

    def _tried(self, texts: Sequence[str]) -> Sequence[Outcome] | Refused:
        tries = self._tries if self._unanswered < _PATIENCE_BATCHES else 1
        reason = ""
        for number in range(tries):
            answer = self._asked(texts)
            if not isinstance(answer, Later):
                self._note(answered=True)
                return answer
            reason = answer.reason
            if number + 1 < tries:
                self._sleep(self._wait_seconds(number, answer))
        self._note(answered=False)
        hurry = "" if tries == self._tries else " (one only, as the batches before got no answer)"
        return [EmbeddingFailure(f"{reason}, tries: {tries}{hurry}")] * len(texts)

    def _note(self, *, answered: bool) -> None:
        with self._lock:
            self._unanswered = 0 if answered else self._unanswered + 1

    def _wait_seconds(self, number: int, answer: Later) -> float:
        if answer.wait_seconds is not None:
            return min(answer.wait_seconds, _LONGEST_WAIT_SECONDS)
        return self._jitter() * min(_FIRST_WAIT_SECONDS * float(2**number), _LONGEST_WAIT_SECONDS)

    def _asked(self, texts: Sequence[str]) -> Sequence[Outcome] | Refused | Later:
        # Written here, as plain ASCII: a stray surrogate in a text must reach the server, not break the call.
        content = json.dumps({"model": self._remote_name, "input": list(texts)}).encode("ascii")
        headers = {"Content-Type": "application/json"}
        try:
            with self._client.stream("POST", "embeddings", content=content, headers=headers) as response:
                body = bounded_body(response, limit=self._body_limit(len(texts)))
        except httpx.TimeoutException:
            return Later("the embedding server did not answer in time")
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            raise Misconfigured(
                "the embedding server cannot be called: check embedding.base_url and the API key"
            ) from error
        except httpx.TransportError as error:
            return Later(f"the embedding server cannot be reached ({type(error).__name__})")
        except httpx.RequestError as error:
            return [EmbeddingFailure(f"the embedding server's answer is broken ({type(error).__name__})")] * len(texts)
        return self._understood(response, body, texts)

    def _body_limit(self, count: int) -> int:
        return _BYTES_AROUND + count * (self._model.dimensions * _BYTES_PER_COMPONENT + 256)

    def _understood(
        self, response: httpx.Response, body: bytes | None, texts: Sequence[str]
    ) -> Sequence[Outcome] | Refused | Later:
        if not response.is_success:
            return failure_of(response, body or b"", model=self._remote_name, texts=texts)
        if body is None:
            reason = f"the embedding server answered with more than {self._body_limit(len(texts))} bytes"
            return [EmbeddingFailure(reason)] * len(texts)
        outcomes = vectors_in(body, dimensions=self._model.dimensions, count=len(texts))
        return [outcomes] * len(texts) if isinstance(outcomes, EmbeddingFailure) else outcomes


def _windows(text: str, room: int | None) -> Iterator[str]:
    """The text in pieces of at most `room` characters, cut at white space where there is any."""
    rest = text.strip()
    while room is not None and len(rest) > room:
        head = rest[: room + 1]
        # rsplit also knows the white space that is not a blank; without any, a word is cut.
        cut = len(head.rsplit(maxsplit=1)[0]) if len(head.split(maxsplit=1)) > 1 else room
        cut = min(cut, room)
        yield rest[:cut]
        rest = rest[cut:].lstrip()
    if rest:
        yield rest


def _pooled(windows: Sequence[str], outcomes: Sequence[Outcome]) -> Vector | EmbeddingFailure:
    vectors: list[Floats] = []
    for outcome in outcomes:
        if isinstance(outcome, EmbeddingFailure | Refused):
            return EmbeddingFailure(outcome.reason)
        vectors.append(outcome)
    if not vectors:
        return EmbeddingFailure("the text is empty")
    weights = np.array([len(window) for window in windows], dtype=np.float64)
    pooled = unit(np.average(np.stack(vectors), axis=0, weights=weights))
    return EmbeddingFailure("its windows cancel out") if pooled is None else Vector(pooled.astype("<f4").tobytes())
