"""Which questions does the cache take for the same, which threshold does that want, and what does a hit cost?

Two questions are the same to it if their cosine reaches the threshold and `retrieve/sameness.py` finds nothing but
manners between them; both are measured apart and together. A whole run is also written to results/.
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.cache_desk import fidelity, times
from benchmarks.cache_pairs import SETS, Pair, near_misses, questions_of, rewordings, some_of
from benchmarks.judged import DATA, KEPT
from benchmarks.printing import printed, say
from benchmarks.results import RESULTS, Line, LinePlot, Results, Table, results_now, write_results
from citewise.search.sameness import Sameness
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding, embedding_of

THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.82, 0.84, 0.86, 0.88, 0.9, 0.92, 0.94, 0.95, 0.96, 0.98, 0.99, 1.0)
REAL = "real questions"
MIN_REAL = 0.8  # cosine of two real questions that are worth looking at
SAMENESS = Sameness()

NOTE = (
    "Hits: both questions taken for the same. Of rewordings, which ask the same in other manners, every one is wanted; "
    "of near misses none. Near misses are made by changing a question, and real questions of one set whose cosine is "
    "0.8 or more; SciFact has claims and their opposites. The rules that make them and those that forgive manners were "
    "written by one hand, except for the real ones."
)
KINDS_NOTE = (
    "The least cosine is what a threshold must not exceed to have all rewordings of a kind; identifiers in other case "
    "are told apart on purpose, since the search takes setTimeout apart and settimeout not."
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair, how near its questions are, and whether they say the same."""

    pair: Pair
    cosine: float
    says_the_same: bool

    def is_hit(self, threshold: float, *, is_guarded: bool) -> bool:
        return self.cosine >= threshold and (self.says_the_same or not is_guarded)


@dataclass(frozen=True, slots=True)
class Pairs:
    wanted: list[Judged]
    unwanted: list[Judged]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", choices=PARTS, help="one part, which is only printed")
    arguments.add_argument("--kept", type=Path, default=KEPT, help="where the sets' libraries are, or are made")
    arguments.add_argument("--results", type=Path, default=RESULTS, help="where a whole run is written to")
    arguments.add_argument("--misses", action="store_true", help="name the pairs that are not as they should be")
    arguments.add_argument("--json", action="store_true", help="print JSON")
    chosen = arguments.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"no judged sets at {DATA}: this benchmark needs the shared data")
    embedding = embedding_of(Settings())
    results = measured(embedding, chosen.kept, only=chosen.only, names_misses=chosen.misses)
    print(json.dumps(asdict(results)) if chosen.json else "\n\n".join(map(printed, results.tables)))
    if chosen.only is None:
        say(f"wrote {write_results(results, chosen.results)}")


def measured(embedding: Embedding, kept: Path, *, only: str | None, names_misses: bool) -> Results:
    tables: list[Table] = []
    plots: list[LinePlot] = []
    if only != "times":
        pairs = judged_pairs(embedding)
        say(f"{len(pairs.wanted)} rewordings, {len(pairs.unwanted)} near misses")
        tables += [by_threshold(pairs), by_kind(pairs)]
        plots.append(plot(pairs))
        if names_misses:
            _name_misses(pairs)
    if only is None:
        tables.append(fidelity(embedding, kept))
    if only != "pairs":
        tables.append(times(embedding, kept))
    return results_now("cache", tables=tables, plots=plots, title="Semantic cache", command="make bench-cache")


PARTS = ("pairs", "times")


def judged_pairs(embedding: Embedding) -> Pairs:
    """Every set's pairs, with cosines of the built-in model."""
    wanted: list[Judged] = []
    unwanted: list[Judged] = []
    for name in SETS:
        say(f"pairs of {name}")
        asked = questions_of(name)
        vectors = {text: _vector(embedding, text) for text in asked}
        made_of = some_of(asked)
        wanted += _judged(rewordings(made_of), vectors, embedding)
        unwanted += _judged(near_misses(made_of), vectors, embedding)
        real = _judged((Pair(REAL, *two) for two in combinations(asked, 2)), vectors, embedding, least=MIN_REAL)
        unwanted += real
    return Pairs(wanted, unwanted)


Vectors = dict[str, "np.ndarray[tuple[int], np.dtype[np.float32]]"]


def _judged(pairs: Iterator[Pair], vectors: Vectors, embedding: Embedding, *, least: float = -1.0) -> list[Judged]:
    made = []
    for pair in pairs:
        for text in (pair.one, pair.other):
            if text not in vectors:
                vectors[text] = _vector(embedding, text)
        cosine = float(vectors[pair.one] @ vectors[pair.other])
        if cosine >= least:
            made.append(Judged(pair, cosine, SAMENESS.says_the_same(pair.one, pair.other)))
    return made


def _vector(embedding: Embedding, text: str) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    return np.frombuffer(embedding.embedder.query(text), dtype="<f4")


def by_threshold(pairs: Pairs) -> Table:
    """Shares of hits, a row a threshold."""
    rows = [
        (
            threshold,
            *(
                _share(side, threshold, is_guarded=is_guarded)
                for is_guarded in (True, False)
                for side in (pairs.wanted, pairs.unwanted)
            ),
            sum(one.is_hit(threshold, is_guarded=True) for one in pairs.unwanted),
        )
        for threshold in THRESHOLDS
    ]
    columns = (
        "least cosine",
        "rewordings, guarded",
        "near misses, guarded",
        "rewordings, cosine alone",
        "near misses, cosine alone",
        "false hits, guarded",
    )
    return Table(f"Hits among {_counts(pairs)}", columns, tuple(rows), note=NOTE)


def by_kind(pairs: Pairs) -> Table:
    """What each kind of pair is to the chosen threshold."""
    threshold = Settings().query_cache.min_cosine
    rows = []
    for is_wanted, side in ((True, pairs.wanted), (False, pairs.unwanted)):
        for kind in dict.fromkeys(one.pair.kind for one in side):
            those = [one for one in side if one.pair.kind == kind]
            cosines = [one.cosine for one in those]
            rows.append(
                (
                    kind,
                    "yes" if is_wanted else "no",
                    len(those),
                    min(cosines),
                    statistics.median(cosines),
                    max(cosines),
                    _share(those, threshold, is_guarded=False),
                    _share(those, threshold, is_guarded=True),
                )
            )
    columns = ("kind", "the same", "pairs", "least cosine", "median", "most", "hits, cosine alone", "hits, guarded")
    return Table(f"Kinds of pairs, at {threshold:g}", columns, tuple(rows), note=KINDS_NOTE)


def plot(pairs: Pairs) -> LinePlot:
    lines = [
        Line(
            f"{name}, {'guarded' if is_guarded else 'cosine alone'}",
            tuple(
                (threshold, _share(side, threshold, is_guarded=is_guarded))
                for threshold in THRESHOLDS
                if threshold >= MIN_REAL
            ),
        )
        for name, side in (("rewordings", pairs.wanted), ("near misses", pairs.unwanted))
        for is_guarded in (True, False)
    ]
    return LinePlot("What is taken for the same question", tuple(lines), "least cosine", "share of pairs")


def _share(side: Sequence[Judged], threshold: float, *, is_guarded: bool) -> float:
    return sum(one.is_hit(threshold, is_guarded=is_guarded) for one in side) / len(side)


def _counts(pairs: Pairs) -> str:
    return f"{len(pairs.wanted):,} rewordings and {len(pairs.unwanted):,} near misses"


def _name_misses(pairs: Pairs) -> None:
    for one in pairs.wanted:
        if not one.says_the_same:
            say(f"missed  {one.cosine:.3f} [{one.pair.kind}] {one.pair.one!r} | {one.pair.other!r}")
    for one in pairs.unwanted:
        if one.says_the_same:
            say(f"false   {one.cosine:.3f} [{one.pair.kind}] {one.pair.one!r} | {one.pair.other!r}")


if __name__ == "__main__":
    main()
