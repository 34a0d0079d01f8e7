"""The page of the query log: everything in it, nothing from elsewhere, and nothing that a question could smuggle in."""

import re
from collections.abc import Sequence
from html import unescape
from html.parser import HTMLParser

from citewise.evaluation.page.insights import FEW_DAYS, NOTHING, insights_html
from citewise.insights import Overview, SeenDocument, statistics_of
from citewise.model.logged import Logged, Way
from tests.builders import SCOPE
from tests.logs import DAY, NOON, a_document_id, a_row

HOSTILE = "<script>alert(1)</script>"
TIDES = SeenDocument(a_document_id("tides"), "tides.md", "Tides", 3)


def an_overview(*rows: Logged, documents: Sequence[SeenDocument] = (TIDES,), lost: int | None = 4) -> Overview:
    found = statistics_of(rows, since=NOON - 400 * DAY, until=NOON)
    return Overview(found, tuple(documents), lost, is_cut=False)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


def test_the_page_is_whole_and_needs_nothing_from_anywhere() -> None:
    page = insights_html(SCOPE, an_overview(a_row(), a_row("x", hits=0)), ["Tides - Reading"])
    tags = parsed(page)
    assert {"svg", "table", "h1"} <= tags.seen
    assert tags.seen.isdisjoint({"script", "link", "img", "iframe"})
    assert not re.search(r"(?:src|href)=|url\(|@import", page)
    assert "default-src 'none'" in unescape(page)


def test_every_part_is_drawn() -> None:
    rows = [
        a_row("nothing?", hits=0),
        a_row("poor?", way=Way.ASK, sufficient_context=True, has_warning=True, quality=0.2),
        a_row(degraded=("dense",)),
        a_row(error="Unavailable"),
        a_row(is_cache_hit=True),
    ]
    page = insights_html(SCOPE, an_overview(*rows), ["Tides - Reading"])
    for words in ("nothing?", "poor?", "dense", "failed: Unavailable", "tides.md", "Tides - Reading", "25.0 %", "p95"):
        assert words in page


def test_what_somebody_asked_is_never_markup() -> None:
    hidden = SeenDocument(a_document_id("x"), HOSTILE, HOSTILE, 1)
    page = insights_html(SCOPE, an_overview(a_row(HOSTILE, hits=0), documents=[hidden]), [HOSTILE])
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    parsed(page)


def test_a_long_time_is_a_line_and_a_short_one_has_dates() -> None:
    short = insights_html(SCOPE, an_overview(a_row()), [])
    long = insights_html(SCOPE, an_overview(a_row(), a_row(at=NOON - FEW_DAYS * DAY)), [])
    assert "2026-01-01: 1" in short
    assert "from 2025-12-01" in long
    parsed(long)


def test_a_long_question_is_cut() -> None:
    page = insights_html(SCOPE, an_overview(a_row("tide " * 400, hits=0)), [])
    assert "tide …" in page
    assert page.count("tide ") < 100


def test_nothing_asked_is_said() -> None:
    page = insights_html(SCOPE, an_overview(documents=[]), [])
    assert NOTHING in page
    parsed(page)


def test_words_that_were_not_kept_are_counted() -> None:
    assert "2, whose words are not kept" in insights_html(
        SCOPE, an_overview(a_row(None, hits=0), a_row(None, hits=0)), []
    )


def test_what_was_dropped_is_shown_to_the_owner_alone() -> None:
    assert "dropped by the log" in insights_html(SCOPE, an_overview(a_row()), [])
    assert "dropped by the log" not in insights_html(SCOPE, an_overview(a_row(), lost=None), [])
