"""What is late interaction worth, and what does it cost?

The stage `late` is run with other weights, gates, depths and corrections for length than the product's: before it stand
all stages that precede it in the product, behind it those that follow. The vectors of words are those of the sets'
libraries. All sets together are also written to results/; some of them only if `--results` says where to.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.judged import DATA, KEPT
from benchmarks.lab_late import DEPTH, ROW_BYTES, LateLab, Question, late_lab, late_tables
from benchmarks.lab_pools import Pool
from benchmarks.lab_sets import SETS, Case, Corpus, RankedHits, cases_of, corpus_of, parts_of, pools_of, set_library
from benchmarks.printing import printed, say
from benchmarks.results import RESULTS, results_now, write_results
from citewise.errors import BadData
from citewise.model.access import OWNER
from citewise.model.chunk import Hit
from citewise.model.query import Query
from citewise.model.ranking import CODE, DENSE, WORDS, Shortlist
from citewise.ports.catalog import EmbeddingCache
from citewise.ports.models import Embedding, WordEmbedder
from citewise.search.pipeline import Stage
from citewise.search.rescore import Late
from citewise.settings import Settings
from citewise.wiring import search_of
from citewise.wiring_models import embedding_of


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", type=set_names, default=SETS, help=f"two or more of {','.join(SETS)}")
    arguments.add_argument("--kept", type=Path, default=KEPT, help="where the sets' libraries are, or are made")
    arguments.add_argument("--results", type=Path, help=f"where to write; all sets go to {RESULTS.name}/ without it")
    chosen = arguments.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"no judged sets at {DATA}: this benchmark needs the shared data")
    started = time.perf_counter()
    tables = late_tables(lab_of(chosen.sets, chosen.kept))
    only = "" if chosen.sets == SETS else f" --sets {','.join(chosen.sets)}"
    command = f"python -m benchmarks.late_interaction{only}"
    results = results_now("late-interaction", tables=tables, title="Late interaction", command=command)
    print("\n\n".join(map(printed, results.tables)))
    if chosen.results or chosen.sets == SETS:
        say(f"wrote {write_results(results, chosen.results or RESULTS)}")
    say(f"{time.perf_counter() - started:.0f} s in all")


def set_names(text: str) -> tuple[str, ...]:
    """Names of sets, in the order of the tables."""
    names = text.split(",")
    unknown = [name for name in names if name not in SETS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no judged set is called {unknown[0]!r}; there are {', '.join(SETS)}")
    if len(set(names)) < 2:
        raise argparse.ArgumentTypeError("a weight is chosen on the other sets, so name two or more")
    return tuple(name for name in SETS if name in names)


def lab_of(names: Sequence[str], kept: Path) -> LateLab:
    embedding = embedding_of(Settings())
    questions: dict[str, list[Question]] = {}
    for name in names:
        say(name)
        questions |= questions_of(name, embedding, kept)
    return late_lab(parts_of(names), questions)


def questions_of(name: str, embedding: Embedding, kept: Path) -> Mapping[str, list[Question]]:
    """The questions of a set as the product's search has them when the stage begins, by stratum."""
    assert embedding.words is not None, "the default model has vectors of words"
    with set_library(name, embedding, kept=kept) as library, ThreadPoolExecutor() as threads:
        whole = search_of(library, reranker=None, threads=threads)
        at = [stage.name for stage in whole.refine].index(Late.name)
        before, later = replace(whole, refine=whole.refine[:at]), whole.refine[at + 1 :]
        found: dict[str, Shortlist] = {}

        def rankings(question: str) -> RankedHits:
            query = Query(question, "", 0.0, OWNER)
            found[question] = Shortlist(query, tuple(sorted(before(query).findings, key=Late.by_rankings)))
            hits = [Hit(finding.candidate.id, finding.score) for finding in found[question].findings]
            return {DENSE: hits, WORDS: (), CODE: ()}

        corpus, cases = corpus_of(library), cases_of(name)
        check_fit(name, cases, corpus)
        return {
            stratum: [scored(pool, found[pool.question], later, embedding.words, library.catalog) for pool in pools]
            for stratum, pools in pools_of(name, cases, corpus, rankings).items()
        }


def check_fit(name: str, cases: Sequence[Case], corpus: Corpus) -> None:
    """A library whose documents have other names would be worth nothing in every row, and look measured."""
    expected = {path for case in cases for path in case.gold}
    if expected.isdisjoint(chunk.path for chunk in corpus.values()):
        raise BadData(
            f"the library of {name} has none of the {len(expected)} documents that its questions are about, such as "
            f"{min(expected, default='none')!r}: remove the library, and it is built again"
        )


def scored(
    pool: Pool, found: Shortlist, later: tuple[Stage, ...], words: WordEmbedder, cache: EmbeddingCache
) -> Question:
    """With how near the question's words are to each passage."""
    digests = [finding.passage.text_digest for finding in found.findings]
    stored = cache.word_vectors(digests)
    if missing := set(digests) - set(stored):
        raise BadData(
            f"the library has no vectors of words for {len(missing)} passages that were found: "
            "`citewise reindex` makes them"
        )
    vectors = [stored[digest] for digest in digests]
    if not vectors:
        return Question(pool, found, later, np.zeros(0), np.zeros(0), None)
    started = time.perf_counter()
    words.closeness(found.query.text, vectors[:DEPTH])
    ms = 1000 * (time.perf_counter() - started)
    near = words.closeness(found.query.text, vectors)
    lengths = [len(vector) / ROW_BYTES for vector in vectors]
    return Question(pool, found, later, np.array(near), np.array(lengths), ms)


if __name__ == "__main__":
    main()
