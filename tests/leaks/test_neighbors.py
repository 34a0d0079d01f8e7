"""What stands around a visible chunk never shows a page that is hidden: the text of an answer comes from neighbors."""

from pathlib import Path

import pytest

from citewise import Library, Principal
from citewise.model.access import Scope

SECRET = "zqhidden"
STEPS = "\n\n".join(
    f"Step {at}: open valve number {at} of the tide pump and wait until it hums." * 6 for at in range(9)
)
PUMP = f"# Pump\n\nTo start the tide pump:\n\n{STEPS}\n"
PAGES = {
    "open.md": PUMP,
    "closed.md": f"---\naccess: [group:ops]\n---\n\n{PUMP}\nIts {SECRET} code is 7.\n",
    "mine.md": f"---\naccess: [owner:carl]\n---\n\n# Pump\n\nTo start the tide pump of {SECRET}:\n\n{STEPS}\n",
}
QUESTIONS = ("How do I start the tide pump?", f"What is the {SECRET} code?", "tide pump valve number 3")


def shelf(folder: Path, pages: dict[str, str]) -> Path:
    for name, text in pages.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    made = Library(tmp_path_factory.mktemp("neighbors") / "library")
    made.ingest(shelf(tmp_path_factory.mktemp("docs"), PAGES))
    # The same paths, headings and sentences in another tenant's project.
    theirs = {name: text.replace("tide pump", f"tide pump {SECRET}") for name, text in PAGES.items()}
    made.ingest(shelf(tmp_path_factory.mktemp("theirs"), theirs), scope=Scope("rival", "handbook"))
    return made


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_quotes_no_neighbor_of_a_hidden_page(library: Library, question: str) -> None:
    for principal in (Principal("bob"), Principal("ann", groups=frozenset({"press"}))):
        answer = library.as_principal(principal).ask(question)
        assert {citation.document for citation in answer.citations} <= {"open.md"}
        assert SECRET not in answer.text
        assert SECRET not in repr(answer.citations)
        assert SECRET not in repr(answer.suggestions)


def test_who_may_see_a_page_is_shown_its_neighbors(library: Library) -> None:
    seen = library.as_principal(Principal("ann", groups=frozenset({"ops"}))).ask(QUESTIONS[1])
    assert SECRET in seen.text
    assert {citation.document for citation in seen.citations} <= {"open.md", "closed.md"}


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_neighbor_comes_from_another_tenant(library: Library, question: str) -> None:
    answer = library.as_owner().ask(question)
    assert f"tide pump {SECRET}" not in answer.text
