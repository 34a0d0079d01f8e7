"""A compressor is loaded by the first question that needs it, and what is wrong with it fails none."""

from pathlib import Path

import pytest

from citewise.model.answer import Context
from citewise.settings import Settings
from citewise.wiring_models import compress_of
from tests.compressing import PACK, a_wide_context, evidence_of, grounds_of
from tests.fakes.counters import WordCounter
from tests.fakes.tiny_token_classifier import write_tiny_token_classifier

TEXT = "The gauge is read at noon. Then it is to be moved to the quay by all of them."


def answering(folder: Path) -> Settings:
    answer = {"compression": "llmlingua", "compressed_tokens": 50, "compression_path": str(folder)}
    return Settings().changed(answer=answer)


def compressed(settings: Settings) -> tuple[Context, tuple[str, ...]]:
    context = a_wide_context((TEXT + " Gulls rest on the pier." * 20, 0.9))
    grounds = grounds_of(evidence_of(context, {"noon": 0.9}))
    made = compress_of(settings, WordCounter())("?", context, grounds, pack=PACK)
    assert made is not None
    context, _, degraded = made
    return context, degraded


def test_the_model_in_the_folder_that_is_set_compresses(tmp_path: Path) -> None:
    context, degraded = compressed(answering(write_tiny_token_classifier(tmp_path)))
    assert degraded == ()
    assert "The gauge is read at noon. moved quay" in context.text
    assert 45 < context.tokens <= 50


def test_a_folder_without_a_model_degrades_a_question_and_fails_none(tmp_path: Path) -> None:
    context, degraded = compressed(answering(tmp_path / "empty"))
    assert "has no model.onnx" in degraded[0]
    assert "sentences were chosen instead" in degraded[0]
    assert "The gauge is read at noon." in context.text


@pytest.mark.parametrize("compression", ["none", "extractive"])
def test_sentences_are_chosen_without_any_model(compression: str) -> None:
    settings = Settings().changed(answer={"compression": compression, "compressed_tokens": 77})
    made = compress_of(settings, WordCounter())
    assert (made.compressor, made.is_on, made.tokens) == (None, compression == "extractive", 77)
