"""A judged set of ten documents, small enough that its numbers can be worked out on paper.

Only the ranking by words counts (`WORDS_ALONE`), all documents of a flavor are equally long, and a question is one
word: so the more often a document says it, the earlier it comes.
"""

import json
from collections.abc import Mapping
from pathlib import Path

WORDS_ALONE: Mapping[str, object] = {"fusion": "rrf", "weights": {"words": 1.0}, "boosts": ()}

# Each is filled up with words of its own to twelve, so that length plays no part and no two say the same.
SAID: Mapping[str, tuple[str, ...]] = {
    "d1": ("kelp",) * 3,
    "d2": ("kelp",) * 2,
    "d3": ("kelp",),
    "d4": ("anchor",) * 3,
    "d5": ("anchor",),
    "d6": ("lantern",) * 2,
    "d7": ("lantern",),
    "d8": (),
    "d9": (),
    "d/10 \u00e9?": (),
}
LENGTH = 12

QUESTIONS = {"q1": "kelp", "q2": "anchor", "q3": "lantern"}
JUDGED = [("q1", "d2", 2), ("q1", "d3", 1), ("q1", "d9", 0), ("q2", "d4", 1), ("q3", "d7", 1), ("q3", "ghost", 1)]


def body(name: str, words: tuple[str, ...]) -> str:
    letters = "".join(letter for letter in name if letter.isalnum())
    return " ".join([*words, *(f"x{letters}{at}" for at in range(LENGTH - len(words)))]) + "."


def beir_folder(folder: Path) -> Path:
    """The set as a BEIR folder."""
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": id_, "title": "Page", "text": body(id_, words)} for id_, words in SAID.items()]
    _write_rows(folder / "corpus.jsonl", documents)
    _write_rows(folder / "queries.jsonl", [{"_id": id_, "text": text} for id_, text in QUESTIONS.items()])
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in JUDGED)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder


def pages() -> Mapping[str, str]:
    """The same words as Markdown files of two sections each, for question files."""
    return {
        "kelp.md": f"# Kelp\n\n## Much\n\n{body('d1', SAID['d1'])}\n\n## Some\n\n{body('d2', SAID['d2'])}\n",
        "little.md": f"# Little\n\n## Bit\n\n{body('d3', SAID['d3'])}\n",
        "anchor.md": f"# Anchor\n\n## Much\n\n{body('d4', SAID['d4'])}\n\n## Bit\n\n{body('d5', SAID['d5'])}\n",
        "lamp.md": f"# Lamp\n\n## Some\n\n{body('d6', SAID['d6'])}\n\n## Bit\n\n{body('d7', SAID['d7'])}\n",
        "rest.md": f"# Rest\n\n## Eight\n\n{body('d8', ())}\n\n## Ten\n\n{body('d10', ())}\n",
    }


def answerable() -> list[dict[str, object]]:
    return [
        {
            "id": "k",
            "question": "kelp",
            "type": "plain",
            "relevant": [{"doc": "kelp.md", "section": "Some", "grade": 2}, {"doc": "little.md", "grade": 1}],
        },
        {
            "id": "a",
            "question": "anchor",
            "type": "plain",
            "relevant": [{"doc": "anchor.md", "line_start": 3, "line_end": 5, "grade": 1}],
        },
        {
            "id": "l",
            "question": "lantern",
            "type": "hard",
            "relevant": [{"doc": "lamp.md", "section": "Bit", "grade": 2}],
        },
    ]


def write_questions(file: Path, questions: object) -> Path:
    file.write_text(json.dumps(questions), "utf-8")
    return file


def _write_rows(file: Path, rows: list[dict[str, str]]) -> None:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
