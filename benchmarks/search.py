"""How fast and how good is search? Prints the numbers that the docs quote.

    python -m benchmarks.search [--only speed|quality] [--chunks 100000]

Libraries of the judged sets are made once and kept in .bench/ (embedding them takes about ten minutes). Speed is
that of a warm process, one question after the other, on whatever else the machine does: trust ratios.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.judged import DATA, KEPT, Judged, beir, library_of, ndcg
from benchmarks.synthetic import questions as synthetic_questions
from benchmarks.synthetic import writes
from citewise import Library, Settings
from citewise.model.passage import Passage
from citewise.model.ranking import ARMS
from citewise.model.result import SearchResult
from citewise.model.scope import LOCAL_PRINCIPAL, Principal
from citewise.model.vector import EmbeddingFailure, EmbeddingModel, Vector
from citewise.ports.embedder import Embedder
from citewise.settings import SearchSettings
from citewise.wiring.embedding import Embedding, embedding_of
from citewise.wiring.full import opened_for_writing

COMMAND = str(Path(sys.executable).with_name("citewise"))
SETS = ("scifact", "api_docs", "cranfield", "cosqa_dev", "runbooks")
STAGES = ("embed", "dense", "words", "code", "arms", "fuse", "hydrate", "refine", "whole call")
ROUNDS = 4
QUESTIONS = 300  # to the synthetic library
DEPTH = 50  # chunks that are folded into documents
GROUP = 100  # documents written at once
HALF = Principal("eve")  # sees what is public and what is the project's: half of the synthetic documents
KINDS: Mapping[str, SearchSettings] = {
    **{f"{arm} alone": SearchSettings(fusion="minmax", weights={arm: 1.0}) for arm in ARMS},
    "rrf": SearchSettings(fusion="rrf"),
    "minmax": SearchSettings(fusion="minmax"),
    "nearness (the default)": SearchSettings(),
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", choices=["speed", "quality"])
    arguments.add_argument("--chunks", type=int, default=100_000, help="size of the synthetic library")
    chosen = arguments.parse_args()
    if chosen.only != "quality":
        bench_speed(chosen.chunks)
    if chosen.only != "speed":
        bench_quality()


def bench_speed(chunks: int) -> None:
    textbook = textbook_library()
    questions = [case["question"] for case in textbook_questions()]
    print(f"milliseconds, warm; {len(questions)} questions, {ROUNDS} times each")
    show_timings("textbook", asked(textbook, questions * ROUNDS))
    ready = Library(KEPT / "textbook" / "library", embedding=remembering())
    show_timings("textbook, questions embedded before", asked(ready, questions * ROUNDS))
    synthetic = synthetic_library(chunks)
    made = synthetic_questions(QUESTIONS)
    show_timings(f"{chunks:,} synthetic chunks, no filter", asked(synthetic, made))
    show_timings(f"{chunks:,} synthetic chunks, 50 % filter", asked(synthetic, made, principal=HALF))
    cold = sorted(cold_seconds(KEPT / "textbook" / "library") for _ in range(7))
    print(f"\ncitewise search from a cold shell   {statistics.median(cold):.2f} s (median of 7; best {cold[0]:.2f})")


def asked(
    library: Library, questions: Sequence[str], principal: Principal = LOCAL_PRINCIPAL
) -> list[tuple[SearchResult, float]]:
    """Each result and what the caller waited for it, in milliseconds; the first round warms up."""
    for question in dict.fromkeys(questions):
        library.search(question, principal=principal)
    timed = []
    for question in questions:
        started = time.perf_counter()
        result = library.search(question, principal=principal)
        timed.append((result, 1000 * (time.perf_counter() - started)))
    return timed


class Remembering:
    """An embedder that embeds a question once: what a search costs without that."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | EmbeddingFailure, ...]:
        return self._embedder.documents(texts)

    def query(self, text: str) -> Vector:
        if text not in self._known:
            self._known[text] = self._embedder.query(text)
        return self._known[text]


def remembering() -> Embedding:
    embedding = embedding_of(Settings())
    return Embedding(Remembering(embedding.embedder), embedding.counter)


def show_timings(name: str, results: Iterable[tuple[SearchResult, float]]) -> None:
    timings: dict[str, list[float]] = {stage: [] for stage in STAGES}
    for result, waited in results:
        ms = {**result.timings_ms, "whole call": waited}
        ms["refine"] = sum(ms[stage] for stage in ("rerank", "freshness", "boost", "dedup", "cut"))
        for stage in STAGES:
            timings[stage].append(ms[stage])
    print(f"\n{name}\n{'':18}{'p50':>8}{'p95':>8}{'p99':>8}")
    for stage, values in timings.items():
        cuts = statistics.quantiles(values, n=100)
        print(f"{stage:18}{cuts[49]:8.2f}{cuts[94]:8.2f}{cuts[98]:8.2f}")


def cold_seconds(library: Path) -> float:
    started = time.perf_counter()
    subprocess.run(
        [COMMAND, "search", "What is the embodiment hypothesis?", "--library", str(library)],
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - started


def bench_quality() -> None:
    print(f"\nnDCG@10 of documents, best chunk first{'':4}" + "".join(f"{name:>11}" for name in SETS))
    judged = {name: beir(DATA / name) for name in SETS}
    for kind, settings in KINDS.items():
        scores = [set_quality(name, judged[name], settings) for name in SETS]
        found = textbook_found(settings)
        print(f"{kind:42}" + "".join(f"{score:11.4f}" for score in scores) + f"   textbook {found}", flush=True)


def set_quality(name: str, judged: Judged, search: SearchSettings) -> float:
    library = Library(library_folder(name), settings=Settings(search=search))
    gains = []
    for id_, question in judged.questions.items():
        documents = [one.passage.document for one in library.search(question, top_k=DEPTH).findings]
        ranked = [judged.names[document] for document in dict.fromkeys(documents)]
        gains.append(ndcg(ranked, judged.judgments[id_]))
    library.close()
    return statistics.fmean(gains)


def library_folder(name: str) -> Path:
    library_of(name).close()
    return KEPT / name / "library"


def textbook_found(search: SearchSettings) -> str:
    """For how many questions a full answer overlaps one of the first five passages: plain and paraphrased."""
    textbook_library().close()
    library = Library(KEPT / "textbook" / "library", settings=Settings(search=search))
    found = {True: [0, 0], False: [0, 0]}
    for case in textbook_questions():
        best = library.search(case["question"], top_k=5).findings
        is_found = any(overlaps(one.passage, gold) for one in best for gold in case["relevant"] if gold["grade"] == 2)
        tally = found[case["type"] == "paraphrase"]
        tally[0] += is_found
        tally[1] += 1
    library.close()
    return f"{found[False][0]}/{found[False][1]} plain, {found[True][0]}/{found[True][1]} paraphrased"


def textbook_library() -> Library:
    library = Library(KEPT / "textbook" / "library")
    library.ingest(DATA / "textbook" / "website" / "docs")
    return library


def textbook_questions() -> list[Any]:
    return list(json.loads((DATA / "textbook" / "questions" / "answerable.json").read_text("utf-8")))


def overlaps(passage: Passage, gold: Mapping[str, Any]) -> bool:
    is_near = passage.first_line <= gold["line_end"] and passage.last_line >= gold["line_start"]
    return bool(passage.document == gold["doc"] and is_near)


def synthetic_library(chunks: int) -> Library:
    """Made once; as many chunks as are wanted, with ready vectors."""
    folder = KEPT / f"synthetic-{chunks}"
    library = Library(folder)
    if not folder.exists():
        settings = Settings(library=folder)
        with opened_for_writing(settings) as opened:
            made = writes(chunks, opened.embedding.embedder.model.dimensions)
            while group := list(islice(made, GROUP)):
                opened.catalog.keep({digest: vector for _, ready in group for digest, vector in ready.items()})
                opened.catalog.store([write for write, _ in group])
            for scope in opened.catalog.scopes():
                opened.project(scope)
    return library


if __name__ == "__main__":
    main()
