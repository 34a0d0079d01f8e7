"""Found sections -> excerpts: one to three runs of whole blocks that answer the question, the best section first.

A block is worth what the search thinks of its section and how near its words are to the question's (late interaction,
from stored vectors). Blocks are taken in that order, each with what it cannot be understood without, until the lines
that the question deserves are spent. docs/answers.md shows it with examples, ADR 22 has the measurements.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from citewise.answer.blocks import TextBlock, blocks_of
from citewise.answer.forms import SHAPES, Form, Shape, Wanted, sides_of
from citewise.answer.ground import coverages_of
from citewise.answer.joining import Joined
from citewise.model.ranking import FoundSection
from citewise.text.analysis import stems_in, terms
from citewise.text.cutting import ELLIPSIS
from citewise.text.quoting import emphasized, shortened, shown
from citewise.text.roles import SectionRole, is_beside, roles_asked

MAX_RUNS = 3
MAX_BLOCKS = 400  # that are looked at; a bound for pages that are one endless list
HEADING_LINES = 2  # of an excerpt: its headings and a blank line
SAME_STEMS = 0.75  # of two blocks' stems, from which on they say the same; 1: only equal ones do
MIN_LINES = 2  # that are worth filling
MAX_LEAD_LINES = 4  # of the paragraph above code, a list or a table that comes with it
BEGINNING_WORDS = 8  # of a block, which say what it is about
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
class _Quotable:
    """A section that was found, as it is read here."""

    found: FoundSection
    joined: Joined
    blocks: tuple[TextBlock, ...]
    is_beside: bool  # the content: an exercise, a list of links

    @staticmethod
    def of(found: FoundSection, asked: Set[SectionRole]) -> "_Quotable":
        joined = Joined.of(found.passages)
        blocks = blocks_of(joined, found.closeness)
        return _Quotable(found, joined, blocks, is_beside(found.passages[0].content_type, asked))

    @property
    def heading(self) -> str:
        return "".join(self.found.passages[0].breadcrumb[-1:])


@dataclass(frozen=True, slots=True)
class Excerpts:
    """Question and sections -> excerpts. What each signal of a block is worth, 0: not looked at; plateaus are wide."""

    section: float = 0.5  # the search's score of its section, as a share of the best one's
    rank: float = 0.1  # 1 / the section's place
    heading: float = 0.3  # that its heading names what is asked for: "Mitigation" for what to do
    form: float = 0.15  # that it is what the question's form wants: a number, steps, code, a reason
    late: float = 4.0  # late interaction, which differs by a tenth where the section's score differs by a half
    around: float = 0.5  # the same of the blocks beside it: what answers is seldom alone in speaking of the question
    words: float = 0.4  # the share of the question's stems that it has, rare ones counting more
    next_to: float = 0.3  # that it goes on where what is taken ends; 0.6: what stands further on is never reached
    # Blocks this far below the best one are not taken. 0.4: a tenth of the coverage is lost; from 1.2 on
    # what is beside the point fills the lines that are left.
    max_gap: float = 1.4
    # The same for another section than those taken. 0.3: a twentieth of the coverage is lost; 1.4: where the answer
    # stands in one section, others fill its lines.
    max_other_gap: float = 0.5
    # The same while half the lines are left. 0.5: what the question also asks for is left out although there is room.
    max_early_gap: float = 0.9
    shapes: Mapping[Form, Shape] = field(default_factory=lambda: SHAPES)

    def __call__(
        self, question: str, sections: Sequence[FoundSection], *, max_runs: int = MAX_RUNS, is_sure: bool = True
    ) -> tuple[Excerpt, ...]:
        """Of what is not sure to answer, more is shown."""
        wanted, asked = Wanted(question), terms(question).stems
        roles = roles_asked(question)
        read = [_Quotable.of(section, roles) for section in sections]
        shape = self.shapes[wanted.form]
        shape = shape if is_sure else shape._replace(lines=max(shape.lines, self.shapes["other"].lines))
        choice = _Choice(self, wanted.form, shape, read, max_runs=min(max_runs, MAX_RUNS))
        choice.take(self._ranked(asked, wanted, read), sides_of(question) if wanted.form == "comparison" else ())
        quote = _Quote(asked, wanted, shape)
        return tuple(
            quote(read[number], blocks, is_first=not place, is_weak=choice.is_far or read[number].is_beside)
            for place, (number, blocks) in enumerate(choice.runs())
        )

    def _ranked(self, asked: Set[str], wanted: Wanted, sections: Sequence["_Quotable"]) -> list[_Scored]:
        best = max((section.found.score for section in sections), default=0.0)
        every = [(number, block) for number, section in enumerate(sections) for block in section.blocks][:MAX_BLOCKS]
        shares = coverages_of(asked, [stems_in(block.text, asked) for _, block in every])
        if all(block.closeness is not None for _, block in every):
            nearness = [
                self.late * (block.closeness or 0.0) + self.around * _around(sections[number].blocks, block)
                for number, block in every
            ]
        else:  # nobody could look at each: by words then
            above = [terms("\n".join(section.found.passages[0].breadcrumb)).stems for section in sections]
            nearness = coverages_of(asked, [above[number] | block.stems for number, block in every])
        of_sections = [
            self.section * (section.found.score / best if best > 0 else 1.0)
            + self.rank / (1 + number)
            + self.heading * wanted.is_below(section.heading)
            for number, section in enumerate(sections)
        ]
        candidates = [
            _Scored(number, block, near + self.words * share + self.form * wanted.fit(block) + of_sections[number])
            for (number, block), near, share in zip(every, nearness, shares, strict=True)
        ]
        return sorted(candidates, key=lambda candidate: -candidate.score)


def _is_action(block: TextBlock) -> bool:
    """Whether it is what one does: a command, a step."""
    return block.has_code or block.is_step


def _around(blocks: Sequence[TextBlock], block: TextBlock) -> float:
    """How near the blocks beside it are to the question; where there is none, it stands for itself."""
    beside = (block.position - 1, block.position + 1)
    return sum((blocks[at] if 0 <= at < len(blocks) else block).closeness or 0.0 for at in beside) / 2


class _Choice:
    """The blocks that are taken, section by section, and the lines that are left."""

    def __init__(
        self, rules: Excerpts, form: Form, shape: Shape, sections: Sequence[_Quotable], *, max_runs: int
    ) -> None:
        self.shape = shape
        self._rules, self._form, self._sections, self._max_runs = rules, form, sections, max_runs
        self._read = [section.blocks for section in sections]
        self._left = self.shape.lines
        self.is_far = False  # what answers nothing was much nearer to the question than all that may answer
        self._taken: dict[int, set[int]] = {}  # by section, in the order of their best block

    def take(self, candidates: Sequence[_Scored], sides: Sequence[Set[str]] = ()) -> None:
        """Take what there is room for, best first. What answers nothing is taken only if there is nothing else.

        Of a comparison the best about each side follows the best of all. Where somebody asks how, and nothing taken is
        what one does, the next best that is joins it.
        """
        answering = [candidate for candidate in candidates if self._may_answer(candidate)] or candidates[:1]
        self.is_far = bool(answering) and answering[0].score < candidates[0].score - self._rules.max_gap
        least = answering[0].score - self._rules.max_gap if answering else 0.0
        near = [candidate for candidate in answering if candidate.score >= least]
        for best in near[:1] if sides else ():
            self._consider(best)
        for side in sides:
            for about in self._about(side, near):
                self._consider(about)
        waiting = list(answering)
        while waiting and self._left >= MIN_LINES:
            best = max(waiting, key=self._worth)
            if self._worth(best) < least:
                break
            waiting.remove(best)
            is_early = self._left >= self.shape.lines / 2
            gap = self._rules.max_early_gap if is_early else self._rules.max_other_gap
            if best.section in self._taken or best.score >= answering[0].score - gap:
                self._consider(best)

        actions = (candidate for candidate in near if _is_action(candidate.block))
        while self._form in ("how-to", "code") and not self._has_action() and (action := next(actions, None)):
            self._consider(action)

    def _about(self, side: Set[str], candidates: Sequence[_Scored]) -> Sequence[_Scored]:
        """The best that names a side of a comparison in its heading or its first words; none, if one taken does."""
        about = [candidate for candidate in candidates if self._names(side, candidate)]
        has_one = any(candidate.block.position in self._taken.get(candidate.section, ()) for candidate in about)
        return () if has_one else about[:1]

    def _names(self, side: Set[str], candidate: _Scored) -> bool:
        words = [] if candidate.block.kind == "code" else candidate.block.text.split()
        return side <= terms(" ".join((self._sections[candidate.section].heading, *words[:BEGINNING_WORDS]))).stems

    def _has_action(self) -> bool:
        return any(_is_action(self._read[section][at]) for section, taken in self._taken.items() for at in taken)

    def _worth(self, candidate: _Scored) -> float:
        taken, position = self._taken.get(candidate.section, ()), candidate.block.position
        return candidate.score + self._rules.next_to * (position - 1 in taken or position + 1 in taken)

    def _may_answer(self, candidate: _Scored) -> bool:
        if self._sections[candidate.section].is_beside or candidate.block.is_weak:
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
        ways = [self._grown(candidate), with_lead, alone]
        if self._taken and self._goes_on(self._read[candidate.section], block.position):
            ways = ways[:1]  # a colon with nothing behind it says nothing
        groups = [each - (taken or set()) for each in ways]
        group = next((each for each in groups if self._lines(candidate.section, each) <= self._left), groups[-1])
        if self._taken and self._lines(candidate.section, group) > self._left + BEYOND_LINES:
            return
        self._left -= self._lines(candidate.section, group)
        self._taken.setdefault(candidate.section, set()).update(group)

    def runs(self) -> Iterator[tuple[int, list[TextBlock]]]:
        """Each section with its blocks in order. A line that announces something has that behind it, or is left out."""
        for section, taken in self._taken.items():
            blocks = self._read[section]
            if len(self._taken) > 1 and all(blocks[at].announces and at + 1 == len(blocks) for at in taken):
                continue
            self._complete_steps(section, taken)
            taken |= frozenset().union(*(self._lead_of(blocks, blocks[at]) for at in taken if at - 1 not in taken))
            for position in sorted(taken, reverse=True):
                room = self._left + BEYOND_LINES
                needed = self._announced(blocks, position, room) if self._goes_on(blocks, position) else set()
                if needed and self._lines(section, needed - taken) <= self._left + BEYOND_LINES:
                    taken |= needed
                is_alone = position + 1 not in taken and len(taken) > 1
                if is_alone and (blocks[position].announces or blocks[position].is_label):
                    taken.discard(position)
            yield section, [blocks[position] for position in sorted(taken)]

    def _complete_steps(self, section: int, taken: set[int]) -> None:
        """The steps before one that is taken, or else those between two: one without them is worse than none."""
        blocks = self._read[section]
        for number in {blocks[at].list_number for at in taken if blocks[at].is_step}:
            steps = [at for at in taken if blocks[at].list_number == number]
            first = next(block.position for block in blocks if block.list_number == number)
            for start in (first, min(steps)):
                missing = set(range(start, max(steps))) - taken
                if self._lines_of(blocks, missing) <= self._left + BEYOND_LINES:
                    taken |= missing
                    break

    @staticmethod
    def _goes_on(blocks: Sequence[TextBlock], position: int) -> bool:
        """Whether a block says nothing, or half a sentence, without the one behind it."""
        following = blocks[position + 1 : position + 2]
        is_list = any(other.kind in ("list", "item") for other in following)
        return blocks[position].announces or (blocks[position].breaks_off and is_list)

    def _is_said(self, block: TextBlock) -> bool:
        """Whether what is taken says nearly the same."""
        others = (self._read[section][at] for section, taken in self._taken.items() for at in taken)
        return any(len(block.stems & other.stems) > SAME_STEMS * len(block.stems | other.stems) for other in others)

    def _lines(self, section: int, positions: Set[int]) -> int:
        blocks = (self._read[section][position] for position in positions)
        heading = 0 if section in self._taken else HEADING_LINES
        return heading + sum(self._shown_lines(block) for block in blocks)

    def _shown_lines(self, block: TextBlock) -> int:
        return min(block.lines, self.shape.limit(block) + 2) + (block.kind != "item")  # and a blank line

    def _grown(self, candidate: _Scored) -> set[int]:
        """The block with what it cannot be understood without; a short section whole."""
        blocks, block = self._read[candidate.section], candidate.block
        if sum(map(self._shown_lines, blocks)) <= self.shape.whole:
            return {other.position for other in blocks if not other.is_weak or other is block}
        group = {block.position, *self._lead_of(blocks, block)}
        room = self._left - self._lines(candidate.section, group)
        if block.is_step or (block.list_number and block.kind == "code"):
            group |= self._steps(blocks, block, room)
        elif self._goes_on(blocks, block.position):
            group |= self._announced(blocks, block.position, room)
        elif self._form in ("how-to", "code") and block.kind == "prose":
            following = blocks[block.position + 1 : block.position + 2]
            group |= {other.position for other in following if other.kind == "code"}
        return group

    @staticmethod
    def _lead_of(blocks: Sequence[TextBlock], block: TextBlock) -> set[int]:
        """The paragraph above code, a list or a table that says what it is, or that a paragraph refers to."""
        at = block.position - 1
        while at >= 0 and block.kind == "item" and blocks[at].list_number == block.list_number:
            at -= 1
        if at < 0 or blocks[at].kind != "prose" or (block.kind == "prose" and not block.leans_back):
            return set()
        above = blocks[at]
        says_something = above.announces or above.is_label or not above.is_weak
        return {at} if says_something and above.lines <= MAX_LEAD_LINES else set()

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
        upto = {block.position for block in whole[: whole.index(step) + 1]}
        found = upto if self._lines_of(blocks, upto) <= room else set()  # from the first one on, if there is room
        for block in whole[whole.index(step) + bool(found) :]:
            if self._lines_of(blocks, found) + block.lines > room:
                break
            found.add(block.position)
        return found

    def _lines_of(self, blocks: Sequence[TextBlock], positions: Set[int]) -> int:
        return sum(self._shown_lines(blocks[position]) for position in positions)


@dataclass(frozen=True, slots=True)
class _Quote:
    """The blocks that are taken of a section -> how they are shown."""

    asked: Set[str]  # the question's stems
    wanted: Wanted
    shape: Shape

    def __call__(self, section: _Quotable, blocks: Sequence[TextBlock], *, is_first: bool, is_weak: bool) -> Excerpt:
        text, before = f"{ELLIPSIS}\n\n" if blocks[0].before and blocks[0].is_step else "", None
        for block in blocks:
            said = self._said(block)
            if said:
                text += (_glue(before, block) if before else "") + said
                before = block
        last = blocks[-1]
        text += f"\n\n{ELLIPSIS}" if last.after or last.announces else ""
        if self.wanted.telling and is_first:
            text = emphasized(text, self.wanted.telling)
        span = (min(block.span[0] for block in blocks), max(block.span[1] for block in blocks))
        best = max(blocks, key=lambda block: (not block.is_weak, block.closeness or 0.0, len(block.stems & self.asked)))
        return Excerpt(section.found, text, span, best.span, section.joined, is_weak or best.is_weak)

    def _said(self, block: TextBlock) -> str:
        if block.kind in ("code", "table"):
            return shortened(block.text, self.asked, self.shape.limit(block))
        is_long = self.shape.limit(block) < block.lines
        return shown(block.text, self.asked, self.shape.listing(block) if is_long else None)


def _glue(before: TextBlock, block: TextBlock) -> str:
    """What stands between two blocks: a mark where others did, and between two lists, which would else be one."""
    is_list = block.kind == before.kind == "item" and block.list_number == before.list_number
    is_next = block.position == before.position + 1 and not before.is_cut
    if is_list:
        return "\n" if is_next else f"\n{ELLIPSIS}\n"
    are_lists = 0 < before.list_number != block.list_number > 0
    return "\n\n" if is_next and not are_lists else f"\n\n{ELLIPSIS}\n\n"
