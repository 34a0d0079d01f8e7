"""Contexts and citations as people have read and approved them. CITEWISE_WRITE_GOLDEN=1 writes them anew."""

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from citewise.answer.pack import Pack
from citewise.model.answer import Context
from citewise.text.urls import Addresses
from tests.builders import a_finding, a_passage
from tests.fakes.counters import WordCounter

CASES = sorted(Path(__file__).with_name("contexts").glob("*.input.json"))
ADDRESSES = Addresses(
    {"website/docs/": "/docs/", "": "/docs/"}, {"tidehold/": "https://github.com/acme/tidehold/blob/main/"}
)


def packed(case: Path) -> Context:
    given = json.loads(case.read_text("utf-8"))
    findings = []
    for passage in given["passages"]:
        score, lines = passage.pop("score"), tuple(passage.pop("lines"))
        findings.append(a_finding(a_passage("\n".join(passage.pop("text")), lines=lines, **passage), score=score))
    return Pack(WordCounter(), ADDRESSES, given["budget_tokens"])(findings)


def outputs(context: Context) -> dict[str, str]:
    """What stands in the files, by their endings."""
    citations = [asdict(source.citation) for source in context.sources]
    counts = {"tokens": context.tokens, "tokens_before": context.tokens_before}
    summary = json.dumps({**counts, "citations": citations}, indent=2, ensure_ascii=False)
    return {"context.txt": f"{context.text}\n", "citations.json": f"{summary}\n"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.partition(".")[0])
def test_a_context_reads_as_approved(case: Path) -> None:
    name = case.name.partition(".")[0]
    for ending, text in outputs(packed(case)).items():
        approved = case.with_name(f"{name}.{ending}")
        if os.environ.get("CITEWISE_WRITE_GOLDEN"):
            approved.write_text(text, "utf-8")
        assert approved.read_text("utf-8") == text


def test_there_are_cases() -> None:
    assert len(CASES) >= 5
