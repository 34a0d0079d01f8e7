"""What servers that rerank are asked and what their answers mean. Nothing is sent from here.

A server is not believed: every count, index, type and number is checked, and nothing that it says is repeated, as it
may hold a key or a passage.
"""

import json
from collections.abc import Sequence
from enum import StrEnum
from math import isfinite
from typing import assert_never

from citewise.adapters.rerank.scores import sigmoid
from citewise.model.errors import Misconfigured, Unavailable

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
