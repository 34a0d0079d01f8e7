"""What every source promises."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from citewise.adapters.folder.source import FolderSource
from citewise.errors import BadData
from citewise.evaluation.beir import BeirSource
from citewise.model.document import FileProblem, Item
from citewise.ports.sources import Source
from tests.fakes.formats import BOOKS, MemorySource

TEXTS = {"b.md": "Second.", "a.md": "First.", "deep/c.md": "Third."}


def a_folder(home: Path) -> FolderSource:
    for path, text in (*TEXTS.items(), ("empty.md", "")):
        (home / path).parent.mkdir(exist_ok=True)
        (home / path).write_text(text)
    return FolderSource(home, media_types={".md": "text/markdown"}, max_file_bytes=1000)


def some_rows(home: Path) -> BeirSource:
    rows = [json.dumps({"_id": path, "text": text}) for path, text in TEXTS.items()]
    (home / "corpus.jsonl").write_text("\n".join((*rows, "no JSON")))
    return BeirSource(home / "corpus.jsonl")


def some_memory(home: Path) -> MemorySource:
    return MemorySource({path: (BOOKS, text.encode()) for path, text in (*TEXTS.items(), ("empty", ""))})


SOURCES: dict[str, Callable[[Path], Source]] = {"folder": a_folder, "rows": some_rows, "memory": some_memory}


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    return SOURCES[request.param](tmp_path)


def test_the_same_items_come_in_the_same_order(source: Source) -> None:
    first = list(source.items())
    assert first == list(source.items())
    paths = [entry.path for entry in first]
    assert len(set(paths)) == len(paths) == 4


def test_what_is_no_item_is_skipped_with_a_reason(source: Source) -> None:
    (skipped,) = [entry for entry in source.items() if isinstance(entry, FileProblem)]
    assert skipped.reason


def test_an_item_can_be_read_and_has_a_media_type(source: Source) -> None:
    items = [entry for entry in source.items() if isinstance(entry, Item)]
    assert {source.read(item).decode().strip() for item in items} == set(TEXTS.values())
    assert all("/" in item.media_type and item.size > 0 for item in items)


def test_an_item_that_is_gone_is_bad_data(source: Source, tmp_path: Path) -> None:
    item = next(entry for entry in source.items() if isinstance(entry, Item))
    for file in tmp_path.rglob("*.*"):
        file.unlink()
    if isinstance(source, MemorySource):
        source = MemorySource({item.path: (BOOKS, None)})
    with pytest.raises(BadData):
        source.read(item)
