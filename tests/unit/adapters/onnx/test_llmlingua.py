"""LLMLingua-2 on a small real model: which words go, what goes with them, and which models are refused."""

import math
import shutil
from pathlib import Path

import pytest

from citewise.adapters.onnx.llmlingua import LlmLingua2
from citewise.errors import Misconfigured, Unavailable
from tests.compressing import a_wide_context, evidence_of
from tests.fakes.counters import WordCounter
from tests.fakes.tiny_token_classifier import write_tiny_token_classifier

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


def test_a_model_may_lie_in_a_folder_of_its_own_as_on_the_hub(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    shutil.copy(folder / "model.onnx", tmp_path / "onnx")
    shutil.copy(folder / "tokenizer.json", tmp_path)
    assert left(LlmLingua2(tmp_path, WordCounter()), f"{FIRST} {SECOND}", 20).endswith("not moved 12 men")


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_its_files_says_which_and_what_to_do(folder: Path, tmp_path: Path, missing: str) -> None:
    for name in {"model.onnx", "tokenizer.json"} - {missing}:
        shutil.copy(folder / name, tmp_path)
    with pytest.raises(Misconfigured, match=rf"compressing model folder .* no {missing}.* Export the model"):
        LlmLingua2(tmp_path, WordCounter())


def test_a_model_with_three_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"shape \(1, 512, 3\).*token classification"):
        LlmLingua2(write_tiny_token_classifier(tmp_path, labels=3), WordCounter())


def test_a_window_that_the_model_does_not_see_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"cannot take 512 tokens"):
        LlmLingua2(write_tiny_token_classifier(tmp_path, tokens=64), WordCounter())


def test_a_model_that_gives_no_number_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no numbers"):
        LlmLingua2(write_tiny_token_classifier(tmp_path, sure=math.nan), WordCounter())
