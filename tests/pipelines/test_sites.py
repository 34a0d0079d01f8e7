"""URLs of a site that is found beside the documents, through a whole library."""

from pathlib import Path

import pytest

from citewise.model.report import IngestReport
from tests.pipelines.harness import Shelf

CONFIG = "module.exports = {url: 'https://harbor.example', baseUrl: '/', presets: ['classic']}"
PAGES = {"tides.md": "# Tides\n\n## Reading the gauge\n\nThe tide gauge is read at noon.\n"}
URL = "https://harbor.example/docs/tides#reading-the-gauge"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, PAGES)


def with_config(shelf: Shelf, text: str = CONFIG) -> IngestReport:
    (shelf.docs.parent / "docusaurus.config.js").write_text(text)
    return shelf.ingest()


def url(shelf: Shelf) -> str | None:
    return shelf.search("When is the tide gauge read?").findings[0].url


def test_a_site_that_appears_gives_urls_without_embedding_anything(shelf: Shelf) -> None:
    assert url(shelf) is None
    report = with_config(shelf)
    assert (report.ingested, report.embedded) == (1, 0)
    assert url(shelf) == URL
    assert shelf.ingest().unchanged == 1


def test_answers_and_suggestions_have_the_urls_too(shelf: Shelf) -> None:
    with_config(shelf)
    with shelf.library() as library:
        owner = library.as_owner()
        assert [source.url for source in owner.ask("When is the tide gauge read?").citations] == [URL]
        assert [place.url for place in owner.ask("Quixotic zeppelin mortgage?").suggestions] == [URL]


def test_an_odd_configuration_is_a_warning_and_gives_no_url(shelf: Shelf) -> None:
    report = with_config(shelf, "module.exports = require('./site')")
    (warning,) = report.warnings
    assert warning.path == "../docusaurus.config.js"
    assert "no site is known" in warning.reason
    assert (report.skipped, report.is_complete, url(shelf)) == ((), True, None)


def test_a_page_cannot_say_which_site_shows_it(shelf: Shelf) -> None:
    front = "---\ncitewise_site: {url: 'https://evil.example/', path: tides.md}\n---\n"
    shelf.write("tides.md", front + PAGES["tides.md"])
    shelf.ingest()
    assert url(shelf) is None
    with_config(shelf)
    assert url(shelf) == URL
