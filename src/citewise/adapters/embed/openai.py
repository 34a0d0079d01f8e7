"""Vectors from any server that speaks OpenAI's `POST embeddings`. What an answer means is in `openai_answers`."""

import itertools
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import httpx
import numpy as np

from citewise.adapters.embed.openai_answers import (
    Floats,
    Later,
    Refused,
    bounded_body,
    failure_of,
    unit,
    vectors_in,
)
from citewise.model.errors import Misconfigured, Unavailable
from citewise.model.vector import EmbeddingFailure, EmbeddingModel, Vector

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
