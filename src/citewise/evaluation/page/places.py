"""Expected and found beside each other: the answer that was wanted and the one that came, then the places of both."""

from collections.abc import Sequence

from citewise.evaluation.cases import Kind
from citewise.evaluation.matching import rank_of
from citewise.evaluation.page.figures import ABSENT
from citewise.evaluation.page.markup import Markup, escaped, joined, tag
from citewise.evaluation.runs import Outcome, Place

MAX_CHARACTERS = 2000  # of an answer
NUMBERS = {"grade": "number", "found at": "number"}  # columns that are set flush right


def sides(outcome: Outcome) -> Markup:
    """Two halves: what the question file says of a question, and what came of asking it."""
    return tag("div", _expected(outcome), _found(outcome), class_="sides")


def full_grade(outcome: Outcome) -> int:
    """The grade of a full answer: the highest that was expected."""
    return max((1, *(place.grade for place in outcome.expected)))


def _expected(outcome: Outcome) -> Markup:
    parts = [tag("h3", "Expected")]
    if outcome.expected_answer:
        parts.append(_quoted("wanted", outcome.expected_answer))
    if not outcome.expected:
        parts.append(tag("p", _expectation(outcome), class_="note"))
    else:
        rows = [_expected_row(place, rank_of(place, outcome.found)) for place in outcome.expected]
        parts.append(_table(("place", "grade", "found at"), rows))
    return tag("div", *parts)


def _expectation(outcome: Outcome) -> str:
    """What is expected where that is no place; of a selection, only the verdict on what came tells."""
    if outcome.kind is Kind.UNANSWERABLE:
        return "a refusal: nothing in the library answers this"
    right = outcome.measures.get("selected_accuracy")
    if outcome.kind is Kind.ANSWERABLE or right is None or outcome.is_refused is None:
        return "nothing"
    if outcome.is_refused is (right == 1.0):
        return "a refusal: the selection does not hold the answer"
    return "an answer from the selection alone"


def _found(outcome: Outcome) -> Markup:
    parts = [tag("h3", "Found")]
    if outcome.answer:
        parts.append(_quoted("refused" if outcome.is_refused else "answered", outcome.answer))
    if outcome.kind is Kind.SELECTED:
        parts.append(tag("p", "about a selection nothing is searched", class_="note"))
    elif not outcome.found:
        parts.append(tag("p", "nothing", class_="note"))
    else:
        full = full_grade(outcome)
        rows = [_found_row(place, number, full) for number, place in enumerate(outcome.found, 1)]
        parts.append(_table(("#", "place", "grade"), rows))
    return tag("div", *parts)


def _quoted(said: str, text: str) -> Markup:
    """Somebody's words, under the word that says whose."""
    cut = f"{text[:MAX_CHARACTERS]}…" if len(text) > MAX_CHARACTERS else text
    return tag("div", tag("small", said), tag("p", cut, dir="auto"), class_="answer")


def _table(columns: Sequence[str], rows: Sequence[Markup]) -> Markup:
    header = tag("tr", *(tag("th", name, scope="col", class_=NUMBERS.get(name)) for name in columns))
    return tag("table", tag("thead", header), tag("tbody", *rows))


def _expected_row(place: Place, rank: int | None) -> Markup:
    at = tag("td", str(rank or ABSENT), class_="number" if rank else "number missed")
    return tag("tr", _where(place), tag("td", str(place.grade), class_="number"), at)


def _found_row(place: Place, rank: int, full: int) -> Markup:
    """Marked where it answers: by a check in full, by a word in part."""
    mark, style = ("✓ ", "right") if place.grade >= full else ("part ", "part") if place.grade > 0 else ("", None)
    grade = tag("td", f"{mark}{place.grade}", class_="number")
    return tag("tr", tag("td", str(rank)), _where(place), grade, class_=style)


def _where(place: Place) -> Markup:
    where = tag("span", _address(place), class_="address", dir="auto")
    section = tag("span", place.section, class_="section", dir="auto") if place.section else ""
    return tag("td", where, " ", section)


def _address(place: Place) -> Markup:
    """Document and lines; where they do not fit, the line breaks between the two."""
    if place.first_line is None:
        return escaped(place.document)
    is_one = place.last_line is None or place.last_line == place.first_line
    lines = f":{place.first_line}" if is_one else f":{place.first_line}-{place.last_line}"
    return joined(place.document, tag("wbr"), tag("span", lines, class_="lines"))
