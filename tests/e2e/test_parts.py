"""Every part of a library can be handed in, and is the one that is used."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewise import Library, LibraryParts, LibraryView
from citewise.adapters.memory.cache import MemoryCache
from citewise.errors import BadRequest, Misconfigured, Unavailable
from citewise.model.answer import Quality
from citewise.model.chunk import Hit
from tests.fakes.counters import HashEmbedder, HashWords, WordCounter
from tests.fakes.kept_log import KeptLog
from tests.fakes.memory_catalog import MemoryCatalog
from tests.fakes.plain_index import PlainTextIndex, PlainVectorIndex
from tests.fakes.scripted_generator import ScriptedGenerator

QUESTION = "When is the tide gauge read?"
PAGE = "# Gauge\n\nThe tide gauge is read at noon.\n"


class Watched:
    """A part that notes which of its methods are called."""

    def __init__(self, part: object, **attributes: Any) -> None:
        self.__dict__.update(attributes)
        self.calls: set[str] = set()
        self._part = part

    def __getattr__(self, name: str) -> Any:
        self.calls.add(name)
        return getattr(self._part, name)


class Reversing:
    name = "reversing"

    def scores(self, question: str, texts: list[str]) -> tuple[float, ...]:
        return tuple(0.5 for _ in texts)


class Shortener:
    name = "shortener"

    def shortened(self, *args: object, **named: object) -> tuple[object, ...]:
        raise Unavailable("there is nothing to shorten")


class Evaluator:
    def quality(self, *args: object, **named: object) -> Quality:
        return Quality(0.25, None, None, None, None)


@pytest.fixture(autouse=True)
def _page(tmp_path: Path) -> None:
    (tmp_path / "gauge.md").write_text(PAGE)


def search(view: LibraryView) -> None:
    assert view.search(QUESTION).findings


def ask(view: LibraryView) -> None:
    view.ask(QUESTION, compress=True)


MODELS: dict[str, object] = {"embedder": HashEmbedder(), "token_counter": WordCounter()}
PARTS: dict[str, tuple[Callable[[], object], Callable[[LibraryView], None], str]] = {
    "embedder": (HashEmbedder, search, "query"),
    "token_counter": (WordCounter, search, "counts"),
    "word_embedder": (lambda: HashWords(HashEmbedder()), search, "embedded"),
    "reranker": (Reversing, search, "scores"),
    "generator": (lambda: ScriptedGenerator(["At noon [1]."]), ask, "stream"),
    "compressor": (Shortener, ask, "shortened"),
    "quality_evaluator": (Evaluator, ask, "quality"),
    "vector_index": (PlainVectorIndex, search, "search"),
    "text_index": (PlainTextIndex, search, "search"),
    "catalog": (MemoryCatalog, search, "passages"),
    "cache": (lambda: MemoryCache(max_bytes=1_000_000, ttl_seconds=60), search, "put"),
    "query_log": (KeptLog, search, "write"),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_handed_in_is_used(name: str, tmp_path: Path) -> None:
    make, use, method = PARTS[name]
    part = Watched(make(), name=getattr(make(), "name", name)) if name.endswith("index") else Watched(make())
    others = {**MODELS, "generator": ScriptedGenerator(["At noon [1]."])} if name == "compressor" else MODELS
    with Library(tmp_path / "library", **{**others, name: part}) as library:  # type: ignore[arg-type]
        library.ingest(tmp_path / "gauge.md")
        use(library.as_owner())
    assert method in part.calls
    assert not {"close", "clear"} & part.calls  # what is handed in stays its owner's to close


def test_every_part_of_the_signature_is_handed_in_here() -> None:
    assert LibraryParts.__annotations__.keys() == PARTS.keys()


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(TypeError, match="unknown parts: ranker; known are embedder, "):
        Library(ranker=None)  # type: ignore[call-arg]


def test_status_names_the_engines_that_are_used(tmp_path: Path) -> None:
    with Library(tmp_path / "library", vector_index=PlainVectorIndex(), **MODELS) as library:  # type: ignore[arg-type]
        library.ingest(tmp_path / "gauge.md")
        assert library.status().engines == {"catalog": "sqlite", "words": "tantivy", "vectors": "plain vectors"}


def test_a_log_that_is_handed_in_is_the_one_that_is_read(tmp_path: Path) -> None:
    store = KeptLog(now=time.time())
    with Library(tmp_path / "library", query_log=store, **MODELS) as library:  # type: ignore[arg-type]
        library.ingest(tmp_path / "gauge.md")
        library.as_owner().search(QUESTION)
        assert [seen.row.text for seen in library.as_owner().log()] == [QUESTION]
        assert all(check.is_ok for check in library.doctor())
    assert not (tmp_path / "library" / "queries.db").exists()


@pytest.mark.parametrize(
    "part", [{"catalog": MemoryCatalog}, {"vector_index": PlainVectorIndex}, {"text_index": PlainTextIndex}], ids=str
)
def test_a_library_whose_stores_were_handed_in_is_not_built_again_over_itself(part: Any, tmp_path: Path) -> None:
    (name, make), *_ = part.items()
    shared = {name: make()}
    with Library(tmp_path / "library", **MODELS, **shared) as library:  # type: ignore[arg-type]
        library.ingest(tmp_path / "gauge.md")
    other = {"embedder": HashEmbedder(name="another"), "token_counter": WordCounter()}
    with pytest.raises(Misconfigured, match="ingest the sources into a new library"):
        Library(tmp_path / "library", **other, **shared).reindex()  # type: ignore[arg-type]
    with Library(tmp_path / "library", **MODELS, **shared) as library:  # type: ignore[arg-type]
        search(library.as_owner())


@pytest.mark.parametrize("names", [("mine", "mine"), ("texts", None), (None, "vectors")], ids=str)
def test_two_indexes_have_two_names(names: tuple[str | None, str | None], tmp_path: Path) -> None:
    indexes: dict[str, Any] = {}
    for part, make, name in zip(("vector_index", "text_index"), (PlainVectorIndex, PlainTextIndex), names, strict=True):
        if name is not None:
            indexes[part] = make()
            indexes[part].name = name
    with pytest.raises(BadRequest, match="both indexes have the name"):
        Library(tmp_path, **indexes)


@pytest.mark.parametrize("checked_after", [False, True])
def test_texts_are_filtered_beside_vectors_of_another_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, checked_after: bool
) -> None:
    if checked_after:  # as in a large index
        monkeypatch.setattr("citewise.adapters.local_index.texts.LARGE", 0)
    pages = [tmp_path / f"page-{number}.md" for number in range(3)]
    for number, tag in enumerate(("sea", "sea", "land")):
        pages[number].write_text(f"---\ntags: [{tag}]\n---\n{PAGE}\nNumber {number}.\n")
    with Library(tmp_path / "library", vector_index=PlainVectorIndex(), **MODELS) as library:  # type: ignore[arg-type]
        library.ingest(*pages)
        found = library.as_owner().search(QUESTION, filters={"tags": "sea"}).findings
    assert sorted(finding.passage.document for finding in found) == ["page-0.md", "page-1.md"]
    assert all("words" in finding.candidate.ranks for finding in found)


@pytest.mark.parametrize(("part", "engine"), [("vector_index", "faiss"), ("text_index", "tantivy")])
def test_an_engine_that_is_not_used_is_not_loaded(part: str, engine: str, tmp_path: Path) -> None:
    (tmp_path / "gauge.md").write_text(PAGE)
    fake = {"vector_index": "PlainVectorIndex", "text_index": "PlainTextIndex"}[part]
    program = f"""
import sys
from citewise import Library
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.fakes.plain_index import {fake}
library = Library({str(tmp_path / "library")!r}, embedder=HashEmbedder(), token_counter=WordCounter(), {part}={fake}())
library.ingest({str(tmp_path / "gauge.md")!r})
assert library.as_owner().search({QUESTION!r}).findings
sys.exit({engine!r} in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


class Waiting(PlainVectorIndex):
    """An index that answers only when all three rankings of a question are being searched: as servers, side by side."""

    together = threading.Barrier(3)

    def search(self, *args: Any, **named: Any) -> tuple[Hit, ...]:
        self.together.wait(60)
        return super().search(*args, **named)


class WaitingTexts(PlainTextIndex):
    def search(self, *args: Any, **named: Any) -> tuple[Hit, ...]:
        Waiting.together.wait(60)
        return super().search(*args, **named)


def test_indexes_whose_size_is_not_known_are_searched_side_by_side(tmp_path: Path) -> None:
    indexes = {"vector_index": Waiting(), "text_index": WaitingTexts()}
    with Library(tmp_path / "library", **MODELS, **indexes) as library:  # type: ignore[arg-type]
        library.ingest(tmp_path / "gauge.md")
        search(library.as_owner())
