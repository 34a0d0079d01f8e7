"""Models that run here, in onnxruntime."""

import os

# Read when onnxruntime is loaded, which would otherwise write a device id into the cache folder.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
