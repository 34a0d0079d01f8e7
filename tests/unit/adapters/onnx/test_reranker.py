"""The ONNX reranker on a small real model: how pairs are cut, what is refused, what other exports look like."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from citewise.adapters.onnx.reranker import OnnxReranker
from citewise.adapters.onnx.wordpiece import uncased_tokenizer
from citewise.errors import Misconfigured, Unavailable
from tests.fakes.tiny_models import tiny_cross_encoder, write_tiny_cross_encoder

QUESTION = "how does the gauge measure the tide"
TEXTS = ["The gauge can measure every tide.", "A gauge stands on the pier.", "Bread needs flour."]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return uncased_tokenizer()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_tiny_cross_encoder(folder)
    return folder


@pytest.fixture
def opened(folder: Path, tmp_path: Path, tokenizer: Tokenizer) -> Callable[..., OnnxReranker]:
    """A reranker on a variant of the tiny model."""

    def opened(**variant: Any) -> OnnxReranker:
        shutil.copy(folder / "tokenizer.json", tmp_path)
        (tmp_path / "model.onnx").write_bytes(tiny_cross_encoder(tokenizer, **variant))
        return OnnxReranker(tmp_path)

    return opened


def test_scores_are_the_logits_through_a_sigmoid(folder: Path) -> None:
    best, worst = OnnxReranker(folder).scores("gauge tide", ["a gauge of the tide", "bread"])
    assert best == pytest.approx(1 / (1 + math.exp(-4.0)), abs=1e-6)
    assert worst == pytest.approx(1 / (1 + math.exp(4.0)), abs=1e-6)


@pytest.mark.parametrize(("scale", "expected"), [(1e30, 1.0), (-1e30, 0.0)])
def test_the_sigmoid_overflows_at_neither_end(
    opened: Callable[..., OnnxReranker], scale: float, expected: float
) -> None:
    assert opened(scale=scale).scores("tide", ["tide"]) == pytest.approx([expected])


def test_two_labels_score_as_one_does(folder: Path, opened: Callable[..., OnnxReranker]) -> None:
    one = OnnxReranker(folder).scores(QUESTION, TEXTS)
    assert opened(labels=2).scores(QUESTION, TEXTS) == pytest.approx(one, abs=1e-6)


def test_a_model_may_lie_in_a_folder_of_its_own_as_on_the_hub(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    shutil.copy(folder / "model.onnx", tmp_path / "onnx")
    shutil.copy(folder / "tokenizer.json", tmp_path)
    assert OnnxReranker(tmp_path).scores(QUESTION, TEXTS) == OnnxReranker(folder).scores(QUESTION, TEXTS)


def test_a_long_passage_is_read_up_to_the_window(folder: Path) -> None:
    reranker = OnnxReranker(folder, window_tokens=32)
    inside, outside, none = reranker.scores("tide", ["bread " * 20 + "tide", "bread " * 40 + "tide", "bread"])
    assert inside > outside == none


def test_a_long_question_leaves_half_the_window_to_the_passage(folder: Path) -> None:
    question = "tide " + "gauge " * 400
    reranker = OnnxReranker(folder, window_tokens=32)
    seen, unseen = reranker.scores(question, ["bread " * 13 + "tide", "bread " * 15 + "tide"])
    assert seen > unseen


def test_a_long_question_is_read_as_far_as_a_short_passage_leaves_room(folder: Path) -> None:
    question = "bread " * 20 + "tide"
    found, missed = OnnxReranker(folder, window_tokens=32).scores(question, ["tide", "wind"])
    assert found > missed


@pytest.mark.parametrize(
    ("variant", "error", "said"),
    [
        ({"labels": 3}, Misconfigured, r"shape \(1, 3\).*sequence classification"),
        ({"scale": math.nan}, Unavailable, "nan"),
        ({"tokens": 64}, Misconfigured, r"cannot take 128 tokens.*rerank\.window_tokens"),
    ],
    ids=["three labels", "no number", "a window that the model does not see"],
)
def test_a_model_that_cannot_rerank_is_refused_when_it_is_opened(
    opened: Callable[..., OnnxReranker], variant: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        opened(**variant)
