"""A path -> the cases of a judged set: a BEIR folder, a question file, or a folder of question files."""

import codecs
import json
import logging
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from citewise.adapters.folder.source import plain_reason
from citewise.errors import BadData, BadRequest
from citewise.evaluation.beir import path_of
from citewise.evaluation.cases import Case, CaseSet, Gold, Kind, Unit
from citewise.evaluation.question_files import read_question_file
from citewise.evaluation.summary import counted
from citewise.model.query import MAX_CHARACTERS

_log = logging.getLogger(__name__)

CORPUS, QUERIES, UNANSWERED = "corpus.jsonl", "queries.jsonl", "queries.no_page.jsonl"
MAX_LINE_BYTES = 1_000_000  # of a question or a judgment
MAX_ROWS = 2_000_000
JUDGMENT = "question, document and grade, with tabs between"

_GRADE = re.compile(r"(-?[0-9]{1,9})(?:\.0*)?")  # some tools write 1.0


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Cases, and the corpus they are about where the set brings its own."""

    cases: CaseSet
    corpus: Path | None = None


def judged_set(path: Path) -> JudgedSet:
    """The set at a path; BadRequest if there is none, with what one looks like, or if it cannot be looked at."""
    try:
        return _found(path)
    except OSError as error:
        where = path if error.filename is None else error.filename
        raise BadRequest(
            f"cannot read {where}: {plain_reason(error)}: check the path, and that you may read it"
        ) from error


def _found(path: Path) -> JudgedSet:
    if path.is_file():
        return JudgedSet(_of_question_files(path, [path]))
    if not path.is_dir():
        raise BadRequest(f"there is no judged set at {path}: name a BEIR folder, a question file or a folder of them")
    if (path / QUERIES).is_file():
        corpus = path / CORPUS
        return JudgedSet(_of_beir(path, has_corpus=corpus.is_file()), corpus if corpus.is_file() else None)
    files = sorted(
        file for file in path.iterdir() if file.suffix == ".json"
    )  # glob would keep silent if it may not look
    if not files:
        raise BadRequest(
            f"{path} is no judged set: it holds neither {QUERIES} (with {CORPUS} and qrels/test.tsv) "
            "nor question files (*.json)"
        )
    return JudgedSet(_of_question_files(path, files))


def mounted(cases: CaseSet, mount: str) -> CaseSet:
    """The same set, whose documents stand under a mount."""

    def moved(gold: Gold) -> Gold:
        return replace(gold, document=f"{mount}/{gold.document}")

    return replace(
        cases, cases=tuple(replace(case, gold=tuple(moved(one) for one in case.gold)) for case in cases.cases)
    )


def _of_question_files(path: Path, files: list[Path]) -> CaseSet:
    read = [read_question_file(file) for file in files]
    cases = tuple(case for one in read for case in one)
    _refuse_twins(path, cases)
    return CaseSet(name_of(path), Unit.PASSAGE, cases)


def _of_beir(folder: Path, *, has_corpus: bool) -> CaseSet:
    """Without a corpus, judgments name documents by their path in the library."""
    document: Callable[[str], str] = path_of if has_corpus else str
    judgments = _relevant(_qrels(folder))
    texts = dict(_questions(folder / QUERIES))
    if missing := [id_ for id_ in judgments if id_ not in texts]:
        said = counted(len(missing), "judged question has no text", "judged questions have no text")
        _log.warning("%s in %s, such as %r", said, QUERIES, missing[0])
    cases = [
        Case(id_, texts[id_], Kind.ANSWERABLE, gold=tuple(Gold(document(doc), grade) for doc, grade in judged.items()))
        for id_, judged in judgments.items()
        if id_ in texts
    ]
    if (folder / UNANSWERED).is_file():
        cases += [Case(id_, text, Kind.UNANSWERABLE) for id_, text in _questions(folder / UNANSWERED)]
    _refuse_twins(folder, cases)
    return CaseSet(name_of(folder), Unit.DOCUMENT, tuple(cases))


def name_of(path: Path) -> str:
    """What a set is called: its folder's or its file's name."""
    full = path.resolve()
    return full.stem if full.suffix == ".json" else full.name


def _refuse_twins(path: Path, cases: "tuple[Case, ...] | list[Case]") -> None:
    if not cases:
        raise BadRequest(f"{path} holds no question")
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise BadRequest(f"{path}: two questions have the id {case.id!r}; each needs one of its own")
        seen.add(case.id)


def _qrels(folder: Path) -> Path:
    """test.tsv; where it is absent, the only file there is."""
    found = sorted((folder / "qrels").glob("*.tsv"))
    test = folder / "qrels" / "test.tsv"
    if test in found or len(found) == 1:
        return test if test in found else found[0]
    if not found:
        raise BadRequest(f"{folder} has no judgments: qrels/test.tsv is missing")
    names = ", ".join(file.name for file in found)
    raise BadRequest(f"{folder / 'qrels'} holds {names} and no test.tsv: name the one to use test.tsv")


def _relevant(file: Path) -> Mapping[str, Mapping[str, int]]:
    """By question, then by document: the grades above 0, as trec_eval takes them. Questions without any are left
    out with a word: whatever a search finds for them, it would be worth nothing."""
    judgments = _judgments(file)
    if not judgments:
        raise BadData(f"{file} holds no judgment: write a line for each, {JUDGMENT}")
    relevant = {id_: {doc: grade for doc, grade in all_.items() if grade > 0} for id_, all_ in judgments.items()}
    useless = [id_ for id_, graded in relevant.items() if not graded]
    if len(useless) == len(relevant):
        raise BadData(f"{file} holds no grade above 0: nothing in it says which document answers a question")
    if useless:
        said = counted(len(useless), "question without a grade above 0 is", "questions without a grade above 0 are")
        _log.warning("%s: %s left out, such as %r", file, said, useless[0])
    return {id_: graded for id_, graded in relevant.items() if graded}


def _judgments(file: Path) -> Mapping[str, Mapping[str, int]]:
    judgments: dict[str, dict[str, int]] = {}
    for number, line in _lines(file):
        parts = line.rstrip("\r\n").split("\t")
        if number == 1 and parts[-1].strip() == "score":
            continue
        if len(parts) == 4:  # as TREC writes them: question, 0, document, grade
            del parts[1]
        if len(parts) != 3:
            raise BadRequest(f"{file}, line {number}: must be {JUDGMENT}")
        question, document, _ = parts
        grade = _grade(file, number, parts[2])
        before = judgments.setdefault(question, {}).setdefault(document, grade)
        if before != grade:
            raise BadData(
                f"{file}, line {number}: document {document!r} has grade {grade} for question {question!r}, and had "
                f"{before} on a line above: keep one of them"
            )
    return judgments


def _grade(file: Path, number: int, text: str) -> int:
    found = _GRADE.fullmatch(text.strip())
    if found is None:
        raise BadRequest(
            f"{file}, line {number}: must be {JUDGMENT}; the grade is {text.strip()!r} and must be a whole number: "
            "0 for no answer, 1 or more for one"
        )
    return int(found[1])


def _questions(file: Path) -> Iterator[tuple[str, str]]:
    """Id and text of each question that can be asked; the others are told of."""
    left_out, changed = [], []
    lines: dict[str, int] = {}  # by id
    for number, line in _lines(file):
        id_, text = _question(file, number, line)
        if lines.setdefault(id_, number) != number:
            raise BadData(
                f"{file}, line {number}: the question {id_!r} stands on line {lines[id_]} already; "
                "give each an _id of its own"
            )
        asked = askable(text)
        if not asked:
            left_out.append(id_)
            continue
        if asked != text.strip():
            changed.append(id_)
        yield id_, asked
    if left_out:
        said = counted(len(left_out), "question without text is", "questions without text are")
        _log.warning("%s: %s left out, such as %r", file, said, left_out[0])
    if changed:
        said = counted(len(changed), "question is", "questions are")
        what = f"cut to {MAX_CHARACTERS:,} characters, or freed of control characters"
        _log.warning("%s: %s %s, such as %r", file, said, what, changed[0])


def _question(file: Path, number: int, line: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"{file}, line {number}: not a line of JSON") from error
    id_, text = (row.get("_id"), row.get("text")) if isinstance(row, dict) else (None, None)
    if isinstance(id_, int) and not isinstance(id_, bool):
        id_ = str(id_)
    if not isinstance(id_, str) or not isinstance(text, str):
        raise BadRequest(f'{file}, line {number}: must be an object with the texts "_id" and "text"')
    return id_, text


def askable(text: str) -> str:
    """The question as it can be put: foreign sets hold control characters, and whole pages as questions."""
    clean = "".join(" " if unicodedata.category(one) in ("Cc", "Cs") else one for one in text).strip()
    return clean if len(clean) <= MAX_CHARACTERS else clean[:MAX_CHARACTERS].rsplit(" ", 1)[0]


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; empty ones are passed over."""
    try:
        with file.open("rb") as opened:
            number = 0
            while line := opened.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES or number > MAX_ROWS:
                    raise BadRequest(f"{file}, line {number}: too long, or one too many to be a set of questions")
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if line.strip():
                    yield number, line.decode("utf-8")
    except OSError as error:
        raise BadRequest(f"cannot read {file}: {plain_reason(error)}: check that you may read it") from error
    except UnicodeDecodeError as error:
        raise BadRequest(f"{file}, line {number}: not valid UTF-8") from error
