"""The page of measurements is made from the files and from nothing else."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.bench_page import KNOWN, cell, page_files, write_page
from benchmarks.results import write_results

from citewise.evaluation.page.figures import ABSENT
from tests.unit.benchmarks.samples import sample


def page_of(folder: Path) -> str:
    write_results(sample(), folder)
    return page_files(folder)["measured.md"]


def test_a_table_is_written_with_rounded_numbers_and_nothing_breaks_out_of_its_cell(tmp_path: Path) -> None:
    assert (
        "### Search by size\n\nWarm, one thread.\n\nWanted: p99 &lt; 100 ms at 1M\n\n"
        "| library | chunks | p50 ms | recall | right |\n"
        "| --- | ---: | ---: | ---: | --- |\n"
        "| small \\| tiny | 1,000 | 1.23 | 0.995 | yes |\n"
        f"| &lt;large> | 1,000,000 | 48.8 | {ABSENT} | no |\n"
    ) in page_of(tmp_path)


def test_each_section_says_by_what_and_where_it_was_measured(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    assert page.startswith("<!-- Generated")
    assert (
        "## Speed of search\n\n`make bench-speed`, commit `1a2b3c4d5e6f+changes`, 2026-01-02T03:04:05Z; "
        "2 cores of Example CPU @ 2.00GHz (avx2), 24 GB, Linux, Python 3.11.9.\n"
    ) in page


def test_plots_are_files_that_can_be_opened_alone(tmp_path: Path) -> None:
    assert "![Search latency by size of the library](plots/search-speed-1.svg)" in page_of(tmp_path)
    files = page_files(tmp_path)
    assert sorted(files) == ["measured.md", "plots/search-speed-1.svg", "plots/search-speed-2.svg"]
    for name in ("plots/search-speed-1.svg", "plots/search-speed-2.svg"):
        tree = ElementTree.fromstring(files[name])
        assert tree.find("{http://www.w3.org/2000/svg}style") is not None


def test_the_same_results_give_the_same_files(tmp_path: Path) -> None:
    page_of(tmp_path)
    assert page_files(tmp_path) == page_files(tmp_path)


def test_sections_stand_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("zebra", "ape"):
        write_results(sample(name), tmp_path)
    assert list(page_files(tmp_path))[1:3] == ["plots/ape-1.svg", "plots/ape-2.svg"]


def test_writing_takes_away_plots_that_no_results_have_any_more(tmp_path: Path) -> None:
    results, docs = tmp_path / "results", tmp_path / "docs"
    write_results(sample("old"), results)
    write_page(results, docs)
    (results / "old.json").unlink()
    write_page(results, docs)
    assert list((docs / "plots").iterdir()) == []
    assert "No results are kept" in (docs / "measured.md").read_text()


def test_a_part_that_was_not_measured_says_so_and_how_to(tmp_path: Path) -> None:
    write_results(sample("speed"), tmp_path)
    page = page_files(tmp_path)["measured.md"]
    assert (
        "\n## Embedding: what the machine can do\n\n"
        "No results are kept of this part: `make bench-embedding` measures it.\n"
    ) in page
    assert "`make bench-speed` measures it" not in page
    assert page.count("No results are kept of this part") == len(KNOWN) - 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ABSENT), (True, "yes"), ("as it is", "as it is"), (1234567, "1,234,567"), (0.7351, "0.735")],
)
def test_cells_are_written_as_people_read_them(value: str | float | None, text: str) -> None:
    assert cell(value) == text
