"""The block rules of Markdown as Docusaurus writes it, on top of markdown-it's own.

Only the line ranges of blocks are wanted. What is inside a line (emphasis, links) is not read.
"""

import re
from collections.abc import Callable, Sequence

from markdown_it import MarkdownIt
from markdown_it import rules_block as standard
from markdown_it.parser_block import RuleFuncBlockType
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from citewise.text.markdown import Line

# How comments end, and how far into the opener that may begin: <!--> is a comment.
COMMENT_ENDS = {"<!--": ("-->", 2), "{/*": ("*/}", 3)}
_COMMENT = re.compile("|".join(map(re.escape, COMMENT_ENDS)))
_MAX_NESTING = 40  # levels (a list takes two); what lies deeper is read as plain paragraphs
_SHORTCODE = re.compile(r"\{\{[<%]\s*(text|highlight|code)\b[^{}]*[>%]\}\}")
_MDX_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*mdx-code-block[ \t]*")
# An export of MDX. What is exported by default must look like code: "export default settings" is prose.
_EXPORT = re.compile(
    r"export\s+(?:(?P<value>(?:const|let|var)\s+[A-Za-z_$][\w$]*\s*[=:])|(?:default\s+)?(?:async\s+)?function\b[^(]*\(|"
    r"(?:default\s+)?class\s[^{]*\{|default\s+(?:[({\[]|[A-Za-z_$][\w$.]*\s*[;(])|\{|\*\s[^'\"]*['\"])"
)
_ABOVE_EXPORT = re.compile(r"(?:import\b|export\b|\}).*['\");}][ \t]*")  # statements may follow each other
_NO_SCRIPT = re.compile(r"#|```|~~~|import\b|export\b")  # no statement goes on with such a line
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
_GOES_ON = ("=", "=>", ",", "+", "?", ":", "|", "&")
_ADMONITION = re.compile(r"(:{3,})[ \t]*[A-Za-z][\w-]*(?![^\s\[{])")


def _line_text(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _starts(state: StateBlock, line: int, mark: str) -> bool:
    return state.src.startswith(mark, state.bMarks[line] + state.tShift[line]) and not state.is_code_block(line)


def _push_block(state: StateBlock, kind: str, *, start: int, end: int) -> None:
    state.push(kind, "", 0).map = [start, end]
    state.line = end


def _closing_line(
    state: StateBlock, start: int, *, end: int, mark: str, closes: Callable[[str], bool | None]
) -> int | None:
    """The first line behind `start` that closes the block opened there by `mark`.

    None if the list item around ends first, or `closes` says False: not closed at all (None: look at the next line).
    A search inside the lines of another that failed fails too; else repeats would cost squared time.
    """
    key = (mark, state.blkIndent, end)
    first, last = state.env["failed"].get(key, (1, 0))
    if first <= start <= last:
        return None
    line = start
    for line in range(start + 1, end):
        text = _line_text(state, line).rstrip()
        closed = closes(text)
        if closed:
            return line
        if closed is False or (text and state.sCount[line] < state.blkIndent):
            line -= 1
            break
    state.env["failed"][key] = (start, line)
    return None


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A comment that starts a line, with any blank lines in it, and whatever follows on its last line."""
    opening = _COMMENT.match(state.src, state.bMarks[start] + state.tShift[start])
    if opening is None or state.is_code_block(start):
        return False
    closer, overlap = COMMENT_ENDS[opening[0]]
    last: int | None = start
    if closer not in _line_text(state, start)[overlap:]:
        last = _closing_line(state, start, end=end, mark=opening[0], closes=lambda text: closer in text or None)
    if last is not None and not silent:
        _push_block(state, "comment", start=start, end=last + 1)
    return last is not None


def _math(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if not _starts(state, start, "$$"):
        return False
    inside = _line_text(state, start).rstrip()[2:]

    def closes(text: str) -> bool | None:
        # A shell variable may start a line with dollars too, so only a bare $$ reaches over blank lines.
        return text.endswith("$$") or (None if text or not inside else False)

    last: int | None = start
    if "$$" not in inside:
        last = _closing_line(state, start, end=end, mark="$" if inside else "$$", closes=closes)
    elif len(inside) == 2 or inside.find("$$") < len(inside) - 2:
        last = None
    if last is None and not inside:
        state.env["warnings"][start] = "a math block is never closed; read as text"
    if last is not None and not silent:
        _push_block(state, "math", start=start, end=last + 1)
    return last is not None


def _shortcode(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Code between a pair of Hugo's shortcodes: what is in it is not Markdown. One that is not closed is text."""
    opening = _SHORTCODE.fullmatch(_line_text(state, start).rstrip()) if _starts(state, start, "{{") else None
    if opening is None:
        return False
    closing = re.compile(rf"\{{\{{[<%]\s*/\s*{opening[1]}\s*[>%]\}}\}}")
    last = _closing_line(state, start, end=end, mark=opening[1], closes=lambda text: bool(closing.match(text)) or None)
    if last is not None and not silent:
        _push_block(state, "code_block", start=start, end=last + 1)
    return last is not None


def _mdx_fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A fence that hides MDX from other tools: its inside is read as if its two fence lines were not there."""
    opening = _MDX_FENCE.fullmatch(_line_text(state, start)) if not state.is_code_block(start) else None
    if opening is None:
        return False
    mark = opening[1]
    last = _closing_line(state, start, end=end, mark=mark, closes=lambda text: Line(text).closes(mark) or None)
    if last is not None and not silent:
        state.env["left_out"] += [(start, start + 1), (last, last + 1)]
        outer, state.lineMax = state.lineMax, last
        state.level += 1  # so that they cannot nest without end
        state.md.block.tokenize(state, start + 1, last)
        state.level -= 1
        state.lineMax, state.line = outer, last + 1
    return last is not None


def _export(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A statement of MDX that exports something. It shows nothing, so it becomes no block."""
    opening = _EXPORT.match(_line_text(state, start)) if state.parentType in ("root", "paragraph") else None
    if opening is None or state.sCount[start] or state.blkIndent:
        return False
    if silent and not _ABOVE_EXPORT.fullmatch(_line_text(state, start - 1)):
        return False
    last = _last_of_statement(state, start, end, is_value=opening["value"] is not None)
    if last is not None and not silent:
        state.env["left_out"].append((start, last + 1))
        state.line = last + 1
    return last is not None


def _last_of_statement(state: StateBlock, start: int, end: int, *, is_value: bool) -> int | None:
    """The line on which its brackets and templates are closed; None if they never are, or if it ends like prose."""
    depth = ticks = 0
    for line in range(start, end):
        text = _line_text(state, line)
        if line > start and state.sCount[line] == 0 and _NO_SCRIPT.match(text):
            return None
        bare = _QUOTED.sub("''", text).rstrip()
        if ticks % 2 == 0:  # outside of a template
            depth += sum(map(bare.count, "([{")) - sum(map(bare.count, ")]}"))
        ticks += bare.count("`")
        if depth <= 0 and ticks % 2 == 0 and not bare.endswith(_GOES_ON):
            return line if is_value or bare.endswith(tuple(")]};'>")) else None
    return None


def _admonition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    opening = _ADMONITION.match(_line_text(state, start)) if _starts(state, start, ":::") else None
    if opening is None:
        return False
    fence = ""

    def closes(text: str) -> bool | None:
        """Another opening that the close would belong to comes first: never closed."""
        nonlocal fence
        if fence:
            fence = "" if Line(text).closes(fence) else fence
        elif not (fence := Line(text).fence) and text.startswith(opening[1]):
            return not text.strip(":") or (None if _ADMONITION.match(text) is None else False)
        return None

    last = _closing_line(state, start, end=end, mark=opening[1], closes=closes)
    if last is None:
        state.env["warnings"][start] = "an admonition is never closed; read as text"
    elif not silent:
        _push_admonition(state, start, last=last)
    return last is not None


def _push_admonition(state: StateBlock, start: int, *, last: int) -> None:
    """Its inside is read too: comments in it are dropped, and its headings take anchors."""
    state.push("admonition_open", "", 1).map = [start, last + 1]
    if state.level < _MAX_NESTING:
        outer = (state.parentType, state.lineMax)
        state.parentType, state.lineMax = "admonition", last
        state.md.block.tokenize(state, start + 1, last)
        state.parentType, state.lineMax = outer
    state.push("admonition_close", "", -1)
    state.line = last + 1


def _shallow(rule: RuleFuncBlockType) -> RuleFuncBlockType:
    """The rule, but refusing to open yet another level once there are _MAX_NESTING."""

    def guarded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return (silent or state.level < _MAX_NESTING) and rule(state, start, end, silent)

    return guarded


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """markdown-it's table, without a token for each of its cells."""
    is_table = standard.table(state, start, end, True)
    if silent or not is_table:
        return is_table
    interruptions = state.md.block.ruler.getRules("blockquote")
    outer, state.parentType = state.parentType, "table"
    line = start + 2
    while line < end and not (
        state.isEmpty(line)
        or state.sCount[line] < state.blkIndent
        or state.is_code_block(line)
        or any(rule(state, line, end, True) for rule in interruptions)
    ):
        line += 1
    state.parentType = outer
    _push_block(state, "table", start=start, end=line)
    return True


def _paragraph(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """markdown-it's paragraph, but what may interrupt it is looked for inside the quote around it only."""
    outer, state.lineMax = state.lineMax, end
    is_paragraph = standard.paragraph(state, start, end, silent)
    state.lineMax = outer
    return is_paragraph


def _html(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    # An unclosed comment would swallow the rest of the file; _comment has already taken the closed ones.
    return not _starts(state, start, "<!--") and standard.html_block(state, start, end, silent)


class BlockParser:
    """Finds the blocks of a text with plain line feeds."""

    def __init__(self) -> None:
        # markdown-it's own limit would end the whole text, so ours must come first.
        self._markdown = MarkdownIt("commonmark", {"maxNesting": 2 * _MAX_NESTING}).disable("reference")
        ruler = self._markdown.enable("table").block.ruler
        text: RuleOptionsType = {"alt": ["paragraph", "blockquote"]}  # what a rule may interrupt
        block: RuleOptionsType = {"alt": ["paragraph", "blockquote", "list"]}
        ruler.at("table", _table, {"alt": ["paragraph"]})
        ruler.at("blockquote", _shallow(standard.blockquote), block)
        ruler.at("list", _shallow(standard.list_block), text)
        ruler.at("html_block", _html, text)
        ruler.at("paragraph", _paragraph)
        ruler.before("fence", "mdx_fence", _shallow(_mdx_fence), block)
        ruler.before("fence", "export", _export, {"alt": ["paragraph"]})
        ruler.before("fence", "comment", _comment, text)
        ruler.before("fence", "math", _math, block)
        ruler.before("fence", "shortcode", _shortcode, block)
        ruler.before("fence", "admonition", _admonition, block)

    def __call__(self, text: str) -> tuple[Sequence[Token], dict[int, str], Sequence[tuple[int, int]]]:
        """The blocks, each with those inside it as its children, warnings by line, and the first and the end of each
        run of lines that are in no block; lines are counted from 0."""
        warnings: dict[int, str] = {}
        left_out: list[tuple[int, int]] = []
        env = {"warnings": warnings, "failed": {}, "left_out": left_out}
        try:
            tokens = self._markdown.block.parse(text, self._markdown, env, []) or []
        except (IndexError, RuntimeError) as error:  # what markdown-it 4 is known to raise on some broken input
            warnings[0] = f"blocks could not be parsed ({type(error).__name__}); read as paragraphs"
            tokens = []
            left_out.clear()
        levels: list[list[Token]] = [[]]
        for token in tokens:
            if token.nesting < 0:
                levels.pop()
                continue
            levels[-1].append(token)
            if token.nesting > 0:
                token.children = []
                levels.append(token.children)
        return levels[0], warnings, left_out
