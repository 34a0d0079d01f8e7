"""What compressing a context saves, and what it costs of the answer.

    python -m benchmarks.compression

A sentence bears an answer if it stands in a source that answers and holds at least half as many of the words that the
reference answer adds to the question as the best such sentence does; rare words count more. It is kept if it, or the
same words in another sentence, still stands in the context. Chosen on the textbook and the API documentation; the
handbook, which took no part, is shown beside them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.grounding_sets import EMBEDDING, GROUND, Gold, SearchedQuestion, gold_of, questions_of, searched
from benchmarks.printing import publish
from benchmarks.results import Cell, Table, results_now
from citewise.answer.compress import COMPRESSED_TOKENS, MIN_WORTH, Compress, Extractive
from citewise.answer.ground import THOROUGH, coverages_of
from citewise.answer.pack import WIDER, Pack
from citewise.model.answer import Context, Evidence, Grounds, Unit
from citewise.model.query import ANSWER_TOP_K
from citewise.text.analysis import terms
from citewise.text.layout import MARK
from citewise.text.urls import Addresses

SETS = ("textbook", "api_docs", "handbook")
HALF = 0.5  # of what the best sentence holds of the answer, for another to bear it too
TOKENS = (250, 300, 350, 400, 450, 500, 550, 600, 700, 800, 1000, 1500, 2000)
WORTHS = (0.0, 0.4, 0.6, 0.65, 0.7, 0.8, 1.0, 1.2)
PACK = Pack(EMBEDDING.counter, Addresses())
COLUMNS = (
    "set",
    "saved of what was found",
    "saved of what is shown without",
    "mean of a question",
    "answer-bearing sentences kept",
    "questions with all of them",
    "answer's words kept",
)


@dataclass(frozen=True, slots=True)
class Case:
    """A question with everything that was found, what speaks for it, and which of its units bear the answer."""

    searched: SearchedQuestion
    whole: Context
    grounds: Grounds
    bearing: tuple[Unit, ...]
    answer: frozenset[str]  # stems that the reference answer adds to the question


def main() -> None:
    cases = {name: cases_of(name) for name in SETS}
    print_bearing(cases)
    curve = {tokens: {name: measured(cases[name], tokens, MIN_WORTH) for name in SETS} for tokens in TOKENS}
    tables = [
        defaults_table(cases),
        Table("By tokens", ("tokens", *COLUMNS), rows_of(curve.items()), f"Least worth {MIN_WORTH:g}."),
        Table(
            "By least worth",
            ("least worth", *COLUMNS),
            rows_of((w, {name: measured(cases[name], COMPRESSED_TOKENS, w) for name in SETS}) for w in WORTHS),
            f"{COMPRESSED_TOKENS} tokens.",
        ),
    ]
    results = results_now(
        "compression",
        tables=tables,
        title="Compression of contexts",
        command="make bench-compression",
    )
    publish(results, decimals=3)


def cases_of(name: str) -> list[Case]:
    gold = gold_of(name)
    return [_case(question, gold[question.id]) for question in searched(name, questions_of(name))]


def _case(question: SearchedQuestion, gold: Gold) -> Case:
    whole = PACK.within(WIDER * PACK.budget_tokens)(question.findings[:ANSWER_TOP_K])
    evidence, _ = replace(GROUND, max_embedded=THOROUGH).weigh(question.question, whole)
    answer = _stems(gold.answer) - _stems(question.question)
    return Case(
        question, whole, Grounds(1.0, "answered", evidence), tuple(_bearing(whole, evidence, gold, answer)), answer
    )


def _stems(text: str) -> frozenset[str]:
    return frozenset(terms(text).words)


def _bearing(context: Context, evidence: Sequence[Evidence], gold: Gold, answer: frozenset[str]) -> list[Unit]:
    holding = {source.n for source in context.sources if gold.holds(source.citation.document, source.citation.lines)}
    units = [item.unit for item in evidence if item.unit.source in holding]
    held = [_stems(unit.text) for unit in units]
    shares = coverages_of(answer, held)
    best = max(shares, default=0.0)
    return [unit for unit, share in zip(units, shares, strict=True) if share > 0 and share >= HALF * best]


def measured(cases: Sequence[Case], tokens: int, min_worth: float) -> tuple[float, ...]:
    """The columns of the tables, without the first."""
    made = [compressed(case, tokens, min_worth) for case in cases]
    spent = np.array([context.tokens for context in made])
    found = np.array([case.whole.tokens_before for case in cases])
    shown = sum(case.searched.context.tokens for case in cases)
    kept = [_kept(case.bearing, context) for case, context in zip(cases, made, strict=True) if case.bearing]
    words = [_answer_words(case, context) for case, context in zip(cases, made, strict=True) if case.bearing]
    return (
        float(1 - spent.sum() / found.sum()),
        float(1 - spent.sum() / shown),
        float((1 - spent / found).mean()),
        sum(map(sum, kept)) / sum(map(len, kept)),
        float(np.mean([all(are_kept) for are_kept in kept])),
        float(np.mean(words)),
    )


def compressed(case: Case, tokens: int, min_worth: float) -> Context:
    compress = Compress(Extractive(EMBEDDING.counter, min_worth), tokens=tokens)
    made = compress(case.searched.question, case.whole, case.grounds, pack=PACK)
    return made[0] if made else case.searched.context


def _kept(bearing: Sequence[Unit], context: Context) -> list[bool]:
    said = [_words(part) for part in context.text.split(MARK)]
    return [any(_words(unit.text) in part for part in said) for unit in bearing]


def _words(text: str) -> str:
    words = re.findall(r"\w+", text.lower())
    return f" {' '.join(words)} "


def _answer_words(case: Case, context: Context) -> float:
    """Of the answer's words that the bearing sentences hold, the share that the compressed context still does."""
    before = case.answer & frozenset().union(*(_stems(unit.text) for unit in case.bearing))
    return len(before & _stems(context.text)) / len(before)


def defaults_table(cases: Mapping[str, Sequence[Case]]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *measured(cases[name], COMPRESSED_TOKENS, MIN_WORTH)) for name in SETS
    )
    return Table(
        f"At the default: {COMPRESSED_TOKENS} tokens, least worth {MIN_WORTH:g}",
        COLUMNS,
        rows,
        "Five passages a question. The handbook took no part in the choice.",
        wanted="at least 40 % saved with at least 95 % of the answer-bearing sentences kept, on textbook and api_docs",
    )


def rows_of(measures: Iterable[tuple[float, Mapping[str, tuple[float, ...]]]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple((at, name, *of_set) for at, sets in measures for name, of_set in sets.items())


def print_bearing(cases: Mapping[str, Sequence[Case]]) -> None:
    for name, some in cases.items():
        bearing = [case for case in some if case.bearing]
        count = sum(len(case.bearing) for case in bearing)
        units = sum(len(case.grounds.evidence) for case in bearing)
        print(f"{name}: {len(bearing)} of {len(some)} questions have such sentences, {count} of {units} units")


if __name__ == "__main__":
    main()
