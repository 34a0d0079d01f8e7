"""Sentences -> questions that they answer, as a person might ask them; what no rule fits is left out."""

import re
from itertools import pairwise

from citewise.evaluation.draft_text import ODD, Vocabulary, accepted, plain, words_in
from citewise.evaluation.draft_words import (
    ARTICLES,
    JOINING,
    LABELS,
    MAYBE_VERBS,
    NO_CONDITION,
    NO_TERMS,
    POINTERS,
    PRAISE,
    QUANTITIES,
    SMALL,
    VERBS,
)

MIN_KEYWORDS, MAX_KEYWORDS = 5, 8
LEFT_OUT = 2  # of a sentence's rarest words: with them, the sentence would only be looked up
MIN_SENTENCE, MAX_SENTENCE = 7, 40  # words of a sentence worth asking about

_TERM = r"((?:(?:the|an?) )?[^\W_][^\s,;:()]*(?: [^\s,;:()]+){0,4}?)"
DEFINITION = "What {2} {1}?"
_STATEMENTS = (
    (re.compile(r"If ([^,:;]+), (?:then )?(.+)"), "if"),
    (re.compile(r"(?:When|Whenever) ([^,:;]+), (.+)"), "when"),
    (re.compile(r"(?:In order )?[Tt]o ([^,:;]+), (.+)"), "How do I {1}?"),
    (re.compile(rf"{_TERM} stands for (.+)", re.I), "What does {1} stand for?"),
    (re.compile(rf"{_TERM} refers to (.+)", re.I), "What does {1} refer to?"),
    (re.compile(rf"{_TERM} means (?:that|the|an?) (.+)", re.I), "What does {1} mean?"),
    (re.compile(rf"{_TERM} (is|are) (?:\w+ )?used (?:to|for) (.+)", re.I), "What {2} {1} used for?"),
    (re.compile(rf"{_TERM} (is|are) responsible for (.+)", re.I), "What {2} {1} responsible for?"),
    (re.compile(rf"{_TERM} (is|are) (?:an?|the|any|one of) (.+)", re.I), DEFINITION),
    (re.compile(rf"{_TERM} consists of (.+)", re.I), "What does {1} consist of?"),
    (re.compile(rf"{_TERM} contains (.+)", re.I), "What does {1} contain?"),
    (re.compile(rf"{_TERM} includes (.+)", re.I), "What does {1} include?"),
    (re.compile(rf"{_TERM} requires (.+)", re.I), "What does {1} require?"),
    (re.compile(rf"{_TERM} depends on (.+)", re.I), "What does {1} depend on?"),
    (re.compile(rf"{_TERM} takes (?:about |up to |at least )?[\w.-]+ (?:seconds|minutes|hours|days|weeks)\b(.*)", re.I),
     "How long does {1} take?"),
)  # fmt: skip


def sentence_question(sentence: str, vocabulary: Vocabulary) -> str | None:
    """What the sentence answers, where its shape says so: a definition, a condition, a purpose."""
    text = plain(sentence).rstrip(".")
    if not _is_askable(text):
        return None
    for pattern, question in _STATEMENTS:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        if question in ("if", "when"):
            return accepted(_on_condition(question, match[1], match[2]))
        if question.startswith("How do I"):
            return accepted(question.format(match[0], match[1]))
        return accepted(_about_term(question, match, vocabulary))
    return None


def _on_condition(word: str, condition: str, then: str) -> str | None:
    """What to do, where the sentence tells; else what happens."""
    first = condition.split()[0].lower()
    if len(condition.split()) < 3 or first in NO_CONDITION or then.split()[0].lower() in JOINING:
        return None
    if first.endswith("ing"):
        return f"What should I consider {word} {condition}?"
    return f"What {'should I do' if _is_told(then) else 'happens'} {word} {condition}?"


def _is_told(clause: str) -> bool:
    """Whether a clause tells somebody to do something."""
    first, second, *_ = (*clause.lower().split(), "", "")
    if first == "you":
        return second in ("should", "must", "can", "need")
    is_verb = first in VERBS or first in MAYBE_VERBS
    return is_verb or (first not in ARTICLES | SMALL and second in ARTICLES | {"for", "to"})


def _about_term(question: str, match: re.Match[str], vocabulary: Vocabulary) -> str | None:
    term = match[1]
    words = term.split()
    bare = words[1:] if words[0].lower() in ("the", "a", "an") else words
    is_praised = question == DEFINITION and bool(PRAISE & set(words_in(match.groups()[-1].lower())[:3]))
    if (
        is_praised
        or not bare
        or bare[0].lower() in NO_TERMS
        or bare[-1].lower() in SMALL
        or {"of", "to", "and"} & set(bare[1:])
    ):
        return None
    first = vocabulary.spelled(words[0]) if words is bare else words[0].lower()
    return question.format(match[0], " ".join((first, *words[1:])), *(part for part in match.groups()[1:]))


def keywords(sentence: str, vocabulary: Vocabulary) -> str | None:
    """What somebody types who half remembers it: the words without the rarest, and without the numbers."""
    text = plain(sentence)
    if not _is_askable(text) or not _is_fact(text):
        return None
    found = [word for word in {word.lower(): word for word in words_in(text)}.values() if _is_keyword(word)]
    rarest = sorted(found, key=lambda word: (vocabulary.sections[word.lower()], word))[:LEFT_OUT]
    kept = [vocabulary.spelled(word) for word in found if word not in rarest][:MAX_KEYWORDS]
    return accepted(" ".join(kept)) if len(kept) >= MIN_KEYWORDS else None


def _is_fact(text: str) -> bool:
    """A sentence with a number, that names what it is about: `It takes 3` does not, `Module 3 is next` has none."""
    words = [word.lower() for word in words_in(text)]
    has_number = any(word[0].isdigit() and before not in LABELS for before, word in pairwise(words))
    names_it = words[0] not in POINTERS and not words[0].startswith(("you", "we", "whether", "let"))
    return text.endswith(".") and ":" not in text and has_number and names_it


def _is_keyword(word: str) -> bool:
    small = word.lower()
    return len(word) > 2 and not word[0].isdigit() and not {word, small} & QUANTITIES and small not in SMALL


def _is_askable(text: str) -> bool:
    first = text.partition(" ")[0]
    return (
        MIN_SENTENCE <= len(text.split()) <= MAX_SENTENCE
        and first[:1].isupper()
        and not text.endswith((":", "?", "!"))
        and not ODD.search(text)
    )
