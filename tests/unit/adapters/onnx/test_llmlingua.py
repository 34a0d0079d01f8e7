"""LLMLingua-2 on a small real model: which words go, what goes with them, and which models are refused."""

import math
from pathlib import Path
from typing import Any

import pytest

from citewise.adapters.onnx.llmlingua import LlmLingua2
from citewise.errors import Misconfigured, Unavailable
from tests.contexts import a_wide_context, evidence_of
from tests.fakes.counters import WordCounter
from tests.fakes.tiny_models import write_tiny_token_classifier

FIRST = "The gauge is read at noon."
SECOND = "Then it is not to be moved by any of the 12 men who are on the quay."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_token_classifier(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def compressor(folder: Path) -> LlmLingua2:
    return LlmLingua2(folder, WordCounter())


def left(compressor: LlmLingua2, text: str, tokens: int) -> str:
    context = a_wide_context((text, 0.9))
    evidence = evidence_of(context, {FIRST: 0.9})
    (shortened,) = compressor.shortened("?", context.sources, evidence, wanted_tokens=tokens, max_tokens=tokens)
    return shortened.text


def test_words_go_by_what_the_model_says_and_the_best_sentence_stays(compressor: LlmLingua2) -> None:
    assert left(compressor, f"{FIRST} {SECOND}", 20) == f"{FIRST} not moved 12 men"
    assert left(compressor, f"{FIRST} {SECOND}", 99) == f"{FIRST} {SECOND}"


def test_numbers_and_negations_go_with_their_sentence(compressor: LlmLingua2) -> None:
    thinned = [left(compressor, f"{FIRST} It isn't 7 of us who moved.", tokens) for tokens in range(17, 30)]
    moved = [text for text in thinned if "moved" in text and "who" not in text]
    assert moved
    assert all("isn't 7" in text for text in moved)


def test_marks_of_a_list_stay_with_its_items(compressor: LlmLingua2) -> None:
    assert left(compressor, f"{FIRST}\n\n- to the quay\n- to the pier", 20) == f"{FIRST}\n\n- quay\n- pier"


def test_a_sentence_of_which_nothing_is_left_becomes_a_mark(compressor: LlmLingua2) -> None:
    assert left(compressor, f"{FIRST}\n\n- to the quay\n- to the pier", 17) == f"{FIRST}\n\n\u2026"


def test_a_text_longer_than_the_window_is_read_to_its_end(folder: Path) -> None:
    text = f"{FIRST} " + " ".join(f"It is at the quay{at}." for at in range(40))
    narrow, wide = (LlmLingua2(folder, WordCounter(), window_tokens=window) for window in (16, 512))
    assert left(narrow, text, 140) == left(wide, text, 140)
    assert "quay39" in left(narrow, text, 140)


@pytest.mark.parametrize(
    ("variant", "error", "said"),
    [
        ({"labels": 3}, Misconfigured, r"shape \(1, 512, 3\).*token classification"),
        ({"tokens": 64}, Misconfigured, "cannot take 512 tokens"),
        ({"sure": math.nan}, Unavailable, "no numbers"),
    ],
    ids=["three labels", "a window that the model does not see", "no number"],
)
def test_a_model_that_cannot_compress_is_refused_when_it_is_opened(
    tmp_path: Path, variant: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        LlmLingua2(write_tiny_token_classifier(tmp_path, **variant), WordCounter())
