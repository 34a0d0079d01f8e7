"""Evaluate a library with a judged set. Read this file to know what is asked, how often, and what is timed.

    ingest the set's own corpus, if it has one -> check that the expected places exist
    -> deep searches (metrics of the rankings) -> ordinary searches (their time)
    -> answers (whether they were right to give, whether their citations are true), from the library and from selections

Deep and ordinary searches are two rounds over all questions, with another question between them: by then everything is
warm, and no question follows itself, so that none is fast because its embedding is cached.

Everything is an iterator of events; the result of an evaluation is the last one.
"""

import difflib
import json
import logging
import math
import statistics
import subprocess
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import citewise
from citewise.api import Library, LibraryView
from citewise.errors import BadRequest
from citewise.evaluation.beir import ingest_corpus
from citewise.evaluation.cases import Case, JudgedSet, Place, counted
from citewise.evaluation.compare import Ablation, Comparison
from citewise.evaluation.metrics import answer_measures, documents_of, grade_of, lines_of, ranking_measures
from citewise.evaluation.runs import QuestionResult, Run
from citewise.evaluation.sets import judged_set
from citewise.model.access import Principal, Scope
from citewise.model.chunk import Chunk
from citewise.model.query import MAX_TOP_K
from citewise.model.ranking import RANKINGS, SearchResult
from citewise.model.report import IngestEvent, Step
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
NEEDED = frozenset(
    {"rankings", "embed", "fuse", "hydrate", "cut", "total"}
)  # timings of what a search cannot do without
OPTIONAL = frozenset({"late", "rerank"})  # stages that are only there if a model is
GIT_SECONDS = 5.0

OpenLibrary = Callable[[Settings], Library]
In = TypeVar("In")
T = TypeVar("T")


EvalEvent = IngestEvent | Step | Run | Ablation
Events = Generator[EvalEvent, None, T]  # returns T to who delegates to it


def evaluate(
    settings: Settings,
    judged: Path,
    *,
    principal: Principal,
    scope: Scope | None = None,
    answers: bool = True,
    open_library: OpenLibrary = lambda settings: Library(settings=settings),
) -> Iterator[EvalEvent]:
    """Evaluate the set at a path as this principal. The last event is the run."""
    with open_library(_for_measuring(settings)) as library:
        view = library.as_principal(principal, scope)
        cases = yield from _prepare(library, view, judged)
        yield (yield from _Evaluation(library, view, settings, cases).run(answers=answers))


def ablate(
    settings: Settings,
    judged: Path,
    *,
    principal: Principal,
    scope: Scope | None = None,
    open_library: OpenLibrary = lambda settings: Library(settings=settings),
) -> Iterator[EvalEvent]:
    """Evaluate the whole search, then without each of its parts: a row for each. Nothing is answered."""
    with open_library(_for_measuring(settings)) as library:
        view = library.as_principal(principal, scope)
        cases = yield from _prepare(library, view, judged)
        answerable = tuple(case for case in cases.cases if case.kind == "answerable")
        if not answerable:
            raise BadRequest(f"{cases.name} has no question that the library answers: nothing to rank")
        cases = replace(cases, cases=answerable)
        evaluation = _Evaluation(library, view, settings, cases, f"{EVERYTHING}: ")
        whole = yield from evaluation.run(answers=False)
        yield Ablation(EVERYTHING, whole, ())
    variants: dict[str, dict[str, object]] = {f"without {part}": {"without": (part,)} for part in evaluation.parts()}
    if settings.search.fusion != "rrf":
        variants["fused by rrf"] = {"fusion": "rrf", "weights": {}}
    for name, change in variants.items():
        variant = settings.changed(search=change)
        with open_library(_for_measuring(variant)) as library:
            view = library.as_principal(principal, scope)
            run = yield from _Evaluation(library, view, variant, cases, f"{name}: ").run(answers=False)
        yield Ablation(name, run, Comparison(whole, run).differences(ABLATED_METRICS))


def _for_measuring(settings: Settings) -> Settings:
    """Without the cache, since searches are measured; without the log, since an evaluation is not use."""
    return settings.changed(query_cache={"megabytes": 0}, query_log={"retention_days": 0})


def _prepare(library: Library, view: LibraryView, judged: Path) -> Events[JudgedSet]:
    """Read a set, ingest its own corpus, if it has one, and check that the expected places exist."""
    cases = judged_set(judged)
    if cases.corpus is not None:
        yield from ingest_corpus(library, cases.corpus, view.scope)
    owner = library.as_owner(view.scope)
    if not owner.documents(limit=1):
        raise BadRequest(f"the library has nothing in {view.scope}: ingest the documents first")
    _check_gold(cases, view, owner)
    return cases


def _check_gold(cases: JudgedSet, view: LibraryView, owner: LibraryView) -> None:
    """BadRequest names what is expected and does not exist.

    Two cases are only warned of: documents missing from a set's own corpus, since public sets judge documents that they
    do not contain, and places hidden from this principal, who is right not to find them.
    """
    paths, page = dict[str, None](), view.documents(limit=1_000)
    while page:
        paths |= dict.fromkeys(document.path for document in page)
        page = view.documents(after=page[-1].path, limit=1_000)
    chunks = lru_cache(maxsize=None)(view.chunks)
    places = ((case.id, place, _problem_with(place, paths, chunks)) for case in cases.cases for place in case.gold)
    missing = [(id_, place.document, problem) for id_, place, problem in places if problem]
    visible = [row for row in missing if row[1] in paths or owner.document(row[1]) is None]
    if hidden := len(missing) - len(visible):
        what = counted(hidden, "expected place is", "expected places are")
        _log.warning("%s hidden from this principal, and will not be found", what)
    if visible and cases.corpus is not None:
        what = counted(len({document for _, document, _ in visible}), "judged document is", "judged documents are")
        _log.warning("%s not in the corpus, such as %r", what, visible[0][1])
    elif visible:
        more = f"\n  and {len(visible) - MAX_PROBLEMS} more" if len(visible) > MAX_PROBLEMS else ""
        listed = "".join(f"\n  {id_}: {_with_nearest(*problem)}" for id_, _, problem in visible[:MAX_PROBLEMS])
        raise BadRequest(f"{cases.name} expects what the library does not have:{listed}{more}")


def _problem_with(
    place: Place, paths: Collection[str], chunks: Callable[[str], Sequence[Chunk]]
) -> tuple[str, str, Collection[str]] | None:
    """Why an expected place does not exist: the problem, the wrong name in it, and the names there are."""
    if place.document not in paths:
        return f"there is no document {place.document}", place.document, paths
    if not (place.chunk or place.section or place.lines):
        return None
    found = chunks(place.document)
    ids = [str(chunk.id) for chunk in found]
    sections = dict.fromkeys(chunk.piece.section for chunk in found)
    if place.chunk is not None and place.chunk not in ids:
        return f"{place.document} has no chunk {place.chunk}", place.chunk, ids
    if place.section and place.section not in sections:
        return f"{place.document} has no section {place.section!r}", place.section, sections
    if place.lines is not None and place.chunk is None:
        spans = [Place(place.document, lines=(at.first, at.last)) for at in (chunk.piece.location for chunk in found)]
        if not any(map(place.matches, spans)):
            last = max((span.lines[1] for span in spans if span.lines), default=0)
            first, end = place.lines
            return f"{place.document} has no passage with lines {first} to {end}: its last line is {last}", "", ()
    return None


def _with_nearest(problem: str, name: str, known: Collection[str]) -> str:
    cutoff = 0.0 if len(known) < 2_000 else 0.3  # 0 compares every name letter by letter
    near = difflib.get_close_matches(name, known, n=1, cutoff=cutoff) if name else None
    return f"{problem}; nearest: {near[0]}" if near else problem


class _Evaluation:
    """Asks the questions of a set and measures what comes back."""

    def __init__(
        self, library: Library, view: LibraryView, settings: Settings, cases: JudgedSet, prefix: str = ""
    ) -> None:
        self._library = library
        self._view = view
        self._owner = library.as_owner(view.scope)
        self._settings = settings
        self._cases = cases
        self._prefix = prefix  # of the name of a task
        self._timings: list[Mapping[str, float]] = []  # of each ordinary search, by stage
        self._scored: set[str] = set()  # stages that gave a score to anything
        self._generator: str = settings.answer.generator  # the one that really answers may be another

    def run(self, *, answers: bool) -> Events[Run]:
        results = yield from self._for_each("judging", self._cases.cases, self._judged)
        self._view.search(WARM_UP)
        results = yield from self._for_each("timing", results, self._timed)
        if answers:
            asked = list(zip(results, self._cases.cases, strict=True))
            results = yield from self._for_each("answering", asked, self._answered)
        stages = dict.fromkeys(name for timing in self._timings for name in timing)
        return Run(
            set=self._cases.name,
            unit=self._cases.unit,
            questions=tuple(results),
            stages_ms={name: statistics.median(row[name] for row in self._timings if name in row) for name in stages},
            settings=self._settings_used(answers=answers),
            commit=_commit(),
        )

    def parts(self) -> list[str]:
        """The rankings and stages that can be left out; an optional stage that scored nothing was not there."""
        stages = dict.fromkeys(name for timing in self._timings for name in timing)
        optional = OPTIONAL.difference(self._scored)
        return [*RANKINGS, *(name for name in stages if name not in NEEDED.union(RANKINGS, optional))]

    def _for_each(self, task: str, items: Sequence[In], work: Callable[[In], T]) -> Events[list[T]]:
        results = []
        for done, item in enumerate(items):
            yield Step(f"{self._prefix}{task}", done, len(items))
            results.append(work(item))
        yield Step(f"{self._prefix}{task}", len(items), len(items))
        return results

    def _judged(self, case: Case) -> QuestionResult:
        result = QuestionResult(
            case.id, case.question, case.kind, case.group, expected=case.gold, expected_answer=case.answer
        )
        if case.kind != "answerable":
            return result
        places = self._deep(case.question)
        measures = ranking_measures(case.gold, self._cases.unit, places)
        return replace(result, measures=measures, found=self._shown(places, case.gold))

    def _deep(self, question: str) -> tuple[Place, ...]:
        """Enough hits for DEPTH items."""
        if self._cases.unit == "passage":
            return _places(self._view.search(question, top_k=DEPTH))
        top_k = DEEP_TOP_K
        places = _places(self._view.search(question, top_k=top_k))
        while len(places) == top_k < MAX_TOP_K and (found := len(documents_of(places))) < DEPTH:
            top_k = min(MAX_TOP_K, math.ceil(MARGIN * top_k * DEPTH / found))
            places = _places(self._view.search(question, top_k=top_k))
        return places

    def _timed(self, result: QuestionResult) -> QuestionResult:
        if result.kind == "selected":
            return result
        started = time.perf_counter()
        found = self._view.search(result.question)
        took_ms = 1000 * (time.perf_counter() - started)
        self._timings.append(found.timings_ms)
        self._scored.update(name for finding in found.findings for name in finding.candidate.scores)
        return replace(result, latency_ms=took_ms, found=result.found or self._shown(_places(found), ()))

    def _answered(self, asked: tuple[QuestionResult, Case]) -> QuestionResult:
        result, case = asked
        started = time.perf_counter()
        answer = self._view.ask(case.question, selection=case.selection)
        took_ms = 1000 * (time.perf_counter() - started)
        if case.kind == "selected":
            result = replace(result, latency_ms=took_ms)
        if answer.generator != "none":  # a refusal has none
            self._generator = answer.generator
        measures = {**result.measures, **answer_measures(case, answer, self._stored)}
        return replace(
            result,
            measures=measures,
            answer=answer.text,
            outcome=answer.outcome,
            answer_ms=took_ms,
            answer_lines=lines_of(answer.text),
        )

    def _stored(self, path: str) -> tuple[str | None, frozenset[str]]:
        """Text and chunk ids of a document, read from the catalog and not from the answer that cites it."""
        document = self._owner.document(path)
        if document is None:
            return None, frozenset()
        return document.text, frozenset(str(chunk.id) for chunk in self._owner.chunks(path))

    def _shown(self, places: Sequence[Place], gold: Sequence[Place]) -> tuple[Place, ...]:
        items = documents_of(places) if self._cases.unit == "document" else places
        return tuple(replace(place, grade=grade_of(place, gold)) for place in items[:SHOWN])

    def _settings_used(self, *, answers: bool) -> Mapping[str, object]:
        """Models, who asked if not the owner, and every setting that is not the default."""
        settings, principal = self._settings, self._view.principal
        defaults = dict(_flat(Settings()))
        chosen = {name: value for name, value in _flat(settings) if value != defaults.get(name)}
        return {
            "citewise": version("citewise"),
            "embedding": self._library.status().embedding_model,
            "fusion": settings.search.fusion,
            "reranker": settings.rerank.model or settings.rerank.path or settings.rerank.provider,
            "generator": self._generator if answers else None,
            **({} if principal.owns_library else {"user": principal.user, "groups": sorted(principal.groups)}),
            **chosen,
        }


def _places(result: SearchResult) -> tuple[Place, ...]:
    passages = (finding.passage for finding in result.findings)
    return tuple(Place(found.document, found.section, found.lines, str(found.chunk_id)) for found in passages)


def _flat(value: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Settings by their dotted names, as JSON values; folders are left out, since they change no result."""
    assert is_dataclass(value)
    for field in fields(value):
        inner = getattr(value, field.name)
        if is_dataclass(inner):
            yield from _flat(inner, f"{prefix}{field.name}.")
        elif prefix or field.name not in ("library", "cache"):
            plain = json.loads(json.dumps(inner, default=lambda it: dict(it) if isinstance(it, Mapping) else str(it)))
            # A password may be in front of the host.
            yield f"{prefix}{field.name}", plain.rpartition("@")[2] if field.name == "base_url" else plain


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
