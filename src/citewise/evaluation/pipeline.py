"""Evaluate a library with a judged set. Read this file to know what is asked, how often, and what is timed.

    ingest the set's own corpus, if it has one -> check that the expected places exist
    -> deep searches (metrics of the rankings) -> ordinary searches (their time)
    -> answers (whether they were right to give, whether their citations are true), from the library and from selections

Deep and ordinary searches are two rounds over all questions, with another question between them: by then everything is
warm, and no question follows itself, so that none is fast because its embedding is cached.

Everything is an iterator of events, the last of which has the result.
"""

import json
import logging
import math
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import citewise
from citewise.api import Library, LibraryView
from citewise.errors import BadRequest
from citewise.evaluation.beir import ingest_corpus
from citewise.evaluation.cases import Case, CaseSet, Gold, JudgedUnit, Kind, Place, counted
from citewise.evaluation.compare import Ablation, differences
from citewise.evaluation.metrics import answer_measures, documents_of, grade_of, ranking_measures
from citewise.evaluation.runs import QuestionResult, Run, group_means, means, medians
from citewise.evaluation.sets import JudgedSet, judged_set, missing_gold, mounted
from citewise.insights import percentiles
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.answer import Answer
from citewise.model.query import MAX_TOP_K
from citewise.model.ranking import ARMS, SearchResult
from citewise.model.report import IngestEvent
from citewise.settings import Settings

_log = logging.getLogger(__name__)

DEPTH = 100  # items of a ranking that are judged: what recall@100 needs
# Chunks that a deep search asks for. Folded into documents, 300 are mostly more than DEPTH; where they are fewer, the
# search is repeated for as many more as are missing, times MARGIN. Asking for the maximum at once takes six times as
# long as for 300, since every pair of hits is compared for near-duplicates.
DEEP_TOP_K = 300
MARGIN = 1.3
SHOWN = 10  # places that an outcome keeps
WARM_UP = "What is this about?"
MAX_PROBLEMS = 10  # missing places that are named
EVERYTHING = "everything"
ABLATED_METRICS = ("ndcg@10", "recall@5", "recall@100", "mrr@10")  # by which the rows of an ablation are compared
NEEDED = frozenset({"arms", "embed", "fuse", "hydrate", "cut", "total"})  # timings of what a search cannot do without
OPTIONAL = frozenset({"late", "rerank"})  # stages that are only there if a model is
GIT_SECONDS = 5.0

OpenLibrary = Callable[[Settings], Library]
In = TypeVar("In")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """How far a task is."""

    task: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The last event of an evaluation."""

    run: Run


@dataclass(frozen=True, slots=True)
class Ablated:
    """The last event of an ablation."""

    rows: tuple[Ablation, ...]


EvalEvent = IngestEvent | Step | Evaluated | Ablated
Events = Generator[EvalEvent, None, T]  # returns T to who delegates to it


def evaluate(
    settings: Settings,
    judged: Path | CaseSet,
    *,
    scope: Scope | None = None,
    principal: Principal = OWNER,
    answers: bool = True,
    open_library: OpenLibrary = lambda settings: Library(settings=settings),
) -> Iterator[EvalEvent]:
    """Evaluate a set, given or at a path, as this principal."""
    asked = Request(judged, scope or Scope(), principal)
    with open_library(_for_measuring(settings)) as library:
        cases = yield from ready(library, settings, asked)
        run = yield from _Evaluation(library, settings, cases, asked).run(answers=answers)
    yield Evaluated(run)


def ablate(
    settings: Settings,
    judged: Path | CaseSet,
    *,
    scope: Scope | None = None,
    principal: Principal = OWNER,
    open_library: OpenLibrary = lambda settings: Library(settings=settings),
) -> Iterator[EvalEvent]:
    """Evaluate the whole search, then without each of its parts, each compared with the first. Nothing is answered."""
    asked = Request(judged, scope or Scope(), principal)
    with open_library(_for_measuring(settings)) as library:
        cases = yield from ready(library, settings, asked)
        cases = replace(cases, cases=tuple(case for case in cases.cases if case.kind is Kind.ANSWERABLE))
        if not cases.cases:
            raise BadRequest(f"{cases.name} has no question that the library answers: nothing to rank")
        whole = _Evaluation(library, settings, cases, asked, EVERYTHING)
        rows = [Ablation(EVERYTHING, (yield from whole.run(answers=False)), ())]
    for name, variant in _variants(settings, whole.parts()):
        with open_library(_for_measuring(variant)) as library:
            run = yield from _Evaluation(library, variant, cases, asked, name).run(answers=False)
        rows.append(Ablation(name, run, differences(rows[0].run, run, ABLATED_METRICS)))
    yield Ablated(tuple(rows))


def finished(events: Iterator[EvalEvent]) -> Run:
    """The run of an evaluation, without its progress."""
    return next(event.run for event in events if isinstance(event, Evaluated))


def _for_measuring(settings: Settings) -> Settings:
    """Without the cache, since searches are measured; without the log, since an evaluation is not use."""
    cache, log = replace(settings.query_cache, megabytes=0), replace(settings.query_log, retention_days=0)
    return replace(settings, query_cache=cache, query_log=log)


def _variants(settings: Settings, parts: Sequence[str]) -> Iterator[tuple[str, Settings]]:
    search = settings.search
    for name in parts:
        yield f"without {name}", replace(settings, search=replace(search, without=(name,)))
    if search.fusion != "rrf":
        yield "fused by rrf", replace(settings, search=replace(search, fusion="rrf", weights={}))


@dataclass(frozen=True, slots=True)
class Request:
    """What is evaluated, and as whom."""

    judged: Path | CaseSet
    scope: Scope
    principal: Principal = OWNER


def ready(library: Library, settings: Settings, asked: Request) -> Events[CaseSet]:
    """Ingest the set's own corpus, if it has one, and check that the expected places exist."""
    judged = judged_set(asked.judged) if isinstance(asked.judged, Path) else JudgedSet(asked.judged)
    cases = judged.cases
    if judged.corpus is not None:
        cases = mounted(cases, (yield from ingest_corpus(library, judged.corpus, asked.scope)))
    owner = library.as_owner(asked.scope)
    if not owner.documents(limit=1):
        raise BadRequest(f"the library at {settings.library} has nothing in {asked.scope}: ingest the documents first")
    _check_gold(cases, library.as_principal(asked.principal, asked.scope), owner, has_corpus=judged.corpus is not None)
    return cases


def _check_gold(cases: CaseSet, view: LibraryView, owner: LibraryView, *, has_corpus: bool) -> None:
    """BadRequest names what is expected and does not exist.

    Two cases are only warned of: documents missing from a set's own corpus, since public sets judge documents that they
    do not contain, and places hidden from this principal, who is right not to find them.
    """
    paths, page = set[str](), view.documents(limit=1_000)
    while page:
        paths |= {document.path for document in page}
        page = view.documents(after=page[-1].path, limit=1_000)
    missing = missing_gold(cases.cases, paths, lru_cache(maxsize=None)(view.chunks))
    visible = [each for each in missing if each.gold.document in paths or owner.document(each.gold.document) is None]
    if hidden := len(missing) - len(visible):
        what = counted(hidden, "expected place is", "expected places are")
        _log.warning("%s hidden from this principal, and will not be found", what)
    if visible and has_corpus:
        ids = {each.gold.document for each in visible}
        what = counted(len(ids), "judged document is", "judged documents are")
        _log.warning("%s not in the corpus, such as %r", what, visible[0].gold.document)
    elif visible:
        more = f"\n  and {len(visible) - MAX_PROBLEMS} more" if len(visible) > MAX_PROBLEMS else ""
        listed = "".join(f"\n  {each}" for each in visible[:MAX_PROBLEMS])
        raise BadRequest(f"{cases.name} expects what the library does not have:{listed}{more}")


class _Evaluation:
    """Asks the questions of a set and measures what comes back."""

    def __init__(
        self, library: Library, settings: Settings, cases: CaseSet, asked: Request, name: str | None = None
    ) -> None:
        self._library = library
        self._view = library.as_principal(asked.principal, asked.scope)
        self._owner = library.as_owner(asked.scope)
        self._settings = settings
        self._cases = cases
        self._task = "" if name is None else f"{name}: "
        self._timings: list[Mapping[str, float]] = []  # of each ordinary search, by stage
        self._scored: set[str] = set()  # stages that gave a score to anything

    def run(self, *, answers: bool) -> Events[Run]:
        outcomes = yield from self._each("judging", self._cases.cases, self._judged)
        self._view.search(WARM_UP)
        outcomes = yield from self._each("timing", outcomes, self._timed)
        generator = None
        if answers:
            given = yield from self._each("answering", self._cases.cases, self._answered)
            names = (answer.generator for answer, _ in given)  # a refusal has none
            generator = next((name for name in names if name != "none"), self._settings.answer.generator)
            outcomes = [
                self._with_answer(outcome, case, *answer)
                for outcome, case, answer in zip(outcomes, self._cases.cases, given, strict=True)
            ]
        return Run(
            set=self._cases.name,
            unit=self._cases.unit,
            outcomes=tuple(outcomes),
            metrics=means(outcomes),
            groups=group_means(outcomes),
            latency_ms=percentiles([each.latency_ms for each in outcomes if each.kind is not Kind.SELECTED]),
            stages_ms=medians(self._timings),
            settings=self._settings_used(generator),
            commit=_commit(),
        )

    def parts(self) -> list[str]:
        """The rankings and stages that can be left out; an optional stage that scored nothing was not there."""
        stages = (name for name in dict.fromkeys(name for timing in self._timings for name in timing))
        optional = OPTIONAL.difference(self._scored)
        return [*ARMS, *(name for name in stages if name not in NEEDED.union(ARMS, optional))]

    def _each(self, task: str, items: Sequence[In], work: Callable[[In], T]) -> Events[list[T]]:
        results = []
        for done, item in enumerate(items):
            yield Step(f"{self._task}{task}", done, len(items))
            results.append(work(item))
        yield Step(f"{self._task}{task}", len(items), len(items))
        return results

    def _judged(self, case: Case) -> QuestionResult:
        outcome = QuestionResult(
            *(case.id, case.question, case.kind, case.group),
            expected=tuple(gold.as_place() for gold in case.gold),
            expected_answer=case.answer,
        )
        if case.kind is not Kind.ANSWERABLE:
            return outcome
        places = self._deep(case.question)
        measures = ranking_measures(case.gold, self._cases.unit, places)
        return replace(outcome, measures=measures, found=self._shown(places, case.gold))

    def _deep(self, question: str) -> tuple[Place, ...]:
        """Enough hits for DEPTH items."""
        if self._cases.unit is JudgedUnit.PASSAGE:
            return _places(self._view.search(question, top_k=DEPTH))
        top_k = DEEP_TOP_K
        places = _places(self._view.search(question, top_k=top_k))
        while len(places) == top_k < MAX_TOP_K and (found := len(documents_of(places))) < DEPTH:
            top_k = min(MAX_TOP_K, math.ceil(MARGIN * top_k * DEPTH / found))
            places = _places(self._view.search(question, top_k=top_k))
        return places

    def _timed(self, outcome: QuestionResult) -> QuestionResult:
        if outcome.kind is Kind.SELECTED:
            return outcome
        started = time.perf_counter()
        result = self._view.search(outcome.question)
        took_ms = 1000 * (time.perf_counter() - started)
        self._timings.append(result.timings_ms)
        self._scored.update(name for finding in result.findings for name in finding.candidate.scores)
        found = outcome.found or self._shown(_places(result), ())
        return replace(outcome, latency_ms=took_ms, found=found)

    def _answered(self, case: Case) -> tuple[Answer, float]:
        started = time.perf_counter()
        answer = self._view.ask(case.question, selection=case.selection)
        return answer, 1000 * (time.perf_counter() - started)

    def _with_answer(self, outcome: QuestionResult, case: Case, answer: Answer, took_ms: float) -> QuestionResult:
        measures = {**outcome.measures, **answer_measures(case, answer, self._stored)}
        if case.kind is Kind.SELECTED:
            outcome = replace(outcome, latency_ms=took_ms)
        is_refused = not answer.sufficient_context
        return replace(outcome, measures=measures, answer=answer.text, is_refused=is_refused)

    def _stored(self, path: str) -> tuple[str | None, frozenset[str]]:
        """Text and chunk ids of a document, read from the catalog and not from the answer that cites it."""
        document = self._owner.document(path)
        if document is None:
            return None, frozenset()
        return document.text, frozenset(str(chunk.id) for chunk in self._owner.chunks(path))

    def _shown(self, places: Sequence[Place], gold: Sequence[Gold]) -> tuple[Place, ...]:
        items = documents_of(places) if self._cases.unit is JudgedUnit.DOCUMENT else places
        return tuple(replace(place, grade=grade_of(place, gold)) for place in items[:SHOWN])

    def _settings_used(self, generator: str | None) -> Mapping[str, object]:
        """Models, who asked if not the owner, and every setting that is not the default."""
        settings, principal = self._settings, self._view.principal
        defaults = dict(_flat(Settings()))
        chosen = {name: value for name, value in _flat(settings) if value != defaults.get(name)}
        return {
            "citewise": version("citewise"),
            "embedding": self._library.status().embedding_model,
            "fusion": settings.search.fusion,
            "reranker": settings.rerank.model or settings.rerank.path or settings.rerank.provider,
            "generator": generator,
            **({} if principal.owns_library else {"user": principal.user, "groups": sorted(principal.groups)}),
            **chosen,
        }


def _places(result: SearchResult) -> tuple[Place, ...]:
    passages = (finding.passage for finding in result.findings)
    return tuple(Place(each.document, each.section, each.lines, str(each.chunk_id)) for each in passages)


def _flat(value: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Settings by their dotted names, as JSON values; folders are left out, since they change no result."""
    assert is_dataclass(value)
    for each in fields(value):
        inner = getattr(value, each.name)
        if is_dataclass(inner):
            yield from _flat(inner, f"{prefix}{each.name}.")
        elif prefix or each.name not in ("library", "cache"):
            plain = json.loads(json.dumps(inner, default=_plain))
            # A password may be in front of the host.
            yield f"{prefix}{each.name}", plain.rpartition("@")[2] if each.name == "base_url" else plain


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _commit() -> str | None:
    """The commit that citewise runs from, with "-dirty" if its code was changed; None outside a checkout."""
    root = Path(citewise.__file__).resolve().parents[2]
    if not (root / ".git").exists() or not (root / "src" / "citewise").is_dir():
        return None
    words = ("git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
