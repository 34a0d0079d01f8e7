"""Answers without a language model: the units that answer, quoted in reading order, each with its source's marker."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from citewise.model.answer import Evidence, Prompt, Unit
from citewise.model.cancellation import Cancellation
from citewise.text.markdown import BULLET, Markdown

# Chosen by "are the right places quoted" of benchmarks.grounding: each step further down trades units from a gold
# section (83 % of those quoted from the API documentation, 68 % from the textbook) for words of the reference answer.
MAX_UNITS = 4  # chosen ones; 1: the best alone; more: longer answers, in which the best is harder to see
MAX_WORDS = 120  # of prose; code and tables are quoted whole
RELATIVE_FLOOR = 0.65  # of the best unit's score; 0: whatever comes next is quoted too; 1: the best alone
SAME = 0.8  # share of words two units have in common from which on they say the same; 1: only equal ones
MAX_LEAD_CHARACTERS = 200  # of a sentence that comes along because the chosen one points back at it
MAX_CODE_LINES = 40  # of a block that is not the best unit; 0: code is quoted only as the best; it is never cut
MAX_LIST_WORDS = 150  # of a numbered list that is quoted whole: a step left out of a procedure is worse than none
MAX_FOLLOWING_LINES = 15  # of code that is quoted because the chosen sentence stands right above it
MAX_TITLE_WORDS = 6  # a line without a full stop and no longer than this is a title, and answers nothing

Units = Mapping[tuple[int, int], Unit]  # by source and position

_POINTS_BACK = re.compile(r"(?:This|These|It|Its|They|Their|That|Those|Such)\b")
_SIGNPOST = re.compile(  # "This page says when …": it names the question and leaves the answer to what follows
    r"\b(?:in this|this|the following|these)\s+(?:page|section|chapter|guide|tutorial|article|document|module|lab"
    r"|lesson|handbook|book|part|overview|exercise)s?\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_MARKER_LIKE = re.compile(r"\[(\W{0,3}(?:sources?\b[^\[\]\n]{0,200}|\d[\d\s,;-]{0,40})\W{0,3})\]", re.IGNORECASE)
_LABEL = re.compile(
    rf"(?:{BULLET}\s+)?(?:\*\*|__)[^*_]{{1,80}}(?:\*\*|__)[.:]?"
)  # a term in bold, defined by what follows
_SENTENCE_ENDS = (".", "!", "?", "\u2026", ":", ";")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")  # its address leads nowhere from an answer
_CLOSERS = "*_`\"')"


@dataclass(frozen=True, slots=True)
class ExtractiveGenerator:
    """Quotes; it says nothing that does not stand in a source."""

    name: ClassVar[str] = "extractive"
    only_quotes: ClassVar[bool] = True
    max_units: int = MAX_UNITS

    def stream(self, prompt: Prompt, cancellation: Cancellation | None = None) -> Iterator[str]:
        if not prompt.grounds.is_sufficient:
            return
        before: Unit | None = None
        for unit in self.chosen(prompt.grounds.evidence):
            if cancellation:
                cancellation.raise_if_cancelled()
            text = Markdown(unit.text).closed() if unit.kind == "code" else _plain(unit.text)
            yield _glue(before, unit) + text + (" " if unit.is_prose else "\n\n") + f"[{unit.source}]"
            before = unit

    def chosen(self, evidence: Sequence[Evidence]) -> tuple[Unit, ...]:
        """The units to quote, in reading order: sources by their best unit, units as they stand in them."""
        units = {(weighed.unit.source, weighed.unit.position): weighed.unit for weighed in evidence}
        # Best first, those that say something; where none does, all.
        answering = [weighed for weighed in evidence if _may_answer(weighed.unit, units)] or evidence
        ranked = sorted(answering, key=lambda weighed: (-weighed.score, weighed.unit.source, weighed.unit.position))
        picked: list[Unit] = []
        left = self.max_units
        for weighed in ranked:
            if picked and (left == 0 or weighed.score < RELATIVE_FLOOR * ranked[0].score):
                break
            group = [unit for unit in _with_context(weighed.unit, units) if not _is_repeated(unit, picked)]
            if weighed.unit in group and self._fits(group, picked):
                picked += group
                left -= 1
        places = {source: at for at, source in enumerate(dict.fromkeys(weighed.unit.source for weighed in ranked))}
        return tuple(sorted(picked, key=lambda unit: (places[unit.source], unit.position)))

    def _fits(self, group: Sequence[Unit], picked: Sequence[Unit]) -> bool:
        """The best always does: without it there is no answer."""
        if not picked:
            return True
        if sum(unit.number is not None for unit in group) > 1:  # a procedure
            return _prose_words(group) <= MAX_LIST_WORDS
        is_brief = all(unit.text.count("\n") < MAX_CODE_LINES for unit in group if unit.kind == "code")
        return is_brief and _prose_words([*picked, *group]) <= MAX_WORDS


def _may_answer(unit: Unit, units: Units) -> bool:
    """Whether the unit says something: a title does not, nor a question, a signpost, or what leads in nothing."""
    if not unit.is_prose:
        return True
    if _introduces(unit, units):
        return bool(_introduced(unit, units))
    is_question = unit.text.rstrip(_CLOSERS).endswith("?")
    return not (is_question or _is_title(unit) or _SIGNPOST.search(unit.text))


def _with_context(unit: Unit, units: Units) -> list[Unit]:
    """The unit with those it cannot be understood without: what it points back at, or what it leads in."""
    before = units.get((unit.source, unit.position - 1))
    after = units.get((unit.source, unit.position + 1))
    if _introduces(unit, units):
        return [unit, *_introduced(unit, units)]
    if unit.is_item or not unit.is_prose:
        return [*_introduction_of(unit, units), *_whole_list(unit, units)]
    group = [unit]
    if before and _is_short_prose(before) and (_LABEL.fullmatch(before.text) or _POINTS_BACK.match(unit.text)):
        group = [before, unit]
    if after and after.kind == "code" and after.text.count("\n") <= MAX_FOLLOWING_LINES:
        group.append(after)
    return group


def _introduces(unit: Unit, units: Units) -> bool:
    """Whether it says nothing without what follows: a colon, a term in bold, or a line that just breaks off."""
    if not unit.is_prose:
        return False
    if unit.text.endswith(":") or _LABEL.fullmatch(unit.text):
        return True
    after = units.get((unit.source, unit.position + 1))
    breaks_off = not unit.text.rstrip(_CLOSERS).endswith(_SENTENCE_ENDS) and not _is_title(unit)
    return breaks_off and not unit.is_item and after is not None


def _whole_list(item: Unit, units: Units) -> list[Unit]:
    """The whole of a numbered list with what stands between its steps, if it is not too long; else the item alone."""
    numbers = {
        at: number
        for (source, at), unit in sorted(units.items())
        if source == item.source and unit.is_item and (number := unit.number) is not None
    }
    steps = list(numbers)
    if item.position not in steps:
        return [item]
    first = last = steps.index(item.position)
    while first > 0 and numbers[steps[first - 1]] == numbers[steps[first]] - 1:
        first -= 1
    while last + 1 < len(steps) and numbers[steps[last + 1]] == numbers[steps[last]] + 1:
        last += 1
    whole = [units[item.source, at] for at in range(steps[first], steps[last] + 1)]
    return whole if _prose_words(whole) <= MAX_LIST_WORDS else [item]


def _introduced(lead: Unit, units: Units) -> list[Unit]:
    """What follows a colon: a list as far as it can be quoted, or else one block or sentence."""
    following: list[Unit] = []
    while unit := units.get((lead.source, lead.position + len(following) + 1)):
        if not unit.is_item:
            return following or ([] if unit.text.endswith(":") else [unit])
        if _prose_words([*following, unit]) > MAX_WORDS:
            break
        following.append(unit)
    return following


def _introduction_of(item: Unit, units: Units) -> list[Unit]:
    """The line above a list, a block of code or a table, if it leads in: it ends in a colon or is a title."""
    at = item.position - 1
    while item.is_item and (unit := units.get((item.source, at))) and unit.is_item:
        at -= 1
    lead = units.get((item.source, at))
    return [lead] if lead and _is_short_prose(lead) and (lead.text.endswith(":") or _is_title(lead)) else []


def _is_short_prose(unit: Unit) -> bool:
    return unit.is_prose and len(unit.text) <= MAX_LEAD_CHARACTERS


def _is_title(unit: Unit) -> bool:
    if not unit.is_prose or unit.is_item:
        return False
    text = unit.text.rstrip(_CLOSERS)
    return len(text.split()) <= MAX_TITLE_WORDS and not text.endswith((".", "!", "?", ":", ";")) and "=" not in text


def _is_repeated(unit: Unit, others: Iterable[Unit]) -> bool:
    words = frozenset(_WORD.findall(unit.text.lower()))
    sets = (frozenset(_WORD.findall(other.text.lower())) for other in others)
    return any(len(words & other) >= SAME * len(words | other) for other in sets)


def _prose_words(units: Iterable[Unit]) -> int:
    return sum(len(unit.text.split()) for unit in units if unit.is_prose)


def _glue(before: Unit | None, unit: Unit) -> str:
    if before is None:
        return ""
    if unit.is_item:  # a list that does not begin with 1 would not end the paragraph above it
        return "\n" if before.is_item else "\n\n"
    follows = before.source == unit.source and before.position + 1 == unit.position
    goes_on = unit.is_prose and before.is_prose and (follows or not before.is_item)
    return " " if goes_on and not _is_title(unit) and not unit.text.endswith(":") else "\n\n"


def _plain(text: str) -> str:
    """Outside code, links become their words, and brackets around numbers round: in an answer, `[3]` is source 3."""
    parts: list[str] = []
    end = 0
    for start, stop in (*Markdown(text).code_spans(), (len(text), len(text))):
        prose = _MARKER_LIKE.sub(r"(\1)", _LINK.sub(r"\1", text[end:start]))
        parts += [prose, text[start:stop]]
        end = stop
    return "".join(parts)
