"""Question and passage through a cross-encoder in onnxruntime; the model comes from outside.

Each pair runs alone, one on every core: nothing is padded, and a dynamically quantized model, which has one scale a
batch, cannot let neighbors change a score. A batch would save nothing (MiniLM's packaged graph at 128 tokens: 45
CPU-ms a row alone, 44 in fours, 46 in eights).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from citewise.adapters.onnx.runtime import (
    available_cores,
    input_types,
    model_files,
    onnxruntime,
    open_session,
    open_tokenizer,
    output_of,
)
from citewise.adapters.scores import sigmoid, whole
from citewise.errors import Misconfigured, Unavailable

Floats = NDArray[np.float64]


class OnnxReranker:
    """Reranker over one onnxruntime session, safe to share between threads; the tokenizer is its own.

    A pair longer than `window_tokens` loses the end of its passage; the question gives way only where it takes
    more than half.
    """

    def __init__(
        self, session: onnxruntime.InferenceSession, tokenizer: Tokenizer, *, name: str, window_tokens: int
    ) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._name = name
        self._inputs = input_types(session)
        self._output = output_of(session)
        self._cores = ThreadPoolExecutor(available_cores(), thread_name_prefix="citewise-reranker")
        if window_tokens < tokenizer.num_special_tokens_to_add(is_pair=True) + 2:
            raise Misconfigured(
                f"A window of {window_tokens} tokens leaves {name} no room for a question and a passage. "
                "Set rerank.window_tokens higher, for example to 128."
            )
        tokenizer.enable_truncation(window_tokens, strategy="longest_first")

    @property
    def name(self) -> str:
        """What the scores are made by."""
        return self._name

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        """One score in 0..1 for each text, in order."""
        if not texts:
            return ()
        asked = whole(question)
        pairs = self._tokenizer.encode_batch_fast([(asked, whole(text)) for text in texts])
        return tuple(self._cores.map(self._score, pairs))

    def _score(self, pair: Encoding) -> float:
        logit = self._logit(self._run(pair))
        if not isfinite(logit):
            raise Unavailable(
                f"the reranking model {self._name} gives {logit} for a passage, which is no score: export it again"
            )
        return sigmoid(logit)

    def _logit(self, logits: Floats) -> float:
        if logits.size not in (1, 2):
            raise Misconfigured(
                f"The reranking model {self._name} answers with numbers of shape {logits.shape}; a cross-encoder gives "
                "one a pair, or two. Export it for sequence classification."
            )
        return float(logits.flat[-1] - logits.flat[0]) if logits.size == 2 else float(logits.flat[0])

    def _run(self, pair: Encoding) -> Floats:
        values = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        feed = {name: np.array([values[name]], kind) for name, kind in self._inputs.items()}
        try:
            return np.asarray(self._session.run([self._output], feed)[0], np.float64)
        except Exception as error:  # onnxruntime's own errors share no other base
            reason = " ".join(str(error).split())[:200]
            raise Misconfigured(
                f"The reranking model {self._name} cannot take {len(pair.ids)} tokens at once: {reason}. "
                "Set rerank.window_tokens to what the model sees."
            ) from error


def from_folder(folder: Path, *, window_tokens: int = 128) -> OnnxReranker:
    """The reranker in a folder with model.onnx and tokenizer.json, after one trial.

    The trial fills the window, so that a model that does not fit is refused here and not at the first question.
    """
    files = model_files(folder, of="reranking")
    session, tokenizer = open_session(files.model), open_tokenizer(files.tokenizer)
    reranker = OnnxReranker(session, tokenizer, name=folder.resolve().name, window_tokens=window_tokens)
    reranker.scores("a", ["a " * window_tokens])
    return reranker
