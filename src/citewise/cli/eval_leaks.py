"""`citewise eval leaks`: ask every surface as many different people, and show what any of them should not have seen."""

import sys

from citewise.cli.eval_progress import shown_steps
from citewise.cli.output import print_json, printable
from citewise.errors import BadRequest
from citewise.evaluation.leak_surfaces import every_surface
from citewise.evaluation.leaking import leak_report
from citewise.evaluation.leaks import Leak, LeakReport
from citewise.evaluation.page.figures import counted
from citewise.settings import Settings
from citewise.wiring.embedding import embedding_of

MAX_SHOWN = 20


def run_leaks(*, rounds: int, seed: int, as_json: bool) -> int:
    """1 if anything was shown to somebody who may not see it. The suite makes its own library and touches no other."""
    if rounds < 1:
        raise BadRequest(f"rounds is {rounds}; it is at least 1")
    with shown_steps(bar=not as_json) as listeners:
        embedding = embedding_of(Settings())
        report = leak_report(every_surface, embedding, rounds=rounds, seed=seed, on_step=listeners.on_step)
    if as_json:
        print_json(leaks_json(report))
    else:
        _show(report)
    return 0 if report.is_tight else 1


def leaks_json(report: LeakReport) -> dict[str, object]:
    return {
        "rounds": report.rounds,
        "seed": report.seed,
        "principals": report.principals,
        "documents": report.documents,
        "questions": report.questions,
        "surfaces": dict(report.surfaces),
        "leaks": [_leak_json(one) for one in report.leaks],
        "missing": [_leak_json(one) for one in report.missing],
    }


def _leak_json(leak: Leak) -> dict[str, object]:
    asking = leak.asking
    return {
        "surface": leak.surface,
        "kind": leak.kind,
        "what": leak.what,
        "who": str(asking.who),
        "tenant": asking.place[0],
        "project": asking.place[1],
        "question": asking.question,
        "filters": [str(one) for one in asking.filters],
        "top_k": asking.top_k,
        "phase": leak.phase,
        "round": leak.round,
    }


def _show(report: LeakReport) -> None:
    asked = sum(report.surfaces.values())
    lines = [
        f"asked {counted(asked, 'time')} on {counted(len(report.surfaces), 'surface')}, "
        f"by {counted(report.principals, 'different principal')}, about {counted(report.documents, 'document')}, "
        f"in {counted(report.rounds, 'round')} with seed {report.seed}",
        *(f"  {count:>5}  {name}" for name, count in report.surfaces.items()),
        *_listed("LEAK", report.leaks),
        *_listed("MISSING", report.missing),
        "nothing was shown to anybody who may not see it, and nothing was missing"
        if report.is_tight
        else f"{counted(len(report.leaks), 'leak')}, {len(report.missing):,} missing; "
        f"to see them again: citewise eval leaks --rounds {report.rounds} --seed {report.seed}",
    ]
    sys.stdout.write(printable("\n".join(lines)) + "\n")


def _listed(word: str, found: tuple[Leak, ...]) -> list[str]:
    lines = [
        f"{word} ({one.kind}) on {one.surface}, to {one.asking.who} in {'/'.join(one.asking.place)}, "
        f"round {one.round}, {one.phase}: {one.what}; asked {one.asking.question!r} "
        f"{' '.join(map(str, one.asking.filters))} top_k {one.asking.top_k}"
        for one in found[:MAX_SHOWN]
    ]
    return [*lines, f"… and {len(found) - MAX_SHOWN} more; --json has them all"] if found[MAX_SHOWN:] else lines
