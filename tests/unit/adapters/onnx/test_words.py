"""The default model word by word, with its real weights: what passes through the graph, and what is kept of it."""

from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from citewise.adapters.onnx import MINILM, minilm
from citewise.adapters.onnx.embedder import CACHED_QUESTIONS, OnnxEmbedder
from citewise.adapters.onnx.minilm import MAX_WORD_WINDOWS, STOP_WORD, MiniLm
from citewise.adapters.onnx.runtime import onnxruntime, open_session
from citewise.adapters.onnx.word_vectors import UNPACKED, paired
from citewise.adapters.onnx.wordpiece import uncased_tokenizer
from citewise.adapters.rotation import rotated
from citewise.model.chunk import WordVectors
from tests.unit.adapters.onnx.test_embedder import MIXED


class Counted:
    """A session that counts how often, and with how many windows, it is run."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self.windows: list[int] = []

    def run(self, names: Any, feed: dict[str, Any]) -> Any:
        self.windows.append(len(feed["input_ids"]))
        return self._session.run(names, feed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


@pytest.fixture(scope="module")
def words() -> MiniLm:
    return MiniLm()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> tuple[Counted, MiniLm]:
    session = Counted(open_session(minilm.GRAPH))
    monkeypatch.setattr(minilm, "open_session", lambda graph, *, optimize: session)
    return session, MiniLm()


def test_a_question_passes_through_the_graph_once_for_its_whole_and_its_words(
    counted: tuple[Counted, MiniLm], embedder: OnnxEmbedder
) -> None:
    session, words = counted
    (stored,) = (each for _, each in words.embedded(["the arm of a robot"]))
    session.windows.clear()
    assert words.query("a robot arm") == embedder.query("a robot arm")
    assert words.closeness("a robot arm", [stored, stored]) == words.closeness("a robot arm", [stored, stored])
    assert words.query("a robot arm") == embedder.query("a robot arm")
    assert session.windows == [1]
    words.closeness("a robot leg", [stored])
    assert session.windows == [1, 1]


def test_only_the_last_questions_are_remembered(counted: tuple[Counted, MiniLm]) -> None:
    session, words = counted
    for at in range(CACHED_QUESTIONS + 1):
        words.query(f"robot {at}")
    session.windows.clear()
    words.query(f"robot {CACHED_QUESTIONS}")
    assert session.windows == []
    words.query("robot 0")
    assert session.windows == [1]


def test_a_text_passes_through_the_graph_once_for_its_whole_and_its_words(counted: tuple[Counted, MiniLm]) -> None:
    session, words = counted
    words.documents(MIXED)
    alone = sorted(session.windows)
    session.windows.clear()
    words.embedded(MIXED)
    assert sorted(session.windows) == alone


def test_words_are_neither_special_nor_punctuation_and_stop_words_say_less() -> None:
    tokenizer = uncased_tokenizer()
    weights = MiniLm().word_weights
    assert len(weights) == tokenizer.get_vocab_size()

    def chosen(*tokens: str) -> list[float]:
        return [float(weights[tokenizer.token_to_id(token)]) for token in tokens]

    assert chosen("robot", "##ing", "7", "ß", "水", "и") == [1.0] * 6
    assert chosen("how", "does", "it") == [STOP_WORD] * 3
    assert chosen("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", ".", ",", "?", "##:", "_", "°") == [0.0] * 11


def test_of_a_very_long_text_the_words_of_the_first_windows_are_kept(words: MiniLm, embedder: OnnxEmbedder) -> None:
    text = "gauge " * (MAX_WORD_WINDOWS + 2) * MINILM.window_tokens
    (embedded,) = words.embedded([text])
    room = MINILM.window_tokens - 2
    assert len(embedded[1]) == MAX_WORD_WINDOWS * room // 2 * MINILM.dimensions // 4
    assert embedded[0] == embedder.documents([text])[0]


def test_a_question_without_any_word_has_a_closeness_too(words: MiniLm) -> None:
    (stored,) = (each for _, each in words.embedded(["the arm of a robot"]))
    (close,) = words.closeness("?!", [stored])
    assert -1 <= close <= 1


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        *(("a robot arm", 2), ("a robot arm moves", 2), ("a, robot! (arm)?", 2), ("?!", 2), ("", 1), ("?", 2)),
        ("robot", 1),
        ("The gauge is read at noon. " + 400 * "| --- ", 3),  # mere punctuation adds nothing to a text that has words
    ],
)
def test_rows_are_pairs_of_words_and_of_all_tokens_where_there_is_no_word(words: MiniLm, text: str, rows: int) -> None:
    (embedded,) = words.embedded([text])
    assert len(embedded[1]) == rows * MINILM.dimensions // 4


def rows_of(text: str, starts: list[int]) -> list[int]:
    """The stored row in which each of these characters stands, counted token by token."""
    encoding, weights = uncased_tokenizer().encode(text, add_special_tokens=False), MiniLm().word_weights
    room = MINILM.window_tokens - 2
    before, row, rows = 0, 0, list[int]()
    words = [
        (at, begins)
        for at, ((begins, _), id_) in enumerate(zip(encoding.offsets, encoding.ids, strict=True))
        if weights[id_]
    ]
    of_word = dict[int, int]()
    for window in range(0, len(encoding.ids), room):
        inside = [begins for at, begins in words if window <= at < window + room]
        of_word |= {begins: before + number // 2 for number, begins in enumerate(inside)}
        before += (len(inside) + 1) // 2
    for start in starts:
        row = next((of_word[begins] for _, begins in words if begins >= start), before)
        rows.append(row)
    return rows


PARTS = {
    "one window": [
        "Robots > Arms",
        "\n\nA robot arm moves.",
        "\n\n- its wrist turns\n",
        "- its hand: opens!",
        "\n\n---",
    ],
    "several windows": [
        "gauge > noon\n\n",
        *(f"the gauge is read at noon {'by the man ' * (40 + at)}\n\n" for at in range(9)),
    ],
    "no headings": ["", "The gauge is read. ", "Gulls rest on it."],
    "other scripts": ["水位 > 測定 ", "水位 は 毎日 測る。 ", "читается ежедневно, naïve café. ", "ok"],
    "words of many tokens": ["Kubernetes ", "kubectl describes idempotent reconciliation. ", "Unbelievably so."],
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_a_part_is_as_near_as_if_its_words_and_the_headings_had_been_stored_alone(
    words: MiniLm, parts: list[str]
) -> None:
    text = "".join(parts)
    ((_, stored),) = words.embedded([text])
    width = MINILM.dimensions // 4
    starts = rows_of(text, [*accumulate(map(len, parts), initial=0)][:-1])
    ends = [*starts, len(stored) // width]
    (found,) = words.part_closeness("When is the gauge of the robot read?", [(stored, parts)])
    assert len(found) == len(parts) - 1
    for at, near in enumerate(found, start=1):
        own = stored[: ends[1] * width] + stored[ends[at] * width : ends[at + 1] * width]
        if own:
            (alone,) = words.closeness("When is the gauge of the robot read?", [WordVectors(own)])
            assert near == pytest.approx(alone, abs=1e-5)


def test_stored_words_stay_close_to_what_the_graph_gives(words: MiniLm) -> None:
    text = "ROS 2 nodes publish to topics, and a robot arm subscribes to them."
    (exact,) = words.outputs([text], lambda at, window, output: output[words.word_weights[window] > 0])
    pairs = rotated(paired(exact[0]))
    (embedded,) = words.embedded([text])
    rows = UNPACKED[np.frombuffer(embedded[1], np.uint8)].reshape(len(pairs), -1)
    assert ((rows * pairs).sum(axis=1) / np.linalg.norm(rows, axis=1)).min() > 0.9
