"""Vectors from any server that speaks OpenAI's `POST embeddings`."""

import itertools
import re
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from citewise.adapters.http import Refused, Remote, Retry
from citewise.errors import Misconfigured, Unavailable
from citewise.model.chunk import EmbeddingModel, Vector
from citewise.text.secrets import masked

Floats = npt.NDArray[np.float64]
Outcome = Floats | Unavailable

RETRY = Retry(tries=3, first_wait_seconds=1.0, max_wait_seconds=120.0)
_DEADLINE_SECONDS = 300.0  # for a batch with all its tries
# While a reader waits; what is not embedded by then is searched and compared by words alone.
_READER_TRIES, _READER_WAIT_SECONDS, _READER_SECONDS = 2, 2.0, 10.0
_TELLING_BATCH = 8  # texts; when a server refuses each of so many alone, the texts are not to blame
_BYTES_PER_COMPONENT = 32  # of JSON: sign, 17 digits, exponent, comma, and white space
_BYTES_AROUND = 65_536
_ECHO_CHARS = 20  # a message that repeats so many characters of a text is not shown


@dataclass(frozen=True, slots=True)
class OpenAIEmbedder:
    """A text longer than `max_input_chars` is cut at white space and its vectors pooled by length: all of it counts."""

    remote: Remote
    model: EmbeddingModel
    batch_size: int = 100
    query_prefix: str = ""
    document_prefix: str = ""
    max_input_chars: int = 24_000  # three for each of 8,000 tokens
    deadline_seconds: float = _DEADLINE_SECONDS
    threads: Executor = field(default_factory=lambda: ThreadPoolExecutor(2, thread_name_prefix="citewise-embedder"))

    def documents(self, texts: Sequence[str]) -> tuple[Vector | Unavailable, ...]:
        return self._embedded(texts, self.document_prefix)

    def for_readers(self) -> "OpenAIEmbedder":
        """The same with less patience."""
        retry = self.remote.retry
        shorter = replace(retry, tries=min(_READER_TRIES, retry.tries), max_wait_seconds=_READER_WAIT_SECONDS)
        seconds = min(_READER_SECONDS, self.remote.client.timeout.read or _READER_SECONDS)
        return replace(self, remote=replace(self.remote, retry=shorter), deadline_seconds=seconds)

    def query(self, text: str) -> Vector:
        (outcome,) = self.for_readers()._embedded((text,), self.query_prefix)
        if isinstance(outcome, Unavailable):
            raise Unavailable(f"the question could not be embedded: {outcome}")
        return outcome

    def _embedded(self, texts: Sequence[str], prefix: str) -> tuple[Vector | Unavailable, ...]:
        # Windows of so many characters, cut at white space; a word is cut only where it alone is longer.
        room = max(2, self.max_input_chars - len(prefix))
        window = re.compile(rf"\S(?:.{{0,{room - 2}}}\S)?(?!\S)|\S{{{room}}}", re.DOTALL)
        windows = [window.findall(text) for text in texts]
        pieces = [prefix + window for parts in windows for window in parts]
        batches = [pieces[at : at + self.batch_size] for at in range(0, len(pieces), self.batch_size)]
        run = self.threads.map if len(batches) > 1 else map  # a question does not wait behind an ingestion
        outcomes = iter([outcome for batch in run(self._batch, batches) for outcome in batch])
        return tuple(_pooled(parts, tuple(itertools.islice(outcomes, len(parts)))) for parts in windows)

    def _batch(self, texts: Sequence[str]) -> Sequence[Outcome]:
        outcomes = self._halved(texts)
        if len(texts) >= _TELLING_BATCH and all(isinstance(outcome, Refused) for outcome in outcomes):
            raise Misconfigured(
                f"the embedding server refuses every text ({outcomes[0]}): check "
                f"embedding.model ({self.remote.model}) and embedding.base_url"
            )
        return outcomes

    def _halved(self, texts: Sequence[str]) -> Sequence[Outcome]:
        """A refused batch goes again in halves, until only the texts that are refused alone are left out."""
        try:
            return self._vectors(texts)
        except Refused as error:
            if len(texts) == 1:
                message = error.error.get("message")
                if not isinstance(message, str) or texts[0][:_ECHO_CHARS] in message:
                    return (error,)
                return (Refused(f"{error} ({masked(' '.join(message.split())).text[:200]})", error.body),)
        except Unavailable as error:
            return [error] * len(texts)
        middle = len(texts) // 2
        return (*self._halved(texts[:middle]), *self._halved(texts[middle:]))

    def _vectors(self, texts: Sequence[str]) -> list[Outcome]:
        """The outcome for each text, in the order of the texts."""
        dimensions = self.model.dimensions
        answer = self.remote.post(
            "embeddings",
            {"model": self.remote.model, "input": list(texts)},
            max_bytes=_BYTES_AROUND + len(texts) * (dimensions * _BYTES_PER_COMPONENT + 256),
            ends_at=time.monotonic() + self.deadline_seconds,
        )
        rows = answer.get("data") if isinstance(answer, dict) else None
        vectors = [row.get("embedding") for row in self.remote.rows(rows, len(texts), need_index=False)]
        lengths = {len(vector) if isinstance(vector, list) else dimensions for vector in vectors}
        if len(lengths) == 1 and dimensions not in lengths:
            raise Misconfigured(
                f"the embedding server returns vectors of {lengths.pop()} dimensions, the settings say {dimensions}: "
                "check embedding.model and embedding.dimensions"
            )
        return [_vector(vector, dimensions) for vector in vectors]


def _vector(values: object, dimensions: int) -> Outcome:
    if not isinstance(values, list) or not set(map(type, values)) <= {int, float}:
        return Unavailable("the embedding server returned something else than numbers")
    if len(values) != dimensions:
        return Unavailable(f"the embedding server returned {len(values)} dimensions instead of {dimensions}")
    with suppress(OverflowError):  # a whole number of more than 300 digits
        if (vector := _unit(np.array(values, dtype=np.float64))) is not None:
            return vector
    return Unavailable("the embedding server returned a vector without a direction (zero, NaN or infinite)")


def _unit(vector: Floats) -> Floats | None:
    """The vector at length one; None for one without a direction."""
    largest = np.max(np.abs(vector), initial=0.0)
    if not np.isfinite(largest) or largest == 0.0:
        return None
    scaled: Floats = vector / largest  # squares of very large or small numbers would leave the range of floats
    return scaled / np.linalg.norm(scaled)


def _pooled(windows: Sequence[str], outcomes: Sequence[Outcome]) -> Vector | Unavailable:
    vectors = []
    for outcome in outcomes:
        if isinstance(outcome, Unavailable):
            return outcome
        vectors.append(outcome)
    if not vectors:
        return Unavailable("the text is empty")
    pooled = _unit(np.average(np.stack(vectors), axis=0, weights=list(map(len, windows))))
    return Unavailable("its windows cancel out") if pooled is None else Vector(pooled.astype("<f4").tobytes())
