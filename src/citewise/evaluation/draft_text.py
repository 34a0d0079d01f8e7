"""Plain words for drafting: how a library spells, what a question is about, and whether anybody would ask it."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from citewise.evaluation.draft_words import POINTERS, SECRETIVE, SMALL
from citewise.text.secrets import masked

MIN_WORDS, MAX_WORDS = 2, 18  # of a question: shorter names too much, longer is no question that people type
_WORD = re.compile(r"[^\W_](?:[\w'\u2019/+.-]*[^\W_])?")
ODD = re.compile(r"[\u0370-\u03ff\u2070-\u209f<>\[\]{}|$\\*_=@#]|https?:|www\.|\d{5,}|\S{30,}")
_YOU = {
    "you": "I",
    "you're": "I'm",
    "you've": "I've",
    "you'll": "I'll",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
}
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|</?[A-Za-z][^<>]*>")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How a library writes: words as they stand inside sentences, and in how many sections each is."""

    spellings: Counter[str] = field(default_factory=Counter)
    sections: Counter[str] = field(default_factory=Counter)  # by word in small letters

    def spelled(self, word: str) -> str:
        """A heading's word as a sentence has it: capitals that are only a title's go."""
        if "-" in word:
            return "-".join(map(self.spelled, word.split("-")))
        small = word[:1].lower() + word[1:]
        if word == small or any(map(str.isupper, word[1:])) or any(map(str.isdigit, word)):
            return word
        return word if self.spellings[word] > self.spellings[small] else small

    def running(self, phrase: str) -> str:
        return " ".join(map(self.spelled, phrase.split()))


def plain(sentence: str) -> str:
    """A sentence without its markup."""
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", sentence)).split())


def words_in(text: str) -> list[str]:
    return _WORD.findall(text)


def content(text: str) -> frozenset[str]:
    """What a question is about, to compare it by: its words that carry something, without their endings."""
    return frozenset(_stem(word) for word in map(str.lower, words_in(text)) if word not in SMALL)


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def accepted(question: str | None) -> str | None:
    """The question, as the asker would say it; None if nobody would, or if it might give something away."""
    if question is None:
        return None
    said = " ".join(_YOU.get(word, word) for word in question.split())
    words = [word.lower() for word in words_in(said)]
    is_clear = MIN_WORDS <= len(words) <= MAX_WORDS and not POINTERS & set(words) and bool(content(said))
    if not is_clear or ODD.search(said) or said.count("(") != said.count(")") or is_secretive(said):
        return None
    return said


def vocabulary_of(texts: Iterable[str]) -> Vocabulary:
    """How these sections write; each sentence on a line of its own."""
    spellings: Counter[str] = Counter()
    sections: Counter[str] = Counter()
    for text in texts:
        words = words_in(text)
        spellings.update(re.findall(r"(?<=[a-z,] )[^\W_][\w-]*", text))
        sections.update({word.lower() for word in words})
    return Vocabulary(spellings, sections)


def is_secretive(text: str) -> bool:
    """Whether a text holds a credential, held one that was masked, or speaks of one."""
    return bool(SECRETIVE & set(map(str.lower, words_in(text)))) or bool(masked(text).counts)
