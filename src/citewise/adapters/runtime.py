"""onnxruntime with its telemetry off before it is loaded: it would keep a device id and look up a server."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

onnxruntime.disable_telemetry_events()

__all__ = ["onnxruntime"]
