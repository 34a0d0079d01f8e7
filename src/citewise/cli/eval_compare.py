"""`citewise eval compare A B`: two runs, question by question."""

import logging
from pathlib import Path

from citewise.cli.eval_files import refuse_unwritable, write_file
from citewise.cli.eval_tables import show_changed, show_differences, show_unlike
from citewise.cli.output import print_json
from citewise.errors import BadRequest
from citewise.evaluation.compare import (
    changed_most,
    common_questions,
    differences,
    lonely_metrics,
    other_settings,
    primary_metric,
    verdict,
)
from citewise.evaluation.run_files import difference_json, read_run
from citewise.evaluation.runs import Difference, Run
from citewise.evaluation.summary import counted

_log = logging.getLogger(__name__)


def run_compare(before: Path, after: Path, *, worst: int, report: Path | None, as_json: bool) -> int:
    """Show what changed; a change for the worse is a result, not a failure."""
    refuse_unwritable(report, read=(before, after))
    first, second = read_run(before), read_run(after)
    _refuse_strangers(first, second)
    compared = differences(first, second)
    if report is not None:
        from citewise.cli.eval_report import report_html

        write_file(report, report_html(second, compared=compared))
    if as_json:
        files = {"before": str(before), "after": str(after)}
        print_json({"files": files, **_comparison_json(first, second, compared, worst)})
        return 0
    names = (str(before), str(after))
    show_differences(names, (first, second), compared)
    show_unlike(names, first, second)
    metric = primary_metric(first)
    if metric is not None:
        show_changed(metric, changed_most(first, second, metric), worst)
    return 0


def _refuse_strangers(before: Run, after: Run) -> None:
    common = common_questions(before, after)
    if not common:
        raise BadRequest(f"the runs of {before.set} and {after.set} have no question in common: nothing to compare")
    if before == after:
        _log.warning("both files hold the same run: nothing can have changed")
    if before.set != after.set:
        _log.warning("the runs are of different sets, %r and %r", before.set, after.set)
    if before.unit is not after.unit:
        _log.warning("one run judges each %s, the other each %s", before.unit.value, after.unit.value)
    if common < max(before.queries, after.queries):
        said = counted(common, "question of both is", "questions of both are")
        _log.warning("only the %s compared", said)


def _comparison_json(before: Run, after: Run, compared: tuple[Difference, ...], worst: int) -> dict[str, object]:
    metric = primary_metric(before)
    changed = changed_most(before, after, metric) if metric else ()
    return {
        "before": {"set": before.set, "queries": before.queries, "commit": before.commit},
        "after": {"set": after.set, "queries": after.queries, "commit": after.commit},
        "common_questions": common_questions(before, after),
        "settings_that_differ": {
            one.name: {"before": one.before, "after": one.after} for one in other_settings(before, after)
        },
        "only_before": list(lonely_metrics(before, after)),
        "only_after": list(lonely_metrics(after, before)),
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
