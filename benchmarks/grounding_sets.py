"""The questions that grounding is measured on, asked of their libraries: by the product's own search and packing."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.catalogs import chunks_at
from benchmarks.judged import DATA, KEPT, beir, library_at
from citewise import Library
from citewise.answer.ground import Ground
from citewise.answer.pack import Pack
from citewise.model.access import OWNER, Scope
from citewise.model.answer import SELECTION, Citation, Context, ContextSource, Signals
from citewise.model.query import ANSWER_TOP_K, Query
from citewise.model.ranking import Finding
from citewise.settings import Settings
from citewise.text.units import units_of
from citewise.text.urls import Addresses
from citewise.wiring import search_of, stored_library
from citewise.wiring_models import embedding_of

ROOT = Path(__file__).parents[1]
HANDBOOK = ROOT / "src" / "citewise" / "data" / "handbook"
HANDBOOK_QUESTIONS = ROOT / "tests" / "data" / "handbook_questions"
TEXTBOOK = DATA / "textbook"
MIN_TOKENS = 15  # of a passage that someone might select; a heading alone is none
MAX_OTHERS = 100  # questions of a set that is only looked at, so that all of this takes two minutes

EMBEDDING = embedding_of(Settings())
GROUND = Ground(EMBEDDING.embedder, EMBEDDING.counter)

Questions = Mapping[str, str]  # by id
Rows = tuple[Sequence[Signals], Sequence[Signals]]  # where the answer is there, and where it is not

_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Gold:
    """Where a question's answer stands, and how it should read."""

    places: tuple[tuple[str, int, int], ...]  # document, first and last line
    answer: str

    def holds(self, document: str | None, lines: tuple[int, int] | None) -> bool:
        return any(
            (document or "").endswith(place) and (lines or (0, 0))[0] <= last and first <= (lines or (0, 0))[1]
            for place, first, last in self.places
        )


@dataclass(frozen=True, slots=True)
class SearchedQuestion:
    """A question, what was found and packed for it, and what the decision sees."""

    id: str
    question: str
    findings: tuple[Finding, ...]
    context: Context
    signals: Signals


def searched(library: str, questions: Questions) -> list[SearchedQuestion]:
    """Each question, asked of a library."""
    with (
        ThreadPoolExecutor(2) as threads,
        stored_library(Settings(library=_library(library)), EMBEDDING).reading() as opened,
    ):
        search = search_of(opened, reranker=None, threads=threads)
        pack = Pack(EMBEDDING.counter, Addresses())
        made = []
        for id_, question in questions.items():
            findings = search(Query(question, id_, 0.0, OWNER)).findings
            context = pack(findings[:ANSWER_TOP_K])
            signals = GROUND.search_signals(question, findings, top_k=ANSWER_TOP_K)
            made.append(SearchedQuestion(id_, question, findings, context, signals))
        return made


def questions_of(name: str) -> Questions:
    """Questions that the set's own library answers."""
    if name == "textbook":
        return {entry["id"]: entry["question"] for entry in _json(TEXTBOOK / "questions" / "answerable.json")}
    if name == "handbook":
        return {entry["id"]: entry["question"] for entry in _json(HANDBOOK_QUESTIONS / "answerable.json")}
    questions = {id_: text for id_, text in beir(DATA / name).questions.items() if text}
    return questions if name == "runbooks" else dict(list(questions.items())[:MAX_OTHERS])


def unanswered_of(name: str) -> Questions:
    """Questions that it does not answer. An alert without a text is asked by its name, split into words."""
    if name == "runbooks":
        alerts = _lines(DATA / name / "queries.no_page.jsonl")
        return {alert["_id"]: alert["text"] or " ".join(_NAME_PARTS.findall(alert["_id"])) for alert in alerts}
    folder = HANDBOOK_QUESTIONS if name == "handbook" else TEXTBOOK / "questions"
    return {entry["id"]: entry["question"] for entry in _json(folder / "unanswerable.json")}


def gold_of(name: str) -> Mapping[str, Gold]:
    """By question, for the sets that have reference answers."""
    if name == "api_docs":
        answers = {row["_id"]: row["answer"] for row in _lines(DATA / name / "answers.jsonl")}
        judged = beir(DATA / name)
        files = {id_: path for path, id_ in judged.names.items()}
        return {
            id_: Gold(tuple((files[document], 0, 10**9) for document in judged.judgments[id_]), answers[id_])
            for id_ in judged.judgments
        }
    folder = HANDBOOK_QUESTIONS if name == "handbook" else TEXTBOOK / "questions"
    return {
        entry["id"]: Gold(
            tuple((place["doc"], place["line_start"], place["line_end"]) for place in entry["relevant"]),
            entry["answer"],
        )
        for entry in _json(folder / "answerable.json")
    }


def search_rows(name: str) -> Rows:
    """The signals of what a set's library answers and of what it does not."""
    sides = [searched(name, questions) for questions in (questions_of(name), unanswered_of(name))]
    return [question.signals for question in sides[0]], [question.signals for question in sides[1]]


def selection_rows(name: str) -> Rows:
    """As if the answering section had been selected, and as if one of its two nearest neighbors had been."""
    questions = questions_of(name)
    sides: tuple[list[Signals], list[Signals]] = [], []
    with stored_library(Settings(library=_library(name)), EMBEDDING).reading() as opened:
        for id_, gold in gold_of(name).items():
            path = next(path for path in opened.catalog.paths(Scope()) if path.endswith(gold.places[0][0]))
            chunks = [chunk.piece for chunk in chunks_at(opened.catalog, Scope(), path)]
            places = [
                at for at, chunk in enumerate(chunks) if gold.holds(path, (chunk.location.first, chunk.location.last))
            ]
            others = (at for at in range(len(chunks)) if at not in places and chunks[at].tokens >= MIN_TOKENS)
            near = sorted(others, key=lambda at: min(abs(at - place) for place in places))[:2]
            answering = "\n\n".join(chunks[at].text for at in places)
            sides[0].append(selection_signals(questions[id_], answering))
            sides[1].extend(selection_signals(questions[id_], chunks[at].text) for at in near)
    return sides


def selected_rows(file: Path) -> Rows:
    """The sets of real selections."""
    sides: tuple[list[Signals], list[Signals]] = [], []
    for entry in _json(file):
        sides[0 if entry["answerable"] else 1].append(selection_signals(entry["question"], entry["selected_text"]))
    return sides


def selection_signals(question: str, text: str) -> Signals:
    """What the decision sees of a selection."""
    citation = Citation(1, SELECTION, None, None, "", "", (), None, None, None, None, None, "", 1.0)
    context = Context("", (ContextSource(1, (), text, 0, 1.0, citation, units_of(1, text)),), 0, 0)
    return GROUND.selection_signals(question, context, GROUND.weigh(question, context)[0])


def _library(name: str) -> Path:
    """The folder of a set's library, made on first use."""
    folder = KEPT / name / "library"
    if name in ("textbook", "handbook"):
        Library(folder).ingest(HANDBOOK if name == "handbook" else TEXTBOOK / "website" / "docs")
    else:
        library_at(name)
    return folder


def _json(file: Path) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return made


def _lines(file: Path) -> Iterator[dict[str, str]]:
    yield from map(json.loads, file.read_text("utf-8").splitlines())
