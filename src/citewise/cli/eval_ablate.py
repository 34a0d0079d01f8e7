"""`citewise eval ablate SET`: what each part of the search is worth."""

import gc
from dataclasses import dataclass
from pathlib import Path

from citewise.cli.eval_files import files_of, refuse_unwritable, write_file
from citewise.cli.eval_progress import shown_steps
from citewise.cli.eval_tables import show_ablations
from citewise.cli.output import print_json
from citewise.evaluation.compare import verdict
from citewise.evaluation.evaluating import ablate
from citewise.evaluation.run_files import ablation_json
from citewise.model.access import OWNER, Principal, Scope
from citewise.settings import Settings

SHOWN = ("ndcg@10", "recall@5", "recall@100")


@dataclass(frozen=True, slots=True)
class AblateOptions:
    """What the command line says."""

    scope: Scope
    report: Path | None = None
    principal: Principal = OWNER
    as_json: bool = False


def run_ablate(settings: Settings, judged: Path, options: AblateOptions) -> int:
    """Show a row for each part that was left out."""
    gc.enable()  # many searches
    refuse_unwritable(options.report, read=files_of(judged))
    with shown_steps(bar=not options.as_json) as listeners:
        rows = ablate(settings, judged, scope=options.scope, principal=options.principal, listeners=listeners)
    if options.report is not None:
        from citewise.cli.eval_report import report_html

        write_file(options.report, report_html(rows[0].run, ablations=rows))
    if options.as_json:
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
