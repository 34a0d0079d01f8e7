"""`citewise eval compare A B`: two runs, question by question."""

import logging
from pathlib import Path

from citewise.entry.cli.eval_files import refuse_unwritable, write_file
from citewise.entry.cli.eval_tables import show_changed, show_differences
from citewise.entry.cli.output import print_json
from citewise.entry.run_files import difference_json, read_run
from citewise.evaluate.compare import changed_most, common_questions, differences, primary_metric, verdict
from citewise.evaluate.runs import Difference, Run
from citewise.model.errors import BadRequest

_log = logging.getLogger(__name__)


def run_compare(before: Path, after: Path, *, worst: int, report: Path | None, as_json: bool) -> int:
    """Show what changed; a change for the worse is a result, not a failure."""
    refuse_unwritable(report, read=(before, after))
    first, second = read_run(before), read_run(after)
    _refuse_strangers(first, second)
    compared = differences(first, second)
    if report is not None:
        from citewise.entry.page.report import report_html

        write_file(report, report_html(second, compared=compared))
    if as_json:
        print_json(_comparison_json(first, second, compared, worst))
        return 0
    show_differences(first, second, compared)
    metric = primary_metric(first)
    if metric is not None:
        show_changed(metric, changed_most(first, second, metric), worst)
    return 0


def _refuse_strangers(before: Run, after: Run) -> None:
    common = common_questions(before, after)
    if not common:
        raise BadRequest(f"the runs of {before.set} and {after.set} have no question in common: nothing to compare")
    if before.set != after.set:
        _log.warning("the runs are of different sets, %r and %r", before.set, after.set)
    if before.unit is not after.unit:
        _log.warning("one run judges each %s, the other each %s", before.unit.value, after.unit.value)
    if common < max(before.queries, after.queries):
        _log.warning("only the %d questions of both are compared", common)


def _comparison_json(before: Run, after: Run, compared: tuple[Difference, ...], worst: int) -> dict[str, object]:
    metric = primary_metric(before)
    changed = changed_most(before, after, metric) if metric else ()
    return {
        "before": {"set": before.set, "queries": before.queries, "commit": before.commit},
        "after": {"set": after.set, "queries": after.queries, "commit": after.commit},
        "common_questions": common_questions(before, after),
        "differences": [difference_json(one, verdict(one).value) for one in compared],
        "changed_most": [
            {
                "id": one.before.id,
                "question": one.before.question,
                "metric": metric,
                "before": one.before.measures[metric or ""],
                "after": one.after.measures[metric or ""],
            }
            for one in changed[:worst]
        ],
    }
