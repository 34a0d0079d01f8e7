"""Scores from a server that speaks `POST rerank` as Cohere, Jina or TEI do."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, isfinite

from citewise.adapters.http import Remote, Retry
from citewise.errors import Unavailable
from citewise.text.encoding import well_formed


class RerankStyle(StrEnum):
    """Whose requests a server understands."""

    COHERE = "cohere"
    JINA = "jina"
    TEI = "tei"


RETRY = Retry(tries=2, first_wait_seconds=0.2, max_wait_seconds=1.0)  # a reader waits meanwhile
# Texts in one request. TEI refuses more than 32 unless it was started with another --max-client-batch-size.
_BATCH = {RerankStyle.COHERE: 1000, RerankStyle.JINA: 1000, RerankStyle.TEI: 32}
_BYTES_AROUND = 65_536  # of an answer, beside its rows
_BYTES_A_ROW = 512


@dataclass(frozen=True, slots=True)
class HttpReranker:
    """The port `Reranker` over a server. One deadline covers a call with all its requests."""

    remote: Remote
    style: RerankStyle
    are_logits: bool = False
    deadline_seconds: float = 5.0

    @property
    def name(self) -> str:
        return self.remote.model or self.style.value

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        ends_at = time.monotonic() + self.deadline_seconds
        size = _BATCH[self.style]
        batches = [texts[at : at + size] for at in range(0, len(texts), size)]
        numbers = [number for batch in batches for number in self._numbers(question, batch, ends_at)]
        if self.are_logits:
            return tuple(1 / (1 + exp(-max(-700.0, min(700.0, logit)))) for logit in numbers)
        # Whether they are logits is a setting, not guessed: a guess would depend on a pair's neighbors.
        if not all(0.0 <= number <= 1.0 for number in numbers):
            raise Unavailable(
                "the rerank server's scores are not in 0..1: if it sends logits, set rerank.scores to logits"
            )
        return tuple(numbers)

    def _numbers(self, question: str, texts: Sequence[str], ends_at: float) -> list[float]:
        """The number for each text, in the order of the texts."""
        asked, documents = well_formed(question), list(map(well_formed, texts))
        if self.style is RerankStyle.TEI:
            payload: dict[str, object] = {"query": asked, "texts": documents, "raw_scores": False, "truncate": True}
        else:
            payload = {"model": self.remote.model, "query": asked, "documents": documents, "top_n": len(documents)}
        if self.style is RerankStyle.JINA:
            payload["return_documents"] = False
        # A server may send the texts back, asked or not; a character takes up to twelve bytes of JSON.
        sent = 12 * (len(asked) + sum(map(len, documents)))
        limit = _BYTES_AROUND + len(texts) * _BYTES_A_ROW + 2 * sent
        rows = self._rows(self.remote.post("rerank", payload, max_bytes=limit, ends_at=ends_at))
        if len(rows) != len(texts):
            raise Unavailable(f"the rerank server returned {len(rows)} scores for {len(texts)} passages")
        score = "score" if self.style is RerankStyle.TEI else "relevance_score"
        by_index = {row["index"]: _number(row.get(score)) for row in rows if type(row.get("index")) is int}
        if by_index.keys() != set(range(len(texts))):
            raise Unavailable("the rerank server numbers its scores in a way that makes no sense")
        return [by_index[at] for at in range(len(texts))]

    def _rows(self, body: bytes) -> list[dict[object, object]]:
        try:
            answer: object = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Unavailable("the rerank server's answer is not JSON: check rerank.base_url") from error
        if self.style is not RerankStyle.TEI:
            answer = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(answer, list) or not all(isinstance(row, dict) for row in answer):
            raise Unavailable(f"the rerank server's answer is none of {self.style}'s: check rerank.style")
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
