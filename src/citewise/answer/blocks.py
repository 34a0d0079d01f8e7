"""A found section -> the blocks that an answer may quote: paragraphs, lists, code, tables, each with its label."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

from citewise.answer.joining import Joined
from citewise.model.document import BlockKind, BlockSpan
from citewise.text.analysis import terms
from citewise.text.markdown import BULLET, LINK, LIST_MARK, WIKI_LINK, Line, Markdown
from citewise.text.notes import BEGUN_TAB, INDENTED_NOTE, title_of
from citewise.text.quoting import fenced
from citewise.text.units import sentence_starts

SCREEN_COLUMNS = 100  # of a line as it is counted
MAX_LIST_LINES = 12  # of a list that is one block; the items of a longer one, or of one with code, are blocks
CODE_INDENT = 4  # of a line that is code without a fence
_CODE_INDENTS = (" " * CODE_INDENT, "\t")
MAX_LABEL_CHARACTERS = 80  # of a line in bold or a file name that names the block below it

TextKind: TypeAlias = Literal["prose", "list", "item", "code", "table"]

_LABEL = re.compile(  # a line in bold, or a file name, alone: it names what stands below
    rf"(?:\*\*|__)[^*_\n]{{1,{MAX_LABEL_CHARACTERS}}}(?:\*\*|__)[.:]?|`[^`\n]{{1,{MAX_LABEL_CHARACTERS}}}`:?"
)
_ANNOUNCEMENT = re.compile(  # what speaks of the text and not of its subject
    r"\b(?:this|the following|next|previous|last) (?:page|section|chapter|guide|tutorial|article|document|module|lab"
    r"|lesson|handbook|book|part|overview|exercise)s?\b"
    r"|\b(?:for (?:more|further) (?:information|details?|examples?)|see also|(?:read|learn) more)\b"
    r"|\b(?:later|next|below|above|in this (?:section|chapter|guide|module)),? (?:you|we)(?:['\u2019]ll| will)\b"
    r"|\b(?:we|you)(?:['\u2019]ll| will) (?:learn|cover|explore|look at|discuss|see (?:how|in|later))\b",
    re.IGNORECASE,
)
MAX_ANNOUNCEMENT_WORDS = 40  # a longer sentence says something besides
_VERSION_NOTE = re.compile(
    r"\W*(?:\w+\W+){0,2}?(?:introduced|added|released|deprecated|available|removed|changed) (?:in|since)\b.{0,60}",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_ITEM = re.compile(rf"^[ \t]*{LIST_MARK}[ \t]", re.MULTILINE)
_NUMBERED = re.compile(r"^(\d{1,3})[.)]\s", re.MULTILINE)
_COMMENT = re.compile(r"<!--(?:(?!<!--).)*?-->", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][\w.-]*(?:\s[^<>]*)?/?>|\{\{[<%][^{}]*[>%]\}\}")
# What says something to the site's generator alone: where links lead, comments written as such, what is included.
_DIRECTIVES = re.compile(
    r"\s*(?:[`~]{3}[^\n]*\n\s*)?"
    r"(?:(?:\[[^\[\]\n]+\]:|:::[ \t]+\w++(?:\.\w++)++[ \t]*+$|<<<[ \t]|--8<--|\{\{#\w*include\b)[^\n]*(?:\n\s*|\Z))+"
    r"(?:[`~]{3,}\s*)?",
    re.MULTILINE,
)
_REFERRING = re.compile(
    r"[\s>*_]*(?:so|this|these|those|it|its|they|such|here|however|then|but|and|also|instead|otherwise|which|the above"
    r"|in (?:this|that|such)|(?:for )?example|as (?:shown|you can see)|note that)\b",
    re.IGNORECASE,
)
_OPTION = re.compile(rf"^[ \t]*(?:{BULLET}\s+)?(?:\*\*)?\(?[A-Da-d][).][ \t].*", re.MULTILINE)


@dataclass(frozen=True)
class TextBlock:
    """The smallest part of a section that is shown whole."""

    position: int  # in the section, from 0
    kind: TextKind
    text: str  # as it stands there, but for the blanks around it
    span: tuple[int, int]  # in the section's text
    closeness: float | None = None  # to the question, by the words of both; None: nobody could look
    list_number: int = 0  # which list of the section an item is of, or code between its items; 0: none
    before: int = 0  # items before it in its list
    after: int = 0
    is_cut: bool = False  # it announces what is not shown: a picture, what the site includes

    @cached_property
    def lines(self) -> int:
        """On a screen, about: with what is too long wrapped, and what was wrapped unwrapped."""
        if self.has_code or self.kind == "table":
            return self.text.count("\n") + 1
        items = 1 if self.kind == "prose" else len(_ITEM.findall(self.text)) or 1
        return max(items, -(-len(self.text) // SCREEN_COLUMNS))

    @cached_property
    def stems(self) -> frozenset[str]:
        return terms(self.text).stems

    @property
    def announces(self) -> bool:
        """Whether it says nothing without what follows."""
        text = _bare(self.text) if self.text.endswith((">", ")", "]", "}")) else self.text
        return self.kind in ("prose", "item") and text.rstrip("*_` \n").endswith((":", "\uff1a"))

    @property
    def is_label(self) -> bool:
        """Whether it only names what stands below."""
        return self.kind == "prose" and _is_label(self.text)

    @property
    def is_step(self) -> bool:
        return self.kind == "item" and _NUMBERED.match(self.text) is not None

    @property
    def breaks_off(self) -> bool:
        """Whether its sentence goes on in what follows: "It passes if" above a list."""
        return self.kind == "prose" and self.text[-1:].isalnum()

    @property
    def leans_back(self) -> bool:
        """Whether its first words refer to what stands above it."""
        return self.kind == "prose" and _REFERRING.match(self.text) is not None

    @cached_property
    def code_lines(self) -> int:
        """How many of its lines are code: all of a listing, with its label."""
        if self.kind == "code":
            return self.text.count("\n") + 1
        return sum(Markdown(self.text).fenced_lines()) if self.kind in ("item", "prose") else 0

    @cached_property
    def listings(self) -> int:
        """How many fences it has; a block of code counts as one."""
        return 1 if self.kind == "code" else sum(is_code for _, is_code in Markdown(self.text).runs())

    @property
    def has_code(self) -> bool:
        return self.code_lines > 0

    @cached_property
    def is_weak(self) -> bool:
        """Whether it answers nothing by itself: an announcement, links alone, a version note, a picture, a question."""
        if self.kind in ("code", "table"):
            return False
        text = _COMMENT.sub("", self.text)
        if _is_label(text) or _VERSION_NOTE.fullmatch(text.strip("> *_\n")):
            return True
        unlinked = text
        if "[" in text:
            unlinked = WIKI_LINK.sub(" ", LINK.sub(" ", LINK.sub(" ", text)))  # a picture may be the words of a link
        if self.kind == "prose":
            return not _WORD.search(unlinked) or _says_nothing(" ".join(text.split()))
        has_links = unlinked != text
        return (has_links and len(_WORD.findall(unlinked)) <= 2 * len(_ITEM.findall(text))) or _asks(text)


def _is_label(text: str) -> bool:
    """Whether it is a line in bold, the name of a file, or the title of a note or a tab."""
    return _LABEL.fullmatch(text) is not None or 0 < len(title_of(text) or "") <= MAX_LABEL_CHARACTERS


def _says_nothing(paragraph: str) -> bool:
    """Whether each of its sentences asks, or speaks of the text and not of its subject."""
    if "?" not in paragraph and "\uff1f" not in paragraph and not _ANNOUNCEMENT.search(paragraph):
        return False
    starts = [0, *sentence_starts(paragraph), len(paragraph)]
    for start, end in pairwise(starts):
        sentence = paragraph[start:end].strip()
        is_question = sentence.rstrip("*_` ").endswith(("?", "\uff1f"))
        is_short = len(sentence.split()) <= MAX_ANNOUNCEMENT_WORDS
        if not (is_question or (is_short and _ANNOUNCEMENT.search(sentence))):
            return False
    return True


def _asks(text: str) -> bool:
    """Whether a list is the options of a quiz: lettered, and no sentences, unless it has the question itself."""
    options = _OPTION.findall(text)
    return len(options) >= 3 and ("?" in text or not any(option.rstrip().endswith(".") for option in options))


_KINDS: Mapping[BlockKind, TextKind] = {BlockKind.CODE: "code", BlockKind.TABLE: "table"}


def blocks_of(joined: Joined, closeness: Sequence[Sequence[float]]) -> tuple[TextBlock, ...]:
    """The blocks of a section's text, in order. `closeness`: of each passage, of each of its blocks."""
    found: list[TextBlock] = []
    kinds = _kinds_of(joined)
    for number, group in enumerate(_groups(joined), start=1):
        is_list = joined.blocks[group[0]].depth > 0
        parts = _items_of(joined, group) if is_list else [group]
        for place, part in enumerate(parts):
            start = joined.text.rfind("\n", 0, joined.blocks[part[0]].start) + 1
            text = _text_of(joined, part, start, kinds)
            if not any(map(str.isalnum, _bare(text))) or _DIRECTIVES.fullmatch(text):
                found[-1:] = [replace(before, is_cut=before.announces) for before in found[-1:]]
                continue
            kind: TextKind = _KINDS.get(kinds[part[-1]], "prose")
            if is_list:
                kind = "list" if len(parts) == 1 else "item"
            span = (start, joined.blocks[part[-1]].end)
            in_list = (number, place, len(parts) - place - 1) if is_list else ()
            found.append(TextBlock(len(found), kind, text, span, _nearest(joined, part, closeness), *in_list))
    return tuple(_with_procedures(found))


def _text_of(joined: Joined, part: Sequence[int], start: int, kinds: Sequence[BlockKind]) -> str:
    """A block as it would stand at the margin, where it is code with both of its fences."""
    if joined.blocks[part[0]].depth > 0:
        return _at_margin(_with_fences(joined, part, start), BlockKind.PARAGRAPH)
    if kinds[part[-1]] is BlockKind.CODE or _holds_fences(joined, part[-1]):  # with its label
        return "\n\n".join(_at_margin(_whole_lines(joined, at), kinds[at]) for at in part)
    return _at_margin(joined.text[start : joined.blocks[part[-1]].end], BlockKind.PARAGRAPH)


def _with_procedures(blocks: Sequence[TextBlock]) -> list[TextBlock]:
    """The same, with the steps of a procedure as one list though code stands at the margin between them."""
    ends: dict[int, int] = {}  # by where a procedure begins, where it ends
    begun, wanted = -1, 1  # where the procedure begins, and the number of its next step
    for at, block in enumerate(blocks):
        numbers = [int(mark) for mark in _NUMBERED.findall(block.text)] if block.kind in ("list", "item") else []
        if begun >= 0 and numbers and numbers[0] == wanted and block.list_number != blocks[begun].list_number:
            ends[begun] = at
        elif numbers and numbers[0] == 1:
            begun = at
        wanted = numbers[-1] + 1 if numbers else wanted
    joined = list(blocks)
    for begun, end in ends.items():
        for at in range(begun, end + 1):
            kind: TextKind = "item" if blocks[at].kind == "list" else blocks[at].kind
            number, before, after = blocks[begun].list_number, at - begun, end - at
            joined[at] = replace(blocks[at], kind=kind, list_number=number, before=before, after=after)
    return joined


def _bare(text: str) -> str:
    """Without tags, shortcodes and pictures."""
    if "![" in text:
        text = LINK.sub(lambda link: "" if link["picture"] else link.group(), text)
    return _TAG.sub("", text)


def _kinds_of(joined: Joined) -> list[BlockKind]:
    """The kind of each block. What looks like code since it is indented below the title of a note or a tab is prose."""
    kinds: list[BlockKind] = []
    is_open = False
    for at, span in enumerate(joined.blocks):
        lines = _whole_lines(joined, at)
        is_open = INDENTED_NOTE.match(lines) is not None or (is_open and lines.startswith(_CODE_INDENTS))
        is_bare = span.kind is BlockKind.CODE and not Markdown(lines).is_fenced
        kinds.append(BlockKind.PARAGRAPH if is_bare and (is_open or _holds_fences(joined, at)) else span.kind)
    return kinds


def _holds_fences(joined: Joined, at: int) -> bool:
    """Whether a block that is indented as code is has fences of its own: so it is the body of a tab."""
    lines = _whole_lines(joined, at)
    is_indented = joined.blocks[at].kind is BlockKind.CODE and lines.startswith(_CODE_INDENTS)
    return is_indented and any(Line(line).fence for line in fenced(textwrap.dedent(lines)).split("\n")[1:])


def _with_fences(joined: Joined, part: Sequence[int], start: int) -> str:
    """The text of a list, with fences around code that is only indented: elsewhere it would not be told from prose."""
    text = ""
    for at in part:
        span = joined.blocks[at]
        lines = _whole_lines(joined, at)
        if span.kind is BlockKind.CODE and not Line(fenced(lines).partition("\n")[0]).fence:
            first = span.end - len(lines)
            indent = " " * max(0, len(lines) - len(lines.lstrip(" ")) - CODE_INDENT)
            code = Markdown(textwrap.dedent(lines)).closed()
            text += joined.text[start:first] + textwrap.indent(code, indent)
            start = span.end
    return text + joined.text[start : joined.blocks[part[-1]].end]


def _nearest(joined: Joined, part: Sequence[int], closeness: Sequence[Sequence[float]]) -> float | None:
    origins = (origin for at in part for origin in joined.origins[at])
    near = [closeness[passage][block] for passage, block in origins if passage < len(closeness) and closeness[passage]]
    return max(near) if near else None


def _groups(joined: Joined) -> Iterator[list[int]]:
    """Spans that belong together: those of a list, of a quotation, of a block with its label."""
    group: list[int] = []
    for at, span in enumerate(joined.blocks):
        before = joined.blocks[group[-1]] if group else None
        if before and not _belong_together(joined, before, span):
            yield group
            group = []
        is_untitled = span.kind is BlockKind.ADMONITION and not title_of(
            joined.text[span.start : span.end].partition("\n")[0]
        )
        if span.kind not in (BlockKind.HEADING, BlockKind.RULE) and not is_untitled:
            group.append(at)
    if group:
        yield group


def _belong_together(joined: Joined, before: BlockSpan, span: BlockSpan) -> bool:
    text = joined.text[before.start : before.end].strip()
    if before.kind is BlockKind.HTML or BEGUN_TAB.search(text):
        return BEGUN_TAB.search(text) is not None and span.kind not in (BlockKind.HEADING, BlockKind.HTML)
    if before.kind is BlockKind.QUOTE and title_of(text.rstrip("> \t\n")) is not None:  # the title alone
        return joined.text.count("\n", before.end, span.start) == 1
    if before.depth or span.depth:
        return before.depth > 0 and span.depth > 0
    if before.kind is span.kind is BlockKind.QUOTE:
        return joined.text.count("\n", before.end, span.start) < 2
    is_label = before.kind is BlockKind.ADMONITION or (before.kind is BlockKind.PARAGRAPH and _is_label(text))
    return is_label and span.kind is not BlockKind.HEADING


def _items_of(joined: Joined, whole: Sequence[int]) -> list[list[int]]:
    """A short list as one, the items of a long one or of one with code, each with what belongs to it."""
    spans = [joined.blocks[at] for at in whole]
    text = joined.text[spans[0].start : spans[-1].end]
    lines = sum(-(-len(line) // SCREEN_COLUMNS) or 1 for line in text.splitlines())
    if lines <= MAX_LIST_LINES and all(span.kind is not BlockKind.CODE for span in spans):
        return [list(whole)]
    outermost = min(span.depth for span in spans)
    items: list[list[int]] = []
    for at, span in zip(whole, spans, strict=True):
        if not items or (span.kind is BlockKind.ITEM and span.depth == outermost):
            items.append([])
        items[-1].append(at)
    return items


def _whole_lines(joined: Joined, at: int) -> str:
    span = joined.blocks[at]
    return joined.text[joined.text.rfind("\n", 0, span.start) + 1 : span.end]


def _at_margin(text: str, kind: BlockKind) -> str:
    """A part of a document as it would stand at the margin."""
    plain = fenced(textwrap.dedent(text).strip("\n").rstrip())
    return Markdown(plain).closed() if kind is BlockKind.CODE else plain
