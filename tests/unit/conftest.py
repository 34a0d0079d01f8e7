"""Parts that several of these tests need."""

from pathlib import Path

import pytest

from citewise.adapters.onnx import minilm
from citewise.adapters.onnx.embedder import OnnxEmbedder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder for prepared models."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def embedder(cache: Path) -> OnnxEmbedder:
    """The built-in model with its real weights."""
    return minilm.load(cache).embedder
