"""all-MiniLM-L6-v2, which is shipped with citewise as a graph that tools/prepare_minilm.py makes."""

import hashlib
from importlib.resources import files
from pathlib import Path

from citewise.adapters.onnx import MINILM
from citewise.adapters.onnx.embedder import ADVICE, OnnxWordEmbedder
from citewise.adapters.onnx.runtime import TextModel, open_session
from citewise.adapters.onnx.wordpiece import uncased_tokenizer
from citewise.errors import Misconfigured

# Tokens a batch may hold; a longer window goes alone. At 1 every window does, which short ones pay for; at
# 1024 long ones pay, as a layer no longer fits the cache (benchmarks/embedding_graph.py, ADR 0004).
BATCH_TOKENS = 256
GRAPH = Path(str(files("citewise").joinpath("data", "minilm.onnx")))


def load(graph: Path = GRAPH) -> OnnxWordEmbedder:
    """The model, if its file is the one that the checksum beside it is of."""
    repair = "Install citewise again: pip install --force-reinstall --no-deps citewise"
    try:
        with graph.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise Misconfigured(f"The embedding model {graph} cannot be read: {error}. {repair}") from error
    expected = GRAPH.with_suffix(".sha256").read_text("ascii").strip()
    if found != expected:
        raise Misconfigured(f"The embedding model {graph} is damaged: its sha256 is {found}, not {expected}. {repair}")
    encoder = TextModel(open_session(graph, optimize=False), uncased_tokenizer(), title=MINILM.name, advice=ADVICE)
    return OnnxWordEmbedder(encoder, model=MINILM, batch_tokens=BATCH_TOKENS)
