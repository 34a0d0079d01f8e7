"""Front matter: where it ends, and what it says about its document.

Never raises, and never opens a document whose access rule it could not read.
"""

import math
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import pairwise
from typing import Any

import yaml

from citewise.model.document import Json, ParsedDocument

MAX_CHARACTERS = 64 * 1024  # real front matter is under 2 KB; parsing YAML is slow and its aliases multiply
MAX_NODES = 10_000  # with aliases written out; real front matter has a few dozen
MAX_DEPTH = 40
MAX_SALVAGED = 200  # top-level entries read separately when the whole is malformed
UNREADABLE_ACCESS = "(one that cannot be read)"  # Access.of rejects it, so the document stays closed

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader is an optional part of PyYAML
_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:(?=\s|$)", re.MULTILINE)
_FIRST_ENTRY = re.compile(r"""\s*(?:#.*\n\s*)*["']?[\w-]+["']?[ \t]*:(?:\s|$)""")
_ACCESS_KEY = re.compile(r"""(?:^[ \t]*|[{,][ \t]*)["']?access["']?[ \t]*:""", re.MULTILINE | re.IGNORECASE)
_LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)
_NO_TEXT = ("[", "{", "&", "*", "!", "|", ">")
_NULL = "tag:yaml.org,2002:null"
_TEXT = "tag:yaml.org,2002:str"

_Fields = Mapping[str, yaml.Node]


def split_front_matter(text: str) -> tuple[ParsedDocument, int]:
    """The document as its front matter describes it, without blocks, and the line (from 1) on which its body starts.

    The text has plain line feeds.
    """
    document = ParsedDocument(text, ())
    opening = _OPENING.match(text)
    if opening is None:
        return document, 1
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        head = text[opening.end() : opening.end() + MAX_CHARACTERS].partition("\n\n")[0]
        return _unread(document, head, "front matter is never closed; read as text"), 1
    inside = text[opening.end() : closing.start()]
    body_line = text.count("\n", 0, closing.start()) + 2
    if len(inside) > MAX_CHARACTERS:
        is_metadata = _FIRST_ENTRY.match(inside) is not None
        what = "its metadata is dropped" if is_metadata else "read as text"
        warning = f"front matter is over {MAX_CHARACTERS // 1024} KB; {what}"
        return _unread(document, inside, warning), body_line if is_metadata else 1
    warnings: list[str] = []
    fields = _top_level(inside, warnings)
    if fields is None:  # more likely two rules with prose between them than metadata
        return _unread(document, inside, *warnings, "front matter is not a mapping; read as text"), 1
    document = _described(document, fields, warnings)
    if warnings and not document.access:  # malformed: the rule may have been in the part that is lost
        document = _unread(document, inside, *warnings)
    return replace(document, warnings=tuple(warnings)), body_line


def _unread(document: ParsedDocument, unread: str, *warnings: str) -> ParsedDocument:
    """The document, closed if a rule may have been in what could not be read."""
    access = (UNREADABLE_ACCESS,) if _ACCESS_KEY.search(unread) else ()
    return replace(document, access=access, warnings=warnings)


class _Unreadable(Exception):
    """This is not YAML, or more of it than a person writes."""


def _top_level(text: str, warnings: list[str]) -> _Fields | None:
    """The entries of a mapping, as many as possible of a malformed one; None if it is no mapping."""
    try:
        entries = _entries(text)
    except _Unreadable as error:
        warnings.append(f"front matter is not valid YAML: {error}")
        text = _LEADING_TABS.sub(lambda tabs: "  " * len(tabs[0]), text)
        try:
            entries = _entries(text)
        except _Unreadable:
            entries = list(_salvaged(text)) or None
    if entries is None:
        return None
    fields: dict[str, yaml.Node] = {}
    for key, node in entries:
        if key in fields:
            warnings.append(f"front matter has the key {key[:80]!r} twice; the last one counts")
            if key.lower() == "access":  # a guess between two rules might open what was meant to be closed
                node = yaml.ScalarNode(_TEXT, "(given twice)")
        fields[key] = node
    return fields


def _entries(text: str) -> list[tuple[str, yaml.Node]] | None:
    """The entries of a mapping; None if it is none. Raises _Unreadable."""
    try:
        depth = 0  # checked before composing: nodes are composed by recursion, in C without a limit
        for count, event in enumerate(yaml.parse(text, Loader=_LOADER)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH or count > 2 * MAX_NODES:
                raise _Unreadable("it is nested too deeply or too long")
        root = yaml.compose(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _Unreadable(str(getattr(error, "problem", None) or type(error).__name__)) from error
    if root is None:
        return []
    values = _Values()
    return [(values.key(key), node) for key, node in root.value] if isinstance(root, yaml.MappingNode) else None


def _salvaged(text: str) -> Iterator[tuple[str, yaml.Node]]:
    """Each top-level `key: ...`, read with the lines that belong to it."""
    starts = [match.start() for match in _ENTRY.finditer(text)][:MAX_SALVAGED]
    for start, end in pairwise([*starts, len(text)]):
        entry = text[start:end]
        try:
            yield from _entries(entry) or ()
        except _Unreadable:
            key, _, rest = entry.partition(":")
            # A list or mapping that never ends is no text; but an access rule must not vanish this way.
            if not rest.lstrip().startswith(_NO_TEXT) or key.strip().lower() == "access":
                yield key.strip(), yaml.ScalarNode(_TEXT, rest.strip().strip("\"'"))


class _Values:
    """Turns nodes into JSON values, counting: a few aliases can stand for billions of nodes."""

    def __init__(self) -> None:
        self._left = MAX_NODES
        self._constructor = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node, depth: int = 0) -> Json:
        """The value. Raises _Unreadable when the count runs out."""
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise _Unreadable("YAML aliases expand beyond the limit")
        if isinstance(node, yaml.MappingNode):
            return {self.key(key): self.value(value, depth + 1) for key, value in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return self._scalar(node)

    def key(self, node: yaml.Node) -> str:
        return str(node.value) if isinstance(node, yaml.ScalarNode) else str(self.value(node))

    def _scalar(self, node: yaml.Node) -> Json:
        """A number, truth value, null or text. Dates are text, and so is everything with a tag of its own and every
        number that would be spelled differently: 1.10 is a version, 01234 a postal code."""
        try:
            value = self._constructor.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError):
            return str(node.value)
        if isinstance(value, date):  # or a datetime
            return value.isoformat()
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and (not -(2**63) < value < 2**63 or str(value) != node.value):  # nan, or too large to store
            return str(node.value)
        return value if isinstance(value, str | int | float | None) else str(node.value)


def _described(document: ParsedDocument, fields: _Fields, warnings: list[str]) -> ParsedDocument:
    """The document with what Docusaurus knows read as it was meant; the rest is its metadata, as YAML reads it."""
    converter, values = _Values(), dict[str, Json]()
    for key in sorted(fields, key=lambda key: key not in _READERS and key.lower() != "access"):  # first to be counted
        try:
            values[key] = converter.value(fields[key])
        except _Unreadable as error:
            warnings.append(f"front matter key {key[:80]!r} is dropped: {error}")
    known: dict[str, Any] = {}
    others = {key: value for key, value in values.items() if key.lower() != "access"}
    for key in [key for key in _READERS if key in others]:
        value, known[key] = others.pop(key), _READERS[key](fields[key])
        if known[key] in (None, ()):
            del known[key]
            if value not in (None, "", []):
                others[key] = value
                warnings.append(f"front matter key {key!r} holds something else than expected")
    return replace(
        document,
        title=known.pop("title", None),
        description=known.pop("description", ""),
        tags=known.pop("tags", ()),
        access=_access(fields, values),
        metadata={**others, **known},
    )


def _typed(node: yaml.Node | None) -> str | None:
    """A scalar as it was typed; None for null, blank or anything that is not a scalar."""
    if not isinstance(node, yaml.ScalarNode) or node.tag == _NULL:
        return None
    return str(node.value).strip() or None


def _line(node: yaml.Node) -> str | None:
    text = _typed(node)
    return None if text is None else " ".join(text.split())


def _number(node: yaml.Node) -> float | None:
    try:
        number = float(_line(node) or "nan")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _texts(node: yaml.Node, *, separator: str = ",", marks: str | None = None) -> tuple[str, ...]:
    """The texts of a list, or of a scalar that is written as one."""
    if isinstance(node, yaml.ScalarNode):
        texts = [part.strip(marks) for part in (_typed(node) or "").split(separator)]
    else:
        items = node.value if isinstance(node, yaml.SequenceNode) else ()
        texts = [_pair_label(item) if isinstance(item, yaml.MappingNode) else _line(item) or "" for item in items]
    return tuple(filter(None, texts))


def _pair_label(node: yaml.MappingNode) -> str:
    """The label of `{label: a, permalink: /a}`; but `Explain: how` is a sentence that YAML misread."""
    pairs = {_line(key) or "": _line(value) or "" for key, value in node.value}
    return pairs.get("label") or ", ".join(f"{key}: {value}" for key, value in pairs.items())


_READERS: dict[str, Callable[[yaml.Node], object]] = {
    "title": _line,
    "description": _line,
    "slug": _line,
    "id": _line,
    "sidebar_label": _line,
    "sidebar_position": _number,
    "tags": _texts,
    "learning_objectives": partial(_texts, separator="\n", marks=" \t-*"),
}


def _access(fields: _Fields, bounded: Container[str]) -> tuple[str, ...]:
    """The rules as Access.of reads them; whatever is not understood stays as a rule that it rejects."""
    given = [key for key in fields if key.lower() == "access"]
    if not given:
        return ()
    is_plain = len(given) == 1 and given[0] in bounded  # `Access` beside `access` would be a guess
    return tuple(_rules(fields[given[0]]) if is_plain else ()) or (UNREADABLE_ACCESS,)


def _rules(node: yaml.Node) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _named_rules(_typed(key) or UNREADABLE_ACCESS, value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _rules(item)
    else:
        yield _typed(node) or UNREADABLE_ACCESS


def _named_rules(name: str, node: yaml.Node) -> Iterator[str]:
    """`owner: ann` or `groups: [a, b]` or `public: true`; `public: false` alone adds no reader."""
    if name in ("public", "project") and node.tag.endswith(":bool"):
        if node.value.lower() in ("true", "yes", "on"):
            yield name
        return
    kind = {"owners": "owner", "groups": "group"}.get(name, name)
    for item in node.value if isinstance(node, yaml.SequenceNode) else (node,):
        yield f"{kind}:{_typed(item) or ''}"
