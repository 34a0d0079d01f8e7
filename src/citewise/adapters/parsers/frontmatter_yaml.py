"""YAML mappings from untrusted text: bounded in size, depth and aliases, and never making objects.

Values stay nodes, because a title such as `1.10` or `2024-01-01` must keep the characters its author typed.
"""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import date

import yaml

from citewise.model.block import Json

Fields = Mapping[str, yaml.Node]

MAX_NODES = 10_000  # of one front matter with its aliases written out; real ones have a few dozen
MAX_DEPTH = 40
MAX_SALVAGED = 200  # top-level entries looked at one by one when the whole is malformed
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is an optional part of PyYAML
_ENTRY = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:(?=\s|$)", re.MULTILINE)
_LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)
_NULL = "tag:yaml.org,2002:null"


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
        return _salvaged(text) or None


def json_value(node: yaml.Node) -> Json:
    """The value of a node as JSON would hold it, or Unreadable when its aliases unfold without bound."""
    return _Unfolding().value(node)


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
            return loader.get_single_node()  # type: ignore[no-any-return]
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
    for key_node, value in root.value:
        key = _key(key_node)
        if key in fields:
            warnings.append(f"front matter has the key {key!r} twice; the last one counts")
        fields[key] = _twice(value) if key in fields and key.lower() == "access" else value
    return fields


def _twice(value: yaml.Node) -> yaml.Node:
    """Two access rules contradict each other, and a guess might open what was meant to be closed."""
    return yaml.ScalarNode("tag:yaml.org,2002:str", "(given twice)", value.start_mark, value.end_mark)


def _salvaged(text: str) -> Fields:
    fields: dict[str, yaml.Node] = {}
    for key, entry, value in _entries(text):
        try:
            fields |= _fields(_root(entry), []) or {}
        except Unreadable:
            bare = " ".join(value.split()).strip("\"'")
            fields[key] = yaml.ScalarNode("tag:yaml.org,2002:str", bare)
    return fields


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Key, whole entry and value of each top-level `key: ...` with the lines that belong to it."""
    found = list(_ENTRY.finditer(text))[: MAX_SALVAGED + 1]
    for match, following in zip(found, [*found[1:], None], strict=True):
        end = following.start() if following else len(text)
        yield match[1], text[match.start() : end], text[match.end() : end]


def _key(node: yaml.Node) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else str(json_value(node))


class _Unfolding:
    """Turns nodes into values, counting, since a few aliases can stand for billions of nodes."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def value(self, node: yaml.Node, depth: int = 0) -> Json:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise Unreadable("its aliases unfold into too much")
        if isinstance(node, yaml.MappingNode):
            return {_key(key): self.value(value, depth + 1) for key, value in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return _scalar(node)


def _scalar(node: yaml.Node) -> Json:
    """A number, truth value, null or text; dates and everything with a tag of its own as text."""
    try:
        value = yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError, OverflowError):
        return str(node.value)
    if isinstance(value, date):  # a datetime is one too
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(node.value)
    return value if isinstance(value, str | int | float | bool | None) else str(node.value)
