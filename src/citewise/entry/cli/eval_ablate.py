"""`citewise eval ablate SET`: what each part of the search is worth."""

import gc
from pathlib import Path

from citewise.entry.cli.eval_files import files_of, refuse_unwritable, write_file
from citewise.entry.cli.eval_progress import shown_steps
from citewise.entry.cli.eval_tables import show_ablations
from citewise.entry.cli.output import print_json
from citewise.entry.run_files import ablation_json
from citewise.evaluate.compare import verdict
from citewise.model.scope import Scope
from citewise.settings import Settings
from citewise.wiring.evaluating import ablate

SHOWN = ("ndcg@10", "recall@5", "recall@100")


def run_ablate(settings: Settings, judged: Path, *, scope: Scope, report: Path | None, as_json: bool) -> int:
    """Show a row for each part that was left out."""
    gc.enable()  # many searches
    refuse_unwritable(report, read=files_of(judged))
    with shown_steps(bar=not as_json) as listeners:
        rows = ablate(settings, judged, scope=scope, listeners=listeners)
    if report is not None:
        from citewise.entry.page.report import report_html

        write_file(report, report_html(rows[0].run, ablations=rows))
    if as_json:
        run = rows[0].run
        print_json(
            {
                "set": run.set,
                "queries": run.queries,
                "settings": dict(run.settings),
                "commit": run.commit,
                "ablations": [ablation_json(row, lambda one: verdict(one).value) for row in rows],
            }
        )
    else:
        show_ablations(rows, SHOWN)
    return 0
