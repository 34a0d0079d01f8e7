"""A page whose file cannot be read any more is still found, and says that it is older than its file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from citewise.cli.results import answer_json, search_json, show_search
from citewise.model.ranking import SearchResult
from tests.pipelines.harness import Shelf

PAGES = {
    "tides.md": "# Tides\n\nThe tide gauge is read at noon.\n",
    "nets.md": "# Nets\n\nNets are mended in winter.\n",
}
ASKED = "When is the tide gauge read?"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, PAGES)


def binary(file: Path) -> None:
    file.write_bytes(b"\0\1\2" * 100)


def other_encoding(file: Path) -> None:
    file.write_bytes("# Tides\n\nDie Flut fällt.\n".encode("latin-1"))


def invalid_rule(file: Path) -> None:
    file.write_text("---\naccess: everyone\n---\n# Tides\n")


def stale_of(found: SearchResult) -> dict[str, str]:
    return {finding.passage.document: finding.passage.stale for finding in found.findings}


@pytest.mark.parametrize(
    ("change", "reason"),
    [(binary, "binary file"), (other_encoding, "is not UTF-8"), (invalid_rule, "access rule 'everyone' is not known")],
)
def test_a_page_that_cannot_be_read_is_stale_until_it_can(
    shelf: Shelf, change: Callable[[Path], None], reason: str
) -> None:
    change(shelf.docs / "tides.md")
    shelf.ingest()
    assert stale_of(shelf.search(ASKED)) == {"tides.md": reason, "nets.md": ""}
    shelf.ingest()
    assert stale_of(shelf.search(ASKED)) == {"tides.md": reason, "nets.md": ""}
    shelf.write("tides.md", PAGES["tides.md"])
    shelf.ingest()
    assert stale_of(shelf.search(ASKED)) == {"tides.md": "", "nets.md": ""}


def test_it_is_said_where_the_page_is_quoted_and_at_once(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    with shelf.library() as library:
        owner = library.as_owner()
        assert owner.ask(ASKED).citations[0].stale is None
        binary(shelf.docs / "tides.md")
        shelf.ingest()
        answer, found = owner.ask(ASKED), owner.search(ASKED)  # not what the cache has
    cited = answer_json(answer)["citations"]
    assert isinstance(cited, list)
    assert [citation["stale"] for citation in cited if citation["document"] == "tides.md"] == ["binary file"]
    described = search_json(found)["hits"]
    assert isinstance(described, list)
    assert {hit["document"]: hit["stale"] for hit in described} == {"tides.md": "binary file", "nets.md": None}
    show_search(found, None, explain=False)
    assert "tides.md:1  (older than its file: binary file)" in capsys.readouterr().out


def test_a_page_that_was_stale_stays_so_in_a_rebuilt_library(shelf: Shelf) -> None:
    binary(shelf.docs / "tides.md")
    shelf.ingest()
    shelf.reindex()
    assert stale_of(shelf.search(ASKED))["tides.md"] == "binary file"
