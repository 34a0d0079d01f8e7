"""What every reranker promises."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import httpx
import pytest

from citewise.adapters.http import Remote
from citewise.adapters.lazy import lazily
from citewise.adapters.onnx.reranker import OnnxReranker
from citewise.adapters.openai.reranker import RETRY, HttpReranker, Style
from citewise.ports.models import Reranker
from tests.fakes.rerank_server import running_rerank_server
from tests.fakes.tiny_models import write_tiny_cross_encoder

pytestmark = pytest.mark.server

QUESTION = "how does the gauge measure the tide"
RELEVANT = "The gauge can measure every tide to a centimeter."
PARTLY = "A gauge stands at the end of the pier."
UNRELATED = "Bread needs flour, water and patience."
LONG = "Bread needs flour. " * 400
TEXTS = [UNRELATED, RELEVANT, "", LONG, PARTLY, "naïve café 机器人 😀", RELEVANT]


@contextmanager
def http_reranker(style: Style) -> Iterator[Reranker]:
    with (
        running_rerank_server() as server,
        httpx.Client(base_url=server.base_url(style), trust_env=False) as client,
    ):
        yield HttpReranker(Remote(client, "rerank", "tiny", retry=RETRY), style)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_tiny_cross_encoder(folder)
    return folder


@pytest.fixture(params=["onnx", "lazy onnx", *get_args(Style)])
def reranker(request: pytest.FixtureRequest, folder: Path) -> Iterator[Reranker]:
    if request.param == "onnx":
        yield OnnxReranker(folder)
    elif request.param == "lazy onnx":
        yield lazily("tiny", lambda: OnnxReranker(folder), name="tiny")
    else:
        with http_reranker(request.param) as remote:
            yield remote


def test_each_text_gets_a_score_from_0_to_1_in_order(reranker: Reranker) -> None:
    scores = reranker.scores(QUESTION, TEXTS)
    assert len(scores) == len(TEXTS)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores[1] == scores[6] == max(scores)


def test_a_better_passage_scores_higher(reranker: Reranker) -> None:
    relevant, partly, unrelated = reranker.scores(QUESTION, [RELEVANT, PARTLY, UNRELATED])
    assert relevant > partly > unrelated


def test_neighbors_and_their_order_change_no_bit_of_a_score(reranker: Reranker) -> None:
    together = reranker.scores(QUESTION, TEXTS)
    assert together == tuple(reranker.scores(QUESTION, [text])[0] for text in TEXTS)
    assert together == reranker.scores(QUESTION, TEXTS[::-1])[::-1]


def test_many_texts_are_no_problem(reranker: Reranker) -> None:
    texts = [f"{RELEVANT} {number}" if number % 7 == 0 else f"{UNRELATED} {number}" for number in range(75)]
    scores = reranker.scores(QUESTION, texts)
    assert {number for number, score in enumerate(scores) if score > 0.5} == set(range(0, 75, 7))


def test_no_texts_give_no_scores(reranker: Reranker) -> None:
    assert reranker.scores(QUESTION, []) == ()


def test_half_a_surrogate_pair_is_read(reranker: Reranker) -> None:
    broken, mended = reranker.scores("the \ud83d tide", ["a \ud83d tide", "a ? tide"])
    assert broken == mended


def test_a_question_without_words_is_scored(reranker: Reranker) -> None:
    assert len(reranker.scores("", TEXTS)) == len(TEXTS)


def test_a_reranker_has_a_name(reranker: Reranker) -> None:
    assert reranker.name == "tiny"


def test_only_one_that_computes_in_this_process_says_so(reranker: Reranker) -> None:
    assert getattr(reranker, "is_local", False) is not isinstance(reranker, HttpReranker)
