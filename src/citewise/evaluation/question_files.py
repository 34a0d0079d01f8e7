"""Question files -> cases (docs/evaluation.md has the format). What breaks it is named by file, entry and field."""

import difflib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from citewise.errors import BadRequest
from citewise.evaluation.cases import Case, Gold, Kind
from citewise.evaluation.json_files import read_json
from citewise.evaluation.summary import counted
from citewise.model.ids import ChunkId
from citewise.model.query import Selection, checked_question

MAX_BYTES = 50_000_000  # of one file: some 50,000 questions

_log = logging.getLogger(__name__)

T = TypeVar("T")
Row = Mapping[str, Any]

# What an entry may hold. Some only people read: filters, note, source_heading_path, leak_answer, …
_COMMON = ("id", "question", "type", "kind", "answer", "answerable", "note", "filters")
_FIELDS = {
    Kind.ANSWERABLE: (*_COMMON, "relevant"),
    Kind.UNANSWERABLE: (*_COMMON, "absent_regex"),
    Kind.SELECTED: (
        *_COMMON,
        *("selected_text", "source_doc", "source_section", "source_heading_path"),
        *("leak_marker", "leak_answer", "answered_elsewhere"),
    ),
}
_GOLD_FIELDS = ("doc", "section", "grade", "heading_path", "line_start", "line_end", "chunk")
_NEAR = 0.75  # likeness from which on an unknown field is a slip of the pen; 0: any is; 1: none


def read_question_file(file: Path) -> tuple[Case, ...]:
    """The cases of a file: a list of entries, or an object that holds one under "questions"."""
    tree = read_json(file, max_bytes=MAX_BYTES, advice=": split it into several files in one folder")
    entries = tree.get("questions") if isinstance(tree, dict) else tree
    if not isinstance(entries, list):
        raise BadRequest(
            f'{file} is no question file: it must be a JSON list of questions, or an object with a list "questions"'
        )
    if isinstance(tree, dict) and {"metrics", "set"} <= tree.keys():
        raise BadRequest(f"{file} is a run that `citewise eval` wrote, no question file: see `citewise eval compare`")
    unknown: Counter[str] = Counter()
    cases = tuple(_case(file, at, entry, unknown) for at, entry in enumerate(entries, start=1))
    for name, number in unknown.items():
        _log.warning("%s: the field %r is not known and not looked at (%s)", file, name, counted(number, "time"))
    return cases


def _case(file: Path, at: int, entry: object, unknown: Counter[str]) -> Case:
    if not isinstance(entry, dict):
        raise BadRequest(f"{file}, entry {at}: must be a JSON object, not {_kind_name(entry)}")
    id_ = entry.get("id")
    field = _Reader(f"{file}, entry {id_ if isinstance(id_, str) and id_ else at}", entry, unknown)
    field.refuse_slips(dict.fromkeys(name for names in _FIELDS.values() for name in names))
    kind = _kind(field)
    question = field.checked("question", lambda: checked_question(field.text("question")))
    group = field.optional_text("type" if kind is Kind.ANSWERABLE else "kind") or field.optional_text("type") or ""
    case = Case(field.text("id"), question, kind, group=group, answer=field.optional_text("answer"))
    if kind is Kind.ANSWERABLE:
        return _answerable(case, field)
    return _selected(case, field) if kind is Kind.SELECTED else case


def _kind(field: "_Reader") -> Kind:
    """By what the entry holds, so that one file may mix them."""
    has_selection, has_gold = "selected_text" in field.row, "relevant" in field.row
    if has_selection and has_gold:
        raise field.wrong("relevant", "does not go with selected_text: an entry is about one of them")
    if has_selection or has_gold:
        return Kind.SELECTED if has_selection else Kind.ANSWERABLE
    if field.row.get("kind") in (Kind.ANSWERABLE.value, Kind.SELECTED.value):
        raise field.wrong("kind", f"is {field.row['kind']!r}, but there is no relevant place and no selected_text")
    if not {"absent_regex", "kind"} & field.row.keys() and field.row.get("answerable") is not False:
        raise field.wrong("relevant", "is missing: say where the answer stands, or by kind why there is none")
    return Kind.UNANSWERABLE


def _answerable(case: Case, field: "_Reader") -> Case:
    relevant = field.row["relevant"]
    if not isinstance(relevant, list) or not relevant:
        raise field.wrong("relevant", "must be a list of at least one place; leave it out if nothing answers")
    gold = tuple(_gold(field, at, one) for at, one in enumerate(relevant, start=1))
    return replace(case, gold=gold)


def _selected(case: Case, field: "_Reader") -> Case:
    selection = field.checked(
        "selected_text",
        lambda: Selection(
            field.text("selected_text"), field.optional_text("source_doc"), field.optional_text("source_section")
        ),
    )
    answerable = field.row.get("answerable", True)
    if not isinstance(answerable, bool):
        raise field.wrong("answerable", f"must be true or false, not {_kind_name(answerable)}")
    return replace(
        case,
        selection=selection,
        is_answerable=answerable,
        leak_marker=field.optional_text("leak_marker"),
        group=case.group or "selected",
    )


def _gold(field: "_Reader", at: int, entry: object) -> Gold:
    if not isinstance(entry, dict):
        raise field.wrong(f"relevant[{at}]", f"must be a JSON object, not {_kind_name(entry)}")
    place = _Reader(f"{field.where}, relevant[{at}]", entry, field.unknown)
    place.refuse_slips(_GOLD_FIELDS)
    first, last = place.optional_number("line_start", least=1), place.optional_number("line_end", least=1)
    if (first is None) != (last is None) or (first is not None and last is not None and last < first):
        raise place.wrong("line_start, line_end", "come together, the first no greater than the last")
    chunk = place.optional_text("chunk")
    return Gold(
        place.text("doc"),
        place.optional_number("grade", least=1) or 1,
        place.optional_text("section"),
        first,
        last,
        None if chunk is None else ChunkId(chunk),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """One JSON object, and how to speak of it."""

    where: str
    row: Row
    unknown: Counter[str]  # fields that nobody looks at, of all the file: told of once each

    def text(self, name: str) -> str:
        value = self.row.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(name, f"must be text, not {_kind_name(value)}" if name in self.row else "is missing")
        return value

    def optional_text(self, name: str) -> str | None:
        return None if self.row.get(name) is None else self.text(name)

    def optional_number(self, name: str, *, least: int) -> int | None:
        value = self.row.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= 10**9:
            raise self.wrong(name, f"must be a whole number, at least {least}")
        return value

    def checked(self, name: str, read: Callable[[], T]) -> T:
        try:
            return read()
        except BadRequest as error:
            raise (
                error if str(error).startswith(self.where) else BadRequest(f"{self.where}: {name}: {error}")
            ) from error

    def refuse_slips(self, known: Iterable[str]) -> None:
        """A field that is nearly a known one is refused: unread, it would change what is measured in silence."""
        names = list(known)
        for name in (name for name in self.row if name not in names):
            if near := difflib.get_close_matches(name, names, n=1, cutoff=_NEAR):
                raise self.wrong(name, f"is not known; did you mean {near[0]}?")
            self.unknown[name] += 1

    def wrong(self, name: str, what: str) -> BadRequest:
        return BadRequest(f"{self.where}: {name} {what}")


def _kind_name(value: object) -> str:
    if isinstance(value, str):
        return "text" if value.strip() else "an empty one"
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
