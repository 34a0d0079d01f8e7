"""Scores from a server that speaks `POST rerank` as Cohere, Jina or TEI do."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from sys import float_info
from typing import Literal

from citewise.adapters.http import Remote, Retry
from citewise.errors import Unavailable
from citewise.text.encoding import well_formed

Style = Literal["cohere", "jina", "tei"]  # whose requests a server understands

RETRY = Retry(tries=2, first_wait_seconds=0.2, max_wait_seconds=1.0)  # a reader waits meanwhile
# Texts in one request. TEI refuses more than 32 unless it was started with another --max-client-batch-size.
_BATCH = {"cohere": 1000, "jina": 1000, "tei": 32}
_BYTES_AROUND = 65_536  # of an answer, beside its rows
_BYTES_A_ROW = 512


@dataclass(frozen=True, slots=True)
class HttpReranker:
    """The port `Reranker` over a server. One deadline covers a call with all its requests."""

    remote: Remote
    style: Style
    are_logits: bool = False
    deadline_seconds: float = 5.0

    @property
    def name(self) -> str:
        return self.remote.model or self.style

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
        # A server may send the texts back, asked or not; a character takes up to twelve bytes of JSON.
        sent = 12 * (len(asked) + sum(map(len, documents)))
        limit = _BYTES_AROUND + len(texts) * _BYTES_A_ROW + 2 * sent
        if self.style == "tei":
            payload: dict[str, object] = {"query": asked, "texts": documents, "raw_scores": False, "truncate": True}
        else:
            payload = {"model": self.remote.model, "query": asked, "documents": documents, "top_n": len(documents)}
        if self.style == "jina":
            payload["return_documents"] = False
        rows, score = self.remote.post("rerank", payload, max_bytes=limit, ends_at=ends_at), "score"
        if self.style != "tei":
            rows, score = rows.get("results") if isinstance(rows, dict) else None, "relevance_score"
        numbers = []
        for row in self.remote.rows(rows, len(texts)):
            number = row.get(score)
            if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= float_info.max:
                raise Unavailable("the rerank server returned a score that is not a number")
            numbers.append(float(number))
        return numbers
