"""Judged sets -> cases: a BEIR folder, a question file, or a folder of question files (docs/evaluation.md)."""

import difflib
import json
import logging
from collections import Counter
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from citewise.errors import BadRequest
from citewise.evaluation.beir import CORPUS, QUERIES, beir_set
from citewise.evaluation.cases import Case, JudgedSet, Place, counted, read_bytes
from citewise.model.query import Query, Selection

_log = logging.getLogger(__name__)

MAX_BYTES = 50_000_000  # of a question file: some 50,000 questions
NEAR = 0.75  # similarity from which an unknown field is a typing error; 0: every field is; 1: none is


def judged_set(path: Path) -> JudgedSet:
    """The set at a path; BadRequest if there is none or it cannot be read."""
    try:
        if path.is_dir() and (path / QUERIES).is_file():
            return beir_set(path)
        files = [path] if path.is_file() else _question_files(path)
    except OSError as error:
        where = path if error.filename is None else error.filename
        reason = (error.strerror or str(error)).lower()
        raise BadRequest(f"cannot read {where}: {reason}: check the path, and that you may read it") from error
    full = path.resolve()
    cases = tuple(case for file in files for case in _read_question_file(file))
    return JudgedSet(full.stem if full.suffix == ".json" else full.name, "passage", cases)


def _question_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise BadRequest(f"there is no judged set at {folder}: name a BEIR folder, a question file or a folder of them")
    files = sorted(file for file in folder.iterdir() if file.suffix == ".json")  # glob would ignore a refusal
    if not files:
        raise BadRequest(
            f"{folder} is not a judged set: it has neither {QUERIES} (with {CORPUS} and qrels/test.tsv) "
            "nor question files (*.json)"
        )
    return files


def problem_in(error: ValidationError) -> str:
    """The first problem: its place, and what is wrong there."""
    first = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
    is_object = first["type"] in ("model_type", "dict_type", "mapping_type", "dataclass_type")
    reason = "must be a JSON object" if is_object else str(first["msg"]).removeprefix("Value error, ")
    return f"{place}: {reason}" if place else reason


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


Text = Annotated[str, AfterValidator(_not_blank)]
Line = Annotated[int, Field(ge=1, le=10**9)]


class _Row(BaseModel):
    """An object of a question file."""

    model_config = ConfigDict(strict=True, extra="allow")

    @model_validator(mode="after")
    def _refuse_typing_errors(self) -> Self:
        """A field that is nearly a known one is refused, since ignoring it would change the result."""
        for name in self.model_extra or ():
            if near := difflib.get_close_matches(name, type(self).model_fields, n=1, cutoff=NEAR):
                raise ValueError(f"{name} is unknown; did you mean {near[0]}?")
        return self


class _GoldRow(_Row):
    doc: Text
    section: Text | None = None
    grade: Line | None = None
    line_start: Line | None = None
    line_end: Line | None = None
    chunk: Text | None = None

    def place(self) -> Place:
        first, last = self.line_start, self.line_end
        lines = None if first is None or last is None else (first, last)
        if (first is None) != (last is None) or (lines is not None and lines[1] < lines[0]):
            raise BadRequest("relevant: line_start and line_end come together, in this order")
        return Place(self.doc, self.section or "", lines, self.chunk, self.grade or 1)


class _QuestionRow(_Row):
    id: Text
    question: Annotated[Text, AfterValidator(Query.checked_text)]
    relevant: Annotated[list[_GoldRow], Field(min_length=1)] | None = None
    selected_text: Text | None = None
    source_doc: Text | None = None
    source_section: Text | None = None
    answerable: bool = True
    leak_marker: Text | None = None
    type: Text | None = None
    kind: Text | None = None
    answer: Text | None = None
    must_say: list[Text] = []
    must_not: list[Text] = []
    absent_regex: object = None

    def case(self) -> Case:
        """What an entry contains decides what it tests."""
        if self.selected_text is not None and self.relevant is not None:
            raise BadRequest("relevant and selected_text exclude each other")
        if self.selected_text is not None:
            return Case(
                *(self.id, self.question, "selected", (), self.kind or self.type or "selected", self.answer),
                selection=Selection(self.selected_text, self.source_doc, self.source_section),
                is_answerable=self.answerable,
                leak_marker=self.leak_marker,
            )
        if self.relevant is not None:
            gold = tuple(row.place() for row in self.relevant)
            said = tuple(self.must_say), tuple(self.must_not)
            return Case(self.id, self.question, "answerable", gold, self.type or "", self.answer, *said)
        is_stated = self.kind is not None or self.absent_regex is not None or not self.answerable
        if not is_stated or self.kind in ("answerable", "selected"):
            raise BadRequest("relevant is missing: name the places that answer, or give a kind if nothing does")
        return Case(self.id, self.question, "unanswerable", (), self.kind or self.type or "", self.answer)


def _read_question_file(file: Path) -> tuple[Case, ...]:
    """The cases of a file: a list of entries, or an object with a list "questions"."""
    data = read_bytes(file, max_bytes=MAX_BYTES)
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"{file} is not valid JSON: {error}") from error
    entries = tree.get("questions") if isinstance(tree, dict) else tree
    if not isinstance(entries, list):
        raise BadRequest(
            f'{file} is not a question file: it must be a JSON list of questions, or an object with a list "questions"'
        )
    if isinstance(tree, dict) and {"metrics", "set"} <= tree.keys():
        raise BadRequest(f"{file} is a run, not a question file: see `citewise eval compare`")
    unknown: Counter[str] = Counter()
    cases = []
    for number, entry in enumerate(entries, start=1):
        try:
            row = _QuestionRow.model_validate(entry)
            cases.append(row.case())
        except (ValidationError, BadRequest) as error:
            id_ = entry.get("id") if isinstance(entry, dict) else None
            problem = problem_in(error) if isinstance(error, ValidationError) else error
            raise BadRequest(f"{file}, entry {id_ if isinstance(id_, str) and id_ else number}: {problem}") from error
        unknown.update(name for part in (row, *(row.relevant or ())) for name in part.model_extra or ())
    for name, times in unknown.items():
        _log.warning("%s: the field %r is unknown and not used (%s)", file, name, counted(times, "time"))
    return tuple(cases)
