"""Settings and a judged set -> runs: take in what the set brings along, check what it expects, ask, compare."""

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from citewise.errors import BadRequest
from citewise.evaluation.cases import CaseSet, Kind
from citewise.evaluation.compare import differences
from citewise.evaluation.gold import problems
from citewise.evaluation.judged_corpus import corpus_mount
from citewise.evaluation.judged_sets import JudgedSet, judged_set, mounted
from citewise.evaluation.pipeline import Answerers, Evaluate, Step, Terms
from citewise.evaluation.provenance import commit, settings_used
from citewise.evaluation.runs import Ablation, Run
from citewise.evaluation.summary import counted
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.answer import Answer, final_answer
from citewise.model.chunk import Chunk
from citewise.model.filters import Where
from citewise.model.ids import document_id
from citewise.model.query import Query, Selection
from citewise.model.ranking import ARMS
from citewise.model.report import IngestEvent
from citewise.ports.catalog import Catalog
from citewise.ports.models import Generator, Reranker
from citewise.search.adjust import Cut
from citewise.search.late import Late
from citewise.search.rerank import Rerank
from citewise.settings import SearchSettings, Settings
from citewise.wiring.embedding import Embedding, embedding_of
from citewise.wiring.full import OpenLibrary, opened_for_reading
from citewise.wiring.generating import generator_of
from citewise.wiring.reranking import reranker_of
from citewise.wiring.search import search_of
from citewise.wiring.selected import answer_pipeline
from citewise.wiring.serving import OpenService

_log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_PROBLEMS = 10  # of a question file that are named
ARM_THREADS = 2
EVERYTHING = "everything"
ABLATED_METRICS = ("ndcg@10", "recall@5", "recall@100", "mrr@10")  # that rows of the table are compared by


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told how far things are."""

    on_event: Callable[[IngestEvent], None] = lambda event: None  # while a corpus is taken in
    on_step: Callable[[Step], None] = lambda step: None  # while questions are asked
    on_part: Callable[[str], None] = lambda name: None  # before each row of an ablation


@dataclass(frozen=True, slots=True)
class Parts:
    """What is used instead of what the settings name."""

    embedding: Embedding | None = None
    reranker: Reranker | None = None
    generator: Generator | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A set in a library that holds all it is about."""

    settings: Settings
    embedding: Embedding
    cases: CaseSet
    scope: Scope
    library: OpenLibrary
    reranker: Reranker | None
    principal: Principal = OWNER


def _forgetful(settings: Settings) -> Settings:
    """What is measured is a search, not the memory of one; and an exam is no use of the library."""
    cache, log = replace(settings.query_cache, megabytes=0), replace(settings.query_log, retention_days=0)
    return replace(settings, query_cache=cache, query_log=log)


def evaluate(
    settings: Settings,
    judged: Path | CaseSet,
    *,
    scope: Scope | None = None,
    principal: Principal = OWNER,
    answers: bool = True,
    parts: Parts = Parts(),  # noqa: B008  it is frozen
    listeners: Listeners = Listeners(),  # noqa: B008
) -> Run:
    """One run of a set, of its cases or of what stands at a path, asked by this principal."""
    with ready(settings, judged, scope=scope, principal=principal, parts=parts, listeners=listeners) as made:
        generator = (parts.generator or generator_of(settings)) if answers else None
        answering = OpenService(_forgetful(settings), made.embedding, lambda: _given(generator), made.reranker)
        try:
            flow = Evaluate(
                _asked_by(principal, answering.search),
                made.library.catalog,
                None if generator is None else _answerers(made, answering, generator),
            )
            terms = _terms(made, settings, generator.name if generator else None)
            return _with_expected_answers(flow(made.cases, terms, on_step=listeners.on_step), made.cases)
        finally:
            answering.close()


def _asked_by(principal: Principal, answer: Callable[[Query], T]) -> Callable[[Query], T]:
    """The same, asked in somebody's name."""
    return lambda query: answer(replace(query, principal=principal))


def _with_expected_answers(run: Run, cases: CaseSet) -> Run:
    """The run with the answers that the author of its questions would have."""
    wanted = {case.id: case.answer for case in cases.cases}
    return replace(run, outcomes=tuple(replace(one, expected_answer=wanted.get(one.id)) for one in run.outcomes))


def ablate(
    settings: Settings,
    judged: Path | CaseSet,
    *,
    scope: Scope | None = None,
    principal: Principal = OWNER,
    parts: Parts = Parts(),  # noqa: B008
    listeners: Listeners = Listeners(),  # noqa: B008
) -> tuple[Ablation, ...]:
    """Everything, then without each part of the search, each row compared with the first, asked by this principal.

    Nothing is answered.
    """
    with (
        ready(settings, judged, scope=scope, principal=principal, parts=parts, listeners=listeners) as made,
        ThreadPoolExecutor(ARM_THREADS) as threads,
    ):
        searchable = replace(made, cases=replace(made.cases, cases=tuple(made.cases.of(Kind.ANSWERABLE))))
        if not searchable.cases.cases:
            raise BadRequest(f"{made.cases.name} holds no question that the library answers: nothing to rank")
        rows: list[Ablation] = []
        for variant in _variants(made, threads):
            listeners.on_part(variant.name)
            run = _run_of(searchable, variant, threads, listeners.on_step)
            compared = differences(rows[0].run, run, ABLATED_METRICS) if rows else ()
            rows.append(Ablation(variant.name, run, compared))
        return tuple(rows)


@dataclass(frozen=True, slots=True)
class _Variant:
    """A search that is not quite the one of the settings."""

    name: str
    without: frozenset[str] = frozenset()
    search: SearchSettings | None = None  # instead of the settings'


def _variants(made: Ready, threads: ThreadPoolExecutor) -> Iterator[_Variant]:
    whole = search_of(made.library, reranker=made.reranker, threads=threads)
    absent = {Rerank.name: made.reranker is None, Late.name: made.library.embedding.words is None, Cut.name: True}
    stages = [stage.name for stage in whole.refine if not absent.get(stage.name, False)]
    yield _Variant(EVERYTHING)
    for name in (*ARMS, *stages):
        yield _Variant(f"without {name}", frozenset({name}))
    chosen = made.settings.search
    if chosen.fusion != "rrf":
        yield _Variant("fused by rrf", search=replace(chosen, fusion="rrf", weights={}))


def _run_of(made: Ready, variant: _Variant, threads: ThreadPoolExecutor, on_step: Callable[[Step], None]) -> Run:
    settings = made.settings if variant.search is None else replace(made.settings, search=variant.search)
    library = replace(made.library, settings=settings)
    search = search_of(library, reranker=made.reranker, threads=threads, without=variant.without)
    terms = _terms(made, settings, None)
    if variant.without:
        terms = replace(terms, settings={**terms.settings, "without": sorted(variant.without)})
    asked = _asked_by(made.principal, search)
    return Evaluate(asked, made.library.catalog)(made.cases, terms, on_step=on_step)


@contextmanager
def ready(
    settings: Settings,
    judged: Path | CaseSet,
    *,
    scope: Scope | None = None,
    principal: Principal = OWNER,
    parts: Parts = Parts(),  # noqa: B008
    listeners: Listeners = Listeners(),  # noqa: B008
) -> Iterator[Ready]:
    """The set, and its library open for reading: a corpus of its own is in there, and what it expects exists."""
    found = judged_set(judged) if isinstance(judged, Path) else JudgedSet(judged)
    chosen = scope or Scope()
    embedding = parts.embedding or embedding_of(settings)
    cases = found.cases
    if found.corpus is not None:
        mount = corpus_mount(settings, found.corpus, chosen, embedding=embedding, on_event=listeners.on_event)
        cases = mounted(cases, mount)
    with opened_for_reading(settings, embedding) as library:
        _refuse_empty(library, chosen)
        check_gold(library.catalog, cases, Where(chosen, principal.readers), is_own=found.corpus is not None)
        yield Ready(settings, embedding, cases, chosen, library, parts.reranker or reranker_of(settings), principal)


def _refuse_empty(library: OpenLibrary, scope: Scope) -> None:
    if not library.catalog.count(scope).documents:
        raise BadRequest(f"the library at {library.folder.root} holds nothing in {scope}: ingest the documents first")


def check_gold(catalog: Catalog, cases: CaseSet, where: Where, *, is_own: bool = False) -> None:
    """BadRequest names what is expected and does not exist, as far as whoever asks may see.

    A set with a corpus of its own is only told of it: public sets are known to judge documents that they do not hold,
    and count them all the same. So is one that expects what is there and hidden: that it is not found is right.
    """
    there = catalog.stamps(where.scope, {gold.document for case in cases.cases for gold in case.gold}).keys()
    paths, after = set[str](), ""
    while page := catalog.documents(where, after=after, limit=1_000):
        paths |= {document.path for document in page}
        after = page[-1].path

    @cache
    def chunks(path: str) -> tuple[Chunk, ...]:
        return catalog.chunks(where, document_id(where.scope, path))

    missing = problems(cases.cases, paths, chunks)
    found = [one for one in missing if one.gold.document in paths or one.gold.document not in there]
    if hidden := len(missing) - len(found):
        said = counted(hidden, "expected place is", "expected places are")
        _log.warning("%s hidden from whoever asks, and will not be found", said)
    if not found:
        return
    if is_own:
        absent = {one.gold.document for one in found}
        said = counted(len(absent), "judged document is", "judged documents are")
        _log.warning("%s not in the corpus, such as %r", said, found[0].gold.document)
        return
    more = f"\n  and {len(found) - MAX_PROBLEMS} more" if len(found) > MAX_PROBLEMS else ""
    listed = "".join(f"\n  {problem}" for problem in found[:MAX_PROBLEMS])
    raise BadRequest(f"{cases.name} expects what the library does not hold:{listed}{more}")


def _answerers(made: Ready, answering: OpenService, generator: Generator) -> Answerers:
    pipeline = answer_pipeline(made.settings, made.embedding, generator)

    def about(query: Query, selection: Selection) -> Answer:
        return final_answer(pipeline.ask_selected(query, selection))

    return Answerers(_asked_by(made.principal, lambda query: final_answer(answering.ask(query))), about)


def _terms(made: Ready, settings: Settings, generator: str | None) -> Terms:
    model = made.embedding.embedder.model.name
    used = settings_used(settings, model=model, generator=generator, principal=made.principal)
    return Terms(made.scope, time.time(), used, commit())


def _given(generator: Generator | None) -> Generator:
    if generator is None:
        raise AssertionError("nothing is answered in a run of searches alone")
    return generator
