"""The tables of docs/benchmarks.md are excerpts of benchmarks/results; CITEWISE_WRITE_DOCS=1 rewrites them."""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Excerpt:
    """Columns and rows of a table in a results file, under the names that the page uses."""

    file: str
    table: int
    columns: Mapping[str, str]
    keep: Callable[[list[Any]], bool] = lambda row: True
    names: Mapping[str, str] | None = None  # first cells to rename; rows without a name are left out


SETS = {
    "scifact": "SciFact",
    "api_docs": "api_docs",
    "cranfield": "Cranfield",
    "cosqa_dev": "CoSQA",
    "runbooks": "runbooks",
    "textbook": "textbook",
    "handbook": "handbook",
}
EXCERPTS = {
    "ranking": Excerpt(
        "quality",
        0,
        {"": ""}
        | {name: SETS[name] for name in ("scifact", "api_docs", "cranfield", "cosqa_dev", "runbooks")}
        | {name: name for name in ("textbook, plain", "textbook, paraphrased")},
        names={
            "the default": "citewise",
            "rrf of the same parts": "reciprocal rank fusion",
            "dense alone": "dense only",
            "words alone": "BM25, words only",
            "code alone": "BM25, code only",
        },
    ),
    "answers": Excerpt(
        "quality",
        1,
        {"set": "set", "questions": "questions", "recall@5": "recall@5", "mrr@10": "MRR@10"}
        | {name: f"`{name}`" for name in ("citation_accuracy", "refusal_accuracy")},
        names=SETS,
    ),
    "quality": Excerpt(
        "quality-score",
        0,
        {
            "set": "set",
            "answered or not": "answerable or not",
            "a right passage among the sources or none": "right passage among the sources or not",
        },
        keep=lambda row: row[1] == "overall",
        names=SETS,
    ),
    "speed": Excerpt(
        "speed",
        0,
        {"chunks": "chunks", "reader sees": "reader sees", "p50 ms": "p50 ms", "p95 ms": "p95 ms", "p99 ms": "p99 ms"},
        keep=lambda row: row[1] in ("owner", "10 %") and row[0] > 1_000,
    ),
    "recall": Excerpt(
        "speed",
        4,
        {"chunks": "chunks", "100 %": "no filter", "10 %": "10 % visible", "0.1 %": "0.1 % visible"},
        keep=lambda row: row[0] > 1_000,
    ),
    "access": Excerpt(
        "access",
        0,
        {"reader": "reader", "p50 ms": "p50 ms", "p99 ms": "p99 ms", "p50 against no filter": "p50, ratio"},
        keep=lambda row: row[0] not in ("sees 74 %", "sees 19 %"),
    ),
    "peers": Excerpt(
        "peers",
        0,
        {"measure": ""}
        | {name: name for name in ("citewise", "LanceDB", "txtai", "LangChain", "LlamaIndex", "Haystack")},
        names={
            "p50 ms, 10 %": "search p50 ms, 10 % visible",
            "p50 ms, all": "search p50 ms, no filter",
            "nDCG@10 api_docs": "nDCG@10, api_docs",
            "nDCG@10 scifact": "nDCG@10, SciFact",
            "ingest s": "ingest, seconds",
            "embedded after edit": "texts embedded after editing one page",
            "install MB": "install, MB",
        },
    ),
}


def figure(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.3f}" if value < 1 else f"{value:,.{max(0, 3 - len(str(int(value))))}f}"


def excerpt_table(excerpt: Excerpt) -> str:
    results = json.loads((ROOT / "benchmarks" / "results" / f"{excerpt.file}.json").read_text())
    table = results["tables"][excerpt.table]
    places = [table["columns"].index(name) for name in excerpt.columns]
    lines = [[*excerpt.columns.values()], ["---", *["---:"] * (len(places) - 1)]]
    for row in filter(excerpt.keep, table["rows"]):
        first = row[0] if excerpt.names is None else excerpt.names.get(row[0])
        if first is not None:
            lines.append([figure(first), *(figure(row[place]) for place in places[1:])])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@pytest.mark.parametrize("name", EXCERPTS)
def test_an_excerpt_on_the_benchmarks_page_equals_the_results(name: str) -> None:
    block = re.compile(rf"(<!-- excerpt: {name} -->\n).*?(<!-- /excerpt -->)", re.DOTALL)
    table = excerpt_table(EXCERPTS[name])
    if os.environ.get("CITEWISE_WRITE_DOCS"):
        PAGE.write_text(block.sub(lambda match: f"{match[1]}{table}\n{match[2]}", PAGE.read_text()))
    found = block.search(PAGE.read_text())
    assert found
    assert found[0] == f"{found[1]}{table}\n{found[2]}"


def test_every_excerpt_of_the_page_is_checked() -> None:
    assert re.findall(r"<!-- excerpt: (.*?) -->", PAGE.read_text()) == list(EXCERPTS)
