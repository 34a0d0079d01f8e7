"""A question's vector is needed by the search, by the weighing of its sources and by the cache, and made once."""

from pathlib import Path

from citewise import Library
from tests.fakes.counters import WordCounter
from tests.pipelines.harness import Shelf
from tests.unit.test_service_cache import CountingEmbedder


def test_an_answer_embeds_its_question_once(tmp_path: Path) -> None:
    shelf, embedder = Shelf(tmp_path), CountingEmbedder()
    shelf.write("tide.md", "# Tide\n\nThe tide gauge is read at noon by the keeper of the harbor.\n")
    shelf.ingest()
    with Library(settings=shelf.settings, embedder=embedder, token_counter=WordCounter()) as library:
        answer = library.as_owner().ask("When is the tide gauge read?")
    assert answer.citations
    assert embedder.embedded  # the sources were weighed by meaning, not by words alone
    assert embedder.queries == ["When is the tide gauge read?"]
