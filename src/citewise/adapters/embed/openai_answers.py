"""What the answer of an embedding server means: vectors, try later, or no. Nothing is sent from here.

A server is not believed: every count, index, type and number is checked, bodies are bounded, and what it says
about an error is shown only when it holds neither a credential nor the text it was sent.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx
import numpy as np
import numpy.typing as npt

from citewise.model.errors import Misconfigured
from citewise.model.secrets import masked
from citewise.model.vector import EmbeddingFailure

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
