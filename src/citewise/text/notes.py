"""Notes, callouts and tabs, as the usual sites write them: how each begins, what it is called, what belongs to it."""

import re
import textwrap

_FORMS = tuple(
    re.compile(rf"(?P<indent>[ \t>]*+){form}[ \t]*+")
    for form in (
        r":{3,}+[ \t]*+(?P<kind>[A-Za-z]++)(?:[ \t]++(?P<title>[^\n]*+))?",  # ::: tip Be quick
        r":{3,}+[ \t]*+(?P<kind>[A-Za-z][\w-]*+)\[(?P<title>[^\]\n]*+)\]",  # :::tip[Be quick]
        r"/{3,}+[ \t]*+(?P<kind>[A-Za-z][\w-]*+)(?:[ \t]*+\|[ \t]*+(?P<title>[^\n]*+))?",  # /// tip | Be quick
        r"\[!(?P<kind>[\w-]++)\][+-]?[ \t]*+(?P<title>[^\n]*+)",  # > [!tip] Be quick
        r"(?:!!!|\?\?\?\+?)[ \t]++(?P<kind>[\w-]++)(?:[^\n\"]*+\"(?P<title>[^\"\n]*+)\")?",  # !!! tip "Be quick"
        r"===\+?[ \t]++(?P<kind>)\"(?P<title>[^\"\n]++)\"",  # === "Linux"
    )
)
_MARKED = re.compile(r"^[ \t>]*+(?:[:/!?=]{3}|\[!)[^\n]*+", re.MULTILINE)
_END = re.compile(r"^[ \t]*+(?::{3,}+|/{3,}+)[ \t]*+(?:\n|\Z)", re.MULTILINE)
INDENTED_NOTE = re.compile(r"[ \t]*+(?:!!!|\?\?\?\+?|===\+?)[ \t]")  # of MkDocs: what is indented below belongs to it
_INDENTED = re.compile(rf"\A({INDENTED_NOTE.pattern}[^\n]*+\n)((?:(?: {{4}}|\t)[^\n]*+(?:\n|\Z)|[ \t]*+\n)*+)")
_TAB_SHORTCODE = r"\{\{[<%]\s*tab\s(?=[^{}]*+\}\})[^{}]*?\bname=\"(?P<title>[^\"{}*]++)\"[^{}]*+\}\}"
_TAB_TAG = r"<(?:TabItem|Tab|TabPanel)(?=\s[^<>]*(?:label|title|value)=)[^<>]*+(?<!/)>"
TAB_SHORTCODE = re.compile(rf"^[ \t]*+{_TAB_SHORTCODE}", re.MULTILINE)
BEGUN_TAB = re.compile(rf"(?:{_TAB_TAG}|{_TAB_SHORTCODE})\s*\Z")  # at the end of a text


def title_of(line: str) -> str | None:
    """The title in the first line of a note; "" if it has only a kind, None if no note begins there."""
    note = _opening(line)
    return (note["title"] or "").strip() if note else None


def titled(text: str) -> str:
    """Text with the title of each note in bold, or else its kind, and without the lines that end notes."""
    return _END.sub("", _MARKED.sub(_in_bold, text))


def dedented(text: str) -> str:
    """Text with the body of the note that it begins with at the margin."""
    return _INDENTED.sub(lambda note: note[1] + textwrap.dedent(note[2]), text, count=1)


def _opening(line: str) -> re.Match[str] | None:
    return next(filter(None, (form.fullmatch(line) for form in _FORMS)), None)


def _in_bold(line: re.Match[str]) -> str:
    note = _opening(line.group())
    if not note:
        return line.group()
    title = (note["title"] or "").strip() or note["kind"].capitalize()
    return f"{note['indent']}**{title.replace('*', '')}**  "
