"""Parts that several of these tests need."""

import pytest

from citewise.adapters.onnx import minilm
from citewise.adapters.onnx.embedder import OnnxEmbedder


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    """The built-in model with its real weights."""
    return minilm.MiniLm()
