"""Judged sets as libraries, made by the harness itself: a BEIR folder's corpus, or the textbook's pages."""

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from citewise import Library, Scope
from citewise.evaluation import metrics
from citewise.evaluation.beir import ingest_corpus, path_of
from citewise.evaluation.sets import judged_set

DATA = Path(__file__).parents[2] / "shared" / "data"
KEPT = Path(__file__).parents[1] / ".bench"  # libraries made once; embedding the sets takes minutes
SETS = ("scifact", "api_docs", "cranfield", "cosqa_dev", "runbooks")  # in BEIR layout
TEXTBOOK = "textbook"

Judgments = Mapping[str, Mapping[str, int]]  # question id -> document id -> grade


@dataclass(frozen=True, slots=True)
class Judged:
    """A set's questions and which documents answer them."""

    questions: Mapping[str, str]
    judgments: Judgments
    names: Mapping[str, str]  # path in the library -> document id


def judged_at(name: str, data: Path = DATA) -> Path:
    """What `citewise eval` takes for a set."""
    found = _place(name, data)
    if not found.exists():
        raise SystemExit(f"there is no {found}: this benchmark needs the shared data beside the checkout")
    return found


def is_there(name: str, data: Path = DATA) -> bool:
    """Whether the shared data beside the checkout has the set."""
    return _place(name, data).exists()


def _place(name: str, data: Path) -> Path:
    return data / name / "questions" if name == TEXTBOOK else data / name


def library_at(name: str, *, kept: Path = KEPT, data: Path = DATA) -> Path:
    """The folder of a set's library, brought up to date. The first time embeds everything."""
    folder = kept / name / "library"
    with Library(folder) as library:
        if name == TEXTBOOK:
            library.ingest(data / name / "website" / "docs")
        else:
            deque(ingest_corpus(library, judged_at(name, data) / "corpus.jsonl", Scope()), maxlen=0)
    return folder


def beir(folder: Path) -> Judged:
    """The questions of a BEIR folder that have an answer there."""
    cases = [case for case in judged_set(folder).cases if case.kind == "answerable"]
    ids = {path_of(id_): id_ for id_ in _ids(folder / "corpus.jsonl")}
    return Judged(
        {case.id: case.question for case in cases},
        {case.id: {ids[Path(place.document).name]: place.grade for place in case.gold} for case in cases},
        {f"{folder.name}/{path}": id_ for path, id_ in ids.items()},
    )


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Of documents by their ids, as the harness counts it."""
    return metrics.ndcg([grades.get(id_, 0) for id_ in ranked], grades.values(), depth)


def _ids(corpus: Path) -> list[str]:
    with corpus.open(encoding="utf-8") as opened:
        return [str(json.loads(line)["_id"]) for line in opened]
