"""Results for tests, of no machine there is."""

from benchmarks.results import BarPlot, Line, LinePlot, Machine, OneBar, Results, Table


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
        plots=(
            LinePlot(
                "Search latency by size of the library",
                (
                    Line("citewise", ((1000, 1.2), (10_000, 2.1), (100_000, 7.9), (1_000_000, 48.8))),
                    Line("a peer", ((1000, 9.5), (10_000, 31.0), (100_000, 240.0), (1_000_000, 2300.0))),
                ),
                x_label="chunks",
                y_label="ms at p50",
                log_x=True,
                log_y=True,
            ),
            BarPlot(
                "Install size",
                (OneBar("citewise", 333, "default"), OneBar("a peer", 2100, "default"), OneBar("a peer", 410, "least")),
                x_label="MB in site-packages",
            ),
        ),
        title="Speed of search",
        command="make bench-speed",
    )
