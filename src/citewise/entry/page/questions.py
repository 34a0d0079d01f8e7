"""The questions of a report: the poor ones first, each with what was expected beside what was found."""

from collections.abc import Iterable, Sequence

from citewise.entry.page.figures import ABSENT, counted, milliseconds
from citewise.entry.page.markup import Markup, escaped, joined, tag
from citewise.entry.page.metrics import POOR, Judged, in_order, written
from citewise.evaluate.cases import Kind
from citewise.evaluate.runs import Outcome, Place

MOST_OPENED = 500  # questions with details: more make a page that a telephone cannot open, and nobody reads them
MOST_CHARACTERS = 2000  # of an answer


def questions(found: Sequence[Judged], counting: Sequence[str]) -> Markup:
    """A list that can be read without a script and filtered with one; `counting` are the measures it is ordered by."""
    parts = [tag("p", _note(found, counting), class_="note"), _controls()]
    parts.append(tag("ol", *(_item(one) for one in found[:MOST_OPENED]), class_="questions"))
    if rest := len(found) - MOST_OPENED if len(found) > MOST_OPENED else 0:
        parts.append(tag("p", f"{counted(rest, 'better question')} left out; the run's JSON has all.", class_="note"))
    return joined(*parts)


def _note(found: Sequence[Judged], counting: Sequence[str]) -> str:
    poor = sum(one.is_poor for one in found)
    number = f" Each shows the measure that it is worst at, of {', '.join(counting)}." if len(counting) > 1 else ""
    full = " A full answer is a place of the highest grade that was expected; any lower one is a part of it."
    said = full if any(one.outcome.expected for one in found) else ""
    below = f"{counted(poor, 'question')} of {len(found):,} below {POOR}, poorest first."
    return f"{below}{number}{said} Open one to see what was found."


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


def _item(one: Judged) -> Markup:
    outcome = one.outcome
    summary = tag(
        "summary",
        _worth(one),
        tag("span", outcome.question, class_="asked", dir="auto"),
        tag("span", _remark(outcome), class_="remark"),
    )
    marks = f"{outcome.kind.value} poor" if one.is_poor else outcome.kind.value
    return tag("li", tag("details", summary, _inside(outcome)), data_is=marks)


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
    full = _first(outcome, _full_grade(outcome))
    part = _first(outcome, 1)
    if part is None:
        return f"nothing that answers in the first {len(outcome.found)}"
    if full is None:
        return f"part of an answer at {part}, no full one in the first {len(outcome.found)}"
    return f"full answer at {full}" if part == full else f"full answer at {full}, part of one at {part}"


def _first(outcome: Outcome, grade: int) -> int | None:
    """The rank of the first place that was found with this grade or a higher one."""
    return next((number for number, place in enumerate(outcome.found, 1) if place.grade >= grade), None)


def _full_grade(outcome: Outcome) -> int:
    """The grade of a full answer: the highest that was expected."""
    return max(1, *(place.grade for place in outcome.expected)) if outcome.expected else 1


def _inside(outcome: Outcome) -> Markup:
    measured = ", ".join(f"{name} {written(name, outcome.measures[name])}" for name in in_order(outcome.measures))
    facts = " · ".join(part for part in (outcome.id, measured, milliseconds(outcome.latency_ms)) if part)
    full = _full_grade(outcome)
    sides = [_side("Expected", outcome.expected), _side("Found", outcome.found, full_grade=full)]
    parts = [tag("p", facts, class_="note"), tag("div", *sides, class_="sides")]
    if outcome.answer:
        cut = outcome.answer[:MOST_CHARACTERS]
        rest = "…" if len(outcome.answer) > MOST_CHARACTERS else ""
        heading = "Refusal" if outcome.is_refused else "Answer"
        parts += [tag("h3", heading), tag("p", f"{cut}{rest}", class_="answer", dir="auto")]
    return tag("div", *parts, class_="inside")


def _side(title: str, places: Iterable[Place], *, full_grade: int | None = None) -> Markup:
    """Places with their grades; with a full grade they are ranked, and marked where they answer."""
    ranked = full_grade is not None
    rows = [
        _row(place) if full_grade is None else _found_row(place, number, full_grade)
        for number, place in enumerate(places, 1)
    ]
    if not rows:
        return tag("div", tag("h3", title), tag("p", "nothing", class_="note"))
    header = tag("tr", tag("th", "#", scope="col") if ranked else "", *_columns("place", "grade"))
    return tag("div", tag("h3", title), tag("table", tag("thead", header), tag("tbody", *rows)))


def _columns(*names: str) -> list[Markup]:
    return [tag("th", name, scope="col") for name in names]


def _row(place: Place) -> Markup:
    return tag("tr", _where(place), tag("td", str(place.grade)))


def _found_row(place: Place, rank: int, full_grade: int) -> Markup:
    mark, style = ("✓ ", "right") if place.grade >= full_grade else ("part ", "part") if place.grade > 0 else ("", None)
    return tag("tr", tag("td", str(rank)), _where(place), tag("td", f"{mark}{place.grade}"), class_=style)


def _where(place: Place) -> Markup:
    where = tag("span", _address(place), class_="address", dir="auto")
    section = tag("span", place.section, class_="section", dir="auto") if place.section else ""
    return tag("td", where, section)


def _address(place: Place) -> Markup:
    """Document and lines; where they do not fit, the line breaks between the two."""
    if place.first_line is None:
        return escaped(place.document)
    is_one = place.last_line is None or place.last_line == place.first_line
    lines = f":{place.first_line}" if is_one else f":{place.first_line}-{place.last_line}"
    return joined(place.document, tag("wbr"), tag("span", lines, class_="lines"))
