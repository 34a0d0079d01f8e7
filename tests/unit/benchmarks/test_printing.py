"""A measured table on a terminal."""

from pathlib import Path

import pytest
from benchmarks import printing
from benchmarks.bench_page import ABSENT
from benchmarks.printing import printed, publish
from benchmarks.results import Table, read_results, write_results

from tests.unit.benchmarks.samples import sample

TABLE = Table("Sizes", ("chunks", "of", "p50 ms"), ((1_000, "all", 1.23456), (1_000_000, "ten percent", None)))


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    assert printed(TABLE).splitlines() == [
        "Sizes",
        "   chunks  of           p50 ms",
        "    1,000  all          1.2346",
        f"1,000,000  ten percent       {ABSENT}",
    ]


def test_a_table_has_as_many_decimals_as_are_asked_for_and_says_what_was_wanted() -> None:
    first, _, row = printed(Table("Speed", ("p50 ms",), ((12_345.678,),), wanted="5 ms"), decimals=1).splitlines()
    assert (first, row) == ("Speed (wanted: 5 ms)", "12,345.7")


def test_a_table_without_rows_is_its_columns() -> None:
    assert printed(Table("Empty", ("one", "other"), ())) == "Empty\none  other"


def test_what_is_published_is_printed_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(printing, "write_results", lambda results: write_results(results, tmp_path))
    publish(sample(), decimals=2)
    assert f"<large>       1,000,000   48.76       {ABSENT}  no" in capsys.readouterr().out
    assert read_results(tmp_path / "search-speed.json") == sample()
