"""The embedder for OpenAI-compatible servers, against a real server that behaves well or badly."""

import json
import logging
import math
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from threading import Barrier
from typing import Any

import httpx
import pytest

from citewise.adapters.http import Breaker, Remote
from citewise.adapters.openai.embedder import RETRY, OpenAIEmbedder
from citewise.errors import Misconfigured, Unavailable
from citewise.model.chunk import EmbeddingModel, Vector
from tests.fakes.embedding_server import (
    DIMENSIONS,
    Asked,
    EmbeddingServer,
    Reply,
    numbers_for,
    rows_for,
    running_server,
    well,
    with_rows,
)

pytestmark = pytest.mark.server

KEY = "a-key-that-must-not-be-told"
Waits = list[float]
Make = Callable[..., OpenAIEmbedder]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with running_server() as running:
        yield running


@pytest.fixture
def make(server: EmbeddingServer, waits: Waits) -> Iterator[Make]:
    headers = {"Authorization": f"Bearer {KEY}"}
    with (
        httpx.Client(base_url=server.url, headers=headers, timeout=30.0, trust_env=False) as client,
        ExitStack() as pools,  # joined before the client is closed: a request must not outlive it
    ):

        def embedder_with(**options: Any) -> OpenAIEmbedder:
            model = EmbeddingModel("test", DIMENSIONS, 8191)
            tries, jitter = options.pop("tries", 3), options.pop("jitter", lambda: 1.0)
            retry = replace(RETRY, tries=tries, sleep=waits.append, jitter=jitter)
            remote = Remote(client, "embedding", "remote", retry=retry, breaker=options.pop("breaker", Breaker()))
            threads = pools.enter_context(ThreadPoolExecutor(options.pop("concurrency", 1)))
            return OpenAIEmbedder(remote, model, threads=threads, **options)

        yield embedder_with


def texts_of(count: int) -> list[str]:
    return [f"text number {number}" for number in range(count)]


def numbers_in(vector: Vector | Unavailable) -> tuple[float, ...]:
    assert not isinstance(vector, Unavailable), vector
    return struct.unpack(f"<{DIMENSIONS}f", vector)


def right(text: str) -> Any:
    numbers = numbers_for(text)
    length = math.hypot(*numbers)
    return pytest.approx([number / length for number in numbers], abs=1e-6)


def reason_of(outcome: Vector | Unavailable) -> str:
    assert isinstance(outcome, Unavailable)
    return str(outcome)


def test_texts_get_unit_vectors_in_their_order(make: Make) -> None:
    texts = texts_of(7)
    for text, vector in zip(texts, make().documents(texts), strict=True):
        assert numbers_in(vector) == right(text)
        assert math.hypot(*numbers_in(vector)) == pytest.approx(1.0, abs=1e-6)


def test_a_hundred_texts_go_in_one_request(make: Make, server: EmbeddingServer) -> None:
    outcomes = make().documents(texts_of(250))
    assert [len(asked.texts) for asked in server.asked] == [100, 100, 50]
    assert {asked.model for asked in server.asked} == {"remote"}
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"
    assert numbers_in(outcomes[249]) == right("text number 249")


def test_nothing_to_embed_asks_nothing(make: Make, server: EmbeddingServer) -> None:
    assert make().documents(()) == ()
    assert server.asked == []


def test_an_empty_text_fails_and_spoils_no_other(make: Make) -> None:
    empty, good = make().documents([" \n", "good"])
    assert reason_of(empty) == "the text is empty"
    assert numbers_in(good) == right("good")


def test_two_batches_are_on_their_way_at_once(make: Make, server: EmbeddingServer) -> None:
    both = Barrier(2, timeout=5)

    def together(asked: Asked) -> Reply:
        both.wait()
        return well(asked)

    server.rule = together
    outcomes = make(batch_size=2, concurrency=2).documents(texts_of(4))
    assert [numbers_in(outcome) for outcome in outcomes] == [right(text) for text in texts_of(4)]


def test_vectors_are_put_in_order_by_their_index(make: Make, server: EmbeddingServer) -> None:
    server.rule = lambda asked: with_rows(rows_for(asked.texts)[::-1])
    first, *_, last = make().documents(texts_of(5))
    assert (numbers_in(first), numbers_in(last)) == (right("text number 0"), right("text number 4"))


def test_a_server_that_gives_no_index_keeps_the_order(make: Make, server: EmbeddingServer) -> None:
    server.rule = lambda asked: with_rows([{"embedding": numbers_for(text)} for text in asked.texts])
    assert numbers_in(make().documents(texts_of(3))[2]) == right("text number 2")


def test_a_stray_surrogate_reaches_the_server(make: Make, server: EmbeddingServer) -> None:
    assert numbers_in(make().documents(["a \ud800 b"])[0]) == right("a \ud800 b")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(503), "the embedding server answered 503, tries: 3"),
        (Reply(closes=True), "cannot be reached (RemoteProtocolError); check embedding.base_url, tries: 3"),
    ],
)
def test_a_batch_that_fails_three_times_fails_alone(
    make: Make, server: EmbeddingServer, reply: Reply, reason: str
) -> None:
    server.rule = lambda asked: reply if "text number 2" in asked.texts else well(asked)
    outcomes = make(batch_size=2).documents(texts_of(6))
    assert all(reason_of(outcome).endswith(reason) for outcome in outcomes[2:4])
    for at in (0, 1, 4, 5):
        assert numbers_in(outcomes[at]) == right(f"text number {at}")
    assert len(server.asked) == 2 + 3


def test_a_dead_server_does_not_cost_every_batch_its_tries(make: Make, server: EmbeddingServer) -> None:
    server.rule = lambda asked: Reply(500)
    breaker = Breaker("the embedding server", max_failures=2)
    outcomes = make(batch_size=1, breaker=breaker).documents(texts_of(5))
    assert len(server.asked) == 3 + 3
    assert "failed 2 times in a row: circuit breaker open" in reason_of(outcomes[4])


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_batch_is_halved_until_only_the_refused_text_fails(
    make: Make, server: EmbeddingServer, status: int
) -> None:
    body = json.dumps({"error": {"message": "input is too long"}}).encode()
    server.rule = lambda asked: Reply(status, body) if "text number 13" in asked.texts else well(asked)
    outcomes = make().documents(texts_of(64))
    failed = [at for at, outcome in enumerate(outcomes) if isinstance(outcome, Unavailable)]
    assert failed == [13]
    assert reason_of(outcomes[13]) == f"the embedding server answered {status} (input is too long)"
    assert len(server.asked) == 1 + 2 * 6


def test_a_server_that_refuses_every_text_is_misconfigured(make: Make, server: EmbeddingServer) -> None:
    server.rule = lambda asked: Reply(400)
    with pytest.raises(Misconfigured, match=r"refuses every text .* check embedding\.model"):
        make().documents(texts_of(300))
    assert len(server.asked) < 2 * 199  # one batch tells; at most another has begun


def test_what_a_server_says_is_not_repeated_when_it_holds_the_text(make: Make, server: EmbeddingServer) -> None:
    secret = "the launch code is written here"
    server.rule = lambda asked: Reply(400, json.dumps({"error": {"message": f"bad: {secret}"}}).encode())
    assert reason_of(make().documents([secret])[0]) == "the embedding server answered 400"


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "embedding.api_key_variable"),
        (403, "embedding.api_key_variable"),
        (404, "embedding.model"),
        (301, "embedding.base_url"),
        (405, "embedding.base_url"),
    ],
)
def test_wrong_settings_say_which_and_never_the_key(
    make: Make, server: EmbeddingServer, status: int, advice: str
) -> None:
    server.rule = lambda asked: Reply(status, f'{{"error": {{"message": "bad key {KEY}"}}}}'.encode())
    with pytest.raises(Misconfigured, match=f"answered {status}") as raised:
        make(concurrency=2, batch_size=1).documents(texts_of(9))
    assert advice in str(raised.value)
    assert KEY not in str(raised.value)


def test_wrong_dimensions_are_a_wrong_setting(make: Make, server: EmbeddingServer) -> None:
    server.rule = lambda asked: with_rows(rows_for(asked.texts, dimensions=16))
    with pytest.raises(Misconfigured, match=r"16 dimensions, the settings say 8: .*embedding\.dimensions"):
        make().documents(texts_of(3))


BAD_VECTORS: list[tuple[object, str]] = [
    ([1.0] * 5, "5 dimensions instead of 8"),
    ([], "0 dimensions instead of 8"),
    (["1.0"] * 8, "something else than numbers"),
    ([True] * 8, "something else than numbers"),
    ([None] * 8, "something else than numbers"),
    ("AAAA", "something else than numbers"),
    (None, "something else than numbers"),
    ([0.0] * 8, "without a direction"),
    ([math.nan] + [1.0] * 7, "without a direction"),
    ([math.inf] + [1.0] * 7, "without a direction"),
    ([10**400] + [1] * 7, "without a direction"),
]


@pytest.mark.parametrize(
    ("vector", "reason"), BAD_VECTORS, ids=[f"{reason}-{at}" for at, (_, reason) in enumerate(BAD_VECTORS)]
)
def test_a_bad_vector_fails_its_text_and_no_other(
    make: Make, server: EmbeddingServer, vector: object, reason: str
) -> None:
    server.rule = lambda asked: with_rows([*rows_for(asked.texts)[:2], {"index": 2, "embedding": vector}])
    first, second, third = make().documents(texts_of(3))
    assert (numbers_in(first), numbers_in(second)) == (right("text number 0"), right("text number 1"))
    assert reason in reason_of(third)
    assert len(server.asked) == 1


def test_very_large_and_very_small_numbers_still_have_a_direction(make: Make, server: EmbeddingServer) -> None:
    vectors = ([1e300] * 8, [1e-300] * 8, [3] * 8)
    server.rule = lambda asked: with_rows([{"index": at, "embedding": each} for at, each in enumerate(vectors)])
    for outcome in make().documents(texts_of(3)):
        assert numbers_in(outcome) == pytest.approx([8**-0.5] * 8)


def rows(**changes: object) -> Reply:
    return with_rows([{**row, **changes} for row in rows_for(texts_of(3))])


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (with_rows(rows_for(texts_of(2))), "returned 2 results for 3 texts"),
        (with_rows(rows_for(texts_of(4))), "returned 4 results for 3 texts"),
        (with_rows([]), "returned 0 results for 3 texts"),
        (rows(index=0), "invalid indexes"),
        (rows(index="0"), "invalid indexes"),
        (rows(index=[1]), "invalid indexes"),
        (rows(index=True), "invalid indexes"),
        (with_rows([[1.0]] * 3), "no list of results"),
        (with_rows({"0": 1}), "no list of results"),
        (Reply(body=b"[]"), "no list of results"),
        (Reply(body=b"<html>sign in</html>"), "not JSON"),
        (Reply(body=b""), "not JSON"),
        (Reply(body=b"\xff\xfe\xfd"), "not JSON"),
        (Reply(body=b"[" * 60_000), "not JSON"),
        (Reply(body=b'{"data":' + b"1" * 50_000 + b"}"), "not JSON"),
        (Reply(body=b" " * 3_000_000), "more than"),
        (Reply(body=b"no gzip", headers={"Content-Encoding": "gzip"}), "broken answer (DecodingError)"),
    ],
)
def test_an_answer_that_makes_no_sense_fails_its_batch_at_once(
    make: Make, server: EmbeddingServer, reply: Reply, reason: str
) -> None:
    server.rule = lambda asked: reply
    outcomes = make().documents(texts_of(3))
    assert [reason in reason_of(outcome) for outcome in outcomes] == [True] * 3
    assert len(server.asked) == 1


def test_every_word_of_a_long_text_is_sent(make: Make, server: EmbeddingServer) -> None:
    words = [f"w{number}" for number in range(500)]
    make(max_input_chars=90).documents([" \n".join(words)])
    pieces = [piece for asked in server.asked for piece in asked.texts]
    assert [word for piece in pieces for word in piece.split()] == words
    assert max(map(len, pieces)) <= 90


def test_a_long_word_is_cut_rather_than_lost(make: Make, server: EmbeddingServer) -> None:
    make(max_input_chars=10).documents(["x" * 25 + " tail"])
    assert server.asked[0].texts == ("x" * 10, "x" * 10, "xxxxx tail")


def test_the_vector_of_a_long_text_is_the_mean_of_its_windows_by_length(make: Make) -> None:
    long, short = "a" * 10, "b" * 5
    (vector,) = make(max_input_chars=10).documents([f"{long} {short}"])
    units = [[number / math.hypot(*numbers_for(text)) for number in numbers_for(text)] for text in (long, short)]
    mean = [10 * first + 5 * second for first, second in zip(*units, strict=True)]
    assert numbers_in(vector) == pytest.approx([number / math.hypot(*mean) for number in mean], abs=1e-6)


def test_a_long_text_fails_whole_when_one_window_does(make: Make, server: EmbeddingServer) -> None:
    server.rule = lambda asked: Reply(400) if "bad" in asked.texts else well(asked)
    failed, good = make(max_input_chars=4).documents(["fine bad", "good"])
    assert reason_of(failed) == "the embedding server answered 400"
    assert numbers_in(good) == right("good")


def test_queries_and_documents_carry_their_own_prefix_in_every_window(make: Make, server: EmbeddingServer) -> None:
    embedder = make(query_prefix="query: ", document_prefix="passage: ", max_input_chars=13)
    embedder.documents(["aaaa bbbb"])
    embedder.query("why")
    assert [asked.texts for asked in server.asked] == [("passage: aaaa", "passage: bbbb"), ("query: why",)]


def test_a_query_gets_the_vector_of_its_text(make: Make) -> None:
    assert numbers_in(make().query("why")) == right("why")


def test_a_query_that_cannot_be_embedded_is_unavailable(make: Make, server: EmbeddingServer) -> None:
    server.rule = lambda asked: Reply(500)
    with pytest.raises(Unavailable, match="answered 500, tries: 2"):
        make().query("why")


def test_a_reader_does_not_wait_as_an_ingestion_does(make: Make, server: EmbeddingServer, waits: Waits) -> None:
    server.rule = lambda asked: Reply(429, headers={"Retry-After": "100"})
    with pytest.raises(Unavailable, match="ask again in 100 seconds"):
        make().query("why")
    (unit,) = make().for_readers().documents(["a unit of an answer's source"])
    assert "ask again in 100 seconds" in reason_of(unit)
    assert waits == []
    make().documents(["a chunk"])
    assert waits == [100.0, 100.0]


def test_neither_key_nor_text_is_logged(make: Make, server: EmbeddingServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.script = [Reply(500), Reply(429)]
    make().documents(["a private sentence"])
    assert KEY not in caplog.text
    assert "a private sentence" not in caplog.text
