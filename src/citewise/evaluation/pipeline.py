"""Cases -> a run. Read this file to know what is asked, how often, and what is timed.

    deep searches (what the rankings are worth) -> ordinary searches (how long they take)
    -> answers (was it right to give them, are their citations true), from the library and from selections

Deep and ordinary searches are two rounds over all questions, with a question of nobody's between them: by then all
is warm, and no question follows itself, so that none is quick for having just been embedded.
"""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from citewise.evaluation.answered import citation_measures, decision_measures, is_true, leaks
from citewise.evaluation.cases import Case, CaseSet, Gold, Kind, Unit
from citewise.evaluation.matching import documents_of, grade_of
from citewise.evaluation.ranked import ranking_measures
from citewise.evaluation.runs import Outcome, Place, Run
from citewise.evaluation.summary import by_group, means, medians
from citewise.insights import percentiles
from citewise.model.access import OWNER, Scope
from citewise.model.answer import Answer, Citation
from citewise.model.filters import Where
from citewise.model.ids import document_id
from citewise.model.query import ANSWER_TOP_K, MAX_TOP_K, SEARCH_TOP_K, Query, Selection
from citewise.model.ranking import Passage, SearchResult
from citewise.ports.catalog import Catalog

DEPTH = 100  # items of a ranking that are judged: what recall@100 needs
# Chunks that a deep search asks for. Folded into documents, 300 are mostly more than DEPTH; where they are fewer, it
# is made again for as many more as are missing, and MARGIN times that. Asking for the most at once costs six times as
# much time as for 300, since every pair of hits is looked at for near-duplicates.
DEEP_TOP_K = 300
MARGIN = 1.3
SHOWN = 10  # places that an outcome keeps
WARM_UP = "What is this about?"

In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class Step:
    """How far a run has come."""

    doing: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Answerers:
    """Who answers: from the library, and from a selection alone."""

    ask: Callable[[Query], Answer]
    ask_selected: Callable[[Query, Selection], Answer]


@dataclass(frozen=True, slots=True)
class Terms:
    """Where and when questions are asked, and what is kept with the run so that it can be made again."""

    scope: Scope = field(default_factory=Scope)
    asked_at: float = 0.0  # seconds since 1970
    settings: Mapping[str, object] = field(default_factory=dict)
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Asks every question of a set and says what came of it."""

    search: Callable[[Query], SearchResult]
    catalog: Catalog  # against which citations are checked
    answerers: Answerers | None = None  # None: searches alone

    def __call__(self, cases: CaseSet, terms: Terms, *, on_step: Callable[[Step], None] = lambda step: None) -> Run:
        asking = _Asking(self, cases, terms, on_step)
        outcomes = asking.searched()
        if self.answerers is not None:
            outcomes = asking.answered(outcomes, self.answerers)
        return Run(
            set=cases.name,
            unit=cases.unit,
            outcomes=tuple(outcomes),
            metrics=means(outcomes),
            groups=by_group(outcomes),
            latency_ms=percentiles([one.latency_ms for one in outcomes if one.kind is not Kind.SELECTED]),
            stages_ms=medians(asking.timings),
            settings=terms.settings,
            commit=terms.commit,
        )


class _Asking:
    """One run of the flow."""

    def __init__(self, flow: Evaluate, cases: CaseSet, terms: Terms, on_step: Callable[[Step], None]) -> None:
        self._flow = flow
        self._unit = cases.unit
        self._cases = {case.id: case for case in cases.cases}
        self._terms = terms
        self._on_step = on_step
        self.timings: list[Mapping[str, float]] = []  # of each ordinary search, by stage

    def searched(self) -> list[Outcome]:
        """What the search found for each case, and how long an ordinary one takes."""
        begun = self._each("judging", list(self._cases.values()), self._judged)
        self._flow.search(Query(WARM_UP, WARM_UP, self._terms.asked_at, OWNER, self._terms.scope))
        return self._each("timing", begun, self._timed)

    def answered(self, outcomes: Sequence[Outcome], answerers: Answerers) -> list[Outcome]:
        """The same with what was answered."""
        answers = self._each("answering", outcomes, lambda one: self._answer(self._cases[one.id], answerers))
        truth = self._truth([citation for answer, _ in answers for citation in answer.citations])
        return [
            _with_answer(outcome, self._cases[outcome.id], answer, took_ms, truth)
            for outcome, (answer, took_ms) in zip(outcomes, answers, strict=True)
        ]

    def _each(self, doing: str, items: Sequence[In], work: Callable[[In], Out]) -> list[Out]:
        made = []
        for done, item in enumerate(items):
            self._on_step(Step(doing, done, len(items)))
            made.append(work(item))
        self._on_step(Step(doing, len(items), len(items)))
        return made

    def _judged(self, case: Case) -> Outcome:
        outcome = Outcome(
            case.id, case.question, case.kind, case.group, expected=tuple(_expected(one) for one in case.gold)
        )
        if case.kind is not Kind.ANSWERABLE:
            return outcome
        places = self._deep(case)
        return replace(
            outcome, measures=ranking_measures(case, self._unit, places), found=self._shown(places, case.gold)
        )

    def _deep(self, case: Case) -> tuple[Place, ...]:
        """Enough hits for DEPTH items."""
        if self._unit is Unit.PASSAGE:
            return self._places(case, DEPTH)
        top_k = DEEP_TOP_K
        places = self._places(case, top_k)
        while len(places) == top_k < MAX_TOP_K and (found := len(documents_of(places))) < DEPTH:
            top_k = min(MAX_TOP_K, math.ceil(MARGIN * top_k * DEPTH / found))
            places = self._places(case, top_k)
        return places

    def _timed(self, outcome: Outcome) -> Outcome:
        if outcome.kind is Kind.SELECTED:
            return outcome
        case = self._cases[outcome.id]
        query = self._query(case, SEARCH_TOP_K)
        started = time.perf_counter()
        result = self._flow.search(query)
        took_ms = 1000 * (time.perf_counter() - started)
        self.timings.append(result.timings_ms)
        found = outcome.found or self._shown([_place(one.passage) for one in result.findings], case.gold)
        return replace(outcome, latency_ms=took_ms, found=found)

    def _answer(self, case: Case, answerers: Answerers) -> tuple[Answer, float]:
        query = self._query(case, ANSWER_TOP_K)
        started = time.perf_counter()
        answer = answerers.ask(query) if case.selection is None else answerers.ask_selected(query, case.selection)
        return answer, 1000 * (time.perf_counter() - started)

    def _truth(self, citations: Collection[Citation]) -> Mapping[Citation, bool]:
        """Each citation, looked up in the catalog: not in the answer, which would believe itself."""
        paths = {one.document for one in citations if one.document is not None}
        catalog, scope = self._flow.catalog, self._terms.scope
        where = Where(scope, None)
        read = {path: catalog.document(where, document_id(scope, path)) for path in paths}
        texts = {path: document.text for path, document in read.items() if document is not None}
        chunks = {
            path: frozenset(str(chunk.id) for chunk in catalog.chunks(where, document_id(scope, path)))
            for path in texts
        }
        return {
            one: is_true(one, texts.get(one.document or ""), chunks.get(one.document or "", frozenset()))
            for one in citations
        }

    def _places(self, case: Case, top_k: int) -> tuple[Place, ...]:
        return tuple(_place(one.passage) for one in self._flow.search(self._query(case, top_k)).findings)

    def _shown(self, places: Sequence[Place], gold: Sequence[Gold]) -> tuple[Place, ...]:
        items = documents_of(places) if self._unit is Unit.DOCUMENT else places
        return tuple(replace(one, grade=grade_of(one, gold)) for one in items[:SHOWN])

    def _query(self, case: Case, top_k: int) -> Query:
        return Query(
            case.question,
            request_id=case.id,
            asked_at=self._terms.asked_at,
            principal=OWNER,
            scope=self._terms.scope,
            top_k=top_k,
        )


def _place(passage: Passage) -> Place:
    first, last = passage.location.first, passage.location.last
    return Place(passage.document, passage.section, first, last, chunk=str(passage.chunk_id))


def _expected(gold: Gold) -> Place:
    return Place(gold.document, gold.section or "", gold.first_line, gold.last_line, gold.chunk, gold.grade)


def _with_answer(
    outcome: Outcome, case: Case, answer: Answer, took_ms: float, truth: Mapping[Citation, bool]
) -> Outcome:
    is_refused = not answer.sufficient_context
    measures = {**outcome.measures, **decision_measures(case, is_refused=is_refused)}
    if case.kind is Kind.SELECTED:
        measures["selected_leaks"] = float(leaks(case, answer))
    else:
        measures |= citation_measures(case, answer.citations, [truth[one] for one in answer.citations])
    return replace(
        outcome,
        measures=measures,
        latency_ms=took_ms if case.kind is Kind.SELECTED else outcome.latency_ms,
        answer=answer.text,
        is_refused=is_refused,
    )
