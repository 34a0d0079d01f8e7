"""What every ONNX adapter shares: the cores it may use, and threads that outlive a call."""

import os
import threading
from pathlib import Path

import pytest

from citewise.adapters.onnx import minilm
from citewise.adapters.onnx.reranker import OnnxReranker
from citewise.adapters.onnx.runtime import available_cores
from tests.fakes.tiny_cross_encoder import write_tiny_cross_encoder

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
