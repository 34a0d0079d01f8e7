"""Every citation of every answer, opened: the excerpt stands in the cited file at the cited lines (A2, A8)."""

import json
from importlib.resources import files
from pathlib import Path

from citewise import Cited, Done, Library

ROOT = Path(__file__).parents[2]
HANDBOOK = Path(str(files("citewise") / "data" / "handbook"))
QUESTIONS = ROOT / "tests" / "data" / "handbook_questions" / "answerable.json"


def test_the_excerpt_of_every_citation_stands_where_it_says(tmp_path: Path) -> None:
    questions = [case["question"] for case in json.loads(QUESTIONS.read_text("utf-8"))]
    with Library(tmp_path / "library") as library:
        library.ingest(HANDBOOK)
        citations = [one for question in questions for one in library.as_owner().ask(question).citations]
    assert len(citations) >= len(questions)
    for one in citations:
        assert one.document is not None
        assert one.lines is not None
        first, last = one.lines
        cited = (HANDBOOK / one.document).read_text("utf-8").splitlines()[first - 1 : last]
        assert collapsed(one.excerpt.removesuffix("…")) in collapsed("\n".join(cited)), (one.document, one.lines)


def test_a_source_is_announced_as_the_answer_will_cite_it(tmp_path: Path) -> None:
    with Library(tmp_path / "library") as library:
        library.ingest(HANDBOOK)
        events = list(library.as_owner().stream("What does TIDE-204 mean?"))
    announced = {event.citation for event in events if isinstance(event, Cited)}
    (done,) = [event for event in events if isinstance(event, Done)]
    assert announced == set(done.answer.citations)


def collapsed(text: str) -> str:
    return " ".join(text.split())
