"""benchmarks/results/README.md is up to date with the results; CITEWISE_WRITE_DOCS=1 rewrites it."""

import os
from pathlib import Path

from benchmarks.bench_page import KNOWN, PAGE, page_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def test_the_page_of_results_is_up_to_date() -> None:
    fresh = page_of(RESULTS)
    if os.environ.get("CITEWISE_WRITE_DOCS"):
        (RESULTS / PAGE).write_text(fresh, encoding="utf-8")
    assert (RESULTS / PAGE).read_text(encoding="utf-8") == fresh, "run make bench-page"


def test_every_part_names_a_target_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for _, command in KNOWN.values():
        assert f"\n{command.removeprefix('make ')}:" in makefile, f"{command} is not a target"


def test_the_page_knows_every_program_with_results() -> None:
    assert {path.stem for path in RESULTS.glob("*.json")} <= KNOWN.keys()
