"""What every framework goes through, inside its own virtual environment: only the standard library and numpy here.

A driver hands over how its framework ingests and searches; this module asks all of them the same, counts and times it,
and writes what it saw as JSON after each part, so that a run that is stopped keeps what it had. Nothing is judged
here: the runner does that, outside, for all alike.
"""

import json
import os
import shutil
import socket
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol, TextIO

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.files import Chunk, Corpus, Job, Question, corpus_of, job_of

Floats = NDArray[np.float32]
QUALITY = "quality of "  # what the parts of judged sets are called, before the set's name
IN_TURNS = "in-turns"  # the word after the job for a driver that is to be asked again and again
LONGEST_QUESTION = 1_500  # characters of a chunk that is asked for word by word; citewise takes up to 2,000


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found, with its text as the framework gave it back."""

    key: str
    text: str


class ReadyVectors:
    """The embedding function of every framework: a look-up that counts the texts it is asked for."""

    def __init__(self, corpora: Sequence[Corpus]) -> None:
        self.embedded = 0
        self._known: dict[str, Floats] = {}
        for corpus in corpora:
            texts = [chunk.text for chunk in corpus.chunks]
            self._known.update(zip((text[:LONGEST_QUESTION] for text in texts), corpus.vectors, strict=True))
            self._known.update(zip(texts, corpus.vectors, strict=True))
            self._known.update(
                zip((question.text for question in corpus.questions), corpus.question_vectors, strict=True)
            )

    def documents(self, texts: Sequence[str]) -> Floats:
        self.embedded += len(texts)
        return np.stack([self._known[text] for text in texts])

    def query(self, text: str) -> Floats:
        return self._known[text]


class Store(Protocol):
    """A framework that holds chunks."""

    def ingest(self, corpus: Corpus) -> None:
        """Take in what the corpus holds now; called again, bring the store up to date with it."""

    def search(self, question: str, *, tenants: frozenset[str] | None, top_k: int) -> Sequence[Hit]:
        """Best first; only chunks of these tenants, of all where None."""


OpenStore = Callable[[ReadyVectors, Path], Store]


@dataclass(frozen=True, slots=True)
class Driver:
    """A framework: how a careful user sets it up, other settings worth a row, and ways to bring it up to date."""

    careful: OpenStore
    others: Mapping[str, OpenStore] = field(default_factory=dict)  # asked under the filters only
    updates: Mapping[str, OpenStore] = field(default_factory=dict)  # way of ingesting again -> a store that does so


@dataclass(frozen=True, slots=True)
class SearchTimes:
    """One principal's questions."""

    principal: str
    visible: int  # chunks the principal may see
    questions: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    cpu_ms: float  # mean of all threads; neighbors on the same machine change it less than the times
    wrong: int  # hits that the principal may not see
    short: int  # questions with fewer hits than asked for though enough are visible


@dataclass(frozen=True, slots=True)
class Updated:
    """What the second and third ingestion did."""

    embedded_first: int
    embedded_again: int  # nothing had changed
    embedded_after_edit: int  # one document had
    stale: int  # old texts still found
    missing: int  # new texts not found


def run(driver: Driver) -> None:
    """What a driver's last line calls; the job is the file named on the command line."""
    job = job_of(Path(sys.argv[1]))
    _shut_sockets()
    if sys.argv[2:] == [IN_TURNS]:
        take_turns(driver.careful, job, sys.stdin, _own_pipe())
    else:
        measure(driver, job)


def measure(driver: Driver, job: Job) -> None:
    """Part after part, each written down as soon as it is done."""
    seen: dict[str, object] = {}
    narrowed = replace(job, principals={name: own for name, own in job.principals.items() if own is not None})
    parts: dict[str, Callable[[], object]] = {
        "speed": lambda: speed(driver.careful, job),
        "others": lambda: {name: speed(opening, narrowed) for name, opening in driver.others.items()},
        "updates": lambda: {name: asdict(updated(opening, job)) for name, opening in driver.updates.items()},
        **{f"{QUALITY}{name}": partial(rankings, driver.careful, name, job) for name in job.judged},
    }
    for name, part in parts.items():
        seen[name] = _kept_going(part)
        job.out.write_text(json.dumps(seen), "utf-8")


def speed(opening: OpenStore, job: Job) -> dict[str, object]:
    """Ingestion of the large corpus with ready vectors, then every principal's questions, one after the other."""
    corpus = corpus_of(job.material / "tenants")
    vectors = ReadyVectors([corpus])
    store = opening(vectors, _emptied(job.work / "tenants"))
    started = time.perf_counter()
    store.ingest(corpus)
    ingested = time.perf_counter() - started
    searches = [search_times(name, tenants, store, corpus, job) for name, tenants in job.principals.items()]
    return {
        "ingest_seconds": ingested,
        "chunks": len(corpus.chunks),
        "embedded": vectors.embedded,
        "searches": [asdict(row) for row in searches],
    }


def take_turns(opening: OpenStore, job: Job, lines: Iterable[str], answers: TextIO) -> None:
    """Take the large corpus in and say so; then for each line, a principal's name, ask its questions once."""
    corpus = corpus_of(job.material / "tenants")
    store = opening(ReadyVectors([corpus]), _emptied(job.work / "tenants"))
    store.ingest(corpus)
    print(json.dumps({"chunks": len(corpus.chunks)}), file=answers, flush=True)
    for line in lines:
        name = line.strip()
        print(
            json.dumps(asdict(search_times(name, job.principals[name], store, corpus, job))), file=answers, flush=True
        )


def search_times(name: str, tenants: frozenset[str] | None, store: Store, corpus: Corpus, job: Job) -> SearchTimes:
    tenant_of = {chunk.key: chunk.tenant for chunk in corpus.chunks}
    visible = sum(tenants is None or tenant in tenants for tenant in tenant_of.values())
    wanted = min(job.top_k, visible)
    warm, timed = corpus.questions[: job.warm_up], corpus.questions[job.warm_up :]
    for question in warm:
        store.search(question.text, tenants=tenants, top_k=job.top_k)
    times, wrong, short = [], 0, 0
    used = time.process_time()
    for question in timed:
        started = time.perf_counter()
        hits = store.search(question.text, tenants=tenants, top_k=job.top_k)
        times.append(1000 * (time.perf_counter() - started))
        found = {hit.key for hit in hits[: job.top_k]}
        own = {key for key in found if tenants is None or tenant_of[key] in tenants}
        wrong += len(found - own)
        short += len(own) < wanted
    cpu_ms = 1000 * (time.process_time() - used) / len(timed)
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return SearchTimes(name, visible, len(timed), cuts[49], cuts[94], cuts[98], cpu_ms, wrong, short)


def updated(opening: OpenStore, job: Job) -> Updated:
    """The same documents twice, then with one of them edited; old and new texts are then asked for word by word."""
    before, after = corpus_of(job.material / "before"), corpus_of(job.material / "after")
    vectors = ReadyVectors([before, after])
    store = opening(vectors, _emptied(job.work / "updates"))
    counts = [0]
    for corpus in (before, before, after):
        store.ingest(corpus)
        counts.append(vectors.embedded)
    old, new = ({chunk.text for chunk in corpus.chunks} for corpus in (before, after))
    return Updated(
        embedded_first=counts[1] - counts[0],
        embedded_again=counts[2] - counts[1],
        embedded_after_edit=counts[3] - counts[2],
        stale=sum(is_found(text, store, job.top_k) for text in old - new),
        missing=sum(not is_found(text, store, job.top_k) for text in new - old),
    )


def is_found(text: str, store: Store, top_k: int) -> bool:
    """Whether the store gives back this very text when it is asked for."""
    hits = store.search(text[:LONGEST_QUESTION], tenants=None, top_k=top_k)
    return any(hit.text.strip() == text.strip() for hit in hits)


def rankings(opening: OpenStore, name: str, job: Job) -> dict[str, list[str]]:
    """For each question of a judged set the documents found, best chunk first."""
    corpus = corpus_of(job.material / name)
    store = opening(ReadyVectors([corpus]), _emptied(job.work / name))
    store.ingest(corpus)
    document_of = {chunk.key: chunk.document for chunk in corpus.chunks}
    ranked = {}
    for question in corpus.questions:
        hits = store.search(question.text, tenants=None, top_k=job.depth)
        ranked[question.id] = list(dict.fromkeys(document_of[hit.key] for hit in hits[: job.depth]))
    return ranked


def by_document(chunks: Sequence[Chunk]) -> dict[str, list[Chunk]]:
    """The chunks of each document, in order."""
    documents: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        documents.setdefault(chunk.document, []).append(chunk)
    return documents


def _kept_going(part: Callable[[], object]) -> object:
    """What the part saw, or what stopped it: one that fails must not take the others along."""
    try:
        return part()
    except Exception as error:  # noqa: BLE001 - whatever a framework raises becomes a row that says so
        traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {error}"[:300]}


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _own_pipe() -> TextIO:
    """Standard output for the answers alone: what frameworks print goes to the log from here on."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _shut_sockets() -> None:
    """A framework that calls home while it is measured should fail, not wait."""

    def refused(self: socket.socket, address: object) -> None:
        raise OSError(f"no network while measuring: {address}")

    socket.socket.connect = refused  # type: ignore[method-assign,assignment]


__all__ = ["Chunk", "Corpus", "Driver", "Hit", "Question", "ReadyVectors", "Store", "by_document", "run"]
