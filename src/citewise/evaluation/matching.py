"""Which hit answers which expectation: a ranking of passages becomes a ranking of grades."""

from collections.abc import Iterable, Sequence

from citewise.evaluation.cases import Gold
from citewise.evaluation.runs import Place
from citewise.model.ids import ChunkId


def matches(place: Place, gold: Gold) -> bool:
    """Whether a place is where the gold says, by the narrowest thing that it says: chunk, lines, section, document."""
    if gold.chunk is not None:
        return place.chunk == gold.chunk
    if place.document != gold.document:
        return False
    if gold.first_line is not None and gold.last_line is not None:
        return _overlap(place, gold.first_line, gold.last_line)
    return gold.section is None or place.section == gold.section


def _overlap(place: Place, first: int, last: int) -> bool:
    if place.first_line is None or place.last_line is None:
        return False
    return place.first_line <= last and place.last_line >= first


def grade_of(place: Place, gold: Iterable[Gold]) -> int:
    """The best grade of what stands there; 0 if that is nothing."""
    return max((one.grade for one in gold if matches(place, one)), default=0)


def rank_of(expected: Place, found: Iterable[Place]) -> int | None:
    """Where an expected place first stands among what was found, from 1; None if it does not."""
    section = expected.section or None
    chunk = None if expected.chunk is None else ChunkId(expected.chunk)
    gold = Gold(expected.document, expected.grade, section, expected.first_line, expected.last_line, chunk)
    return next((rank for rank, place in enumerate(found, 1) if matches(place, gold)), None)


def documents_of(places: Iterable[Place]) -> tuple[Place, ...]:
    """Each document once, at its best passage."""
    best: dict[str, Place] = {}
    for place in places:
        best.setdefault(place.document, place)
    return tuple(best.values())


def folded(places: Iterable[Place], gold: Sequence[Gold]) -> tuple[int, ...]:
    """The grades of a ranking in which each gold place counts once.

    A hit stands for every gold place that it is the first to show, best grade first. One that only shows again what
    a better hit has shown is folded into that; any other is an item without a grade.
    """
    grades: list[int] = []
    shown: set[Gold] = set()
    for place in places:
        here = [one for one in gold if matches(place, one)]
        new = [one for one in here if one not in shown]
        shown.update(new)
        if not here:
            grades.append(0)
        grades += sorted((one.grade for one in new), reverse=True)
    return tuple(grades)


def full_answers(gold: Sequence[Gold]) -> tuple[Gold, ...]:
    """The gold places of the highest grade: each of them alone answers the question in full."""
    highest = max((one.grade for one in gold), default=0)
    return tuple(one for one in gold if one.grade == highest)
