"""What the query log adds to a query, measured small."""

from pathlib import Path

from benchmarks.query_log import ALLOWED_MS, overhead


def test_the_log_adds_less_than_is_allowed_and_keeps_every_row(tmp_path: Path) -> None:
    found = overhead(tmp_path, 300)
    assert found.added_ms < ALLOWED_MS
    assert (found.written, found.dropped) == (300, 0)
