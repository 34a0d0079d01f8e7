"""Results for tests, of no machine there is."""

from benchmarks.results import Machine, Results, Table


def sample(name: str = "search-speed") -> Results:
    """Shaped like what a speed benchmark writes."""
    return Results(
        name=name,
        commit="1a2b3c4d5e6f+changes",
        made_at="2026-01-02T03:04:05Z",
        machine=Machine(2, "Example CPU @ 2.00GHz", ("avx2",), 24.0, "Linux", "3.11.9"),
        tables=(
            Table(
                title="Search by size",
                columns=("library", "chunks", "p50 ms", "recall", "right"),
                rows=(("small | tiny", 1000, 1.2345, 0.99512, True), ("<large>", 1_000_000, 48.76, None, False)),
                note="Warm, one thread.",
                wanted="p99 < 100 ms at 1M",
            ),
        ),
        title="Speed of search",
        command="make bench-speed",
    )
