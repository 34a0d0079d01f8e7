"""Models that run here, in onnxruntime."""

import os

from citewise.model.chunk import EmbeddingModel
from citewise.text.scripts import UNSPACED

# Read when onnxruntime is loaded, which would otherwise write a device id into the cache folder.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

# The model that is shipped. Equal names mean equal vectors: another graph (tools/prepare_minilm.py) has another name.
# Its vocabulary has some characters of the scripts without blanks, and it was trained on English alone.
MINILM = EmbeddingModel(name="all-MiniLM-L6-v2/q8-3", dimensions=384, window_tokens=256, unread=UNSPACED)
