"""Judged sets as libraries: a BEIR folder's corpus becomes Markdown files, ingested as a user's own would be."""

import ast
import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from citewise import Library

DATA = Path(__file__).parents[2] / "shared" / "data"
KEPT = Path(__file__).parents[1] / ".bench"  # libraries made once; embedding the sets takes minutes

Judgments = Mapping[str, Mapping[str, int]]  # question id -> document id -> grade


@dataclass(frozen=True, slots=True)
class Judged:
    """A set's questions and which documents answer them."""

    questions: Mapping[str, str]
    judgments: Judgments
    names: Mapping[str, str]  # path in the library -> document id


def beir(folder: Path) -> Judged:
    """The test questions of a BEIR folder."""
    with (folder / "qrels" / "test.tsv").open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened, delimiter="\t"))
    judgments: dict[str, dict[str, int]] = {}
    for row in rows:
        judgments.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    texts = {row["_id"]: row["text"] for row in _lines(folder / "queries.jsonl")}
    names = {_file_name(at): row["_id"] for at, row in enumerate(_lines(folder / "corpus.jsonl"))}
    return Judged({id_: texts[id_] for id_ in judgments}, judgments, names)


def library_of(name: str, *, kept: Path = KEPT, data: Path = DATA) -> Library:
    """The set's library, made on first use."""
    folder = kept / name
    pages = folder / "pages"
    if not pages.exists():
        pages.mkdir(parents=True)
        for at, row in enumerate(_lines(data / name / "corpus.jsonl")):
            _made(pages / _file_name(at)).write_text(page(row["title"], row["text"]), "utf-8")
    library = Library(folder / "library")
    library.ingest(pages)
    return library


def page(title: str, text: str) -> str:
    """A document as a Markdown file: its title as the heading, code as a block of code."""
    body = f"```python\n{text}\n```" if _is_python(text) else text
    line = " ".join(title.split())
    return f"# {line}\n\n{body}\n" if line else f"{body}\n"


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Normalized discounted cumulative gain with linear gains, as trec_eval counts it."""
    gained = _gain(grades.get(id_, 0) for id_ in ranked[:depth])
    best = _gain(sorted(grades.values(), reverse=True)[:depth])
    return gained / best if best else 0.0


def _gain(grades: Iterable[int]) -> float:
    return sum(grade / math.log2(place + 2) for place, grade in enumerate(grades))


def _is_python(text: str) -> bool:
    if "def " not in text and "class " not in text:
        return False
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return text.lstrip().startswith(("def ", "class ", "async def ", "@"))
    return True


def _file_name(at: int) -> str:
    return f"{at // 1000:03d}/{at:06d}.md"


def _lines(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8") as opened:
        return [json.loads(line) for line in opened]


def _made(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    return file
