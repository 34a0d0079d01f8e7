"""docs/measured.md and its plots are what the generator makes of the results; CITEWISE_WRITE_DOCS=1 renews them."""

import os
from pathlib import Path

from benchmarks.bench_page import KNOWN, page_files, write_page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
RESULTS = ROOT / "benchmarks" / "results"


def test_the_page_of_measurements_is_what_its_generator_makes() -> None:
    if os.environ.get("CITEWISE_WRITE_DOCS"):
        write_page(RESULTS, DOCS)
    made = page_files(RESULTS)
    there = {"measured.md", *(f"plots/{path.name}" for path in (DOCS / "plots").glob("*"))}
    assert there == set(made)
    for name, text in made.items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"{name}: run python -m benchmarks.bench_page"


def test_every_part_that_is_measured_has_a_section_whether_or_not_its_results_are_kept() -> None:
    page = (DOCS / "measured.md").read_text(encoding="utf-8")
    for title, command in KNOWN.values():
        assert f"\n## {title}\n" in page
        assert f"\n{command.removeprefix('make ')}:" in MAKEFILE, f"{command} is no target"


def test_the_page_knows_every_program_whose_results_are_kept() -> None:
    assert {path.stem for path in RESULTS.glob("*.json")} <= KNOWN.keys()
