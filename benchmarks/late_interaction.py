"""What is late interaction worth, and what does it cost? A vector a token, MaxSim over the first 40, blended.

The graph that makes a chunk's vector gives its tokens' vectors on the way. Each form of keeping them (content tokens
only, neighbors pooled, 16, 8 or 1 bit a component) scores the 40 candidates that the product's own search puts first;
that score, stretched to 0..1, is added to the search's with a weight. The weight for a set is chosen on the other sets.
Token vectors are kept beside the libraries, so only the first run embeds. All sets together are also written to
results/; some of them only if `--results` says where to.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.judged import DATA, KEPT
from benchmarks.lab_choice import (
    Alternative,
    Parts,
    by_place,
    left_out,
    mean_worth,
    table,
    unseen_worths,
)
from benchmarks.lab_late import (
    FORMS,
    ONE_VECTOR_BYTES,
    Form,
    KeptVectors,
    Scored,
    Stored,
    TokenEncoder,
    Tokens,
    kept_vectors,
    scored_pool,
    stored_forms,
)
from benchmarks.lab_pools import Pools, Worths, measured
from benchmarks.lab_sets import SETS, Arms, Case, Corpus, cases_of, corpus_of, parts_of, pools_of, set_library
from benchmarks.printing import DECIMALS, printed, say
from benchmarks.results import RESULTS, Cell, Line, LinePlot, Results, Table, results_now, write_results
from citewise.model.errors import BadData
from citewise.model.point import Hit
from citewise.model.query import SEARCH_TOP_K, Query
from citewise.model.ranking import CODE, DENSE, WORDS
from citewise.retrieve.hydrate import SPARE
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding, embedding_of
from citewise.wiring.search import search_of

CANDIDATES = SPARE * SEARCH_TOP_K  # 40 are scored: as many as a search reads for a caller who names no number
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)  # of MaxSim; 0: not asked; 1: as much as all else together
SHOWN_WEIGHT = 0.3  # at which every form is shown set by set, since a chosen weight differs from set to set
REMEMBERED = 1_000  # chunks in all forms: with 0 every question makes them anew; each takes about 0.4 MB
NONE = "no late interaction"
NOTE = (
    "nDCG@10 of documents; of the textbook, questions with a full answer among the first five passages; by place, "
    "where its first full answer stands. Each set is given with the weight that is best on the others; the "
    "last row with the form that is best there, too. The difference is to no late interaction, paired by question, "
    "every set counts the same, 95 % by bootstrap. Vectors and bytes are means over the sets' libraries; bytes hold "
    "the chunk's one vector as well. Milliseconds: the median over questions, from what is stored, in numpy, and "
    "only as good as the machine is quiet."
)

Rows = Mapping[Form, Sequence[Alternative]]  # each form with each weight, 0 first


@dataclass(frozen=True, slots=True)
class Lab:
    """All sets, scored."""

    parts: Parts
    scored: Mapping[str, Sequence[Scored]]  # by stratum
    vectors: Mapping[Form, float]  # a chunk, on average over the sets' whole libraries

    def alternatives(self, form: Form) -> list[Alternative]:
        """A row a weight, 0 first: of equals, that is chosen."""
        return [Alternative(f"{weight:g}", self._worths(form, weight)) for weight in WEIGHTS]

    def _worths(self, form: Form, weight: float) -> Worths:
        return measured(
            {name: [(one.pool, one.blended(form, weight)) for one in some] for name, some in self.scored.items()}
        )

    def ms(self, form: Form) -> float:
        return float(np.median([one.ms[form] for some in self.scored.values() for one in some if one.ms]))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", type=set_names, default=SETS, help=f"two or more of {','.join(SETS)}")
    arguments.add_argument("--kept", type=Path, default=KEPT, help="where the sets' libraries are, or are made")
    arguments.add_argument("--results", type=Path, help=f"where to write; all sets go to {RESULTS.name}/ without it")
    chosen = arguments.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"no judged sets at {DATA}: this benchmark needs the shared data")
    started = time.perf_counter()
    results = _results(lab_of(chosen.sets, chosen.kept))
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


def lab_of(names: Sequence[str], kept: Path) -> Lab:
    settings = Settings()
    embedding, encoder = embedding_of(settings), TokenEncoder(settings.cache)
    scored: dict[str, list[Scored]] = {}
    vectors = []
    for name in names:
        say(name)
        pools, corpus = searched(name, embedding, kept)
        texts = {id_: corpus[id_].searchable_text for some in pools.values() for pool in some for id_ in pool.ids}
        with kept_vectors(kept / "late" / f"{name}.npz", list(texts.values()), encoder.vectors) as found:
            forms = _remembered(found, encoder)
            for stratum, some in pools.items():
                scored[stratum] = [
                    scored_pool(pool, encoder.tokens(pool.question), [forms(texts[id_]) for id_ in pool.ids])
                    for pool in some
                ]
        vectors.append(_vectors_a_chunk(corpus, encoder))
    means = {form: float(np.mean([each[form] for each in vectors])) for form in FORMS}
    return Lab(parts_of(names), scored, means)


def searched(name: str, embedding: Embedding, kept: Path) -> tuple[Pools, Corpus]:
    """What the product finds for each question of a set; its final scores stand in the first row of the pools."""
    with set_library(name, embedding, kept=kept) as library, ThreadPoolExecutor() as threads:
        search = search_of(library, reranker=None, threads=threads)

        def asking(question: str) -> Arms:
            found = search(Query(question, request_id="", asked_at=0.0, top_k=CANDIDATES)).findings
            return {DENSE: [Hit(one.candidate.id, one.score) for one in found], WORDS: (), CODE: ()}

        corpus, cases = corpus_of(library), cases_of(name)
        check_fit(name, cases, corpus)
        return pools_of(name, cases, corpus, asking), corpus


def check_fit(name: str, cases: Sequence[Case], corpus: Corpus) -> None:
    """A library whose documents are called otherwise would be worth nothing in every row, and look measured."""
    wanted = {path for case in cases for path in case.gold}
    if wanted.isdisjoint(held.path for held in corpus.values()):
        raise BadData(
            f"the library of {name} holds none of the {len(wanted)} documents that its questions are about, such as "
            f"{min(wanted, default='none')!r}: remove the library, and it is made anew"
        )


def _remembered(kept: KeptVectors, encoder: TokenEncoder) -> Callable[[str], Mapping[Form, Stored]]:
    """A chunk's text in every form: many questions find the same chunks."""

    @lru_cache(maxsize=REMEMBERED)
    def forms(text: str) -> Mapping[Form, Stored]:
        return stored_forms(Tokens(kept[text], encoder.flags(text)))

    return forms


def _vectors_a_chunk(corpus: Corpus, encoder: TokenEncoder) -> dict[Form, float]:
    flags = [encoder.flags(held.searchable_text) for held in corpus.values()]
    return {form: float(np.mean([form.vectors(one) for one in flags])) for form in FORMS}


def _results(lab: Lab) -> Results:
    rows = {form: lab.alternatives(form) for form in FORMS}
    only = "" if tuple(lab.parts) == SETS else f" --sets {','.join(lab.parts)}"
    return results_now(
        "late-interaction",
        tables=[
            *(unseen_table(lab, rows, way) for way in judgings(rows, lab.parts)),
            weighed_table(lab, rows, SHOWN_WEIGHT),
            weight_table(lab, rows),
            choice_table(lab, rows),
        ],
        plots=[bytes_plot(lab, rows)],
        title="Late interaction",
        command=f"python -m benchmarks.late_interaction{only}",
    )


def judgings(rows: Rows, parts: Parts) -> dict[str, Parts]:
    """What a weight is chosen by: both ways of valuing the textbook, which do not choose alike."""
    placed = by_place(_bare(rows).worths, parts)
    return {"as counted": parts} if placed == parts else {"as counted": parts, "by place": placed}


def unseen(alternatives: Sequence[Alternative], parts: Parts, judged: Parts) -> Worths:
    """Each set with what was best on the others, as these are judged."""
    return unseen_worths(left_out(alternatives, judged), parts)


def unseen_table(lab: Lab, rows: Rows, way: str) -> Table:
    """What each form keeps, what that costs, and what it is worth on sets that had no say in its weight."""
    bare, judged = _bare(rows), judgings(rows, lab.parts)[way]
    every = [bare, *(one for each in rows.values() for one in each[1:])]
    made = [Alternative(NONE, bare.worths, (1.0, ONE_VECTOR_BYTES, None))]
    made += [Alternative(form.name, unseen(each, lab.parts, judged), _costs(lab, form)) for form, each in rows.items()]
    chosen = unseen(every, lab.parts, judged)
    made.append(Alternative("form and weight chosen on the other sets", chosen, (None, None, None)))
    extra = ("vectors a chunk", "bytes a chunk", f"ms for {CANDIDATES}")
    return _forms_table(f"Late interaction, weight chosen on the other sets {way}", made, lab.parts, NOTE, extra)


def weighed_table(lab: Lab, rows: Rows, weight: float) -> Table:
    """One weight for all sets, chosen by nobody."""
    at = WEIGHTS.index(weight)
    made = [Alternative(NONE, _bare(rows).worths)]
    made += [Alternative(form.name, each[at].worths) for form, each in rows.items()]
    return _forms_table(f"Late interaction, weight {weight:g} for all sets", made, lab.parts, "", ())


def _forms_table(title: str, made: Sequence[Alternative], parts: Parts, note: str, extra: Sequence[str]) -> Table:
    """Without the usual last row, which would choose among forms whose weights have seen every set but one."""
    whole = table(title, made, parts, note=note, extra=extra)
    return replace(whole, rows=whole.rows[: len(made)])


def weight_table(lab: Lab, rows: Rows) -> Table:
    """The mean of sets by weight, in sight of all of them."""
    ways = judgings(rows, lab.parts)
    made = {
        form.name: [round(mean_worth(one.worths, judged), DECIMALS) for judged in ways.values() for one in each]
        for form, each in rows.items()
    }
    return _plain_table(
        "Late interaction, mean of sets by weight", [f"{w:g} {way}" for way in ways for w in WEIGHTS], made
    )


def choice_table(lab: Lab, rows: Rows) -> Table:
    ways = judgings(rows, lab.parts)
    made = {
        form.name: [one.chosen.name for judged in ways.values() for one in left_out(each, judged)]
        for form, each in rows.items()
    }
    columns = [f"{name} {way}" for way in ways for name in lab.parts]
    return _plain_table("Late interaction, weight chosen without each set", columns, made)


def _plain_table(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[Cell]]) -> Table:
    return Table(title, ("", *columns), tuple((name, *cells) for name, cells in rows.items()))


def bytes_plot(lab: Lab, rows: Rows) -> LinePlot:
    """Quality on unseen sets against what is kept; the level line is the search without any of it."""
    points = {
        form: (_bytes(lab, form), mean_worth(unseen(each, lab.parts, lab.parts), lab.parts))
        for form, each in rows.items()
    }
    level = mean_worth(_bare(rows).worths, lab.parts)
    lines = [Line(NONE, ((ONE_VECTOR_BYTES, level), (max(x for x, _ in points.values()), level)))]
    for bits in sorted({form.bits for form in rows}, reverse=True):
        of = sorted(point for form, point in points.items() if form.bits == bits and form.content_only)
        lines.append(Line(f"content tokens, {bits} bit{'s' if bits > 1 else ''}", tuple(of)))
    return LinePlot("Late interaction", tuple(lines), "bytes a chunk", "mean of sets, cross-validated", log_x=True)


def _bare(rows: Rows) -> Alternative:
    """The search as it is: any form with no weight."""
    return next(iter(rows.values()))[0]


def _costs(lab: Lab, form: Form) -> tuple[Cell, ...]:
    return round(lab.vectors[form], 1), round(_bytes(lab, form)), round(lab.ms(form), 2)


def _bytes(lab: Lab, form: Form) -> float:
    return ONE_VECTOR_BYTES + form.vectors_bytes(lab.vectors[form])


if __name__ == "__main__":
    main()
