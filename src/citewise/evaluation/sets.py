"""Judged sets -> cases: a BEIR folder, a question file, or a folder of question files (docs/evaluation.md)."""

import codecs
import difflib
import json
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from citewise.errors import BadData, BadRequest
from citewise.evaluation.cases import Case, CaseSet, Gold, JudgedUnit, Kind, counted
from citewise.model.chunk import Chunk
from citewise.model.ids import ChunkId
from citewise.model.query import MAX_CHARACTERS, Selection, checked_question

_log = logging.getLogger(__name__)

CORPUS, QUERIES, UNANSWERED = "corpus.jsonl", "queries.jsonl", "queries.no_page.jsonl"
MAX_BYTES = 50_000_000  # of a question file: some 50,000 questions
MAX_LINE_BYTES = 1_000_000  # of a question or a judgment of a BEIR folder
MAX_ROWS = 2_000_000
NEAR = 0.75  # similarity from which an unknown field is a typing error; 0: every field is; 1: none is
JUDGMENT = "question, document and grade, separated by tabs"

Model = TypeVar("Model", bound=BaseModel)

_GRADE = re.compile(r"(-?[0-9]{1,9})(?:\.0*)?")  # some tools write 1.0


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Cases, and the corpus that they are about if the set brings its own."""

    cases: CaseSet
    corpus: Path | None = None


def judged_set(path: Path) -> JudgedSet:
    """The set at a path; BadRequest if there is none or it cannot be read."""
    try:
        return _judged_set(path)
    except OSError as error:
        where = path if error.filename is None else error.filename
        reason = (error.strerror or str(error)).lower()
        raise BadRequest(f"cannot read {where}: {reason}: check the path, and that you may read it") from error


def _judged_set(path: Path) -> JudgedSet:
    if path.is_file():
        return JudgedSet(_case_set(path, JudgedUnit.PASSAGE, _read_question_file(path)))
    if not path.is_dir():
        raise BadRequest(f"there is no judged set at {path}: name a BEIR folder, a question file or a folder of them")
    if (path / QUERIES).is_file():
        corpus = path / CORPUS if (path / CORPUS).is_file() else None
        return JudgedSet(_from_beir(path, has_corpus=corpus is not None), corpus)
    files = sorted(file for file in path.iterdir() if file.suffix == ".json")  # glob would ignore a refusal
    if not files:
        raise BadRequest(
            f"{path} is not a judged set: it has neither {QUERIES} (with {CORPUS} and qrels/test.tsv) "
            "nor question files (*.json)"
        )
    cases = [case for file in files for case in _read_question_file(file)]
    return JudgedSet(_case_set(path, JudgedUnit.PASSAGE, cases))


def mounted(cases: CaseSet, mount: str) -> CaseSet:
    """The same set with documents below a mount."""

    def moved(case: Case) -> Case:
        return replace(case, gold=tuple(replace(gold, document=f"{mount}/{gold.document}") for gold in case.gold))

    return replace(cases, cases=tuple(map(moved, cases.cases)))


def _case_set(path: Path, unit: JudgedUnit, cases: Sequence[Case]) -> CaseSet:
    if not cases:
        raise BadRequest(f"{path} has no questions")
    repeated = [id_ for id_, count in Counter(case.id for case in cases).items() if count > 1]
    if repeated:
        raise BadRequest(f"{path}: two questions have the id {repeated[0]!r}; each needs its own")
    full = path.resolve()
    return CaseSet(full.stem if full.suffix == ".json" else full.name, unit, tuple(cases))


# Files that somebody else wrote


def read_bytes(file: Path, *, max_bytes: int) -> bytes:
    """The content of a file; BadRequest if it cannot be read or is larger than that."""
    try:
        with file.open("rb") as opened:
            data = opened.read(max_bytes + 1)
    except OSError as error:
        raise BadRequest(f"cannot read {file}: {error.strerror}") from error
    if len(data) > max_bytes:
        raise BadRequest(f"{file} is larger than {max_bytes:,} bytes")
    return data


def _read_json(file: Path, *, max_bytes: int) -> object:
    """The value in a file; BadRequest also if it is not JSON."""
    try:
        return json.loads(read_bytes(file, max_bytes=max_bytes))
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, BadRequest) else BadRequest(f"{file} is not valid JSON: {error}") from error


def _validated(model: type[Model], value: object, *, where: str) -> Model:
    """The value as a model; BadRequest names the first place that is wrong, and why."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise BadRequest(f"{where}: {problem_in(error)}") from error


def problem_in(error: ValidationError) -> str:
    """The first problem: its place, and what is wrong there."""
    first = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
    is_object = first["type"] in ("model_type", "dict_type", "mapping_type", "dataclass_type")
    reason = "must be a JSON object" if is_object else str(first["msg"]).removeprefix("Value error, ")
    return f"{place}: {reason}" if place else reason


# Question files


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


Text = Annotated[str, AfterValidator(_not_blank)]
Line = Annotated[int, Field(ge=1, le=10**9)]


class _GoldRow(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")

    doc: Text
    section: Text | None = None
    grade: Line | None = None
    line_start: Line | None = None
    line_end: Line | None = None
    chunk: Text | None = None
    heading_path: object = None

    def gold(self) -> Gold:
        chunk = None if self.chunk is None else ChunkId(self.chunk)
        return Gold(self.doc, self.grade or 1, self.section, self.line_start, self.line_end, chunk)


class _QuestionRow(BaseModel):
    """An entry of a question file. Fields of type object are for people and not used."""

    model_config = ConfigDict(strict=True, extra="allow")

    id: Text
    question: Annotated[Text, AfterValidator(checked_question)]
    relevant: Annotated[list[_GoldRow], Field(min_length=1)] | None = None
    selected_text: Text | None = None
    source_doc: Text | None = None
    source_section: Text | None = None
    answerable: bool = True
    leak_marker: Text | None = None
    type: Text | None = None
    kind: Text | None = None
    answer: Text | None = None
    absent_regex: object = None
    note: object = None
    filters: object = None
    source_heading_path: object = None
    leak_answer: object = None
    answered_elsewhere: object = None


def _read_question_file(file: Path) -> tuple[Case, ...]:
    """The cases of a file: a list of entries, or an object with a list "questions"."""
    tree = _read_json(file, max_bytes=MAX_BYTES)
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
        id_ = entry.get("id") if isinstance(entry, dict) else None
        where = f"{file}, entry {id_ if isinstance(id_, str) and id_ else number}"
        row = _validated(_QuestionRow, entry, where=where)
        for part, place in ((row, where), *((gold, f"{where}, relevant") for gold in row.relevant or ())):
            unknown.update(_unknown_fields(part, place))
        try:
            cases.append(_case(row))
        except BadRequest as error:
            raise BadRequest(f"{where}: {error}") from error
    for name, times in unknown.items():
        _log.warning("%s: the field %r is unknown and not used (%s)", file, name, counted(times, "time"))
    return tuple(cases)


def _unknown_fields(row: BaseModel, where: str) -> list[str]:
    """Unused fields; one that is nearly a known field is refused, since ignoring it would change the result."""
    for name in row.model_extra or ():
        if near := difflib.get_close_matches(name, type(row).model_fields, n=1, cutoff=NEAR):
            raise BadRequest(f"{where}: {name} is unknown; did you mean {near[0]}?")
    return list(row.model_extra or ())


def _case(row: _QuestionRow) -> Case:
    """What an entry contains decides what it tests."""
    for place in row.relevant or ():
        first, last = place.line_start, place.line_end
        if (first is None) != (last is None) or (first is not None and last is not None and last < first):
            raise BadRequest("relevant: line_start and line_end come together, in this order")
    if row.selected_text is not None and row.relevant is not None:
        raise BadRequest("relevant and selected_text exclude each other")
    if row.selected_text is not None:
        selection = Selection(row.selected_text, row.source_doc, row.source_section)
        group = row.kind or row.type or "selected"
        return Case(
            *(row.id, row.question, Kind.SELECTED, (), group, row.answer, selection, row.answerable, row.leak_marker)
        )
    if row.relevant is not None:
        gold = tuple(each.gold() for each in row.relevant)
        return Case(row.id, row.question, Kind.ANSWERABLE, gold, row.type or "", row.answer)
    if row.kind in (Kind.ANSWERABLE, Kind.SELECTED):
        raise BadRequest(f"kind is {row.kind!r}, but there is neither relevant nor selected_text")
    if row.absent_regex is None and row.kind is None and row.answerable:
        raise BadRequest("relevant is missing: name the places that answer, or give a kind if nothing does")
    return Case(row.id, row.question, Kind.UNANSWERABLE, (), row.kind or row.type or "", row.answer)


# BEIR folders


class BeirRow(BaseModel):
    """A line of corpus.jsonl or queries.jsonl."""

    model_config = ConfigDict(strict=True)

    id: Annotated[
        str,
        Field(alias="_id", min_length=1),
        BeforeValidator(lambda value: str(value) if type(value) is int else value),
    ]
    text: str
    title: str | None = None

    @classmethod
    def read(cls, line: bytes) -> "BeirRow":
        """BadData says what is wrong; half a character of a pair becomes a question mark."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadData("not a line of JSON") from error
        if isinstance(row, dict):
            texts = {key: value.encode("utf-8", "replace").decode() for key, value in row.items() if type(value) is str}
            row = {**row, **texts}
        try:
            return _validated(cls, row, where="")
        except BadRequest as error:
            raise BadData(str(error).removeprefix(": ")) from error


def path_of(id_: str) -> str:
    """The path of the document with this id: valid for any id, and different for each."""
    return quote(id_, safe="") + ".md"


def _from_beir(folder: Path, *, has_corpus: bool) -> CaseSet:
    """Without a corpus, judgments name documents by their path in the library."""
    document: Callable[[str], str] = path_of if has_corpus else str
    judgments = _relevant(_qrels(folder))
    texts = dict(_questions(folder / QUERIES))
    if missing := [id_ for id_ in judgments if id_ not in texts]:
        what = counted(len(missing), "judged question has no text", "judged questions have no text")
        _log.warning("%s in %s, such as %r", what, QUERIES, missing[0])
    cases = [
        Case(id_, texts[id_], Kind.ANSWERABLE, gold=tuple(Gold(document(doc), grade) for doc, grade in judged.items()))
        for id_, judged in judgments.items()
        if id_ in texts
    ]
    if (folder / UNANSWERED).is_file():
        cases += [Case(id_, text, Kind.UNANSWERABLE) for id_, text in _questions(folder / UNANSWERED)]
    return _case_set(folder, JudgedUnit.DOCUMENT, cases)


def _qrels(folder: Path) -> Path:
    """qrels/test.tsv; if it is absent, the only file there."""
    found = sorted((folder / "qrels").glob("*.tsv"))
    test = folder / "qrels" / "test.tsv"
    if test in found or len(found) == 1:
        return test if test in found else found[0]
    if not found:
        raise BadRequest(f"{folder} has no judgments: qrels/test.tsv is missing")
    names = ", ".join(file.name for file in found)
    raise BadRequest(f"{folder / 'qrels'} has {names} and no test.tsv: name the one to use test.tsv")


def _relevant(file: Path) -> Mapping[str, Mapping[str, int]]:
    """By question, then by document: the grades above 0. Questions without any are left out with a warning."""
    judgments = _judgments(file)
    if not judgments:
        raise BadData(f"{file} has no judgments: write one per line, {JUDGMENT}")
    relevant = {id_: {doc: grade for doc, grade in grades.items() if grade > 0} for id_, grades in judgments.items()}
    useless = [id_ for id_, grades in relevant.items() if not grades]
    if len(useless) == len(relevant):
        raise BadData(f"{file} has no grade above 0: no document answers any question")
    if useless:
        what = counted(len(useless), "question without a grade above 0 is", "questions without a grade above 0 are")
        _log.warning("%s: %s left out, such as %r", file, what, useless[0])
    return {id_: grades for id_, grades in relevant.items() if grades}


def _judgments(file: Path) -> Mapping[str, Mapping[str, int]]:
    judgments: dict[str, dict[str, int]] = {}
    for number, line in _lines(file):
        parts = line.rstrip("\r\n").split("\t")
        if number == 1 and parts[-1].strip() == "score":
            continue
        if len(parts) == 4:  # the TREC format: question, 0, document, grade
            del parts[1]
        match = _GRADE.fullmatch(parts[-1].strip())
        if len(parts) != 3 or match is None:
            raise BadRequest(f"{file}, line {number}: must be {JUDGMENT}; the grade is a whole number")
        question, document, grade = parts[0], parts[1], int(match[1])
        before = judgments.setdefault(question, {}).setdefault(document, grade)
        if before != grade:
            raise BadData(
                f"{file}, line {number}: document {document!r} has grade {grade} for question {question!r}, and "
                f"{before} on a line above: keep one of them"
            )
    return judgments


def _questions(file: Path) -> Iterator[tuple[str, str]]:
    """Id and text of each question that can be asked, with a warning for the others."""
    left_out, changed = [], []
    lines: dict[str, int] = {}  # by id
    for number, line in _lines(file):
        try:
            row = BeirRow.read(line.encode())
        except BadData as error:
            raise BadRequest(f"{file}, line {number}: {error}") from error
        if lines.setdefault(row.id, number) != number:
            raise BadData(f"{file}, line {number}: the question {row.id!r} is already on line {lines[row.id]}")
        text = _askable(row.text)
        if not text:
            left_out.append(row.id)
            continue
        if text != row.text.strip():
            changed.append(row.id)
        yield row.id, text
    if left_out:
        what = counted(len(left_out), "question without text is", "questions without text are")
        _log.warning("%s: %s left out, such as %r", file, what, left_out[0])
    if changed:
        what = counted(len(changed), "question is", "questions are")
        how = f"cut to {MAX_CHARACTERS:,} characters, or stripped of control characters"
        _log.warning("%s: %s %s, such as %r", file, what, how, changed[0])


def _askable(text: str) -> str:
    """The question without control characters and cut to what may be asked."""
    clean = "".join(" " if unicodedata.category(char) in ("Cc", "Cs") else char for char in text).strip()
    return clean if len(clean) <= MAX_CHARACTERS else clean[:MAX_CHARACTERS].rsplit(" ", 1)[0]


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not empty, with their numbers."""
    number = 0
    try:
        with file.open("rb") as opened:
            while line := opened.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES or number > MAX_ROWS:
                    raise BadRequest(f"{file}, line {number}: the line is too long, or there are too many lines")
                line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if line.strip():
                    yield number, line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(f"{file}, line {number}: not valid UTF-8") from error


# Whether the expected places exist


@dataclass(frozen=True, slots=True)
class _MissingGold:
    """An expected place that does not exist, with the names that do."""

    case: str
    gold: Gold
    problem: str
    name: str = ""
    known: Sequence[str] = ()

    def __str__(self) -> str:
        cutoff = 0.0 if len(self.known) < 2_000 else 0.3  # 0 compares every name letter by letter
        near = difflib.get_close_matches(self.name, self.known, n=1, cutoff=cutoff) if self.name else None
        return f"{self.case}: {self.problem}" + (f"; nearest: {near[0]}" if near else "")


def missing_gold(
    cases: Iterable[Case], paths: Collection[str], chunks: Callable[[str], Sequence[Chunk]]
) -> list[_MissingGold]:
    """Every expected place that does not exist among these documents."""
    listed = sorted(paths)
    missing = []
    for case in cases:
        for gold in case.gold:
            if gold.document not in paths:
                problem = f"there is no document {gold.document}"
                missing.append(_MissingGold(case.id, gold, problem, gold.document, listed))
            elif gold.chunk or gold.section or gold.first_line:
                missing += _missing_in_document(case.id, gold, chunks(gold.document))
    return missing


def _missing_in_document(case: str, gold: Gold, chunks: Sequence[Chunk]) -> Iterator[_MissingGold]:
    ids = [str(chunk.id) for chunk in chunks]
    sections = list(dict.fromkeys(chunk.piece.section for chunk in chunks))
    last = max((chunk.piece.location.last for chunk in chunks), default=0)
    if gold.chunk is not None and gold.chunk not in ids:
        yield _MissingGold(case, gold, f"{gold.document} has no chunk {gold.chunk}", gold.chunk, ids)
    elif gold.section is not None and gold.section not in sections:
        yield _MissingGold(case, gold, f"{gold.document} has no section {gold.section!r}", gold.section, sections)
    elif gold.first_line is not None and gold.first_line > last:
        yield _MissingGold(case, gold, f"{gold.document} has no line {gold.first_line}: its last one is {last}")
    elif gold.first_line is not None and not any(
        place.first <= (gold.last_line or 0) and place.last >= gold.first_line
        for place in (chunk.piece.location for chunk in chunks)
    ):
        yield _MissingGold(case, gold, f"no passage of {gold.document} has lines {gold.first_line} to {gold.last_line}")
