"""The report of an evaluation: one HTML file that needs no network, and no script to be read."""

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath

from citewise.evaluation.cases import Unit
from citewise.evaluation.page.contrasts import ablation, comparison
from citewise.evaluation.page.figures import counted
from citewise.evaluation.page.markup import Markup, tag
from citewise.evaluation.page.metrics import counting, judged
from citewise.evaluation.page.questions import questions
from citewise.evaluation.page.sections import metrics, refusals, section, settings, speed, tiles
from citewise.evaluation.page.whole import page_html, resource
from citewise.evaluation.runs import Ablation, Difference, Run

Part = tuple[str, str, Markup]  # anchor, title, what stands in it


@dataclass(frozen=True, slots=True)
class Made:
    """When and by what a report was made."""

    at: str
    by: str  # the command, as one would type it again


def made_now() -> Made:
    """By the command that is running."""
    program, *words = sys.argv or [""]
    by = shlex.join([PurePath(program).name, *words]) if program else ""
    return Made(datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), by)


def report_html(
    run: Run,
    *,
    compared: Sequence[Difference] = (),
    ablations: Sequence[Ablation] = (),
    made: Made | None = None,
) -> str:
    """The whole page. The same run made by the same gives the same page; unless it is told, that is now and this."""
    parts = _parts(run, compared, ablations)
    title = f"Evaluation: {run.set}"
    main = tag(
        "main",
        *_heading(run, title, made or made_now()),
        tiles(run),
        tag(
            "nav", *(tag("a", name, href=f"#{anchor}") for anchor, name, _ in parts), aria_label="Parts of this report"
        ),
        *(section(*part) for part in parts),
    )
    return page_html(title, main, script=resource("report.js"))


def _parts(run: Run, compared: Sequence[Difference], ablations: Sequence[Ablation]) -> list[Part]:
    """Only what there is something to say about."""
    found = judged(run)
    possible: list[tuple[str, str, Markup | None]] = [
        ("comparison", "Against the other run", comparison(compared) if compared else None),
        ("ablations", "What each stage is worth", ablation(ablations) if ablations else None),
        ("metrics", "Metrics", metrics(run) if run.metrics else None),
        ("refusals", "Refusals", refusals(run)),
        ("speed", "Speed", speed(run)),
        ("questions", "Questions", questions(found, counting(found, run))),
        ("settings", "Settings", settings(run) if run.settings else None),
    ]
    return [(anchor, title, inside) for anchor, title, inside in possible if inside]


def _heading(run: Run, title: str, made: Made) -> list[Markup]:
    kinds = Counter(outcome.kind.value for outcome in run.outcomes)
    facts = [
        counted(run.queries, "question") + (f" ({_listed(kinds)})" if len(kinds) > 1 else ""),
        "whole documents are judged" if run.unit is Unit.DOCUMENT else "places in documents are judged",
        f"citewise {run.commit}" if run.commit else "",
        made.at,
    ]
    parts = [tag("h1", title), tag("p", " · ".join(fact for fact in facts if fact), class_="note")]
    if made.by:
        parts.append(tag("p", "Made by ", tag("code", made.by), class_="note"))
    return parts


def _listed(kinds: Counter[str]) -> str:
    return ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
