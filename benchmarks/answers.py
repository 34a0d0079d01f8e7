"""How good are the answers that people read? Every shared question file through `citewise eval`, and their text.

    python -m benchmarks.answers [--sets docs_real,textbook]

`own` are the questions in benchmarks/questions: written about the shared trees by readers who had not seen an answer.
Libraries are made once and kept in .bench/. The rendered answers are written to .bench/answers, one page for each set:
numbers do not tell whether a colleague would send them, so read thirty.
"""

import argparse
import json
import statistics
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.judged import DATA, KEPT, TEXTBOOK, is_there, judged_at, library_at
from benchmarks.printing import say
from benchmarks.results import RESULTS, Table, results_now, write_results
from citewise import Library
from citewise.evaluation.pipeline import evaluate
from citewise.evaluation.runs import QuestionResult, Run
from citewise.model.access import OWNER
from citewise.settings import Settings

DOCS_REAL = "docs_real"
MARKDOWN_TREES = ("pydantic", "istio", "async_book", "vite", "obsidian_tasks", "vitepress_cjk")
OWN = "own"
OWN_QUESTIONS = Path(__file__).parent / "questions"
# Where the trees are that these are about, if not in docs_real.
OTHER_TREES = {
    "docusaurus": DATA / "docs_docusaurus",
    "react_native": DATA / "docs_react_native",
    "runbooks": DATA / "runbooks" / "md",
    TEXTBOOK: DATA / TEXTBOOK / "website" / "docs",
}
SETS = (DOCS_REAL, TEXTBOOK, "api_docs", "runbooks", OWN)
FACTS = (
    "default",
    "config-key",
    "what-is",
    "numeric",
    "definition",
    "fact",
)  # kinds of questions that a line or two answer
ANSWERS = KEPT / "answers"
TITLE = "Answers: what people read"
COLUMNS = (
    *("set", "questions", "coverage", "reference recall", "first source right", "lines", "lines, facts"),
    *("answered", "unsure", "nothing", "unanswerable: near, answered", "off topic, answered", "true citations", "ms"),
    *("CPU, times a search", "first event, times a search"),
)
WARM_UP = ("What is this about?", "Where do I begin?", "How does it work?")


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of one set: one library for most, one for each tree of `docs_real`."""

    name: str
    questions: tuple[QuestionResult, ...]
    costs: tuple[float, float]  # of an `ask` in those of a search: its processor time, and the wait for its first event

    def mean(self, metric: str) -> float | None:
        values = [each.measures[metric] for each in self.questions if metric in each.measures]
        return statistics.fmean(values) if values else None

    def row(self) -> tuple[str | int | float | None, ...]:
        answerable = [each for each in self.questions if each.kind == "answerable"]
        unanswerable = [each for each in self.questions if each.kind == "unanswerable"]
        near = [each for each in unanswerable if each.group.startswith("near")]
        off = [each for each in unanswerable if each not in near]
        shown = [each for each in answerable if not each.refused]
        facts = [each for each in shown if each.group in FACTS]
        return (
            *(self.name, len(self.questions)),
            *(self.mean("coverage"), self.mean("reference_recall"), self.mean("first_source")),
            *(_median(shown), _median(facts)),
            *(_share(answerable, outcome) for outcome in ("answered", "unsure", "nothing")),
            *(_share(near, "answered"), _share(off, "answered"), self.mean("citation_accuracy")),
            statistics.median(each.answer_ms or 0.0 for each in self.questions),
            *self.costs,
        )


def _share(questions: Sequence[QuestionResult], outcome: str) -> float | None:
    return sum(each.outcome == outcome for each in questions) / len(questions) if questions else None


def _median(questions: Sequence[QuestionResult]) -> float | None:
    return statistics.median(each.answer_lines or 0 for each in questions) if questions else None


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", help="with commas; otherwise all that are there")
    asked = arguments.parse_args().sets
    names = asked.split(",") if asked else [name for name in SETS if is_there(TEXTBOOK if name == OWN else name)]
    if missing := [name for name in SETS if not asked and name not in names]:
        say(f"skipped, since the shared data is not beside the checkout: {', '.join(missing)}")
    rows = [row for name in names for row in measured(name)]
    if rows and not asked:
        table = Table("Answers to every shared question", COLUMNS, tuple(rows), note=NOTE)
        write_results(results_now("answers", tables=(table,), title=TITLE, command="make bench-answers"), RESULTS)


NOTE = (
    "Coverage: all of `must_say` and nothing of `must_not`; a question told that there is nothing covers nothing. "
    "Reference recall: stems of the reference answer, where one was given. Lines of 100 columns, median. `docs_real` "
    "as it stands: its Markdown trees, and no dialect understood; flask is reStructuredText. Follow-ups are asked in "
    "their stand-alone wording. Milliseconds: median of a whole `ask`. "
    "Times a search: medians of new questions in a warm process."
)


def measured(name: str) -> list[tuple[str | int | float | None, ...]]:
    """The rows of a set: of several trees one for each, and one for all."""
    if name == DOCS_REAL:
        asked = [_asked(tree, *_tree(tree)) for tree in MARKDOWN_TREES]
    elif name == OWN:
        files = sorted(OWN_QUESTIONS.glob("*.json"))
        asked = [_asked(f"{OWN}: {file.stem}", _own_library(file.stem), file) for file in files]
    else:
        asked = [_asked(name, library_at(name), judged_at(name))]
    costs = [statistics.fmean(each.costs[at] for each in asked) for at in (0, 1)]
    whole = Asked(name, tuple(question for each in asked for question in each.questions), (costs[0], costs[1]))
    ANSWERS.mkdir(parents=True, exist_ok=True)
    (ANSWERS / f"{name}.md").write_text("\n".join(_pages(asked)), encoding="utf-8")
    rows = [each.row() for each in (*asked, whole)] if len(asked) > 1 else [whole.row()]
    for row in rows:
        print(*(f"{value:.3f}" if isinstance(value, float) else value for value in row), sep="  ", flush=True)
    return rows


def _asked(name: str, folder: Path, judged: Path) -> Asked:
    events = evaluate(Settings(library=folder), judged, principal=OWNER)
    run = next(event for event in events if isinstance(event, Run))
    questions = [each for each in run.questions if each.kind != "selected"]
    references = _references(name)
    with_references = (
        replace(each, expected_answer=references.get(each.id, each.expected_answer)) for each in questions
    )
    return Asked(name, tuple(with_references), _costs(folder, [each.question for each in questions]))


def _costs(folder: Path, questions: Sequence[str]) -> tuple[float, float]:
    """What an `ask` takes of what a search takes, both of questions that were not asked before in their process."""
    settings = Settings(library=folder).changed(query_cache={"megabytes": 0}, query_log={"retention_days": 0})
    cpu, waits = dict[str, float](), dict[str, float]()
    for way in ("search", "ask"):
        with Library(settings=settings) as library:
            view = library.as_owner()
            for question in WARM_UP:
                view.ask(question)
            spent, waited = list[float](), list[float]()
            for question in questions:
                begun, started = time.process_time(), time.perf_counter()
                if way == "search":
                    view.search(question)
                    waited.append(time.perf_counter() - started)
                else:
                    events = view.stream(question)
                    next(events)
                    waited.append(time.perf_counter() - started)
                    deque(events, maxlen=0)
                spent.append(time.process_time() - begun)
        cpu[way], waits[way] = statistics.median(spent), statistics.median(waited)
    return cpu["ask"] / cpu["search"], waits["ask"] / waits["search"]


def _references(name: str) -> Mapping[str, str]:
    file = DATA / name / "answers.jsonl"
    rows = map(json.loads, file.read_text("utf-8").splitlines()) if file.is_file() else ()
    return {row["_id"]: row["answer"] for row in rows}


def _own_library(tree: str) -> Path:
    """The library of a tree, brought up to date."""
    if tree == TEXTBOOK:
        return library_at(TEXTBOOK)
    kept = f"tree_{tree}" if tree in OTHER_TREES else f"{DOCS_REAL}_{tree}"
    folder = KEPT / kept / "library"
    with Library(folder) as library:
        library.ingest(OTHER_TREES.get(tree, DATA / DOCS_REAL / tree))
    return folder


def _tree(name: str) -> tuple[Path, Path]:
    """The library of a documentation tree, and its questions as `citewise eval` reads them."""
    folder, file = KEPT / f"{DOCS_REAL}_{name}" / "library", KEPT / f"{DOCS_REAL}_{name}" / f"{name}.json"
    with Library(folder) as library:
        library.ingest(DATA / DOCS_REAL / name)
        view = library.as_owner()
        tree = json.loads((DATA / DOCS_REAL / "questions.json").read_text("utf-8"))
        rows = [_question(row, view.document) for row in tree["answerable"] if row["tree"] == name]
        rows += [
            {"id": row["id"], "question": row["question"], "kind": "near" if row.get("near") else "off topic"}
            for row in tree["unanswerable"]
            if row["tree"] == name
        ]
    file.write_text(json.dumps(rows), encoding="utf-8")
    return folder, file


def _question(row: Mapping[str, Any], stored: Any) -> dict[str, object]:
    same = {key: row[key] for key in ("id", "must_say", "must_not") if key in row}
    gold = [place for place in row["gold"] if stored(place["doc"]) is not None]  # not: files of included code
    asked = row.get("standalone") or row["question"]
    return {**same, "question": asked, "relevant": gold, "type": row["kind"], "answer": row["reference"]}


def _pages(asked: Iterable[Asked]) -> Iterable[str]:
    for each in asked:
        yield f"# {each.name}\n"
        for question in each.questions:
            measures = ", ".join(f"{name} {value:.2f}" for name, value in question.measures.items() if "@" not in name)
            yield f"## {question.id}: {question.question}\n"
            facts = (question.kind, question.group, str(question.outcome), f"{question.answer_lines} lines", measures)
            yield f"*{'; '.join(facts)}*\n"
            yield f"{question.answer}\n"
            if question.expected_answer:
                yield f"> expected: {question.expected_answer}\n"


if __name__ == "__main__":
    main()
