"""Passages are data: what in them could be taken for our own marks, or for a model's, is made harmless.

Every step is linear, and doing it twice is doing it once. Nothing here decides what a text means.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from itertools import groupby
from operator import itemgetter

from citewise.text.markdown import Markdown

_OPENING = "[\uff3b\u3010\u3014\u3016\u27e6\u2045"  # and their full-width and ornamental kin
_CLOSING = "]\uff3d\u3011\u3015\u3017\u27e7\u2046"
_BRACKETS = re.compile(f"[{re.escape(_OPENING + _CLOSING)}]")
_PARENTHESES = str.maketrans(dict.fromkeys(_OPENING, "(") | dict.fromkeys(_CLOSING, ")"))

_JOINERS = "\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef"  # some scripts and emoji need them
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    f"\u3164\ufeff\uffa0\U0001d173-\U0001d17a\U000e0000-\U000e00ff{_JOINERS}]+"
)
_ONLY_JOINERS = re.compile(f"[{_JOINERS}]+")

_LABEL_WINDOW = 60  # characters behind a bracket in which "Source 9" must have begun
_LABEL = re.compile(r"sources?\d")
_REFERENCE = re.compile(f"[{re.escape(_OPENING)}]([^{re.escape(_OPENING + _CLOSING)}\\n]{{1,60}})[{_CLOSING[1:]}\\]]")
# The shapes that `answer` takes for citations: 9 / 1, 2 / #1 and #2 / 1-3 / 9 with a dagger and anything behind it.
_NUMBERS = re.compile(r"(?=[^\d\u2020]*\d)(?:\d|and|[\s\\#,;&\u3001\u2010-\u2015\u2212-])+(?:\u2020.*)?", re.IGNORECASE)

_ROLES = "system|user|assistant|human|instructions?|context|documents?|passages?|question|selection|bos|eos|s"
_TURNS = "(?:start|end)_of_turn|tool_(?:call|response|result)s?"
_TEMPLATE_TAG = re.compile(
    r"<(?="
    r"[|\uff5c][^\s<>|\uff5c]{1,40}[|\uff5c]>"  # <|im_start|>
    r"|</?sys>>"
    r"|/?sources?\b[^<>\n]{0,200}>"
    rf"|(?:/|(?<!\w<))(?:{_ROLES}|{_TURNS})[ \t]{{0,8}}>"  # but List<User> is a type
    r")",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(r"[ \t]{0,8}/?[ \t]{0,8}INST[ \t]{0,8}\]", re.IGNORECASE)

_RULE = re.compile(r"\s*[-\u2010-\u2015\u2212]{3,}\s*")

_CLOSING_TAG = re.compile(
    r"</(?:p|div|span|b|i|u|em|strong|small|a|li|ul|ol|dl|dt|dd|td|th|tr|table|tbody|h[1-6]|section|article|body|html|script"
    r"|style|blockquote)\s*>",
    re.IGNORECASE,
)
_BLOCKS = {"p", "div", "li", "ul", "ol", "dt", "dd", "tr", "table", "section", "article", "blockquote", "br", "hr"}
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_UNSEEN = frozenset({"script", "style", "head", "template", "noscript"})
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


# What a terminal obeys: ESC or one of its one-character forms, and what belongs to it. A string, such as a window's
# title, ends in its line; one that does not has only been opened.
_STRING = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])"
_IN_STRING = r"[^\x00-\x08\n-\x1f\x7f-\x9f]{0,1000}+"
_CONTROL = r"(?:\x1b\[|\x9b)[0-?]{0,64}+[ -/]{0,16}+"
_ESCAPE = re.compile(
    rf"{_STRING}{_IN_STRING}(?:\x07|\x1b\\|\x9c)|{_STRING}(?:\d{{1,4}}+;?)?|{_CONTROL}[@-~]?|\x1b[ -/]{{0,3}}+[0-~]?"
)
_BEGUN_ESCAPE = re.compile(rf"(?:{_STRING}{_IN_STRING}\x1b?|{_CONTROL}|\x1b[ -/]{{0,3}}+)\Z")


def without_escapes(text: str) -> str:
    """The text without escape sequences, each with its body: `[31m` behind an ESC goes, in `array[31m` it stays."""
    return _ESCAPE.sub("", text)


def begun_escape(text: str) -> str:
    """The end of a text that may be the beginning of an escape sequence, about a thousand characters at most."""
    begun = _BEGUN_ESCAPE.search(text)
    return begun.group() if begun else ""


def sanitized(text: str, *, is_code: bool = False) -> str:
    """The text with nothing left that looks like a source's label, a reference to one, or a turn in a chat.

    `is_code`: all of it is code, as in a passage of a repository; else only fences and spans are.
    """
    visible = Markdown(INVISIBLE.sub(_kept_joiners, without_escapes(text)))
    lines = visible.split("\n")
    in_code = [True] * len(lines) if is_code else visible.fenced_lines()
    # Rules come first: they are the one thing that becomes shorter, and a label is looked for within a distance.
    # `---` stands between our sources; in code, where it has a meaning, it stays unless blank lines set it apart.
    around = zip(["", *lines], lines, [*lines[1:], ""], in_code, strict=False)
    ruled = [
        "- - -" if _RULE.fullmatch(line) and not (is_code_line and (above.strip() or below.strip())) else line
        for above, line, below, is_code_line in around
    ]
    return _TEMPLATE_TAG.sub("< ", _without_brackets("\n".join(ruled), list(_code_ranges(ruled, in_code))))


def sanitized_label(text: str, *, limit: int = 120) -> str:
    """A title or section on its one line inside a source's label, no longer than `limit` characters."""
    line = " ".join(sanitized(text, is_code=True).translate(_PARENTHESES).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}\u2026"


def _kept_joiners(run: re.Match[str]) -> str:
    """Joiners behind a letter or sign that may need them; behind a bracket or ASCII they only hide something."""
    before = run.string[max(run.start() - 1, 0) : run.start()]
    is_hiding = before.isascii() or _BRACKETS.match(before)
    return run.group() if not is_hiding and _ONLY_JOINERS.fullmatch(run.group()) else ""


def _without_brackets(text: str, code: Sequence[tuple[int, int]]) -> str:
    """Parentheses for the brackets around `Source 9`, however it is spaced or dressed up, around `INST`, and around
    `9` but for code."""
    parts: list[str] = []
    opened: list[bool] = []
    done = 0
    for bracket in _BRACKETS.finditer(text):
        if bracket.group() in _OPENING:
            at = bisect_right(code, (bracket.start(), len(text))) - 1
            is_in_code = at >= 0 and bracket.start() < code[at][1]
            opened.append(_is_label(text, bracket.end()) or (not is_in_code and _is_reference(text, bracket.start())))
        if opened[-1] if bracket.group() in _OPENING else bool(opened) and opened.pop():
            parts += (text[done : bracket.start()], bracket.group().translate(_PARENTHESES))
            done = bracket.end()
    return "".join((*parts, text[done:]))


def _is_label(text: str, start: int) -> bool:
    plain = unicodedata.normalize("NFKC", text[start : start + _LABEL_WINDOW])
    letters = "".join(filter(str.isalnum, plain)).casefold()
    return _LABEL.match(letters) is not None or _INSTRUCTION.match(text, start) is not None


def _is_reference(text: str, start: int) -> bool:
    inside = _REFERENCE.match(text, start)
    return bool(inside and _NUMBERS.fullmatch(unicodedata.normalize("NFKC", INVISIBLE.sub("", inside[1]))))


def _code_ranges(lines: Sequence[str], in_code: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Where code stands: blocks of it, and spans, which end with their paragraph."""
    start = 0
    flagged = ((line, is_code, bool(line.strip())) for line, is_code in zip(lines, in_code, strict=True))
    for (is_code, _), run in groupby(flagged, key=itemgetter(1, 2)):
        block = Markdown("\n".join(line for line, *_ in run))
        spans = [(0, len(block))] if is_code else block.code_spans()
        yield from ((start + first, start + end) for first, end in spans)
        start += len(block) + 1


def without_html(text: str) -> str:
    """The text without tags, if it has any that are closed; code fences show tags on purpose, so they stay."""
    if any(Markdown(text).fenced_lines()) or not _CLOSING_TAG.search(text):
        return text
    reader = _VisibleText()
    reader.feed(text)
    reader.close()
    return _BLANK_LINES.sub("\n\n", "".join(reader.seen)).strip() or text


class _VisibleText(HTMLParser):
    """Collects what is shown; blocks become paragraphs."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._unseen += tag in _UNSEEN
        if tag in _HEADINGS:
            self.seen.append(f"\n\n{_HEADINGS[tag]} ")
        elif tag in _BLOCKS:
            self.seen.append("\n\n- " if tag == "li" else "\n\n")
        elif tag in ("td", "th"):
            self.seen.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        if tag in _BLOCKS or tag in _HEADINGS:
            self.seen.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.seen.append(data)
