"""docs/measured.md and its plots are what the generator makes of the results; CITEWISE_WRITE_DOCS=1 renews them."""

import os
from pathlib import Path

from benchmarks.bench_page import page_files, write_page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "results"


def test_the_page_of_measurements_is_what_its_generator_makes() -> None:
    if os.environ.get("CITEWISE_WRITE_DOCS"):
        write_page(RESULTS, DOCS)
    made = page_files(RESULTS)
    there = {"measured.md", *(f"plots/{path.name}" for path in (DOCS / "plots").glob("*"))}
    assert there == set(made)
    for name, text in made.items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"{name}: run python -m benchmarks.bench_page"
