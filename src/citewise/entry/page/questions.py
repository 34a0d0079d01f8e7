"""The questions of a report: the poor ones first, each with what was expected beside what was found."""

from collections.abc import Iterable, Sequence

from citewise.entry.page.figures import counted, milliseconds, share
from citewise.entry.page.markup import Markup, escaped, joined, tag
from citewise.entry.page.metrics import POOR, Judged, in_order, written
from citewise.evaluate.cases import Kind
from citewise.evaluate.runs import Outcome, Place

MOST_OPENED = 500  # questions with details: more make a page that a telephone cannot open, and nobody reads them
MOST_CHARACTERS = 2000  # of an answer


def questions(found: Sequence[Judged]) -> Markup:
    """A list that can be read without a script and filtered with one."""
    poor = sum(one.is_poor for one in found)
    note = f"{counted(poor, 'question')} of {len(found):,} below {POOR}, poorest first. Open one to see what was found."
    parts = [tag("p", note, class_="note"), _controls()]
    parts.append(tag("ol", *(_item(one) for one in found[:MOST_OPENED]), class_="questions"))
    if rest := len(found) - MOST_OPENED if len(found) > MOST_OPENED else 0:
        parts.append(tag("p", f"{counted(rest, 'better question')} left out; the run's JSON has all.", class_="note"))
    return joined(*parts)


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
        tag("span", share(one.worth), class_="worth poor" if one.is_poor else "worth"),
        tag("span", outcome.question, class_="asked", dir="auto"),
        tag("span", _remark(outcome), class_="remark"),
    )
    marks = f"{outcome.kind.value} poor" if one.is_poor else outcome.kind.value
    return tag("li", tag("details", summary, _inside(outcome)), data_is=marks)


def _remark(outcome: Outcome) -> str:
    kind = "" if outcome.kind is Kind.ANSWERABLE else outcome.kind.value
    said = {None: "", True: "refused", False: "answered"}[outcome.is_refused]
    return " · ".join(part for part in (outcome.group, kind, _first_right(outcome), said) if part)


def _first_right(outcome: Outcome) -> str:
    if not outcome.expected:
        return ""
    rank = next((number for number, place in enumerate(outcome.found, 1) if place.grade > 0), None)
    return f"not in the first {len(outcome.found)}" if rank is None else f"right at {rank}"


def _inside(outcome: Outcome) -> Markup:
    measured = ", ".join(f"{name} {written(name, outcome.measures[name])}" for name in in_order(outcome.measures))
    facts = " · ".join(part for part in (outcome.id, measured, milliseconds(outcome.latency_ms)) if part)
    sides = [_side("Expected", outcome.expected), _side("Found", outcome.found, ranked=True)]
    parts = [tag("p", facts, class_="note"), tag("div", *sides, class_="sides")]
    if outcome.answer:
        cut = outcome.answer[:MOST_CHARACTERS]
        rest = "…" if len(outcome.answer) > MOST_CHARACTERS else ""
        heading = "Refusal" if outcome.is_refused else "Answer"
        parts += [tag("h3", heading), tag("p", f"{cut}{rest}", class_="answer", dir="auto")]
    return tag("div", *parts, class_="inside")


def _side(title: str, places: Iterable[Place], *, ranked: bool = False) -> Markup:
    rows = [_row(place, number if ranked else None) for number, place in enumerate(places, 1)]
    if not rows:
        return tag("div", tag("h3", title), tag("p", "nothing", class_="note"))
    header = tag("tr", tag("th", "#", scope="col") if ranked else "", *_columns("place", "grade"))
    return tag("div", tag("h3", title), tag("table", tag("thead", header), tag("tbody", *rows)))


def _columns(*names: str) -> list[Markup]:
    return [tag("th", name, scope="col") for name in names]


def _row(place: Place, rank: int | None) -> Markup:
    where = tag("span", _address(place), class_="address", dir="auto")
    section = tag("span", place.section, class_="section", dir="auto") if place.section else ""
    is_right = rank is not None and place.grade > 0
    grade = tag("td", f"✓ {place.grade}" if is_right else str(place.grade))
    number = tag("td", str(rank)) if rank is not None else ""
    return tag("tr", number, tag("td", where, section), grade, class_="right" if is_right else None)


def _address(place: Place) -> Markup:
    """Document and lines; where they do not fit, the line breaks between the two."""
    if place.first_line is None:
        return escaped(place.document)
    is_one = place.last_line is None or place.last_line == place.first_line
    lines = f":{place.first_line}" if is_one else f":{place.first_line}-{place.last_line}"
    return joined(place.document, tag("wbr"), tag("span", lines, class_="lines"))
