"""Models that run here, in onnxruntime."""

import os

from citewise.model.chunk import EmbeddingModel

# Read when onnxruntime is loaded, which would otherwise write a device id into the cache folder.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

# The model that is shipped. Equal names mean equal vectors: another graph (tools/prepare_minilm.py) has another name.
# It was trained on English.
MINILM = EmbeddingModel(name="all-MiniLM-L6-v2/q8-3", dimensions=384, window_tokens=256, reads_cjk=False)
