"""The pages of `eval --report` and `stats --plot`: one file each, without scripts, that needs no network.

The templates are in templates/. Jinja2 escapes all text; control characters are removed first.
"""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from citewise.cli.eval_results import ABSENT, metric_text, p_text
from citewise.cli.output import NOTHING_ASKED, printable
from citewise.evaluation.cases import counted
from citewise.evaluation.compare import SIGNIFICANT, Ablation, Difference
from citewise.evaluation.runs import MAIN_METRICS, QuestionResult, Run
from citewise.insights import Overview
from citewise.model.access import Scope

MINUS = "\u2212"
MAX_LISTED = 500  # questions with details: a phone cannot open a page with many more
OPENED = 10  # poor questions whose details are open from the start
POOR = 0.5  # a question below is poor. 0: only complete failures are; 1: everything that is not perfect is
BINS = 10  # of the histogram


def report_html(run: Run, *, differences: Sequence[Difference] = (), ablations: Sequence[Ablation] = ()) -> str:
    entries = [_entry(result, number) for number, result in enumerate(run.worst_first[:MAX_LISTED])]
    primary = run.primary_metric or ""
    values = (result.measures[primary] for result in run.questions if primary in result.measures)
    counts = Counter(min(BINS - 1, int(value * BINS + 1e-9)) for value in values)  # the last bin includes 1
    return _render(
        "eval.html",
        title=f"Evaluation: {run.set}",
        run=run,
        facts=_facts(run),
        command=shlex.join([PurePath(sys.argv[0]).name, *sys.argv[1:]]),
        main_metrics=[name for name in MAIN_METRICS if name in run.metrics],
        differences=differences,
        significant=SIGNIFICANT,
        ablations=ablations,
        ablation_metrics=[name for name in MAIN_METRICS if any(name in row.run.metrics for row in ablations)],
        primary=primary,
        histogram=[(f"{at / BINS:g}\u2013{(at + 1) / BINS:g}", counts[at]) for at in range(BINS)] if primary else [],
        metric_rows=_metric_rows(run),
        entries=entries,
        poor=sum(entry["is_poor"] is True for entry in entries),
        poor_below=POOR,
        left_out=run.queries - len(entries),
        settings=[
            (name, value if isinstance(value, str) else json.dumps(value)) for name, value in run.settings.items()
        ],
    )


def _facts(run: Run) -> list[str]:
    kinds = Counter(result.kind for result in run.questions)
    listed = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
    facts = [
        f"{counted(run.queries, 'question')}{f' ({listed})' if len(kinds) > 1 else ''}",
        f"{run.unit}s are judged",
        datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    ]
    return [*facts, f"citewise {run.commit}"] if run.commit else facts


def _metric_rows(run: Run) -> list[tuple[str, ...]]:
    """How many questions there are, then every metric of all questions and of each group."""
    sizes = Counter(result.group for result in run.questions)
    rows = [("questions", f"{run.queries:,}", *(f"{sizes[group]:,}" for group in run.groups))]
    for name, value in run.metrics.items():
        values = (value, *(group.get(name) for group in run.groups.values()))
        rows.append((name, *(metric_text(value, name) for value in values)))
    return rows


def _entry(result: QuestionResult, number: int) -> dict[str, object]:
    is_poor = result.worst is not None and result.worst[0] < POOR
    measures = ", ".join(f"{name} {metric_text(value, name)}" for name, value in result.measures.items())
    kind = "" if result.kind == "answerable" else result.kind
    decision = {None: "", "nothing": "refused", "unsure": "not sure", "answered": "answered"}[result.outcome]
    first = _first(place.grade > 0 for place in result.found)
    rank = f"first answer at {first}" if first else f"no answer in the first {len(result.found)}"
    remarks = dict.fromkeys((result.group, kind, rank if result.expected else "", decision))
    return {
        "result": result,
        "decision": decision,
        "is_poor": is_poor,
        "is_open": is_poor and number < OPENED,
        "full_grade": max((1, *(place.grade for place in result.expected))),
        "remark": " · ".join(filter(None, remarks)),
        "expected": [(place, _first(map(place.matches, result.found))) for place in result.expected],
        "facts": " · ".join(filter(None, (result.id, measures, _milliseconds(result.latency_ms)))),
    }


def _first(are_right: Iterable[bool]) -> int | None:
    """The rank of the first that is right, from 1."""
    return next((rank for rank, is_right in enumerate(are_right, start=1) if is_right), None)


def stats_html(scope: Scope, overview: Overview) -> str:
    """The statistics of the query log; the same statistics give the same page."""
    tiles = [
        ("queries", f"{overview.queries:,}"),
        *((f"of these {kind}", f"{n:,}") for kind, n in overview.kinds.items()),
    ]
    tiles += [(f"latency {name}", _milliseconds(ms)) for name, ms in overview.latency_ms.items()]
    shares = {
        "from cache": overview.cache_hit_rate,
        "unanswered": overview.unanswered.share,
        "low quality": overview.poor.share,
        "degraded": overview.degraded_share,
    }
    tiles += [(name, ABSENT if share is None else f"{100 * share:.1f} %") for name, share in shares.items()]
    if overview.lost is not None:
        tiles.append(("not logged", f"{overview.lost:,}"))
    return _render(
        "stats.html",
        title=f"Questions to {scope}",
        overview=overview,
        tiles=tiles,
        problems=[*overview.degraded.items(), *((f"failed: {kind}", count) for kind, count in overview.errors.items())],
        nothing=NOTHING_ASKED,
    )


def _render(template: str, **values: object) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        finalize=lambda value: printable(value) if type(value) is str else value,  # not Markup, which is ours
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "counted": counted,
        "instant": lambda seconds: datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M"),
        "metric": metric_text,
        "milliseconds": _milliseconds,
        "number": lambda value: ABSENT if value is None else f"{value:.2f}",
        "probability": p_text,
        "shorten": lambda text, characters: text if len(text) <= characters else f"{text[:characters]}…",
        "signed": lambda value: "0.000" if abs(value) < 0.0005 else f"{value:+.3f}".replace("-", MINUS),
    }
    return environment.get_template(template).render(**values) + "\n"


def _milliseconds(value: float | None) -> str:
    return ABSENT if value is None else f"{value:,.0f} ms" if value >= 100 else f"{value:.3g} ms"
