"""Found sections -> excerpts: one to three runs of whole blocks that answer the question, the best section first.

A block is worth what the search thinks of its section and how near its words are to the question's (late interaction,
from stored vectors). Blocks are taken in that order, each with what it cannot be understood without, until the lines
that the question deserves are spent. docs/answers.md shows it with examples, ADR 22 has the measurements.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from citewise.answer.blocks import TextBlock, blocks_of
from citewise.answer.ground import coverages_of
from citewise.answer.joining import Joined
from citewise.model.ranking import FoundSection
from citewise.text.analysis import terms
from citewise.text.quoting import ELLIPSIS, emphasized, shortened, shown
from citewise.text.roles import is_beside, roles_asked

Form: TypeAlias = Literal["comparison", "code", "why", "how-to", "fact", "which", "error", "definition", "other"]

# What a question begins with or asks for, first match first. English, with a few words of Chinese and Japanese.
_FORMS: Mapping[Form, str] = {
    "comparison": (
        r"\bdiffer(?:s|ence|ences|ent)?\b|\bvs\b|\bversus\b|\bcompar(?:e|ed|es|ison)\b|\bbetter\b.*\bor\b|\bor\b.*\bbetter\b"
        r"|\b(?:should i|when to) use\b.*\b(?:or|over|instead)\b|\u9055\u3044|\u533a\u522b"
    ),
    "code": (
        r"\bexamples?\b|\bsnippets?\b|\b(?:the|its|this) (?:[\w-]+ ){1,3}(?:code|class|method|function)\b"
        r"|\b(?:show|sample|write)\b.*\bcode\b|\bcode (?:for|to)\b|\b(?:workflow|manifest)\b"
    ),
    "why": r"\bwhy\b",
    "how-to": (
        r"\bhow (?:do|can|could|should|would|to|does one|are|is)\b|\bsteps\b|\bset(?:ting)? ?up\b|\binstall"
        r"|\bcan i\b|\bis there (?:a|any) way\b|\u600e\u4e48|\u5982\u4f55|\u65b9\u6cd5"
    ),
    "fact": (
        r"\bdefaults?\b|\bhow (?:many|much|long|often|large|big|fast|far|old)\b"
        r"|\bwh(?:at|ich) (?:\w+ )?(?:value|port|version|flag|size|colou?r|rate|topic|name|number|key|option)s?\b"
        r"|\u9ed8\u8ba4|\u65e2\u5b9a"
    ),
    "which": r"^\W*(?:when|who|where|which)\b",
    "error": r"\bcauses?\b|\berrors?\b|\bfail(?:s|ed|ing|ure)?\b|\bnot work|\b[45]\d\d\b",
    "definition": r"^\W*(?:what(?:'s| is| are| does)|define|explain)\b|\bmean(?:s|ing)?\b",
}


def form_of(question: str) -> Form:
    """What kind of answer a question wants: a value, steps, both sides, a reason."""
    return next((form for form, pattern in _FORMS.items() if re.search(pattern, question, re.IGNORECASE)), "other")


class Shape(NamedTuple):
    """Lines of a screen that a form deserves. Fewer: the thing itself is missing more often; more: it is buried."""

    lines: int  # of the answer
    whole: int  # up to which a section comes whole
    code: int  # of one block of code, or rows of one table


# Chosen by coverage and length in benchmarks/answers.py: half as many lines cost a fifth of the coverage.
SHAPES: Mapping[Form, Shape] = {
    "comparison": Shape(32, 12, 14),
    "code": Shape(40, 16, 30),
    "why": Shape(30, 12, 12),
    "how-to": Shape(32, 16, 18),
    "fact": Shape(10, 4, 8),
    "which": Shape(18, 8, 12),
    "error": Shape(30, 12, 12),
    "definition": Shape(10, 8, 8),
    "other": Shape(30, 12, 12),
}
MAX_RUNS = 3
MAX_BLOCKS = 400  # that are looked at; a bound for pages that are one endless list
HEADING_LINES = 2  # of an excerpt: its headings and a blank line
MIN_LINES = 2  # that are worth filling
BEYOND_LINES = 8  # over the budget, for what a colon announces


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A run of blocks of one section, in their order; `…` stands where others were left out."""

    section: FoundSection
    text: str
    span: tuple[int, int]  # from its first block to its last, in the section's text
    best: tuple[int, int]  # its best block
    joined: Joined
    is_weak: bool  # it holds announcements or links alone, stands beside the content, or these were much nearer


@dataclass(frozen=True, slots=True)
class _Scored:
    section: int
    block: TextBlock
    score: float


@dataclass(frozen=True, slots=True)
class Excerpts:
    """Question and sections -> excerpts. What each signal of a block is worth, 0: not looked at; plateaus are wide."""

    section: float = 0.5  # the search's score of its section, as a share of the best one's
    rank: float = 0.1  # 1 / the section's place
    form: float = 0.15  # that it is what the question's form wants: a number, steps, code, a reason
    late: float = 4.0  # late interaction, which differs by a tenth where the section's score differs by a half
    # Below the best block's score, from which on nothing is taken. 0.4: a tenth of the coverage is lost; from 1.2 on
    # what is beside the point fills the lines that are left.
    max_gap: float = 1.0
    shapes: Mapping[Form, Shape] = field(default_factory=lambda: SHAPES)

    def __call__(
        self, question: str, sections: Sequence[FoundSection], *, max_runs: int = MAX_RUNS
    ) -> tuple[Excerpt, ...]:
        form = form_of(question)
        joined = [Joined.of(section.passages) for section in sections]
        read = [blocks_of(text, section.closeness) for text, section in zip(joined, sections, strict=True)]
        roles = roles_asked(question)
        beside = [is_beside(section.passages[0].content_type, roles) for section in sections]
        choice = _Choice(form, self.shapes[form], read, beside, max_runs=min(max_runs, MAX_RUNS), max_gap=self.max_gap)
        choice.take(self._ranked(question, form, sections, read))
        asked = frozenset((*terms(question).words, *terms(question).code))
        max_code = self.shapes[form].code
        return tuple(
            _excerpt(
                sections[number],
                joined[number],
                blocks,
                asked=asked,
                max_code=max_code,
                is_weak=choice.is_far or beside[number],
            )
            for number, blocks in choice.runs()
        )

    def _ranked(
        self, question: str, form: Form, sections: Sequence[FoundSection], read: Sequence[Sequence[TextBlock]]
    ) -> list[_Scored]:
        best = max((section.score for section in sections), default=0.0)
        every = [(number, block) for number, blocks in enumerate(read) for block in blocks][:MAX_BLOCKS]
        nearness = [self.late * block.closeness for _, block in every if block.closeness is not None]
        if len(nearness) < len(every):  # nobody could look at each: by words then
            above = [terms("\n".join(section.passages[0].breadcrumb)).stems for section in sections]
            nearness = coverages_of(terms(question).stems, [above[number] | block.stems for number, block in every])
        of_sections = [
            self.section * (section.score / best if best > 0 else 1.0) + self.rank / (1 + number)
            for number, section in enumerate(sections)
        ]
        candidates = [
            _Scored(number, block, near + self.form * _fits(form, block) + of_sections[number])
            for (number, block), near in zip(every, nearness, strict=True)
        ]
        return sorted(candidates, key=lambda candidate: -candidate.score)


_WANTED: Mapping[Form, re.Pattern[str]] = {
    "fact": re.compile(r"\d|\btrue\b|\bfalse\b|\bnone\b|\bdefaults?\b", re.IGNORECASE),
    "why": re.compile(r"\b(?:because|since|due to|reason|so that|therefore|caused?)\b", re.IGNORECASE),
    "definition": re.compile(r"\b(?:is|are|means?|refers? to|defines?)\b", re.IGNORECASE),
}


def _fits(form: Form, block: TextBlock) -> int:
    """Whether a block is of the kind that a question's form asks for; 2: introductions that say the same words are
    what stands above it."""
    if form in ("how-to", "code"):
        return (2 if form == "how-to" else 1) * (block.has_code or block.is_step)
    pattern = _WANTED.get(form)
    return int(pattern is not None and pattern.search(block.text) is not None)


class _Choice:
    """The blocks that are taken, section by section, and the lines that are left."""

    def __init__(
        self,
        form: Form,
        shape: Shape,
        read: Sequence[Sequence[TextBlock]],
        beside: Sequence[bool],  # of each section, whether it stands beside the content
        *,
        max_runs: int,
        max_gap: float,
    ) -> None:
        self._form, self._shape, self._read, self._beside = form, shape, read, beside
        self._max_runs, self._max_gap = max_runs, max_gap
        self._left = shape.lines
        self.is_far = False  # what answers nothing was much nearer to the question than all that may answer
        self._taken: dict[int, set[int]] = {}  # by section, in the order of their best block

    def take(self, candidates: Sequence[_Scored]) -> None:
        """Take what there is room for, best first. What answers nothing is taken only if there is nothing else."""
        answering = [candidate for candidate in candidates if self._may_answer(candidate)] or candidates[:1]
        self.is_far = bool(answering) and answering[0].score < candidates[0].score - self._max_gap
        for candidate in answering:
            if self._left < MIN_LINES or candidate.score < answering[0].score - self._max_gap:
                break
            self._consider(candidate)

    def _may_answer(self, candidate: _Scored) -> bool:
        if self._beside[candidate.section] or candidate.block.is_weak:
            return False
        return not (candidate.block.announces and candidate.block is self._read[candidate.section][-1])

    def _consider(self, candidate: _Scored) -> None:
        """Take the block with what belongs to it, or alone, if there is room; the first one in any case."""
        taken, block = self._taken.get(candidate.section), candidate.block
        if taken is None and len(self._taken) == self._max_runs:
            return
        alone = {block.position}
        is_over = self._lines(candidate.section, alone) > self._left and bool(self._taken)
        if is_over or block.position in (taken or ()) or self._is_said(block):
            return
        with_lead = alone | self._lead_of(self._read[candidate.section], block)
        groups = [each - (taken or set()) for each in (self._grown(candidate), with_lead, alone)]
        group = next((each for each in groups if self._lines(candidate.section, each) <= self._left), groups[-1])
        self._left -= self._lines(candidate.section, group)
        self._taken.setdefault(candidate.section, set()).update(group)

    def runs(self) -> Iterator[tuple[int, list[TextBlock]]]:
        """Each section with its blocks in order. A line that announces something has that behind it, or is left out."""
        for section, taken in self._taken.items():
            blocks = self._read[section]
            if len(self._taken) > 1 and all(blocks[at].announces and at + 1 == len(blocks) for at in taken):
                continue
            self._complete_steps(section, taken)
            for position in sorted(taken, reverse=True):
                room = self._left + BEYOND_LINES
                needed = self._announced(blocks, position, room) if self._goes_on(blocks, position) else set()
                if needed and self._lines(section, needed - taken) <= self._left + BEYOND_LINES:
                    taken |= needed
                if blocks[position].announces and position + 1 not in taken and len(taken) > 1:
                    taken.discard(position)
            yield section, [blocks[position] for position in sorted(taken)]

    def _complete_steps(self, section: int, taken: set[int]) -> None:
        """The steps between two that are taken: a procedure without one of them is worse than none."""
        blocks = self._read[section]
        for number in {blocks[at].list_number for at in taken if blocks[at].is_step}:
            steps = [at for at in taken if blocks[at].list_number == number]
            between = set(range(min(steps), max(steps))) - taken
            if self._lines(section, between) <= self._left + BEYOND_LINES:
                taken |= between

    @staticmethod
    def _goes_on(blocks: Sequence[TextBlock], position: int) -> bool:
        """Whether a block says nothing, or half a sentence, without the one behind it."""
        following = blocks[position + 1 : position + 2]
        is_list = any(other.kind in ("list", "item") for other in following)
        return blocks[position].announces or (blocks[position].breaks_off and is_list)

    def _is_said(self, block: TextBlock) -> bool:
        """Whether what is taken says nearly the same."""
        others = (self._read[section][at] for section, taken in self._taken.items() for at in taken)
        return any(len(block.stems & other.stems) > 0.75 * len(block.stems | other.stems) for other in others)

    def _lines(self, section: int, positions: Set[int]) -> int:
        blocks = (self._read[section][position] for position in positions)
        heading = 0 if section in self._taken else HEADING_LINES
        return heading + sum(self._shown_lines(block) for block in blocks)

    def _shown_lines(self, block: TextBlock) -> int:
        is_long = block.kind in ("code", "table")
        lines = min(block.lines, self._shape.code + 2) if is_long else block.lines
        return lines + (block.kind != "item")  # and a blank line

    def _grown(self, candidate: _Scored) -> set[int]:
        """The block with what it cannot be understood without; a short section whole."""
        blocks, block = self._read[candidate.section], candidate.block
        if sum(map(self._shown_lines, blocks)) <= self._shape.whole:
            return {other.position for other in blocks if not other.is_weak or other is block}
        group = {block.position, *self._lead_of(blocks, block)}
        room = self._left - self._lines(candidate.section, group)
        if self._goes_on(blocks, block.position):
            group |= self._announced(blocks, block.position, room)
        elif block.is_step:
            group |= self._steps(blocks, block, room)
        elif self._form in ("how-to", "code") and block.kind == "prose":
            following = blocks[block.position + 1 : block.position + 2]
            group |= {other.position for other in following if other.kind == "code"}
        return group

    @staticmethod
    def _lead_of(blocks: Sequence[TextBlock], block: TextBlock) -> set[int]:
        """The line above code, a list or a table that says what it is."""
        at = block.position - 1
        while at >= 0 and block.kind == "item" and blocks[at].list_number == block.list_number:
            at -= 1
        if block.kind == "prose" or at < 0 or blocks[at].kind != "prose":
            return set()
        above = blocks[at]
        leads = above.announces or above.breaks_off or above.is_label or block.kind == "code"
        return {at} if leads and blocks[at].lines <= 4 else set()

    def _announced(self, blocks: Sequence[TextBlock], position: int, room: int) -> set[int]:
        """What follows a colon: a block, or the items of a list as far as there is room."""
        found: set[int] = set()
        for block in blocks[position + 1 :]:
            is_same_list = not found or (block.kind == "item" and block.list_number == blocks[position + 1].list_number)
            if not is_same_list or (found and self._lines_of(blocks, found) + block.lines > room):
                break
            found.add(block.position)
        return found

    def _steps(self, blocks: Sequence[TextBlock], step: TextBlock, room: int) -> set[int]:
        """The whole procedure if there is room for it, else from this step on."""
        whole = [block for block in blocks if block.list_number == step.list_number]
        if self._lines_of(blocks, {block.position for block in whole}) <= room:
            return {block.position for block in whole}
        found: set[int] = set()
        for block in whole[whole.index(step) :]:
            if self._lines_of(blocks, found) + block.lines > room:
                break
            found.add(block.position)
        return found

    def _lines_of(self, blocks: Sequence[TextBlock], positions: Set[int]) -> int:
        return sum(self._shown_lines(blocks[position]) for position in positions)


def _excerpt(
    section: FoundSection,
    joined: Joined,
    blocks: Sequence[TextBlock],
    *,
    asked: Set[str],
    max_code: int,
    is_weak: bool,
) -> Excerpt:
    text = f"{ELLIPSIS}\n\n" if blocks[0].before else ""
    for before, block in zip((None, *blocks), blocks, strict=False):
        is_long = block.kind in ("code", "table")
        text += _glue(before, block) if before else ""
        text += shortened(block.text, asked, max_code) if is_long else shown(block.text)
    text += f"\n\n{ELLIPSIS}" if blocks[-1].after else ""
    span = (min(block.span[0] for block in blocks), max(block.span[1] for block in blocks))
    best = max(blocks, key=lambda block: (not block.is_weak, block.closeness or 0.0, len(block.stems & asked)))
    return Excerpt(section, emphasized(text, asked), span, best.span, joined, is_weak or best.is_weak)


def _glue(before: TextBlock, block: TextBlock) -> str:
    """What stands between two blocks: a mark where others did, and between two lists, which would else be one."""
    is_list = block.kind == before.kind == "item" and block.list_number == before.list_number
    is_next = block.position == before.position + 1
    if is_list:
        return "\n" if is_next else f"\n{ELLIPSIS}\n"
    are_lists = before.list_number > 0 < block.list_number
    return "\n\n" if is_next and not are_lists else f"\n\n{ELLIPSIS}\n\n"
