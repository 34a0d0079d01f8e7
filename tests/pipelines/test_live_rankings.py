"""What was deleted, replaced or renamed moves no ranking: an edited library answers like a fresh one."""

import random
import shutil
from pathlib import Path

import pytest

from citewise.ingest.targets import IngestOptions
from citewise.model.access import Scope
from citewise.search.pipeline import Search
from tests.pipelines.harness import Shelf, a_question

QUERIES, EDITS = 200, 12
VOCABULARY = [f"{first}{second}{n}" for first in ("tide", "harbor", "gauge") for second in "abcdefgh" for n in range(6)]


def a_page(draw: random.Random, *, words: int) -> str:
    """Sections of drawn words, a few of which are much more frequent than the others."""
    sections = [
        " ".join(VOCABULARY[min(int(draw.paretovariate(0.5)), len(VOCABULARY)) - 1] for _ in range(words))
        for _ in range(draw.randrange(1, 5))
    ]
    return "\n\n".join(f"## Section {n}\n\n{text}" for n, text in enumerate(sections))


def edit(shelf: Shelf, draw: random.Random, *, edition: int) -> None:
    """Pages become other and shorter ones, go, come and are renamed."""
    files = sorted(shelf.docs.rglob("*.md"))
    changed, gone, renamed = draw.sample(files, 3)
    changed.write_text(a_page(draw, words=15))
    gone.unlink()
    renamed.rename(renamed.with_name(f"renamed-{edition}.md"))
    shelf.write(f"new-{edition}.md", a_page(draw, words=draw.choice([20, 60])))


def top_ten(search: Search, question: str) -> list[str]:
    return [str(finding.passage.chunk_id) for finding in search(a_question(question)).findings]


def differing(edited: Shelf, fresh: Shelf, draw: random.Random) -> list[str]:
    """The questions, of 200, that the two libraries answer with other passages or in another order."""
    questions = [" ".join(draw.choices(VOCABULARY, k=draw.randrange(1, 8))) for _ in range(QUERIES)]
    with edited.searching() as one, fresh.searching() as other:
        return [question for question in questions if top_ten(one, question) != top_ten(other, question)]


@pytest.fixture
def edited(tmp_path: Path) -> Shelf:
    draw = random.Random(8)
    shelf = Shelf.holding(tmp_path / "edited", {f"p{n}.md": a_page(draw, words=50) for n in range(60)})
    for edition in range(EDITS):
        edit(shelf, draw, edition=edition)
        shelf.ingest()
    return shelf


def fresh_copy(shelf: Shelf, home: Path) -> Shelf:
    shutil.copytree(shelf.docs, home / "docs")
    fresh = Shelf(home)
    fresh.ingest()
    return fresh


def test_an_edited_library_ranks_like_a_fresh_one(edited: Shelf, tmp_path: Path) -> None:
    assert differing(edited, fresh_copy(edited, tmp_path / "fresh"), random.Random(9)) == []


def test_a_library_that_lost_most_of_its_pages_ranks_like_a_fresh_one(edited: Shelf, tmp_path: Path) -> None:
    pages = sorted(edited.docs.rglob("*.md"))
    for batch in (pages[:20], pages[20:40]):
        for page in batch:
            page.unlink()
        edited.ingest()
    assert differing(edited, fresh_copy(edited, tmp_path / "fresh"), random.Random(9)) == []


def test_the_pages_of_another_tenant_move_no_ranking(edited: Shelf, tmp_path: Path) -> None:
    fresh = fresh_copy(edited, tmp_path / "fresh")
    theirs, draw = tmp_path / "theirs", random.Random(7)
    theirs.mkdir()
    for n in range(20):
        (theirs / f"p{n}.md").write_text(a_page(draw, words=90))
    edited.ingest(theirs, IngestOptions(scope=Scope("rival", "handbook")))
    for n in range(10):
        (theirs / f"p{n}.md").unlink()
    edited.ingest(theirs, IngestOptions(scope=Scope("rival", "handbook")))
    assert differing(edited, fresh, random.Random(9)) == []
