"""Question and passage through a cross-encoder in onnxruntime; the model comes from outside.

Each pair runs alone, one on every core: nothing is padded, and a dynamically quantized model, which has one scale per
batch, cannot let neighbors change a score. A batch would save nothing (MiniLM's packaged graph at 128 tokens: 45
CPU-ms per row alone, 44 in fours, 46 in eights).
"""

from collections.abc import Sequence
from math import exp, isfinite
from pathlib import Path

import numpy as np
from tokenizers import Encoding

from citewise.adapters.onnx.runtime import TextModel
from citewise.errors import Misconfigured, Unavailable
from citewise.text.encoding import well_formed


class OnnxReranker:
    """The port `Reranker` over one text model, whose tokenizer is its own; safe to share between threads.

    A pair longer than `window_tokens` loses the end of its passage; the question is cut only where it takes more than
    half.
    """

    def __init__(self, folder: Path, *, window_tokens: int = 128) -> None:
        """A trial fills the window, so that a model that does not fit is refused here and not at the first question."""
        advice = "Set rerank.window_tokens to what the model sees."
        self._encoder = TextModel.from_folder(folder, purpose="reranking", advice=advice)
        self.name, self.is_local = folder.resolve().name, True
        self._encoder.tokenizer.enable_truncation(window_tokens, strategy="longest_first")
        self.scores("a", ["a " * window_tokens])

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        pairs = [(well_formed(question), well_formed(text)) for text in texts]
        return tuple(self._encoder.on_cores(self._score, self._encoder.tokenizer.encode_batch_fast(pairs)))

    def _score(self, pair: Encoding) -> float:
        logits = self._encoder.run(np.array([pair.ids]), np.array([pair.type_ids])).astype(np.float64)
        if logits.size not in (1, 2):
            raise Misconfigured(
                f"{self._encoder.title} answers with numbers of shape {logits.shape}; a cross-encoder gives one or two "
                "per pair. Export it for sequence classification."
            )
        logit = float(logits.flat[-1] - logits.flat[0]) if logits.size == 2 else float(logits.flat[0])
        if not isfinite(logit):
            raise Unavailable(f"{self._encoder.title} gives {logit} for a passage, which is no score: export it again")
        return 1 / (1 + exp(-max(-700.0, min(700.0, logit))))
