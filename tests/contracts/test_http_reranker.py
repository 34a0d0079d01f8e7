"""The reranker over HTTP, against a real server that behaves well or badly."""

import json
import math
import time
from collections.abc import Callable, Iterator
from typing import get_args

import httpx
import pytest

from citewise.adapters.http import Remote
from citewise.adapters.openai.reranker import RETRY, HttpReranker, Style
from citewise.errors import CitewiseError, Misconfigured, Unavailable
from tests.fakes.rerank_server import (
    HANG_SECONDS,
    Asked,
    Reply,
    RerankServer,
    as_json,
    rows_for,
    running_rerank_server,
    well,
    with_rows,
)

pytestmark = pytest.mark.server

KEY = "a-key-that-must-not-be-told"
SECRET = "the launch code is seven"
TEXTS = [SECRET, "tide", "wind"]
Make = Callable[..., HttpReranker]


@pytest.fixture
def server() -> Iterator[RerankServer]:
    with running_rerank_server() as running:
        yield running


@pytest.fixture(params=get_args(Style))
def style(request: pytest.FixtureRequest) -> Style:
    chosen: Style = request.param
    return chosen


@pytest.fixture
def reranker(server: RerankServer, style: Style) -> Iterator[HttpReranker]:
    headers = {"Authorization": f"Bearer {KEY}"}
    base_url = server.base_url(style)
    with httpx.Client(base_url=base_url, headers=headers, trust_env=False) as client:
        yield HttpReranker(Remote(client, "rerank", "remote", retry=RETRY), style)


def failure(reranker: HttpReranker, texts: list[str] = TEXTS) -> CitewiseError:
    with pytest.raises(CitewiseError) as caught:
        reranker.scores("what is the code", texts)
    message = str(caught.value)
    assert len(message) < 200
    assert KEY not in message
    assert SECRET not in message
    return caught.value


SENT = {
    "cohere": {"model": "remote", "query": "tide", "documents": ["a", "b"], "top_n": 2},
    "jina": {"model": "remote", "query": "tide", "documents": ["a", "b"], "top_n": 2, "return_documents": False},
    "tei": {"query": "tide", "texts": ["a", "b"], "raw_scores": False, "truncate": True},
}


def test_a_server_is_asked_in_its_own_style(reranker: HttpReranker, server: RerankServer, style: Style) -> None:
    reranker.scores("tide", ["a", "b"])
    (asked,) = server.asked
    assert asked.style == style
    assert asked.sent == SENT[style]
    assert asked.headers["Authorization"] == f"Bearer {KEY}"


def test_no_texts_ask_nothing(reranker: HttpReranker, server: RerankServer) -> None:
    assert reranker.scores("tide", []) == ()
    assert server.asked == []


def scoring(*numbers: float) -> Callable[[Asked], Reply]:
    """An answer of these numbers, under the name of either protocol."""
    rows = [{"index": at, "score": number, "relevance_score": number} for at, number in enumerate(numbers)]
    return lambda asked: with_rows(asked, rows)


def test_numbers_that_are_no_scores_are_not_guessed_at(reranker: HttpReranker, server: RerankServer) -> None:
    server.rule = scoring(3.0, 3.0, 3.0)
    with pytest.raises(Unavailable, match=r"set rerank\.scores to logits"):
        reranker.scores("tide", TEXTS)


def test_logits_go_through_a_sigmoid_where_the_settings_say_so(server: RerankServer, style: Style) -> None:
    server.rule = scoring(0.5, -3.0, 800.0)
    with httpx.Client(base_url=server.base_url(style), trust_env=False) as client:
        reranker = HttpReranker(Remote(client, "rerank", "remote", retry=RETRY), style, are_logits=True)
        scores = reranker.scores("tide", TEXTS)
    assert scores == pytest.approx([1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(3.0)), 1.0])


def test_texts_that_are_sent_back_are_no_harm(reranker: HttpReranker, server: RerankServer) -> None:
    texts = ["tide " * 20_000, "wind " * 20_000]
    server.rule = lambda asked: with_rows(
        asked, [{**row, "document": {"text": text}} for row, text in zip(rows_for(asked), asked.texts, strict=True)]
    )
    assert reranker.scores("tide", texts) == (1.0, 0.0)


def first_spoiled(**changes: object) -> Callable[[Asked], Reply]:
    """The right answer but for its first row; None takes a value away."""

    def answer(asked: Asked) -> Reply:
        first, *rest = rows_for(asked)
        if "any" in changes:
            first = {key: value if key == "index" else changes["any"] for key, value in first.items()}
        else:
            first = {**first, **changes}
        return with_rows(asked, [{key: value for key, value in first.items() if value is not None}, *rest])

    return answer


LIES: dict[str, Reply | Callable[[Asked], Reply]] = {
    "too few": lambda asked: with_rows(asked, rows_for(asked)[:-1]),
    "too many": lambda asked: with_rows(asked, [*rows_for(asked), *rows_for(asked)]),
    "the same index twice": first_spoiled(index=2),
    "an index out of range": first_spoiled(index=3),
    "a negative index": first_spoiled(index=-1),
    "no index": first_spoiled(index=None),
    "an index that is true": first_spoiled(index=True),
    "an index that is text": first_spoiled(index="0"),
    "NaN": first_spoiled(any=math.nan),
    "infinity": first_spoiled(any=math.inf),
    "a number beyond floats": first_spoiled(any=10**400),
    "a score that is text": first_spoiled(any="0.5"),
    "a score that is true": first_spoiled(any=True),
    "no score": first_spoiled(any=None),
    "rows that are numbers": lambda asked: with_rows(asked, [0.1, 0.2, 0.3]),
    "null": as_json(None),
    "another shape": as_json({"data": [{"index": 0, "score": 0.5}]}),
    "a web page": Reply(body=b"<html><body>Sign in to the hotel</body></html>", headers={"Content-Type": "text/html"}),
    "nothing": Reply(body=b""),
    "no text": Reply(body=b"\xff\xfe\x00{"),
    "a deep nest": Reply(body=b"[" * 100_000),
    "broken compression": Reply(body=b"not gzip", headers={"Content-Encoding": "gzip"}),
    "a huge body": lambda asked: Reply(body=well(asked).body + b" " * 2_000_000),
    "a refusal": Reply(422, json.dumps({"error": f"cannot take {SECRET} with {KEY}"}).encode()),
    "a dead line": Reply(closes=True),
    "too many requests": Reply(429, headers={"Retry-After": "3600"}),
    "a crash": Reply(500, SECRET.encode()),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_server_that_lies_or_fails_is_unavailable(reranker: HttpReranker, server: RerankServer, lie: str) -> None:
    server.script = [LIES[lie]] * 2
    assert isinstance(failure(reranker), Unavailable)


@pytest.mark.parametrize(
    "slow",
    [Reply(hangs=True), Reply(drips=True), Reply(drips_headers=True)],
    ids=["silence", "drops", "drops of headers"],
)
@pytest.mark.parametrize("timeout", [0.5, None], ids=["client gives up", "deadline passes"])
def test_a_slow_server_is_left_behind(server: RerankServer, slow: Reply, timeout: float | None) -> None:
    server.rule = lambda _: slow
    with httpx.Client(base_url=server.base_url("tei"), timeout=timeout, trust_env=False) as client:
        started = time.monotonic()
        error = failure(HttpReranker(Remote(client, "rerank", "", retry=RETRY), "tei", deadline_seconds=0.5))
    assert isinstance(error, Unavailable)
    assert "in time" in str(error)
    assert time.monotonic() - started < HANG_SECONDS / 2
    assert len(server.asked) == 1


def test_passing_trouble_is_tried_once_more_and_lasting_trouble_no_more(
    reranker: HttpReranker, server: RerankServer
) -> None:
    server.script = [Reply(503)]
    assert reranker.scores("tide", TEXTS) == (0.0, 1.0, 0.0)
    server.rule = lambda _: Reply(503)
    assert "503" in str(failure(reranker))
    assert len(server.asked) == 2 + 2


def test_the_deadline_covers_all_requests_of_a_call(server: RerankServer) -> None:
    server.script = [lambda asked: with_rows(asked, rows_for(asked)), Reply(hangs=True)]
    with httpx.Client(base_url=server.base_url("tei"), timeout=30, trust_env=False) as client:
        reranker = HttpReranker(Remote(client, "rerank", "", retry=RETRY), "tei", deadline_seconds=1.0)
        started = time.monotonic()
        assert "in time" in str(failure(reranker, ["a"] * 40))
    assert time.monotonic() - started < HANG_SECONDS / 2
    assert [len(asked.texts) for asked in server.asked] == [32, 8]


def test_a_path_that_the_server_does_not_know_is_for_the_operator(server: RerankServer) -> None:
    with httpx.Client(base_url=server.base_url("tei") + "/v9", trust_env=False) as client:
        error = failure(HttpReranker(Remote(client, "rerank", "m", retry=RETRY), "cohere"))
    assert isinstance(error, Misconfigured)
    assert "rerank.base_url" in str(error)
