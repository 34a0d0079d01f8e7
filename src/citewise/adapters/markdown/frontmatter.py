"""Front matter: where it ends, and what it says about its document.

Never raises, and never opens a document whose access rule it could not read.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from dataclasses import fields as fields_of
from datetime import date
from itertools import pairwise

import yaml

from citewise.model.document import Json

Fields = Mapping[str, yaml.Node]

MAX_NODES = 10_000  # of one front matter with its aliases written out; real ones have a few dozen
MAX_DEPTH = 40
MAX_SALVAGED = 200  # top-level entries looked at one by one when the whole is malformed
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is an optional part of PyYAML
_ENTRY = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:(?=\s|$)", re.MULTILINE)
_LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)
_NULL = "tag:yaml.org,2002:null"
_TEXT = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a Docusaurus page says about itself before its body; absent values are None or empty."""

    title: str | None = None
    description: str | None = None
    slug: str | None = None
    id: str | None = None
    sidebar_label: str | None = None
    sidebar_position: float | None = None
    tags: tuple[str, ...] = ()
    learning_objectives: tuple[str, ...] = ()
    access: tuple[str, ...] = ()  # rules as in Access.of; empty: it says nothing about access
    other: Mapping[str, Json] = field(default_factory=dict)

    @property
    def metadata(self) -> Mapping[str, Json]:
        """All but what every document has."""
        named: dict[str, Json] = {
            "slug": self.slug,
            "id": self.id,
            "sidebar_label": self.sidebar_label,
            "sidebar_position": self.sidebar_position,
            "learning_objectives": self.learning_objectives or None,
        }
        return {**self.other, **{name: value for name, value in named.items() if value is not None}}


class Unreadable(Exception):
    """This is not YAML, or more of it than anyone writes by hand."""


def top_level(text: str, warnings: list[str]) -> Fields | None:
    """The entries of a mapping, saving what can be saved of a malformed one; None: it is no mapping."""
    try:
        return _fields(_root(text), warnings)
    except Unreadable as error:
        warnings.append(f"front matter is not valid YAML: {error}")
    try:
        return _fields(_root(_LEADING_TABS.sub(lambda tabs: "  " * len(tabs[0]), text)), warnings)
    except Unreadable:
        return _salvaged(text, warnings) or None


def raw_text(node: yaml.Node | None) -> str | None:
    """A scalar as it was typed; None for null, blank or anything that is not a scalar."""
    if not isinstance(node, yaml.ScalarNode) or node.tag == _NULL:
        return None
    return str(node.value).strip() or None


def _root(text: str) -> yaml.Node | None:
    try:
        _check_size(text)
        loader = _LOADER(text)
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = getattr(error, "problem", None) or type(error).__name__
        raise Unreadable(str(reason)) from error


def _check_size(text: str) -> None:
    """Refuse before composing: nodes are composed by recursion, in C without a net."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=_LOADER)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH or count > 2 * MAX_NODES:
            raise Unreadable("it is nested too deeply or too long")


def _fields(root: yaml.Node | None, warnings: list[str]) -> Fields | None:
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        return None
    fields: dict[str, yaml.Node] = {}
    unfolding = Unfolding()
    for key, value in root.value:
        _add(fields, unfolding.key(key), value=value, warnings=warnings)
    return fields


def _add(fields: dict[str, yaml.Node], key: str, *, value: yaml.Node, warnings: list[str]) -> None:
    if key in fields:
        warnings.append(f"front matter has the key {key[:80]!r} twice; the last one counts")
        if key.lower() == "access":  # a guess between two rules might open what was meant to be closed
            value = yaml.ScalarNode(_TEXT, "(given twice)")
    fields[key] = value


_NO_TEXT = ("[", "{", "&", "*", "!", "|", ">")


def _salvaged(text: str, warnings: list[str]) -> Fields:
    fields: dict[str, yaml.Node] = {}
    for entry in _entries(text):
        try:
            for key, value in (_fields(_root(entry), warnings) or {}).items():
                _add(fields, key, value=value, warnings=warnings)
        except Unreadable:
            key, _, rest = entry.partition(":")
            if rest.lstrip().startswith(_NO_TEXT) and key.strip().lower() != "access":
                continue  # a list or mapping that never ends is no text; the rule about readers must not vanish so
            bare = yaml.ScalarNode(_TEXT, rest.strip().strip("\"'"))
            _add(fields, key.strip(), value=bare, warnings=warnings)
    return fields


def _entries(text: str) -> list[str]:
    """Each top-level `key: ...` with the lines that belong to it."""
    starts = [match.start() for match in _ENTRY.finditer(text)][:MAX_SALVAGED]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


class Unfolding:
    """Turns nodes into what JSON would hold, counting: a few aliases can stand for billions of nodes."""

    def __init__(self) -> None:
        self._left = MAX_NODES
        self._constructor = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node, depth: int = 0) -> Json:
        """The value, or Unreadable when the count runs out."""
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise Unreadable("its aliases unfold into too much")
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
        if isinstance(value, date):  # a datetime is one too
            return value.isoformat()
        if isinstance(value, float) and not math.isfinite(value):
            return str(node.value)
        if isinstance(value, int) and abs(value) >= 2**63:  # nothing that stores or prints it need take more
            return str(node.value)
        return value if isinstance(value, str | int | float | None) else str(node.value)


MAX_CHARACTERS = 64 * 1024  # real front matter is under 2 KB; parsing YAML is slow and its aliases multiply
UNREADABLE_ACCESS = "(one that cannot be read)"  # Access.of rejects it, so the document stays closed
_OPENING = re.compile(r"\ufeff?---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_ACCESS_KEY = re.compile(r"""(?:^[ \t]*|[{,][ \t]*)["']?access["']?[ \t]*:""", re.MULTILINE | re.IGNORECASE)
_FIRST_ENTRY = re.compile(r"""\s*(?:#.*\n\s*)*["']?[\w-]+["']?[ \t]*:(?:\s|$)""")
_KNOWN = frozenset(each.name for each in fields_of(FrontMatter)) - {"access", "other"}


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
    return _understood(inside, body_line)


def _understood(inside: str, body_line: int) -> tuple[FrontMatter, int, tuple[str, ...]]:
    if len(inside) > MAX_CHARACTERS:
        return _refused(inside, body_line)
    warnings: list[str] = []
    fields = top_level(inside, warnings)
    if fields is None:  # more likely two rules with prose between them than metadata
        return _closed_if_ruled(inside), 1, (*warnings, "front matter is not a mapping; read as text")
    front = _front_matter(fields, warnings)
    if warnings and not front.access:  # malformed, and the part that was not saved may have held the rule
        front = replace(front, access=_closed_if_ruled(inside).access)
    return front, body_line, tuple(warnings)


def _refused(inside: str, body_line: int) -> tuple[FrontMatter, int, tuple[str, ...]]:
    is_metadata = _FIRST_ENTRY.match(inside) is not None
    what = "its metadata is dropped" if is_metadata else "read as text"
    warning = f"front matter is over {MAX_CHARACTERS // 1024} KB; {what}"
    return _closed_if_ruled(inside), body_line if is_metadata else 1, (warning,)


def _closed_if_ruled(unread: str) -> FrontMatter:
    return FrontMatter(access=(UNREADABLE_ACCESS,) if _ACCESS_KEY.search(unread) else ())


def _front_matter(fields: Fields, warnings: list[str]) -> FrontMatter:
    values = _bounded_values(fields, warnings)
    nodes = {key: fields[key] for key in values}
    front = FrontMatter(
        title=_line(nodes.get("title")),
        description=_line(nodes.get("description")),
        slug=_line(nodes.get("slug")),
        id=_line(nodes.get("id")),
        sidebar_label=_line(nodes.get("sidebar_label")),
        sidebar_position=_number(_line(nodes.get("sidebar_position"))),
        tags=_tags(nodes.get("tags")),
        learning_objectives=_objectives(nodes.get("learning_objectives")),
        access=_access(fields, nodes),
    )
    return replace(front, other=_others(values, front, warnings=warnings))


def _bounded_values(fields: Fields, warnings: list[str]) -> dict[str, Json]:
    """Every value as JSON, without those too big to unfold; the fields we know come first at the budget."""
    unfolding = Unfolding()
    values: dict[str, Json] = {}
    for key in sorted(fields, key=lambda key: key not in _KNOWN and key.lower() != "access"):
        try:
            values[key] = unfolding.value(fields[key])
        except Unreadable as error:
            warnings.append(f"front matter key {key[:80]!r} is dropped: {error}")
    return values


def _others(values: Mapping[str, Json], front: FrontMatter, *, warnings: list[str]) -> dict[str, Json]:
    """What has no field of its own, or did not fit into it."""
    others = {key: value for key, value in values.items() if key.lower() != "access"}
    for key in sorted(_KNOWN & others.keys()):
        if others[key] in (None, "", []) or getattr(front, key) not in (None, ()):
            del others[key]
        else:
            warnings.append(f"front matter key {key!r} holds something else than expected")
    return others


def _line(node: yaml.Node | None) -> str | None:
    text = raw_text(node)
    return None if text is None else " ".join(text.split())


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "nan")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _tags(node: yaml.Node | None) -> tuple[str, ...]:
    if isinstance(node, yaml.ScalarNode):
        return tuple(tag.strip() for tag in (raw_text(node) or "").split(",") if tag.strip())
    return tuple(_labels(node))


def _objectives(node: yaml.Node | None) -> tuple[str, ...]:
    if isinstance(node, yaml.ScalarNode):
        lines = (line.strip(" \t-*") for line in (raw_text(node) or "").split("\n"))
        return tuple(line for line in lines if line)
    return tuple(_labels(node))


def _labels(node: yaml.Node | None) -> Iterator[str]:
    for item in node.value if isinstance(node, yaml.SequenceNode) else ():
        label = _pair_label(item) if isinstance(item, yaml.MappingNode) else _line(item)
        if label:
            yield label


def _pair_label(node: yaml.MappingNode) -> str:
    """The label of `{label: a, permalink: /a}`; but `Explain: how` is a sentence that YAML misread."""
    pairs = {_line(key) or "": _line(value) or "" for key, value in node.value}
    return pairs.get("label") or ", ".join(f"{key}: {value}" for key, value in pairs.items())


def _access(fields: Fields, bounded: Fields) -> tuple[str, ...]:
    """The rules as Access.of reads them; whatever is not understood stays as a rule that it rejects."""
    given = [key for key in fields if key.lower() == "access"]
    if not given:
        return ()
    is_plain = len(given) == 1 and given[0] in bounded  # `Access` beside `access` would be a guess
    return tuple(_rules(fields[given[0]]) if is_plain else ()) or (UNREADABLE_ACCESS,)


def _rules(node: yaml.Node) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _named_rules(raw_text(key) or UNREADABLE_ACCESS, value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _rules(item)
    else:
        yield raw_text(node) or UNREADABLE_ACCESS


def _named_rules(name: str, node: yaml.Node) -> Iterator[str]:
    """`owner: ann` or `groups: [a, b]` or `public: true`; `public: false` alone adds no reader."""
    if name in ("public", "project") and node.tag.endswith(":bool"):
        if node.value.lower() in ("true", "yes", "on"):
            yield name
        return
    kind = {"owners": "owner", "groups": "group"}.get(name, name)
    for item in node.value if isinstance(node, yaml.SequenceNode) else (node,):
        yield f"{kind}:{raw_text(item) or ''}"
