"""The page of results is made from the result files alone."""

from pathlib import Path

import pytest
from benchmarks import printing
from benchmarks.bench_page import ABSENT, KNOWN, cell, page_of
from benchmarks.printing import printed, publish
from benchmarks.results import Table, read_results, write_results

from tests.unit.benchmarks.samples import sample


def sample_page(folder: Path) -> str:
    write_results(sample(), folder)
    return page_of(folder)


def test_a_table_is_written_with_rounded_numbers_and_nothing_breaks_out_of_its_cell(tmp_path: Path) -> None:
    assert (
        "### Search by size\n\nWarm, one thread.\n\nTarget: p99 &lt; 100 ms at 1M\n\n"
        "| library | chunks | p50 ms | recall | right |\n"
        "| --- | ---: | ---: | ---: | --- |\n"
        "| small \\| tiny | 1,000 | 1.23 | 0.995 | yes |\n"
        f"| &lt;large> | 1,000,000 | 48.8 | {ABSENT} | no |\n"
    ) in sample_page(tmp_path)


def test_each_section_says_by_what_and_where_it_was_measured(tmp_path: Path) -> None:
    page = sample_page(tmp_path)
    assert page.startswith("<!-- Generated")
    assert (
        "## Speed of search\n\n`make bench-speed`, commit `1a2b3c4d5e6f+changes`, 2026-01-02T03:04:05Z; "
        "2 cores of Example CPU @ 2.00GHz (avx2), 24 GB, Linux, Python 3.11.9.\n"
    ) in page


def test_sections_stand_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("zebra", "ape"):
        write_results(sample(name), tmp_path)
    titles = [line for line in page_of(tmp_path).splitlines() if line == "## Speed of search"]
    assert len(titles) == 3  # speed itself is not measured


def test_a_part_that_was_not_measured_says_so_and_how_to(tmp_path: Path) -> None:
    write_results(sample("speed"), tmp_path)
    page = page_of(tmp_path)
    assert ("\n## Embedding: what the machine can do\n\nNo results: run `make bench-embedding`.\n") in page
    assert "run `make bench-speed`" not in page
    assert page.count("No results: run") == len(KNOWN) - 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ABSENT), (True, "yes"), ("as it is", "as it is"), (1234567, "1,234,567"), (0.7351, "0.735")],
)
def test_cells_are_written_as_people_read_them(value: str | float | None, text: str) -> None:
    assert cell(value) == text


# A measured table on a terminal


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
