"""Questions asked in three ways, with what the decision to answer saw and whether a right passage was found."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from benchmarks.grounding_sets import EMBEDDING, GROUND, gold_of, questions_of, searched, unanswered_of
from benchmarks.judged import DATA, KEPT, beir
from citewise.answer.ground import ANSWERED_CONFIDENCE, SEARCH
from citewise.answer.pack import Pack
from citewise.answer.quality import CalibratedQuality
from citewise.model.access import OWNER, Scope
from citewise.model.answer import Context, Grounds, Signals
from citewise.model.filters import AnyOf, Condition
from citewise.model.query import ANSWER_TOP_K, Query
from citewise.search.pipeline import Search
from citewise.settings import Settings
from citewise.text.urls import Addresses
from citewise.wiring import search_of, stored_library

ANSWERED, UNANSWERED, WITHHELD = "answered", "not answered", "withheld"
PACK = Pack(EMBEDDING.counter, Addresses())

Gold = Callable[[Context], bool]  # whether a right passage is among the sources


@dataclass(frozen=True, slots=True)
class Row:
    """A question as it was asked: what the decision saw, and what was true."""

    set_: str
    kind: str
    signals: Signals
    is_right: bool

    @property
    def confidence(self) -> float:
        return SEARCH.confidence(self.signals)

    @property
    def overall(self) -> float:
        return CalibratedQuality.chance("normal", Grounds(self.confidence, "answered"))

    @property
    def is_answered(self) -> bool:
        return self.confidence >= ANSWERED_CONFIDENCE


def rows_of(name: str) -> list[Row]:
    """Every question of a set, asked of its library in each way that there is."""
    searched(name, {})  # makes the library, if it is not there
    gold, documents = right_of(name)
    with (
        ThreadPoolExecutor(2) as threads,
        stored_library(Settings(library=KEPT / name / "library"), EMBEDDING).reading() as opened,
    ):
        search = search_of(opened, reranker=None, threads=threads)
        paths = frozenset(opened.catalog.paths(Scope()))
        rows = []
        for id_, question in questions_of(name).items():
            signals, context = _searched(search, question)
            rows.append(Row(name, ANSWERED, signals, gold[id_](context)))
            others = frozenset(path for path in paths if not path.endswith(tuple(documents[id_])))
            rows.append(Row(name, WITHHELD, _searched(search, question, AnyOf("document", others))[0], is_right=False))
        if name != "api_docs":  # has none
            for question in unanswered_of(name).values():
                rows.append(Row(name, UNANSWERED, _searched(search, question)[0], is_right=False))
        return rows


def right_of(name: str) -> tuple[Mapping[str, Gold], Mapping[str, Sequence[str]]]:
    """By question: whether sources hold a right passage, and the documents that do."""
    if name in ("textbook", "handbook"):
        places = gold_of(name)
        return (
            {id_: _holding(gold.holds) for id_, gold in places.items()},
            {id_: [document for document, _, _ in gold.places] for id_, gold in places.items()},
        )
    judged = beir(DATA / name)
    files = {id_: path for path, id_ in judged.names.items()}
    documents = {id_: [files[document] for document in grades] for id_, grades in judged.judgments.items()}
    return {id_: _holding(_one_of(some)) for id_, some in documents.items()}, documents


def _holding(holds: Callable[[str | None, tuple[int, int] | None], bool]) -> Gold:
    return lambda context: any(holds(source.citation.document, source.citation.lines) for source in context.sources)


def _one_of(paths: Sequence[str]) -> Callable[[str | None, tuple[int, int] | None], bool]:
    return lambda document, _: (document or "").endswith(tuple(paths))


def _searched(search: Search, question: str, *conditions: Condition) -> tuple[Signals, Context]:
    findings = search(Query(question, "r", 0.0, OWNER, conditions=conditions)).findings
    context = PACK(findings[:ANSWER_TOP_K])
    return GROUND.search_signals(question, findings, top_k=ANSWER_TOP_K), context
