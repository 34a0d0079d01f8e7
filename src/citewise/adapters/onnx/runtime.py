"""Exported models in onnxruntime: the part that every adapter here shares."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from citewise.errors import Misconfigured, Unavailable

__all__ = ["TextModel", "available_cores", "onnxruntime", "open_session"]

onnxruntime.disable_telemetry_events()

Ids = Sequence[int]
Array = NDArray[np.generic]
T = TypeVar("T")
R = TypeVar("R")

INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


def available_cores() -> int:
    """The number of cores this process may use; where the platform cannot say (macOS), of all cores there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class TextModel:
    """A text encoder: a session that computes on the thread that calls it, its tokenizer, and a thread for each core.

    `title` and `advice` are for messages: "The reranking model tiny", "Set rerank.window_tokens lower."
    """

    def __init__(
        self, session: onnxruntime.InferenceSession, tokenizer: Tokenizer, *, title: str, advice: str = ""
    ) -> None:
        self.session = session
        self.tokenizer = tokenizer
        self.title = title
        self._advice = advice
        self._inputs = {item.name: np.dtype(item.type[7:-1]) for item in session.get_inputs()}  # tensor(int64)
        names = [item.name for item in session.get_outputs()]
        self._output = "logits" if "logits" in names else names[0]
        self._threads = ThreadPoolExecutor(available_cores(), thread_name_prefix="citewise-model")

    @classmethod
    def from_folder(cls, folder: Path, *, purpose: str, advice: str) -> Self:
        """From model.onnx and tokenizer.json; the tokenizer neither cuts nor pads."""
        model, file = cls.files(folder, purpose=purpose)
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises nothing more exact
            raise Misconfigured(f"The tokenizer {file} cannot be read: {error}. Export the model again.") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        title = f"The {purpose} model {folder.resolve().name}"
        return cls(open_session(model), tokenizer, title=title, advice=advice)

    @staticmethod
    def files(folder: Path, *, purpose: str) -> tuple[Path, Path]:
        """The model and the tokenizer of a folder, the model also where the hub has it, in onnx/."""
        flat, nested = folder / "model.onnx", folder / "onnx" / "model.onnx"
        files = (nested if nested.is_file() and not flat.is_file() else flat, folder / "tokenizer.json")
        for file in files:
            if not file.is_file():
                raise Misconfigured(
                    f"The {purpose} model folder {folder} has no {file.name}; it must have model.onnx (or "
                    "onnx/model.onnx) and tokenizer.json. Export the model to ONNX, or name the folder that has both."
                )
        return files

    def run(self, ids: Array, types: Array | None = None) -> Array:
        """The output for a batch of token ids, all of one length."""
        types = np.zeros_like(ids) if types is None else types
        values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
        feed = {name: np.asarray(values[name], kind) for name, kind in self._inputs.items()}
        try:
            output: Array = self.session.run([self._output], feed)[0]
        except Exception as error:  # onnxruntime's own errors share no other base
            reason = " ".join(str(error).split())[:200]
            raise Misconfigured(f"{self.title} cannot take {ids.shape[1]} tokens: {reason}. {self._advice}") from error
        return output

    def on_cores(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        return list(self._threads.map(work, items) if len(items) > 1 else map(work, items))

    def windows(self, ids: Ids, *, window_tokens: int, prefix: Ids = ()) -> list[list[int]]:
        """The text in full windows and a last shorter one, each with its prefix between the special tokens."""
        head, tail = self.special_ids
        room = window_tokens - len(head) - len(prefix) - len(tail)
        if room < 1:
            raise Misconfigured(
                f"A window of {window_tokens} tokens leaves {self.title} no room for text after its prefix. "
                "Shorten the prefix or widen the window."
            )
        return [[*head, *prefix, *ids[at : at + room], *tail] for at in range(0, max(1, len(ids)), room)]

    @cached_property
    def special_ids(self) -> tuple[list[int], list[int]]:
        """What the model expects before and after a text, read off a one-word example."""
        bare, full = (self.tokenizer.encode("a", add_special_tokens=special).ids for special in (False, True))
        before = next(at for at in range(len(full)) if full[at : at + len(bare)] == bare)
        return full[:before], full[before + len(bare) :]


def open_session(model: Path, *, optimize: bool = True) -> onnxruntime.InferenceSession:
    """A session with one thread; `optimize` lets onnxruntime rewrite the graph."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimize else levels.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no other base
        if "bad_alloc" in str(error):
            raise Unavailable(
                f"there is not enough memory to open the model {model}: free some and try again"
            ) from error
        raise Misconfigured(f"onnxruntime cannot open the model {model}: {error}. Fetch the file again.") from error
    unknown = {item.name for item in session.get_inputs()} - INPUTS
    if unknown:
        raise Misconfigured(
            f"The model {model} wants inputs {sorted(unknown)}; a text encoder has only {sorted(INPUTS)}. "
            "Export it with those."
        )
    return session
