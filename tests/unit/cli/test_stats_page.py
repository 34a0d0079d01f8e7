"""The page of `stats --plot` is one HTML file that needs no network and escapes all text."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape

from citewise.cli.html import stats_html
from citewise.cli.output import NOTHING_ASKED
from citewise.insights import Overview, SeenDocument
from citewise.model.logged import Logged
from tests.builders import DAY, NOON, SCOPE, a_document_id, a_row
from tests.unit.cli.pages import Page

HOSTILE = "<script>alert(1)</script>"
TIDES = SeenDocument(a_document_id("tides"), "tides.md", "Tides", 3)


def an_overview(*rows: Logged, documents: Sequence[SeenDocument] = (TIDES,), lost: int | None = 4) -> Overview:
    return replace(Overview.of(rows, since=NOON - 400 * DAY, until=NOON), documents=tuple(documents), lost=lost)


def parsed(html: str) -> Page:
    page = Page(html)
    assert page.open == []
    return page


def test_the_page_is_whole_and_needs_nothing_from_anywhere() -> None:
    page = stats_html(SCOPE, an_overview(a_row(), a_row("x", hits=0)))
    names = set(parsed(page).names)
    assert {"svg", "table", "h1"} <= names
    assert names.isdisjoint({"script", "link", "img", "iframe"})
    assert not re.search(r"(?:src|href)=|url\(|@import", page)
    assert "default-src 'none'" in unescape(page)


def test_every_part_is_drawn() -> None:
    rows = [
        a_row("nothing?", hits=0),
        a_row("poor?", kind="ask", sufficient_context=True, has_warning=True, quality=0.2),
        a_row(degraded=("dense",)),
        a_row(error="Unavailable"),
        a_row(is_cache_hit=True),
    ]
    page = stats_html(SCOPE, an_overview(*rows))
    for words in ("nothing?", "poor?", "dense", "failed: Unavailable", "tides.md", "25.0 %", "p95"):
        assert words in page


def test_what_somebody_asked_is_never_markup() -> None:
    hidden = SeenDocument(a_document_id("x"), HOSTILE, HOSTILE, 1)
    page = stats_html(SCOPE, an_overview(a_row(HOSTILE, hits=0), documents=[hidden]))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    parsed(page)


def test_every_day_has_a_column() -> None:
    page = stats_html(SCOPE, an_overview(a_row(), a_row(at=NOON - 40 * DAY)))
    assert page.count("<rect ") == 41
    assert "<title>2026-01-01: 1</title>" in page
    parsed(page)


def test_a_long_question_is_cut() -> None:
    page = stats_html(SCOPE, an_overview(a_row("tide " * 400, hits=0)))
    assert "tide …" in page
    assert page.count("tide ") < 100


def test_nothing_asked_is_said() -> None:
    page = stats_html(SCOPE, an_overview(documents=[]))
    assert NOTHING_ASKED in page
    parsed(page)


def test_words_that_were_not_kept_are_counted() -> None:
    assert "2 questions, text not stored" in stats_html(SCOPE, an_overview(a_row(None, hits=0), a_row(None, hits=0)))


def test_what_was_dropped_is_shown_to_the_owner_alone() -> None:
    assert "not logged" in stats_html(SCOPE, an_overview(a_row()))
    assert "not logged" not in stats_html(SCOPE, an_overview(a_row(), lost=None))
