"""A rerank server on loopback that speaks as Cohere, Jina and TEI do, and answers well or as badly as a test asks."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from citewise.adapters.openai.reranker import Style
from tests.fakes.loopback import HANG_SECONDS as HANG_SECONDS
from tests.fakes.loopback import Reply as Reply
from tests.fakes.loopback import ScriptedServer, running

STYLES: Mapping[str, Style] = {"/v2/rerank": "cohere", "/v1/rerank": "jina", "/rerank": "tei"}
TEI_BATCH = 32  # texts; a server as it comes refuses more

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request held."""

    style: Style
    question: str
    texts: tuple[str, ...]
    sent: Mapping[str, object]
    headers: Mapping[str, str]


def relevance(question: str, text: str) -> float:
    """The share of the question's words that the text has: the same for the same pair, in 0..1."""
    asked, said = (set(re.findall(r"\w+", one.lower())) for one in (question, text))
    return len(asked & said) / len(asked) if asked else 0.0


def rows_for(asked: Asked) -> list[Row]:
    """The rows of a right answer, best first, as the servers send them."""
    score = "score" if asked.style == "tei" else "relevance_score"
    scored = [(relevance(asked.question, text), at) for at, text in enumerate(asked.texts)]
    return [{"index": at, score: number} for number, at in sorted(scored, key=lambda one: (-one[0], one[1]))]


def with_rows(asked: Asked, rows: object) -> Reply:
    """An answer in the style asked for that holds these rows."""
    if asked.style == "tei":
        return as_json(rows)
    return as_json({"id": "1", "results": rows, "meta": {"billed_units": {"search_units": 1}}})


def as_json(answer: object) -> Reply:
    return Reply(body=json.dumps(answer).encode(), headers={"Content-Type": "application/json"})


def well(asked: Asked) -> Reply:
    """The right answer, or the refusal a right server has for what it does not take."""
    if asked.style == "tei" and len(asked.texts) > TEI_BATCH:
        return Reply(422, b'{"error":"batch size > maximum allowed batch size","error_type":"Validation"}')
    rows = rows_for(asked)
    if asked.style == "jina" and asked.sent.get("return_documents", True):
        rows = [{**row, "document": {"text": asked.texts[int(str(row["index"]))]}} for row in rows]
    top = asked.sent.get("top_n", len(rows))
    assert isinstance(top, int)
    return with_rows(asked, rows[:top])


class RerankServer(ScriptedServer[Asked, Reply]):
    def base_url(self, style: Style) -> str:
        """What the setting rerank.base_url would say."""
        path = next(path for path, known in STYLES.items() if known == style)
        return self.url + path.removesuffix("/rerank")


@contextmanager
def running_rerank_server() -> Iterator[RerankServer]:
    """A server on a free port of loopback, for as long as the block lasts."""
    server = RerankServer(well)
    with running(server, _asked):
        yield server


def _asked(path: str, sent: dict[str, Any], headers: Mapping[str, str]) -> Asked | None:
    if path not in STYLES:
        return None
    texts = sent["texts" if STYLES[path] == "tei" else "documents"]
    return Asked(STYLES[path], sent["query"], tuple(texts), sent, headers)
