"""The ONNX reranker on a small real model: how pairs are cut, what is refused, what other exports look like."""

import math
import shutil
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from citewise.adapters.onnx.reranker import OnnxReranker
from citewise.adapters.onnx.wordpiece import uncased_tokenizer
from citewise.errors import Misconfigured, Unavailable
from tests.fakes.tiny_cross_encoder import tiny_cross_encoder, write_tiny_cross_encoder

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


def with_model(folder: Path, target: Path, model: bytes) -> Path:
    shutil.copy(folder / "tokenizer.json", target)
    (target / "model.onnx").write_bytes(model)
    return target


def test_scores_are_the_logits_through_a_sigmoid(folder: Path) -> None:
    best, worst = OnnxReranker(folder).scores("gauge tide", ["a gauge of the tide", "bread"])
    assert best == pytest.approx(1 / (1 + math.exp(-4.0)), abs=1e-6)
    assert worst == pytest.approx(1 / (1 + math.exp(4.0)), abs=1e-6)


@pytest.mark.parametrize(("scale", "expected"), [(1e30, 1.0), (-1e30, 0.0)])
def test_the_sigmoid_overflows_at_neither_end(
    folder: Path, tmp_path: Path, tokenizer: Tokenizer, scale: float, expected: float
) -> None:
    reranker = OnnxReranker(with_model(folder, tmp_path, tiny_cross_encoder(tokenizer, scale=scale)))
    assert reranker.scores("tide", ["tide"]) == pytest.approx([expected])


def test_two_labels_score_as_one_does(folder: Path, tmp_path: Path, tokenizer: Tokenizer) -> None:
    two = OnnxReranker(with_model(folder, tmp_path, tiny_cross_encoder(tokenizer, labels=2)))
    assert two.scores(QUESTION, TEXTS) == pytest.approx(OnnxReranker(folder).scores(QUESTION, TEXTS), abs=1e-6)


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


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_its_files_says_which_and_what_to_do(folder: Path, tmp_path: Path, missing: str) -> None:
    for name in {"model.onnx", "tokenizer.json"} - {missing}:
        shutil.copy(folder / name, tmp_path)
    with pytest.raises(Misconfigured, match=rf"reranking model folder .* no {missing}.* Export the model"):
        OnnxReranker(tmp_path)


def test_a_model_with_three_labels_is_refused(folder: Path, tmp_path: Path, tokenizer: Tokenizer) -> None:
    with pytest.raises(Misconfigured, match=r"shape \(1, 3\).*sequence classification"):
        OnnxReranker(with_model(folder, tmp_path, tiny_cross_encoder(tokenizer, labels=3)))


def test_a_model_that_gives_no_number_is_unavailable(folder: Path, tmp_path: Path, tokenizer: Tokenizer) -> None:
    with pytest.raises(Unavailable, match="nan"):
        OnnxReranker(with_model(folder, tmp_path, tiny_cross_encoder(tokenizer, scale=math.nan)))


def test_a_window_that_the_model_does_not_see_is_refused_when_it_is_opened(
    folder: Path, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    with pytest.raises(Misconfigured, match=r"cannot take 128 tokens.*rerank\.window_tokens"):
        OnnxReranker(with_model(folder, tmp_path, tiny_cross_encoder(tokenizer, tokens=64)))


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
def test_a_broken_file_is_refused(folder: Path, tmp_path: Path, broken: str) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / broken).write_text("not what it should be")
    with pytest.raises(Misconfigured, match="cannot"):
        OnnxReranker(tmp_path / "copy")
