"""The questions of a report: the poor ones first, each with what was expected beside what was found."""

from collections.abc import Sequence

from citewise.evaluation.cases import Kind
from citewise.evaluation.page.figures import ABSENT, counted, milliseconds
from citewise.evaluation.page.markup import Markup, joined, tag
from citewise.evaluation.page.metrics import POOR, Judged, in_order, written
from citewise.evaluation.page.places import full_grade, sides
from citewise.evaluation.runs import Outcome
from citewise.evaluation.summary import shortcomings

MAX_LISTED = 500  # questions with details: more make a page that a telephone cannot open, and nobody reads them
OPENED = 10  # poor questions whose details stand open from the start: as many as the terminal shows unless told


def questions(found: Sequence[Judged], counting: Sequence[str]) -> Markup:
    """A list that can be read without a script and filtered with one; `counting` are the measures it is ordered by."""
    parts = [tag("p", _note(found, counting), class_="note"), _controls()]
    items = (_item(one, is_open=one.is_poor and at < OPENED) for at, one in enumerate(found[:MAX_LISTED]))
    parts.append(tag("ol", *items, class_="questions"))
    if rest := len(found[MAX_LISTED:]):
        parts.append(tag("p", f"{counted(rest, 'better question')} left out; the run's JSON has all.", class_="note"))
    return joined(*parts)


def _note(found: Sequence[Judged], counting: Sequence[str]) -> str:
    poor = sum(one.is_poor for one in found)
    number = f" Each shows the measure that it is worst at, of {', '.join(counting)}." if len(counting) > 1 else ""
    full = " A full answer is a place of the highest grade that was expected; any lower one is a part of it."
    said = full if any(one.outcome.expected for one in found) else ""
    below = f"{counted(poor, 'question')} of {len(found):,} below {POOR}, poorest first."
    opened = f"The first {OPENED} stand open. Open" if poor > OPENED else "These stand open. Open" if poor else "Open"
    return f"{below}{number}{said} {opened} any to see what was expected and what was found."


def _controls() -> Markup:
    """Hidden until the script shows them: without it they would do nothing."""
    kinds = [tag("option", "all questions", value=""), tag("option", "poor ones", value="poor")]
    kinds += [tag("option", kind.value, value=kind.value) for kind in Kind]
    return tag(
        "div",
        tag("label", "Words ", tag("input", type="search", autocomplete="off")),
        tag("label", "Show ", tag("select", *kinds)),
        tag("button", "Open all shown", type="button"),
        tag("output", aria_live="polite"),
        id="filter",
        hidden=True,
    )


def _item(one: Judged, *, is_open: bool) -> Markup:
    outcome = one.outcome
    summary = tag(
        "summary",
        _worth(one),
        tag("span", outcome.question, class_="asked", dir="auto"),
        tag("span", _remark(outcome), class_="remark"),
    )
    marks = f"{outcome.kind.value} poor" if one.is_poor else outcome.kind.value
    return tag("li", tag("details", summary, _inside(outcome), open=is_open), data_is=marks)


def _worth(one: Judged) -> Markup:
    """The number with the name of what it measures."""
    if one.metric is None:
        return tag("span", ABSENT, class_="worth")
    value = written(one.metric, one.outcome.measures[one.metric])
    return tag("span", value, " ", tag("small", one.metric), class_="worth poor" if one.is_poor else "worth")


def _remark(outcome: Outcome) -> str:
    kind = "" if outcome.kind is Kind.ANSWERABLE else outcome.kind.value
    said = {None: "", True: "refused", False: "answered"}[outcome.is_refused]
    return " · ".join(filter(None, dict.fromkeys((outcome.group, kind, _first_right(outcome), said))))


def _first_right(outcome: Outcome) -> str:
    """Where a full answer stands, and where a part of one does if that comes before it."""
    if not outcome.expected:
        return ""
    full = _first(outcome, full_grade(outcome))
    part = _first(outcome, 1)
    if part is None:
        return f"nothing that answers in the first {len(outcome.found)}"
    if full is None:
        return f"part of an answer at {part}, no full one in the first {len(outcome.found)}"
    return f"full answer at {full}" if part == full else f"full answer at {full}, part of one at {part}"


def _first(outcome: Outcome, grade: int) -> int | None:
    """The rank of the first place that was found with this grade or a higher one."""
    return next((number for number, place in enumerate(outcome.found, 1) if place.grade >= grade), None)


def _inside(outcome: Outcome) -> Markup:
    wrong = "; ".join(shortcomings(outcome))
    measured = ", ".join(f"{name} {written(name, outcome.measures[name])}" for name in in_order(outcome.measures))
    facts = " · ".join(part for part in (outcome.id, measured, milliseconds(outcome.latency_ms)) if part)
    said = tag("p", wrong, class_="wrong") if wrong else ""
    return tag("div", said, sides(outcome), tag("p", facts, class_="note"), class_="inside")
