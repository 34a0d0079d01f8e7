"""The judged sets and their libraries, as pools of candidates: each question asked once, of the product's own index."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.catalogs import chunks_at
from benchmarks.judged import DATA, KEPT, beir, library_at
from benchmarks.lab_choice import Parts
from benchmarks.lab_pools import Place, Pool, pool_of
from citewise.evaluation.cases import Place as FoundPlace
from citewise.evaluation.cases import Unit
from citewise.evaluation.metrics import grade_of
from citewise.library import OpenLibrary
from citewise.model.access import Scope
from citewise.model.chunk import Hit, Piece, Vector, searchable_text
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.model.ranking import CODE, DENSE, WORDS
from citewise.ports.indexes import TextIndex, VectorIndex
from citewise.ports.models import Embedding
from citewise.settings import Settings
from citewise.text import analysis
from citewise.wiring import stored_library

TEXTBOOK = "textbook"
BEIR = ("scifact", "api_docs", "cranfield", "cosqa_dev", "runbooks")
SETS = (*BEIR, TEXTBOOK)
PLAIN, PARAPHRASED = "textbook plain", "paraphrased"
LIMIT = 200  # hits a ranking: the most that any alternative looks at
EVERYTHING = Where(Scope(), None)

RankedHits = Mapping[str, Sequence[Hit]]
RankingsOf = Callable[[str], RankedHits]  # what each ranking finds for a question


@dataclass(frozen=True, slots=True)
class Case:
    """One question, where its answers stand, and what it is counted with."""

    question: str
    stratum: str
    gold: Mapping[str, tuple[FoundPlace, ...]]  # by document

    @property
    def grades(self) -> list[int]:
        return [place.grade for some in self.gold.values() for place in some]


@dataclass(frozen=True, slots=True)
class Held:
    """A chunk as a library holds it."""

    path: str
    piece: Piece

    @property
    def searchable_text(self) -> str:
        return searchable_text(self.piece.breadcrumb, self.piece.text)


Corpus = Mapping[ChunkId, Held]


@dataclass(frozen=True, slots=True)
class SearchedSet:
    """A set, its corpus, and what the rankings found there for each question."""

    name: str
    cases: tuple[Case, ...]
    vectors: Mapping[str, Vector]  # by question
    corpus: Corpus
    hits: Mapping[str, RankedHits]  # by question

    def pools(self) -> dict[str, list[Pool]]:
        """The candidates of each question, by stratum."""
        return pools_of(self.name, self.cases, self.corpus, self.hits.__getitem__)


def parts_of(names: Sequence[str]) -> Parts:
    """The strata of each set: plain and paraphrased questions to the textbook are counted apart."""
    return {name: (PLAIN, PARAPHRASED) if name == TEXTBOOK else (name,) for name in names}


def cases_of(name: str) -> tuple[Case, ...]:
    return _textbook_cases() if name == TEXTBOOK else _beir_cases(name)


def _beir_cases(name: str) -> tuple[Case, ...]:
    judged = beir(DATA / name)
    files = {document: path for path, document in judged.names.items()}
    return tuple(
        Case(
            text,
            name,
            {
                files[document]: (FoundPlace(files[document], grade=grade),)
                for document, grade in judged.judgments[id_].items()
            },
        )
        for id_, text in judged.questions.items()
    )


def _textbook_cases() -> tuple[Case, ...]:
    questions = json.loads((DATA / TEXTBOOK / "questions" / "answerable.json").read_text("utf-8"))
    cases = []
    for entry in questions:
        gold: dict[str, tuple[FoundPlace, ...]] = {}
        for place in entry["relevant"]:
            lines = (place["line_start"], place["line_end"])
            found = FoundPlace(place["doc"], lines=lines, grade=place["grade"])
            gold[found.document] = (*gold.get(found.document, ()), found)
        cases.append(Case(entry["question"], PARAPHRASED if entry["type"] == "paraphrase" else PLAIN, gold))
    return tuple(cases)


def searched_set(name: str, embedding: Embedding, *, kept: Path = KEPT) -> SearchedSet:
    """Every question of a set, asked of its library as the product's defaults make it."""
    with set_library(name, embedding, kept=kept) as library:
        return searched_of(name, library, cases_of(name), embedding)


def searched_of(name: str, library: OpenLibrary, cases: tuple[Case, ...], embedding: Embedding) -> SearchedSet:
    vectors = {case.question: embedding.embedder.query(case.question) for case in cases}
    rankings_of = index_rankings(library.vectors, library.texts, vectors)
    corpus = corpus_of(library)
    rankings = {question: rankings_of(question) for question in vectors}
    return SearchedSet(name, cases, vectors, corpus, rankings)


@contextmanager
def set_library(name: str, embedding: Embedding, *, kept: Path = KEPT) -> Iterator[OpenLibrary]:
    """The set's library, made or brought up to date."""
    folder = library_at(name, kept=kept)
    with stored_library(Settings(library=folder), embedding).reading() as opened:
        yield opened


def corpus_of(library: OpenLibrary) -> Corpus:
    scope = Scope()
    return {
        chunk.id: Held(path, chunk.piece)
        for path in library.catalog.paths(scope)
        for chunk in chunks_at(library.catalog, scope, path)
    }


def index_rankings(
    index: VectorIndex, texts: TextIndex, vectors: Mapping[str, Vector], limit: int = LIMIT
) -> RankingsOf:
    """The three rankings as the product runs them, one after the other."""

    def rankings_of(question: str) -> RankedHits:
        terms = analysis.terms(question)
        return {
            DENSE: index.search(vectors[question], where=EVERYTHING, limit=limit),
            WORDS: texts.search(terms.words, field="words", where=EVERYTHING, limit=limit),
            CODE: texts.search(terms.code, field="code", where=EVERYTHING, limit=limit),
        }

    return rankings_of


def pools_of(
    name: str,
    cases: Sequence[Case],
    corpus: Corpus,
    rankings_of: RankingsOf,
) -> dict[str, list[Pool]]:
    """What the rankings found for each case, by stratum."""
    numbers = {path: at for at, path in enumerate(dict.fromkeys(held.path for held in corpus.values()))}
    unit: Unit = "passage" if name == TEXTBOOK else "document"

    def place(id_: ChunkId, case: Case) -> Place:
        held = corpus[id_]
        here = FoundPlace(held.path, held.piece.section, (held.piece.location.first, held.piece.location.last), id_)
        grade = grade_of(here, case.gold.get(held.path, ()))
        return Place(numbers[held.path], grade)

    made: dict[str, list[Pool]] = {stratum: [] for stratum in parts_of([name])[name]}
    for case in cases:
        rankings = rankings_of(case.question)
        places = {hit.id: place(hit.id, case) for hits in rankings.values() for hit in hits}
        made[case.stratum].append(pool_of(case.question, rankings, places, unit=unit, judged=case.grades))
    return made
