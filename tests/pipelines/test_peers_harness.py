"""The harness of the side-by-side benchmark, driven with stores that behave well and badly."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.peers.files import Chunk, Corpus, Job, Question, corpus_of, job_of, write_corpus, write_job
from benchmarks.peers.harness import IN_TURNS, Driver, Hit, ReadyVectors, measure, take_turns
from benchmarks.peers.turns import ready, running

from citewise.errors import Unavailable


class InOrder:
    """Knows every text it was given last, and finds by equal text, then in order."""

    def __init__(self, vectors: ReadyVectors, folder: Path) -> None:
        self._vectors = vectors
        self._held: dict[str, Chunk] = {}

    def ingest(self, corpus: Corpus) -> None:
        new = [chunk for chunk in corpus.chunks if self._held.get(chunk.key) != chunk]
        if new:
            self._vectors.documents([chunk.text for chunk in new])
        self._held = {chunk.key: chunk for chunk in corpus.chunks}

    def search(self, question: str, *, tenants: frozenset[str] | None, top_k: int) -> list[Hit]:
        seen = [chunk for chunk in self._held.values() if tenants is None or chunk.tenant in tenants]
        return [Hit(one.key, one.text) for one in sorted(seen, key=lambda one: one.text != question)][:top_k]


class Talking(InOrder):
    """Prints where answers are expected, as frameworks do."""

    def ingest(self, corpus: Corpus) -> None:
        super().ingest(corpus)
        sys.stdout.write("a word on standard output\n")


class Hoarding(InOrder):
    """Forgets nothing and embeds all again."""

    def ingest(self, corpus: Corpus) -> None:
        self._vectors.documents([chunk.text for chunk in corpus.chunks])
        self._held |= {f"{chunk.key} {chunk.text}": chunk for chunk in corpus.chunks}


class Broken(InOrder):
    def search(self, question: str, *, tenants: frozenset[str] | None, top_k: int) -> list[Hit]:
        raise RuntimeError("no such index")


def test_a_store_that_keeps_up_to_date_embeds_what_is_new_and_finds_nothing_old(tmp_path: Path) -> None:
    updates = seen_of(Driver(InOrder, updates={"way": InOrder}), tmp_path)["updates"]["way"]
    assert updates == {"embedded_first": 3, "embedded_again": 0, "embedded_after_edit": 1, "stale": 0, "missing": 0}


def test_a_store_that_only_adds_embeds_all_again_and_still_finds_the_old(tmp_path: Path) -> None:
    updates = seen_of(Driver(InOrder, updates={"way": Hoarding}), tmp_path)["updates"]["way"]
    assert updates == {"embedded_first": 3, "embedded_again": 3, "embedded_after_edit": 2, "stale": 2, "missing": 0}


def test_every_principal_is_asked_for_and_documents_are_ranked_by_their_best_chunk(tmp_path: Path) -> None:
    seen = seen_of(Driver(InOrder), tmp_path)
    assert [(one["principal"], one["visible"], one["wrong"]) for one in seen["speed"]["searches"]] == [
        ("half", 2, 0),
        ("all", 3, 0),
    ]
    assert seen["quality of before"] == {id_: ["a.md", "b.md"] for id_ in "012"}


def test_a_part_that_fails_says_why_and_leaves_the_others_alone(tmp_path: Path) -> None:
    seen = seen_of(Driver(Broken, updates={"way": InOrder}), tmp_path)
    assert seen["speed"] == {"failed": "RuntimeError: no such index"}
    assert seen["updates"]["way"]["stale"] == 0


def test_a_driver_that_takes_turns_asks_for_the_principal_of_each_line(tmp_path: Path) -> None:
    answers = io.StringIO()
    take_turns(InOrder, a_job(tmp_path), ["all\n", "half\n", "all\n"], answers)
    ready, *asked = map(json.loads, answers.getvalue().splitlines())
    assert ready == {"chunks": 3}
    assert [(one["principal"], one["visible"], one["questions"]) for one in asked] == [
        ("all", 3, 2),
        ("half", 2, 2),
        ("all", 3, 2),
    ]


def test_drivers_in_processes_of_their_own_take_turns(tmp_path: Path) -> None:
    write_job(tmp_path / "job.json", a_job(tmp_path))
    with running(own_process(tmp_path / "job.json"), tmp_path / "log.txt") as driver:
        turn = ready(driver)
        assert [turn(name).visible for name in ("half", "all")] == [2, 3]
    assert "a word on standard output" in (tmp_path / "log.txt").read_text("utf-8")


def test_a_driver_that_dies_says_its_last_words(tmp_path: Path) -> None:
    with (
        running(own_process(tmp_path / "nowhere.json"), tmp_path / "log.txt") as driver,
        pytest.raises(Unavailable, match="nowhere"),
    ):
        ready(driver)


def own_process(job: Path) -> list[str]:
    """A driver that is started as real ones are."""
    program = (
        "from benchmarks.peers.harness import Driver, run; from tests.pipelines.test_peers_harness import Talking; "
        "run(Driver(Talking))"
    )
    return [sys.executable, "-c", program, str(job), IN_TURNS]


def test_a_corpus_is_read_as_it_was_written(tmp_path: Path) -> None:
    corpus = a_corpus("one", "two")
    write_corpus(tmp_path, corpus)
    again = corpus_of(tmp_path)
    assert (list(again.chunks), list(again.questions)) == (list(corpus.chunks), list(corpus.questions))
    assert np.array_equal(again.vectors, corpus.vectors)


def seen_of(driver: Driver, folder: Path) -> dict[str, Any]:
    """What the driver wrote, by way of the files that a real run uses."""
    job = a_job(folder)
    write_job(folder / "job.json", job)
    measure(driver, job_of(folder / "job.json"))
    seen: dict[str, Any] = json.loads(job.out.read_text("utf-8"))
    return seen


def a_job(folder: Path) -> Job:
    write_corpus(folder / "tenants", a_corpus("one", "two", "three"))
    write_corpus(folder / "before", a_corpus("one", "two", "three"))
    write_corpus(folder / "after", a_corpus("one", "new"))
    principals = {"half": frozenset({"t0"}), "all": None}
    return Job(folder, folder / "work", folder / "out.json", ("before",), principals, top_k=2, depth=50, warm_up=1)


def a_corpus(*texts: str) -> Corpus:
    chunks = [Chunk(f"{at}", "ab"[at // 2] + ".md", f"t{at // 2}", text) for at, text in enumerate(texts)]
    questions = [Question(str(at), f"question {at}") for at in range(3)]
    return Corpus(
        chunks,
        np.arange(len(chunks) * 4, dtype=np.float32).reshape(-1, 4),
        questions,
        np.zeros((3, 4), np.float32),
        Path("pages"),
    )
