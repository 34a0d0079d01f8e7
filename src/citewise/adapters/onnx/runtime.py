"""An exported model on disk, opened: the technical part that every ONNX adapter shares. No text is read here."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from citewise.errors import Misconfigured

onnxruntime.disable_telemetry_events()

__all__ = ["onnxruntime"]


def available_cores() -> int:
    """The number of cores this process may use; where the platform cannot say (macOS), of all cores there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """What a model folder must hold."""

    model: Path
    tokenizer: Path


def model_files(folder: Path, *, of: str) -> ModelFiles:
    """The two files of a folder, the model also where the hub keeps it, in onnx/; `of` says what it is for."""
    flat, nested = folder / "model.onnx", folder / "onnx" / "model.onnx"
    model = nested if nested.is_file() and not flat.is_file() else flat
    files = ModelFiles(model, folder / "tokenizer.json")
    for file in (files.model, files.tokenizer):
        if not file.is_file():
            raise Misconfigured(
                f"The {of} model folder {folder} has no {file.name}; it must hold model.onnx (or onnx/model.onnx) "
                "and tokenizer.json. Export the model to ONNX, or name the folder that holds both."
            )
    return files


def open_session(model: Path | bytes, *, optimize: bool = True) -> onnxruntime.InferenceSession:
    """A session that computes on the thread that asks; `optimize` lets onnxruntime rewrite the graph."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimize else levels.ORT_DISABLE_ALL
    source, what = (model, "from memory") if isinstance(model, bytes) else (str(model), str(model))
    try:
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no other base
        raise Misconfigured(f"onnxruntime cannot open the model {what}: {error}. Fetch the file again.") from error
    unknown = {one.name for one in session.get_inputs()} - INPUTS
    if unknown:
        raise Misconfigured(
            f"The model {what} wants inputs {sorted(unknown)}; a text encoder has only {sorted(INPUTS)}. "
            "Export it with those."
        )
    return session


def open_tokenizer(file: Path) -> Tokenizer:
    """The tokenizer, which neither cuts nor pads: that is for the adapter to decide."""
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more exact
        raise Misconfigured(f"The tokenizer {file} cannot be read: {error}. Export the model again.") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def input_types(session: onnxruntime.InferenceSession) -> dict[str, np.dtype[np.generic]]:
    """The inputs that a model wants, each with the kind of number it takes."""
    return {one.name: np.dtype(one.type[7:-1]) for one in session.get_inputs()}  # tensor(int64)


def output_of(session: onnxruntime.InferenceSession) -> str:
    """The name of what a classifier answers with: its logits, or its first output where none is called so."""
    names = [one.name for one in session.get_outputs()]
    return "logits" if "logits" in names else names[0]
