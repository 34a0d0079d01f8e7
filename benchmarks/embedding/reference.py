"""all-MiniLM-L6-v2 in fp32 and plain numpy: what graphs are compared with where no PyTorch is."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.embedding.batching import Floats

LAYERS, HEADS = 6, 12


@dataclass(frozen=True, slots=True)
class Reference:
    """The model by its published weights."""

    weights: dict[str, Floats]

    @staticmethod
    def read(file: Path) -> "Reference":
        content = file.read_bytes()
        start = 8 + int.from_bytes(content[:8], "little")
        found = {}
        for name, entry in json.loads(content[8:start]).items():
            if entry.get("dtype") == "F32":
                first, last = (start + offset for offset in entry["data_offsets"])
                found[name] = np.frombuffer(content[first:last], "<f4").reshape(entry["shape"])
        return Reference(found)

    def vector(self, ids: Sequence[int]) -> Floats:
        """The unit vector of one text, special tokens included in `ids`."""
        table = "embeddings.{}_embeddings.weight".format
        rows = self.weights[table("word")][list(ids)] + self.weights[table("position")][: len(ids)]
        rows = self._normalized("embeddings", rows + self.weights[table("token_type")][0])
        for layer in range(LAYERS):
            rows = self._layer(f"encoder.layer.{layer}", rows)
        mean = rows.mean(axis=0)
        unit: Floats = mean / np.linalg.norm(mean)
        return unit

    def _layer(self, name: str, rows: Floats) -> Floats:
        parts = (self._linear(f"{name}.attention.self.{part}", rows) for part in ("query", "key", "value"))
        query, key, value = (part.reshape(len(rows), HEADS, -1).swapaxes(0, 1) for part in parts)
        scores = query @ key.swapaxes(1, 2) / np.sqrt(np.float32(query.shape[2]))
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = (shares / shares.sum(axis=2, keepdims=True)) @ value
        mixed = self._linear(f"{name}.attention.output.dense", mixed.swapaxes(0, 1).reshape(rows.shape))
        rows = self._normalized(f"{name}.attention.output", rows + mixed)
        hidden = gelu(self._linear(f"{name}.intermediate.dense", rows))
        return self._normalized(f"{name}.output", rows + self._linear(f"{name}.output.dense", hidden))

    def _linear(self, name: str, rows: Floats) -> Floats:
        return rows @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normalized(self, name: str, rows: Floats) -> Floats:
        centered = rows - rows.mean(axis=1, keepdims=True)
        spread = np.sqrt((centered**2).mean(axis=1, keepdims=True) + np.float32(1e-12))
        gain, bias = (self.weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        scaled: Floats = centered / spread * gain + bias
        return scaled


def gelu(values: Floats) -> Floats:
    """x · Φ(x), with erf by Abramowitz and Stegun 7.1.26 (error under 2e-7)."""
    size = np.abs(values) / np.sqrt(np.float32(2))
    part = 1 / (1 + np.float32(0.3275911) * size)
    series = np.zeros_like(values)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(factor)) * part
    erf = np.sign(values) * (1 - series * np.exp(-size * size))
    result: Floats = values * (1 + erf) / 2
    return result
