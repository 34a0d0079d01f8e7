"""Front matter: where it ends, and what it says about its document.

Never raises, and never opens a document whose access rule it could not read.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise

import yaml

from citewise.model.document import Json

MAX_CHARACTERS = 64 * 1024  # real front matter is under 2 KB; parsing YAML is slow and its aliases multiply
MAX_NODES = 10_000  # with aliases written out; real front matter has a few dozen
MAX_DEPTH = 40
MAX_SALVAGED = 200  # top-level entries read separately when the whole is malformed
UNREADABLE_ACCESS = "(one that cannot be read)"  # Access.of rejects it, so the document stays closed

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader is an optional part of PyYAML
_OPENING = re.compile(r"\ufeff?---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:(?=\s|$)", re.MULTILINE)
_FIRST_ENTRY = re.compile(r"""\s*(?:#.*\n\s*)*["']?[\w-]+["']?[ \t]*:(?:\s|$)""")
_ACCESS_KEY = re.compile(r"""(?:^[ \t]*|[{,][ \t]*)["']?access["']?[ \t]*:""", re.MULTILINE | re.IGNORECASE)
_LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)
_NO_TEXT = ("[", "{", "&", "*", "!", "|", ">")
_NULL = "tag:yaml.org,2002:null"
_TEXT = "tag:yaml.org,2002:str"

_LINES = ("title", "description", "slug", "id", "sidebar_label")
_NAMED = frozenset({*_LINES, "sidebar_position", "tags", "learning_objectives"})

_Fields = Mapping[str, yaml.Node]


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a Docusaurus page says about itself before its body; absent values are None or empty."""

    title: str | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    access: tuple[str, ...] = ()  # rules as in Access.of; empty: it says nothing about access
    metadata: Mapping[str, Json] = field(default_factory=dict)  # the rest: slug, id, sidebar_label, unknown keys


def split_front_matter(text: str) -> tuple[FrontMatter, int, tuple[str, ...]]:
    """What the front matter says, the line (from 1) on which the body starts, and what was wrong with it."""
    if not text.startswith(("---", "\ufeff---")):
        return FrontMatter(), 1, ()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter(), 1, ()
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        head = text[opening.end() : opening.end() + MAX_CHARACTERS].partition("\n\n")[0]
        return _closed_if_ruled(head), 1, ("front matter is never closed; read as text",)
    inside = text[opening.end() : closing.start()]
    body_line = text.count("\n", 0, closing.start()) + 2
    if len(inside) > MAX_CHARACTERS:
        is_metadata = _FIRST_ENTRY.match(inside) is not None
        what = "its metadata is dropped" if is_metadata else "read as text"
        warning = f"front matter is over {MAX_CHARACTERS // 1024} KB; {what}"
        return _closed_if_ruled(inside), body_line if is_metadata else 1, (warning,)
    warnings: list[str] = []
    fields = _top_level(inside, warnings)
    if fields is None:  # more likely two rules with prose between them than metadata
        return _closed_if_ruled(inside), 1, (*warnings, "front matter is not a mapping; read as text")
    front = _front_matter(fields, warnings)
    if warnings and not front.access:  # malformed: the rule may have been in the part that is lost
        front = replace(front, access=_closed_if_ruled(inside).access)
    return front, body_line, tuple(warnings)


def _closed_if_ruled(unread: str) -> FrontMatter:
    return FrontMatter(access=(UNREADABLE_ACCESS,) if _ACCESS_KEY.search(unread) else ())


class _Unreadable(Exception):
    """This is not YAML, or more of it than a person writes."""


def _top_level(text: str, warnings: list[str]) -> _Fields | None:
    """The entries of a mapping, as many as possible of a malformed one; None if it is no mapping."""
    try:
        return _fields(text, warnings)
    except _Unreadable as error:
        warnings.append(f"front matter is not valid YAML: {error}")
    try:
        return _fields(_LEADING_TABS.sub(lambda tabs: "  " * len(tabs[0]), text), warnings)
    except _Unreadable:
        return _salvaged(text, warnings) or None


def _fields(text: str, warnings: list[str]) -> _Fields | None:
    root = _root(text)
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        return None
    fields: dict[str, yaml.Node] = {}
    values = _Values()
    for key, value in root.value:
        _add(fields, values.key(key), value=value, warnings=warnings)
    return fields


def _root(text: str) -> yaml.Node | None:
    try:
        depth = 0  # checked before composing: nodes are composed by recursion, in C without a limit
        for count, event in enumerate(yaml.parse(text, Loader=_LOADER)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH or count > 2 * MAX_NODES:
                raise _Unreadable("it is nested too deeply or too long")
        loader = _LOADER(text)
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _Unreadable(str(getattr(error, "problem", None) or type(error).__name__)) from error


def _add(fields: dict[str, yaml.Node], key: str, *, value: yaml.Node, warnings: list[str]) -> None:
    if key in fields:
        warnings.append(f"front matter has the key {key[:80]!r} twice; the last one counts")
        if key.lower() == "access":  # a guess between two rules might open what was meant to be closed
            value = yaml.ScalarNode(_TEXT, "(given twice)")
    fields[key] = value


def _salvaged(text: str, warnings: list[str]) -> _Fields:
    """Each top-level `key: ...`, read with the lines that belong to it."""
    starts = [match.start() for match in _ENTRY.finditer(text)][:MAX_SALVAGED]
    fields: dict[str, yaml.Node] = {}
    for start, end in pairwise([*starts, len(text)]):
        entry = text[start:end]
        try:
            for key, value in (_fields(entry, warnings) or {}).items():
                _add(fields, key, value=value, warnings=warnings)
        except _Unreadable:
            key, _, rest = entry.partition(":")
            if rest.lstrip().startswith(_NO_TEXT) and key.strip().lower() != "access":
                continue  # a list or mapping that never ends is no text; an access rule must not vanish this way
            bare = yaml.ScalarNode(_TEXT, rest.strip().strip("\"'"))
            _add(fields, key.strip(), value=bare, warnings=warnings)
    return fields


class _Values:
    """Turns nodes into JSON values, counting: a few aliases can stand for billions of nodes."""

    def __init__(self) -> None:
        self._left = MAX_NODES
        self._constructor = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node, depth: int = 0) -> Json:
        """The value. Raises _Unreadable when the count runs out."""
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise _Unreadable("its aliases unfold into too much")
        if isinstance(node, yaml.MappingNode):
            return {self.key(key): self.value(value, depth + 1) for key, value in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return self._scalar(node)

    def key(self, node: yaml.Node) -> str:
        return str(node.value) if isinstance(node, yaml.ScalarNode) else str(self.value(node))

    def _scalar(self, node: yaml.Node) -> Json:
        """A number, truth value, null or text; dates and everything with a tag of its own as text."""
        try:
            value = self._constructor.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError):
            return str(node.value)
        if isinstance(value, date):  # or a datetime
            return value.isoformat()
        is_too_large = isinstance(value, int) and abs(value) >= 2**63  # more than a database stores
        if is_too_large or (isinstance(value, float) and not math.isfinite(value)):
            return str(node.value)
        return value if isinstance(value, str | int | float | None) else str(node.value)


def _front_matter(fields: _Fields, warnings: list[str]) -> FrontMatter:
    converter, values = _Values(), dict[str, Json]()
    for key in sorted(fields, key=lambda key: key not in _NAMED and key.lower() != "access"):  # first to be counted
        try:
            values[key] = converter.value(fields[key])
        except _Unreadable as error:
            warnings.append(f"front matter key {key[:80]!r} is dropped: {error}")
    nodes = {key: fields[key] for key in values}
    lines = {name: _line(nodes.get(name)) for name in _LINES}
    tags = tuple(_texts(nodes.get("tags"), separator=","))
    objectives = tuple(_texts(nodes.get("learning_objectives"), separator="\n", marks=" \t-*"))
    position = _number(_line(nodes.get("sidebar_position")))
    rest: dict[str, Json] = {**lines, "sidebar_position": position, "learning_objectives": objectives or None}
    known: dict[str, Json] = {**rest, "tags": tags or None}
    others = {key: value for key, value in values.items() if key.lower() != "access" and known.get(key) is None}
    for key in sorted(_NAMED & others.keys()):
        if others[key] in (None, "", []):
            del others[key]
        else:
            warnings.append(f"front matter key {key!r} holds something else than expected")
    named = {key: value for key, value in rest.items() if value is not None and key not in ("title", "description")}
    access = _access(fields, nodes)
    return FrontMatter(lines["title"], lines["description"] or "", tags, access, {**others, **named})


def _typed(node: yaml.Node | None) -> str | None:
    """A scalar as it was typed; None for null, blank or anything that is not a scalar."""
    if not isinstance(node, yaml.ScalarNode) or node.tag == _NULL:
        return None
    return str(node.value).strip() or None


def _line(node: yaml.Node | None) -> str | None:
    text = _typed(node)
    return None if text is None else " ".join(text.split())


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "nan")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _texts(node: yaml.Node | None, *, separator: str, marks: str | None = None) -> Iterator[str]:
    """The texts of a list, or of a scalar that is written as one."""
    if isinstance(node, yaml.ScalarNode):
        yield from filter(None, (part.strip(marks) for part in (_typed(node) or "").split(separator)))
        return
    for item in node.value if isinstance(node, yaml.SequenceNode) else ():
        label = _pair_label(item) if isinstance(item, yaml.MappingNode) else _line(item)
        if label:
            yield label


def _pair_label(node: yaml.MappingNode) -> str:
    """The label of `{label: a, permalink: /a}`; but `Explain: how` is a sentence that YAML misread."""
    pairs = {_line(key) or "": _line(value) or "" for key, value in node.value}
    return pairs.get("label") or ", ".join(f"{key}: {value}" for key, value in pairs.items())


def _access(fields: _Fields, bounded: _Fields) -> tuple[str, ...]:
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
