"""What every ONNX adapter shares: its files, the cores it may use, and threads that outlive a call."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from citewise.adapters.onnx import minilm
from citewise.adapters.onnx.embedder import OnnxEmbedder
from citewise.adapters.onnx.llmlingua import LlmLingua2
from citewise.adapters.onnx.reranker import OnnxReranker
from citewise.adapters.onnx.runtime import available_cores, open_session
from citewise.errors import Misconfigured, Unavailable
from tests.fakes.counters import WordCounter
from tests.fakes.tiny_models import write_tiny_cross_encoder

FILES = ("model.onnx", "tokenizer.json")
OPENED: dict[str, Callable[[Path], object]] = {
    "embedding": OnnxEmbedder.from_folder,
    "reranking": OnnxReranker,
    "compressing": lambda folder: LlmLingua2(folder, WordCounter()),
}
TEXTS = [f"text number {number} " + "word " * number for number in range(12)]


def test_a_platform_that_cannot_tell_its_affinity_uses_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert available_cores() == (os.cpu_count() or 1)


def test_models_run_where_the_platform_cannot_tell_its_affinity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert len(minilm.MiniLm().documents(TEXTS)) == len(TEXTS)
    write_tiny_cross_encoder(tmp_path)
    assert len(OnnxReranker(tmp_path).scores("text", TEXTS)) == len(TEXTS)


def test_threads_outlive_a_call() -> None:
    embedder = minilm.MiniLm()
    embedder.documents(TEXTS)
    before = set(threading.enumerate())
    embedder.documents(TEXTS)
    new = set(threading.enumerate()) - before
    assert len(new) <= available_cores()  # a pool starts its threads as work comes, and never more than cores
    assert any(thread.name.startswith("citewise-model") for thread in before)


@pytest.mark.parametrize("missing", FILES)
@pytest.mark.parametrize("purpose", OPENED)
def test_a_folder_without_its_files_says_which_and_what_to_do(tmp_path: Path, purpose: str, missing: str) -> None:
    for name in {*FILES} - {missing}:
        (tmp_path / name).write_text("{}")
    with pytest.raises(Misconfigured, match=rf"{purpose} model folder .* no {missing}.* Export the model"):
        OPENED[purpose](tmp_path)


@pytest.mark.parametrize(
    ("broken", "said"), [("model.onnx", "cannot open the model"), ("tokenizer.json", "tokenizer .* cannot be read")]
)
def test_a_file_that_is_not_what_it_should_be_is_refused(tmp_path: Path, broken: str, said: str) -> None:
    write_tiny_cross_encoder(tmp_path)
    (tmp_path / broken).write_text("not what it should be")
    with pytest.raises(Misconfigured, match=said):
        OnnxReranker(tmp_path)


def test_too_little_memory_is_not_the_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("[ONNXRuntimeError] : 6 : Exception during initialization: std::bad_alloc")

    monkeypatch.setattr("onnxruntime.InferenceSession", fail)
    with pytest.raises(Unavailable, match="not enough memory to open the model"):
        open_session(tmp_path / "model.onnx")
