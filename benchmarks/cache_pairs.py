"""Pairs of questions for the cache: the same in other words, and others in nearly the same words.

Made from the questions of the judged sets by rules that know nothing of `retrieve/sameness.py`; the real pairs are
questions of one set as they stand there.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.judged import DATA, TEXTBOOK, judged_at
from citewise.evaluation.judged_sets import judged_set
from citewise.text.analysis import STOP_WORDS

SETS = (TEXTBOOK, "api_docs", "cosqa_dev", "scifact", "cranfield")
MAX_QUESTIONS = 200  # of a set that others are made of; more would only take longer

_WORD = re.compile(r"[^\W\d_]{4,}")
_NUMBER = re.compile(r"\d+")
_CODE = re.compile(r"\b(?:\w+_\w+|[a-z]+[A-Z]\w*|[A-Za-z]+\d\w*|\w+\.\w+|[A-Z]{2,})\b")
_HOW = re.compile(r"^how (?:do i|to|can i) ", re.IGNORECASE)
_ASKS = re.compile(r"^(?:what|how|where|when|why|which|who)\b", re.IGNORECASE)
_OPPOSITES = re.findall(
    r"(\w+)/(\w+)",
    "enable/disable increase/decrease increases/reduces before/after max/min maximum/minimum first/last high/low "
    "higher/lower more/less larger/smaller open/close opened/closed start/stop add/remove with/without always/never "
    "all/no best/worst allow/forbid input/output read/write true/false up/down left/right import/export "
    "encode/decode encrypt/decrypt upload/download lock/unlock include/exclude positive/negative even/odd "
    "better/worse causes/prevents promotes/inhibits activates/suppresses supersonic/subsonic laminar/turbulent "
    "internal/external upper/lower inside/outside from/to early/late fast/slow empty/full",
)
_LONG_AND_SHORT = (
    ("what is", "what's"),
    ("how is", "how's"),
    ("where is", "where's"),
    ("does not", "doesn't"),
    ("do not", "don't"),
    ("is not", "isn't"),
    ("are not", "aren't"),
    ("cannot", "can't"),
)


@dataclass(frozen=True, slots=True)
class Pair:
    kind: str
    one: str
    other: str


def questions_of(name: str, data: Path = DATA) -> list[str]:
    """A set's questions, each once."""
    asked = [case.question for case in judged_set(judged_at(name, data)).cases.cases]
    if name == TEXTBOOK:
        asked += [one["question"] for one in _read(data / name / "author_questions.json")["queries"]]
    return list(dict.fromkeys(text.strip() for text in asked if text.strip()))


def some_of(questions: Sequence[str]) -> list[str]:
    """A sample, where there are many."""
    return Random("some").sample(questions, min(len(questions), MAX_QUESTIONS))


def rewordings(questions: Sequence[str]) -> Iterator[Pair]:
    """Each question beside itself in other manners."""
    for question in questions:
        for kind, ways in _WAYS.items():
            for other in ways(question):
                if other != question:
                    yield Pair(kind, question, other)


def near_misses(questions: Sequence[str]) -> Iterator[Pair]:
    """Each question beside one that asks for something else with almost the same words."""
    draw = Random("near")
    names = sorted({name for question in questions for name in _CODE.findall(question)})
    for question in questions:
        for kind, changed in _CHANGES.items():
            other = changed(question, draw)
            if other is not None and other != question:
                yield Pair(kind, question, other)
        other = _other_name(question, names, draw)
        if other is not None:
            yield Pair("another identifier", question, other)


def _case(question: str) -> Iterator[str]:
    yield question.lower()
    yield question[0].swapcase() + question[1:]


def _marks(question: str) -> Iterator[str]:
    bare = question.rstrip(" ?.!")
    yield bare
    yield f"{bare}?"
    yield bare.replace(",", "")


def _politeness(question: str) -> Iterator[str]:
    if _ASKS.match(question):
        begun = question[0].lower() + question[1:]
        yield f"Please tell me {begun}"
        yield f"Could you please tell me {begun}"
        yield f"Hello, I would like to know {begun}"
        yield f"{question.rstrip(' ?.')}, please?"


def _contraction(question: str) -> Iterator[str]:
    for long, short in _LONG_AND_SHORT:
        for one, other in ((long, short), (short, long)):
            found = re.search(rf"\b{one}\b", question, re.IGNORECASE)
            if found:
                yield question[: found.start()] + other + question[found.end() :]


def _how(question: str) -> Iterator[str]:
    found = _HOW.match(question)
    if found:
        for way in ("How do I", "how to", "How can I", "What's the way to", "How would I"):
            yield f"{way} {question[found.end() :]}"


def _number(question: str, draw: Random) -> str | None:
    found = list(_NUMBER.finditer(question))
    if not found:
        return None
    chosen = draw.choice(found)
    return question[: chosen.start()] + str(int(chosen[0]) + draw.randint(1, 9)) + question[chosen.end() :]


def _negation(question: str, draw: Random) -> str | None:
    words = question.split()
    if len(words) < 3:
        return None
    at = draw.randint(2, len(words) - 1)
    return " ".join([*words[:at], draw.choice(("not", "never", "without", "no")), *words[at:]])


def _opposite(question: str, draw: Random) -> str | None:
    words = question.split()
    known = {one: other for pair in _OPPOSITES for one, other in (pair, pair[::-1])}
    found = [at for at, word in enumerate(words) if word.lower() in known]
    if not found:
        return None
    at = draw.choice(found)
    return " ".join([*words[:at], known[words[at].lower()], *words[at + 1 :]])


def _swap(question: str, draw: Random) -> str | None:
    """Two words that mean something change places."""
    found = [match for match in _WORD.finditer(question) if match[0].lower() not in STOP_WORDS]
    if len({match[0].lower() for match in found}) < 2:
        return None
    one, other = sorted(draw.sample(found, 2), key=lambda match: match.start())
    if one[0].lower() == other[0].lower():
        return None
    return question[: one.start()] + other[0] + question[one.end() : other.start()] + one[0] + question[other.end() :]


def _fewer(question: str, draw: Random) -> str | None:
    """A word that means something is left out."""
    found = [match for match in _WORD.finditer(question) if match[0].lower() not in STOP_WORDS]
    if len(found) < 3:
        return None
    chosen = draw.choice(found)
    return " ".join((question[: chosen.start()] + question[chosen.end() :]).split())


def _other_name(question: str, names: Sequence[str], draw: Random) -> str | None:
    found = list(_CODE.finditer(question))
    others = [name for name in names if name not in question]
    if not found or not others:
        return None
    chosen = draw.choice(found)
    return question[: chosen.start()] + draw.choice(others) + question[chosen.end() :]


_WAYS: Mapping[str, Callable[[str], Iterator[str]]] = {
    "case": _case,
    "punctuation": _marks,
    "politeness": _politeness,
    "contractions": _contraction,
    "how do I, how to, how can I": _how,
}
_CHANGES: Mapping[str, Callable[[str, Random], str | None]] = {
    "another number": _number,
    "a negation more": _negation,
    "the opposite": _opposite,
    "two words swapped": _swap,
    "a word fewer": _fewer,
}


def _read(file: Path) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = json.loads(file.read_text("utf-8"))
    return found
