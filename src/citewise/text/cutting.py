"""Long code and long tables cut to what tells most of what was asked, with `…` where lines were left out."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import groupby

from citewise.text.analysis import stemmer, terms

ELLIPSIS = "\u2026"
MIN_ROW_SHARE = 0.5  # of the best row's worth, for another row; 0: a word that many rows have is enough, 1: ties alone
MIN_GAIN = 0.5  # of the first place's worth, for another place in code; 0: a new word is enough, 1: one place alone
MAX_HEADERS = 5  # lines that enclose a place, such as those of its class and its function
MAX_HEADER_LINES = 6  # of one such line, where it is wrapped
MAX_PLACE = 9  # lines of a paragraph that is a place; of a longer one it is as many around a line
AROUND = 3

_DEFINITION = re.compile(
    r"\s*(?:@|(?:export |public |private |protected |static |async |pub )*"
    r"(?:def|class|func|fn|function|interface|type|impl|struct|enum)\b)"
)
_ENDS = re.compile(r"[:{]\s*(?:(?:#|//).*)?$")  # a definition, before what it encloses
_IMPORT = re.compile(r"(?:import|from|use|#include|using|require)\b|(?:const|let|var)\b.*\brequire\(")
_ABBREVIATED = {  # in code, and the stems of what is meant
    **{"max": "maximum", "min": "minimum", "num": "number", "avg": "averag", "param": "paramet", "config": "configur"},
    **{"dir": "directori", "env": "environ", "cmd": "command", "msg": "messag", "img": "imag", "temp": "temperatur"},
    **{"freq": "frequenc", "vel": "veloc", "pos": "posit", "dist": "distanc", "init": "initi", "iter": "iter"},
}
_NAME = re.compile(r"[^\W\d]\w*")


def cut_code(lines: Sequence[str], telling: Set[str], max_lines: int) -> list[str]:
    """The places in code that have most of the telling words, each with the lines that enclose it.

    A place is a paragraph: lines between blank ones. What room is left goes to the imports of what is used there, then
    to the lines around the best place. Code that has none of the words is cut at its end.
    """
    listing = _Listing(lines, telling, max_lines)
    if not listing.take_places():
        listing.take(range(max_lines))
    listing.take_imports()
    listing.fill_up()
    return listing.shown()


class _Listing:
    """The lines of code that are taken, and how many more may be."""

    def __init__(self, lines: Sequence[str], telling: Set[str], max_lines: int) -> None:
        self._lines = lines
        self._left = max_lines
        self._taken: set[int] = set()
        self._best: int | None = None  # a line of the best place
        self._indents = [len(line) - len(line.lstrip()) if line.strip() else None for line in lines]
        self._paragraph_of = _paragraphs_by_line(self._indents)
        self._margin = min((indent for indent in self._indents if indent is not None), default=0)
        self._said = [telling & _stems_of(line) for line in lines]
        others = frozenset[str]().union(*(said for at, said in enumerate(self._said) if not self._imports(at)))
        self._said = [said - others if self._imports(at) else said for at, said in enumerate(self._said)]
        spread = Counter(term for said in self._said for term in said)
        self._worth = {term: math.log(1 + len(lines) / spread[term]) for term in spread}

    def take_places(self) -> bool:
        """Take the places that tell most until half the room is spent; False: no line has a telling word."""
        waiting = sorted({self._place(at) for at, said in enumerate(self._said) if said}, key=lambda place: place.start)
        half, untold, least = self._left // 2, set(self._worth), 0.0
        while waiting and untold and self._left > half:
            place = max(waiting, key=lambda place: self._gain(place, untold))
            if (gain := self._gain(place, untold)) <= least:
                break
            least = least or MIN_GAIN * gain
            waiting.remove(place)
            anchor = max(place, key=lambda at: self._gain(range(at, at + 1), untold))
            headers = self._headers(place.start)
            if self.take((*headers, *place)) or self.take(place) or self.take((*headers[-1:], anchor)):
                self._best = anchor if self._best is None else self._best
                untold.difference_update(*(self._said[at] for at in self._taken))
        return self._best is not None

    def _place(self, at: int) -> range:
        """The paragraph of a line, or the lines around it where that is long."""
        whole = self._paragraph_of[at]
        if len(whole) <= MAX_PLACE:
            return whole
        around = min(AROUND, self._left // 4)
        return range(max(whole.start, at - around), min(whole.stop, at + around + 1))

    def _gain(self, place: range, untold: Set[str]) -> float:
        """What its words are worth that are not shown yet: rare ones most."""
        said = frozenset[str]().union(*(self._said[at] for at in place))
        return math.fsum(self._worth[term] for term in sorted(said & untold))

    def take(self, wanted: Iterable[int]) -> bool:
        """Take these lines if there is room for them and for the marks around them."""
        both = self._taken.union(at for at in wanted if at < len(self._lines))
        cost = len(both) + self._marks(both) - len(self._taken) - self._marks(self._taken)
        if cost > self._left:
            return False
        self._left -= cost
        self._taken = both
        return True

    @staticmethod
    def _marks(taken: Set[int]) -> int:
        return sum(at > 0 and at - 1 not in taken for at in taken)

    def take_imports(self) -> None:
        """The lines that define the names used in what is taken, where these are imported."""
        used = frozenset(_NAME.findall("\n".join(self._lines[at] for at in self._taken)))
        for at, line in enumerate(self._lines):
            if self._imports(at) and used.intersection(_NAME.findall(line)):
                self.take((at,))

    def _imports(self, at: int) -> bool:
        """Whether a line only names what is used elsewhere, and tells nothing that is not told there."""
        return _IMPORT.match(self._lines[at].strip()) is not None

    def fill_up(self) -> None:
        """What stands around the best place, first what the innermost line encloses, as far as there is room.

        One by one where the same line encloses them, and behind it; before that by paragraphs.
        """
        if self._best is None:
            return
        for header in reversed(self._headers(self._best)):
            whole = self._enclosed(header)
            self._take_each([at] for at in range(self._best, whole.stop))
            self._take_each(self._paragraphs(range(self._best, header, -1)))
        self._take_each([at] for at in range(self._best, len(self._lines)))
        self._take_each(self._paragraphs(range(self._best, -1, -1)))

    def _take_each(self, groups: Iterable[Sequence[int]]) -> bool:
        """Take one by one until one does not fit."""
        return all(self._taken.issuperset(group) or self.take(group) for group in groups)

    def _paragraphs(self, lines: range) -> Iterator[list[int]]:
        """Runs of these lines, each with the blank ones that end it."""
        run: list[int] = []
        for at in lines:
            if run and self._indents[run[-1]] is None and self._indents[at] is not None:
                yield run
                run = []
            run.append(at)
        if run:
            yield run

    def _headers(self, at: int) -> list[int]:
        """The lines that enclose a place, outermost first: those above it that are indented less."""
        found: list[int] = []
        indent = self._indents[at] or 0
        for above in range(at - 1, -1, -1):
            of_line = self._indents[above]
            if of_line is not None and of_line < indent and self._lines[above].strip(" \t)]}>,;{:"):
                found.append(above)
                indent = of_line
        definitions = [above for above in found if _DEFINITION.match(self._lines[above])]
        chosen = {*found[:1], *(definitions or found)[:MAX_HEADERS]}
        return sorted(line for header in chosen for line in self._header(header) if line < at)

    def _header(self, at: int) -> range:
        """A line that encloses others; of a definition, with its parameters on more lines."""
        upto = at + MAX_HEADER_LINES if _DEFINITION.match(self._lines[at]) else at + 1
        ends = (end for end in range(at, min(upto, len(self._lines))) if _ENDS.search(self._lines[end]))
        return range(at, next(ends, at) + 1)

    def _enclosed(self, header: int) -> range:
        indent = self._indents[header] or 0
        behind = range(header + 1, len(self._lines))
        ends = (below for below in behind if (of_line := self._indents[below]) is not None and of_line <= indent)
        return range(header, next(ends, len(self._lines)))

    def shown(self) -> list[str]:
        """What is taken, in order. Of what was left out nothing is said if it is only blank."""
        shown: list[str] = []
        left_out: list[int] = []
        taken = self._without_edges()
        for at, line in enumerate(self._lines):
            if at not in taken:
                left_out.append(at)
                continue
            shown += [*self._mark(left_out, at), line]
            left_out = []
        return shown + self._mark(left_out, None)

    def _without_edges(self) -> Set[int]:
        """What is taken, without blank lines beside what is not."""
        taken = set(self._taken)
        for step in (1, -1):
            for at in sorted(taken)[::step]:
                if self._indents[at] is None and at - step not in taken:
                    taken.discard(at)
        return taken

    def _mark(self, left_out: Sequence[int], following: int | None) -> list[str]:
        """What stands for the lines left out before another: nothing for blank ones, themselves for a single one."""
        said = [self._lines[at] for at in left_out if self._indents[at] is not None]
        if not said:
            return [""] if left_out and following is not None else []
        if len(left_out) == 1:
            return said
        indent = self._indents[following] if following is not None else None
        return [" " * (self._margin if indent is None else indent) + ELLIPSIS]


def _paragraphs_by_line(indents: Sequence[int | None]) -> list[range]:
    """Of each line, the run of lines that it is of: blank ones, or others."""
    found: list[range] = []
    for _, run in groupby(indents, key=lambda indent: indent is None):
        size = sum(1 for _ in run)
        found += [range(len(found), len(found) + size)] * size
    return found


def _stems_of(line: str) -> Set[str]:
    """The stems of its words and of the parts of its names, abbreviated ones as people say them."""
    found = terms(line)
    stems = {*found.words, *stemmer().stemWords(found.code)}
    return stems | {_ABBREVIATED[stem] for stem in stems if stem in _ABBREVIATED}


def cut_rows(lines: Sequence[str], telling: Set[str], max_rows: int) -> list[str]:
    """A table's header and the rows that tell most, in their order; the first ones if none tells anything."""
    header, rows = lines[:2], lines[2:]
    said = [telling & terms(row).stems for row in rows]
    spread = Counter(term for row in said for term in row)
    worth = [sum(1 / spread[term] for term in row) for row in said]
    least = MIN_ROW_SHARE * max(worth)
    ranked = sorted((at for at in range(len(rows)) if worth[at] >= least), key=lambda at: (-worth[at], at))
    best = sorted(ranked[:max_rows])
    parts = list(header)
    for before, at in zip([-1, *best], best, strict=False):
        parts += [f"| {ELLIPSIS} |"] if at != before + 1 else []
        parts.append(rows[at])
    return parts + ([f"| {ELLIPSIS} |"] if best and best[-1] < len(rows) - 1 else [])
