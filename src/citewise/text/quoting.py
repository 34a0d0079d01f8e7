"""How blocks of documents read in an answer: without links that lead nowhere, long code cut, a sentence bold."""

import re
import textwrap
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from citewise.text.analysis import STOP_WORDS
from citewise.text.cutting import ELLIPSIS, cut_code, cut_rows
from citewise.text.markdown import LINK, WIKI_LINK, Line, Markdown
from citewise.text.notes import TAB_SHORTCODE, dedented, titled
from citewise.text.units import sentence_starts

MIN_EMPHASIZED = 240  # characters of a text in which a sentence is worth pointing out; a shorter one is read whole
MAX_EMPHASIZED = 240  # of a sentence in bold

_JSX_TEXT = re.compile(r"\{\s*+(?:'([^'{}\n]*+)'|\"([^\"{}\n]*+)\")\s*+\}")  # `{' '}`, as MDX needs it between tags
# Runs are possessive and begin where no such character stands before them: no text is slow to read.
_ROUND = str.maketrans("[\uff3b\u3010]\uff3d\u3011", "((()))")
_ELEMENT = (  # of a list: `x[0]`; not where other code touches it
    r"(?<![\w\\`$])(?<!\w\.)(?P<code>[A-Za-z_]\w*+(?:\.\w++)*+(?:\[\d[\d ,;-]{0,40}\](?:\.\w++)*+)++)(?!`)"
)
_OPENING_ENTITY = re.compile(r"&(?:#0*91|#[xX]0*5[bB]|lbrack|lsqb);")
_CLOSING_ENTITY = re.compile(r"&(?:#0*93|#[xX]0*5[dD]|rbrack|rsqb);")
_SOURCE = "[*_]*".join("source")  # bold in part, too
_NUMBERS = r"\d(?:[\d\s,;&#^*_\u3001\uff0c\uff1b\u2010-\u2015\u2212-]|and|to|through){0,40}"
_MARKER_LIKE = re.compile(
    rf"(?a:{_ELEMENT})|[\[\uff3b\u3010](?:\W{{0,3}}(?:{_SOURCE}[*_]*s?\b[^\[\]\n]{{0,200}}|{_NUMBERS})\W{{0,3}})[\]\uff3d\u3011]",
    re.IGNORECASE,
)
_HIDDEN = re.compile(
    r"<!--(?:(?!<!--).)*?-->|!\[\[[^\[\]\n]+\.(?:png|jpe?g|gif|svg|webp)(?:\|[^\[\]\n]*)?\]\]|(?<!\s)\s*+\{\s*+#[\w:.-]++\s*+\}|\{\{[<%]\s*+/?[^<>%]{0,200}[>%]\}\}",
    re.DOTALL,
)
# What begins a block of HTML that an empty line does not end: it would swallow what stands below it.
_OPEN_HTML = re.compile(r"^([ \t>]*)<(?=[!?]|(?:script|style|textarea|pre)\b)", re.IGNORECASE | re.MULTILINE)
# Hugo's fence, as a line; the word behind its name is a language.
_SHORTCODE = re.compile(
    r"^([ \t]*)\{\{[<%]\s*(?:/\s*)?(?:text|highlight|code)\b\s*(?:syntax=)?\"?([\w-]*)\"?(?=\s)[^{}]*[>%]\}\}[ \t]*$",
    re.MULTILINE,
)
_SHORTCODE_TARGET = re.compile(r"\]\(\s*\{\{[<%][^{}]{0,200}[>%]\}\}")  # of a link
_SHORTCODE_ALONE = re.compile(r"^[ \t]*\{\{[<%][^{}]*[>%]\}\}[ \t]*\n?", re.MULTILINE)
_INLINE_TAGS = (
    "a abbr b bdi bdo big center cite code del dfn em font i img ins kbd q s samp small span strike strong sub sup svg"
    " tt u wbr iframe"
)
_BLOCK_TAGS = (  # what stands in them is a line or a cell of its own
    "article aside blockquote br colgroup dd details div dl dt fieldset figcaption figure footer h1 h2 h3 h4 h5 h6 hr"
    " html legend li nav ol p pre summary table tbody td tfoot th thead tr ul"
)
_WORD_TAGS = (  # placeholders too: `cp <source> <path>`
    "address audio body button caption col form head header input label main mark option path picture section select"
    " source style time use var video"
)
_COMPONENTS = (  # of the usual sites, that stand there without attributes
    "Accordion AccordionGroup Admonition Aside Callout Card CardGroup Cards CardGrid CodeBlock CodeGroup Columns"
    " Details Fragment Frame Info Note Step Steps Tab TabItem Tabs Tip Warning"
)
_TAG = re.compile(  # a value may hold `>`, but no `<`: so none is read beyond the next one
    rf"<(?P<closing>/?)(?:(?P<block>{_BLOCK_TAGS.replace(' ', '|')})|(?P<inline>{_INLINE_TAGS.replace(' ', '|')})"
    rf"|(?<!\w<)(?:(?P<component>{_COMPONENTS.replace(' ', '|')})"  # but `List<Tip>` is a type
    rf"|(?P<other>{_WORD_TAGS.replace(' ', '|')}|[A-Z][\w.]*+)))"
    r"(?![\w.:@-])"
    r"(?P<values>(?:[^<>\"'{}]|\"[^\"<]*+\"|'[^'<]*+'|\{(?:[^<{}]|\{[^<{}]*+\})*+\})*+)>"
)
_ROW = re.compile(r"^[ \t]*<tr\b[^<>]*>((?:(?!<tr\b).)*?)</tr>", re.DOTALL | re.MULTILINE)
_CELL = re.compile(r"<t[dh]\b[^<>]*>((?:(?!<t[dh]\b).)*?)</t[dh]>", re.DOTALL)
MIN_COLUMNS = 2  # of a table; with one it is a list
_CLOSED = re.compile(r"</([\w.]++)>")
_TITLE = re.compile(r"(?<![\w-])(?:label|title)=[\"']([^\"'*]++)[\"']")
_VALUE = re.compile(r"(?<![\w-])value=[\"']([^\"'*]++)[\"']")  # which names a tab without a label
_REMOVED = "\0"  # stands for a tag until its line is looked at
MAX_INDENT = 3  # of a line that began with a tag: with more, it would become code
_OPENING_FENCE = re.compile(
    r"(?P<indent>[ \t>]*+)(?P<mark>`{3,}+|~{3,}+)[ \t]*+(?P<language>(?:[\w+#.-]++(?!=))?)(?P<rest>[^`]*+)"
)
_FILE_NAME = re.compile(r"\btitle=\"([^\"`]+)\"|\btitle='([^'`]+)'|\A[ \t]*\[([^\]`]+)\]")
_LINE_MARK = re.compile(  # a comment that tells the site how to show the lines around it
    r"[ \t]*(?://|#|--|/\*|<!--|\{/\*)[ \t]*(?:highlight-(?:next-line|start|end)|---cut(?:-\w+)?---)"
    r"[ \t]*(?:\*/\}?|-->)?[ \t]*"
)
_EMPTIED = re.compile(r"^[ \t>]*(?:[ \t]|[-*+][ \t]*)\n", re.MULTILINE)  # a line, or an item, in which a picture stood
_GAP = re.compile(r"\n{3,}+")
_DELIMITERS = re.compile(r"(?=[^-]*+-)[|: \t>-]++")
_PARAGRAPH = re.compile(r"^(?:[^\S\n]*+\S[^\n]*+(?:\n|\Z))++", re.MULTILINE)


def unwrapped(text: str) -> str:
    """Markdown in which each paragraph is one line: a screen wraps it as wide as it is."""
    lines: list[list[str]] = []  # of parts each: one string would be copied for each line that a paragraph has
    is_open = False  # whether the last line may go on
    for raw, is_code in zip(text.split("\n"), Markdown(text).fenced_lines(), strict=True):
        line = Line(raw)
        is_plain = not is_code and bool(line.strip()) and not line.is_markup
        if is_plain and is_open and "|" not in line and not line.begins_item and not line.quote_mark:
            words = line.strip()
            is_glued = _is_unspaced(lines[-1][-1].rstrip()[-1:]) and _is_unspaced(words[:1])
            lines[-1][-1] = lines[-1][-1].rstrip()
            lines[-1] += ["" if is_glued else " ", words]
        else:
            lines.append([raw if is_code else raw.rstrip()])
        is_broken = not is_code and bool(raw.strip()) and raw.endswith("  ")  # by hand, for a new line
        lines[-1][-1] += "  " * is_broken
        is_open = is_plain and not raw.endswith(("  ", "\\"))
    return "\n".join("".join(parts) for parts in lines)


def _is_unspaced(character: str) -> bool:
    """Whether it is of a script that is written without blanks."""
    return "\u3000" <= character <= "\u9fff" or "\uff00" <= character <= "\uffef"


_INCLUDED = re.compile(r"^[ \t]*+(?:<<<[ \t]|--8<--|\{\{#\w*include\b)[^\n]*+(?:\n|\Z)", re.MULTILINE)
_QUOTED_BLANKS = re.compile(r"(?:\n[ \t]*+>[ \t]*+)+\Z")  # at the end of a quotation


def shown(text: str, asked: Set[str] = frozenset(), max_lines: int | None = None) -> str:
    """Prose as it reads outside its document: unwrapped, links as their words, no brackets that look like markers.

    Code in it that has more lines is cut to what matters for the question.
    """
    prepared = "\n".join(
        _cut(run, asked, max_lines) if is_code else _without_markup(run)
        for run, is_code in Markdown(_tidied(fenced(dedented(text)))).runs()
    )
    return _QUOTED_BLANKS.sub("", _outside_code(unwrapped(prepared)).strip("\n").rstrip())


def _without_markup(text: str) -> str:
    """Without tags and shortcodes; of a note, its title in bold; of a table in HTML, a table."""
    text = TAB_SHORTCODE.sub(r"**\g<title>**  ", _INCLUDED.sub("", _with_rows(text)))
    return titled(_tagless(_SHORTCODE_ALONE.sub("", text)))


def _with_rows(text: str) -> str:
    """Rows of HTML as those of Markdown; the first one is the header."""
    rows = [[" ".join(cell.split()).replace("|", "\\|") for cell in _CELL.findall(row)] for row in _ROW.findall(text)]
    columns = max(map(len, rows), default=0)
    if columns < MIN_COLUMNS:
        return text
    lines = [f"| {' | '.join([*row, *[''] * (columns - len(row))])} |" for row in rows]
    lines[0] = f"\n{lines[0]}\n|{' --- |' * columns}"
    lines[-1] += "\n"
    shown_rows = iter(lines)
    return _ROW.sub(lambda _: next(shown_rows), text)


def without_tags(text: str) -> str:
    """Without the tags of HTML and JSX outside code. Autolinks and placeholders such as `<name>` stay."""
    return "\n".join(run if is_code else _tagless(run) for run, is_code in Markdown(text).runs())


def _tagless(text: str) -> str:
    """The same for text without fences; lines of tags alone go, and what stood in a block of its own ends its line."""
    if "<" not in text:
        return text
    parts: list[str] = []
    end = 0
    closed = frozenset(_CLOSED.findall(text))
    for start, stop in (*Markdown(text).code_spans(), (len(text), len(text))):
        parts += [_TAG.sub(lambda tag: _left_of_tag(tag, closed), text[end:start]), text[start:stop]]
        end = stop
    lines: list[str] = []
    for line in "".join(parts).split("\n"):
        left = line.replace(_REMOVED, "")
        if _REMOVED not in line or left.strip():
            indent = line[: len(line) - len(line.lstrip(" \t"))]
            begins_with_tag = line.startswith(_REMOVED, len(indent))
            lines.append(indent[:MAX_INDENT] + left.lstrip() if begins_with_tag else left)
    return "\n".join(lines)


def _left_of_tag(tag: re.Match[str], closed: Set[str]) -> str:
    """What a tag leaves: a component its label, a power its sign, a block the end of its line."""
    values, before = tag["values"], tag.string[: tag.start()][-1:]
    if tag["block"]:
        return f"{_REMOVED}  "
    if tag["inline"]:
        return "^" if tag["inline"] == "sup" and not tag["closing"] and before.isalnum() else _REMOVED
    is_alone = not tag["closing"] and "=" not in values and not values.endswith("/") and tag["other"] not in closed
    if tag["other"] and is_alone:
        return tag.group()  # a placeholder
    title = _TITLE.search(values) or (_VALUE.search(values) if "Tab" in tag.group() else None)
    return f"{_REMOVED}**{title[1].strip()}**  " if title else _REMOVED


def fenced(text: str) -> str:
    """Hugo's code as everybody else writes it."""
    return _SHORTCODE.sub(lambda line: f"{line[1]}```{line[2] or ''}", text) if "{{" in text else text


def _tidied(text: str) -> str:
    """Fences with their language alone, below the name of their file, and code without what marks its lines up."""
    return "\n".join(_tidied_fence(run) if is_code else run for run, is_code in Markdown(text).runs())


def _tidied_fence(fence: str) -> str:
    first, *code = fence.split("\n")
    opening = _OPENING_FENCE.fullmatch(first)
    if not opening or opening["language"] not in ("md", "mdx", "markdown", "mdc"):
        code = [line for line in code if not _LINE_MARK.fullmatch(line)]
    if opening:
        named = _FILE_NAME.search(opening["rest"])
        label = f"{opening['indent']}`{named[named.lastindex or 0]}`\n" if named else ""
        first = f"{label}{opening['indent']}{opening['mark']}{opening['language']}"
    return "\n".join((first, *code))


def _outside_code(text: str) -> str:
    return "\n".join(run if is_code else _plain(run) for run, is_code in Markdown(text).runs())


def _plain(text: str) -> str:
    """Links become their words, pictures nothing. Brackets around numbers become round, since `[3]` is source 3, but
    `x[3]` becomes code."""
    text = _SHORTCODE_TARGET.sub("](", text)
    text = _unlinked(_unlinked(text))  # a picture may be the words of a link
    parts: list[str] = []
    end = 0
    spans = [*Markdown(text).code_spans(), (len(text), len(text))]
    is_closed = text.count("`") == sum(text.count("`", *span) for span in spans)  # one more would pair up with a stray
    for start, stop in spans:
        behind_code, before_code = bool(end), start < len(text)  # the backtick there is looked at too
        prose = _HIDDEN.sub("", _JSX_TEXT.sub(r"\1\2", text[end - behind_code : start + before_code]))
        prose = _OPEN_HTML.sub(r"\1\\<", prose)
        prose = WIKI_LINK.sub(lambda link: link["name"].strip("#").replace("#", " > "), prose)
        prose = _CLOSING_ENTITY.sub(")", _OPENING_ENTITY.sub("(", prose))
        prose = _MARKER_LIKE.sub(lambda found: _unmarked(found, may_quote=is_closed), prose)
        parts += [prose[behind_code : len(prose) - before_code], text[start:stop]]
        end = stop
    return _GAP.sub("\n\n", _EMPTIED.sub("", "".join(parts)))


def _unlinked(text: str) -> str:
    inside = {at for start, end in Markdown(text).code_spans() for at in range(start + 1, end)}
    return LINK.sub(lambda link: link.group() if link.start() in inside else _words_of(link), text)


def _unmarked(found: re.Match[str], *, may_quote: bool) -> str:
    if found["code"] and may_quote:
        return f"`{found['code']}`"
    return (found["code"] or found.group()).translate(_ROUND)


def _words_of(link: re.Match[str]) -> str:
    before = link.string[: link.start()][-1:] if link["words"].isdigit() and link.group().endswith("]") else ""
    if before.isalnum():  # `x[0][1]`
        return link.group()
    return "" if link["picture"] else link["words"]


def shortened(text: str, asked: Set[str], max_lines: int) -> str:
    """Code or a table, with its label; a long one cut to what matters for the question."""
    lines = _tidied(fenced(text)).split("\n")
    first = next((at for at in range(len(lines)) if Line(lines[at]).fence or _begins_table(lines, at)), -1)
    is_code = first < 0 or bool(Line(lines[first]).fence)
    if first < 0:  # code without a fence
        first = next((at for at, line in enumerate(lines) if Line(line).is_indented), 0)
        lines[first:] = Markdown(textwrap.dedent("\n".join(lines[first:]))).closed().split("\n")
    label, body = shown("\n".join(lines[:first])).strip(), "\n".join(lines[first:])
    body = _cut(body if is_code else _outside_code(without_tags(body)), asked, max_lines)
    return f"{label}\n\n{body}" if label else body


def _cut(code_or_table: str, asked: Set[str], max_lines: int | None) -> str:
    lines = code_or_table.split("\n")
    if max_lines is None or len(lines) <= max_lines + 2:
        return code_or_table
    mark, telling = Line(lines[0]).quote_mark, asked - STOP_WORDS
    lines = [Line(line).unquoted for line in lines] if mark else lines
    if Line(lines[0]).fence:
        lines[1:-1] = cut_code(lines[1:-1], telling, max_lines)
    else:
        lines = cut_rows(lines, telling, max_lines)
    return "\n".join(mark + line for line in lines)


def _begins_table(lines: Sequence[str], at: int) -> bool:
    """Whether a row of a table stands here: by its first character, or by the line of dashes below it."""
    if "|" not in lines[at]:
        return False
    row = Line(lines[at]).unquoted.strip()
    return row.startswith("|") or (_DELIMITERS.fullmatch("".join(lines[at + 1 : at + 2])) is not None)


def emphasized(text: str, telling: re.Pattern[str]) -> str:
    """The text with the one sentence in bold in which that is found, unless it stands first; of two, neither."""
    if len(text) < MIN_EMPHASIZED:
        return text
    found = [span for span in _sentences(text) if telling.search(text, *span)]
    if len(found) != 1:
        return text
    start, end = found[0]
    return f"{text[:start]}**{text[start:end]}**{text[end:]}" if start and _may_be_bold(text, start, end) else text


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of plain paragraphs stand, not those of lists, tables, quotations and headings."""
    position = 0
    for run, is_code in Markdown(text).runs():
        for paragraph in () if is_code else _PARAGRAPH.finditer(run):
            whole = paragraph.group()
            if not any(map(_is_marked, whole.split("\n"))):
                for first, last in pairwise((0, *sentence_starts(whole), len(whole))):
                    start = position + paragraph.start() + first
                    yield start, start + len(whole[first:last].rstrip())
        position += len(run) + 1


def _is_marked(raw: str) -> bool:
    line = Line(raw)
    is_apart = line[:1].isspace() or line.begins_item or line.is_markup or bool(line.quote_mark)
    return is_apart or "|" in line or not line.strip("= $")


def _may_be_bold(text: str, start: int, end: int) -> bool:
    """Whether asterisks around a sentence would be read as such, and it has no emphasis of its own."""
    sentence = text[start:end]
    is_odd = any(mark in sentence for mark in "*_\n") or sentence.startswith(ELLIPSIS) or sentence.endswith("\\")
    # asterisks between a full stop and a letter would close nothing
    return not is_odd and len(sentence) <= MAX_EMPHASIZED and not text[end : end + 1].strip()
