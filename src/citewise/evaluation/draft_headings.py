"""Headings -> questions that they answer, as a person might ask them; what no rule fits is left out."""

import re
from collections.abc import Iterator, Sequence

from citewise.evaluation.draft_text import Vocabulary, accepted, content, plain
from citewise.evaluation.draft_words import ARTICLES, ASPECTS, GENERIC, LABELS, MAYBE_VERBS, PREFACES, VERBS

SPECIFIC = 2  # content words with which a question stands for itself
MAX_LABELS = 2  # one behind the other: `Week 4: Module 2 - …`
MAX_TOPIC_WORDS = 5  # a longer heading is a sentence, and no name
_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*[.)]?|[A-Z]\.|Q\d*[:.])\s+")
_LABEL = re.compile(
    rf"^(?:{'|'.join(sorted(LABELS))})s?(?:\s+(?:[\dA-Z][\w.-]*|study))?\s*(?::\s*|$|[\u2013\u2014-]\s+)", re.IGNORECASE
)
_ASIDE = re.compile(r"\s*\([^()]*\)$")
_CODE = re.compile(r"[A-Z]{2,}-?\d{2,}")


def heading_question(breadcrumb: Sequence[str], vocabulary: Vocabulary) -> str | None:
    """What the heading answers, if that can be told from it and from those above it."""
    if not breadcrumb:
        return None
    title = cleaned(breadcrumb[-1])
    topics = list(_topics(breadcrumb[:-1], vocabulary))
    small = title.lower()
    if small in ASPECTS:
        return accepted(ASPECTS[small].format(topic=topics[0])) if topics else None
    if not title or small in GENERIC:
        return None
    for rule in (_asked, _coded, _compared):
        if question := rule(title, vocabulary):
            return accepted(question)
    if question := _done(title, vocabulary):
        return accepted(_with_topic(question, topics))
    return accepted(_named(title, topics, vocabulary)) if len(breadcrumb) > 1 else None


def _with_topic(question: str, topics: Sequence[str]) -> str:
    """Of a question about "the alert", which one is meant."""
    about = _other(question, topics)
    is_plain = " the " not in question or len(content(question)) > SPECIFIC
    return (
        question if about is None or is_plain or about.split()[0].endswith("ing") else f"{question[:-1]} for {about}?"
    )


def _other(name: str, topics: Sequence[str]) -> str | None:
    """The nearest topic that says more than the name does itself."""
    return next((topic for topic in topics if not content(topic) & content(name)), None)


def cleaned(heading: str) -> str:
    """A heading without number, label and aside: `Step 3: Flash a board (10 points)` is `Flash a board`."""
    text = plain(heading).strip()
    for _ in range(MAX_LABELS):
        text = _LABEL.sub("", _NUMBERING.sub("", text))
    return _ASIDE.sub("", text).strip(" :.\u2013\u2014-")


def _topics(above: Sequence[str], vocabulary: Vocabulary) -> Iterator[str]:
    """What the headings above name, nearest first. One that says to do something would not fit behind "of"."""
    for heading in reversed(above):
        title = cleaned(heading)
        small = title.lower()
        if not title or small in GENERIC or small in ASPECTS or small in VERBS or small in MAYBE_VERBS:
            continue
        if code := _CODE.match(title):
            yield code.group()
        elif thing := _thing(title, vocabulary):
            yield thing


def _thing(title: str, vocabulary: Vocabulary) -> str | None:
    name = _without_preface(title)
    words = name.split()
    is_told = _done(name, vocabulary) is not None and not words[0].endswith("ing")
    is_vague = len(words) == 1 and name.endswith("ing")
    is_long = len(words) > MAX_TOPIC_WORDS or "," in name or ":" in name
    return None if is_told or is_vague or is_long or _asked(name, vocabulary) else vocabulary.running(name)


def _without_preface(title: str) -> str:
    """The thing that a chapter introduces: `Understanding gait` is about gait."""
    for preface in PREFACES:
        if title.lower().startswith(f"{preface} "):
            return title[len(preface) + 1 :]
    return title


_AUXILIARY = "is|are|was|were|do|does|did|can|could|should|will|would|may|must|has|have"
_SUBJECT = "i|we|you|my|your|the|an?|it|there"
_QUESTIONS = (
    (re.compile(r".+ .+\?"), "{0}"),
    (re.compile(rf"(?:what|who|which|where|when|why|how) (?:{_AUXILIARY}) .+", re.I), "{0}?"),
    (re.compile(rf"(?:{_AUXILIARY}) (?:{_SUBJECT}) .+", re.I), "{0}?"),
    (re.compile(r"(?:what|who|which|where) (?:is|are|can|should|may|must|does|do) (.+)", re.I), "{0}?"),
    (re.compile(r"(how|when|where) to (.+)", re.I), "{1} do I {2}?"),
    (re.compile(r"what to (.+)", re.I), "What should I {1}?"),
    (re.compile(r"why (.+) matters", re.I), "Why does {1} matter?"),
    (re.compile(r"why (.+) matter", re.I), "Why do {1} matter?"),
    (re.compile(r"why (an? .+)", re.I), "Why {1}?"),
    (re.compile(r"how (.+) (is|are) (\w+)", re.I), "How {2} {1} {3}?"),
    (re.compile(r"(?:how|why) (.+) works?", re.I), "How does {1} work?"),
    (re.compile(r"if (.+)", re.I), "What should I do if {1}?"),
    (re.compile(r"when (.+ (?:is|are|has|have|fails?|stops?|goes|does) .+)", re.I), "What should I do when {1}?"),
    (re.compile(r"(?:introduction|intro) to (.+)", re.I), "What is {1}?"),
    (re.compile(r"getting started with (.+)", re.I), "How do I get started with {1}?"),
)


def _asked(title: str, vocabulary: Vocabulary) -> str | None:
    """A heading that is a question already, or half of one."""
    for pattern, question in _QUESTIONS:
        if match := pattern.fullmatch(title):
            parts = [match.group(0), *(vocabulary.running(part) for part in match.groups())]
            made = question.format(*parts)
            return made[:1].upper() + made[1:]
    return None


def is_question(heading: str) -> bool:
    """Whether a heading asks, in words or by its mark, what stands under it answers."""
    title = cleaned(heading)
    return any(pattern.fullmatch(title) for pattern, question in _QUESTIONS if question in ("{0}", "{0}?"))


def _coded(title: str, vocabulary: Vocabulary) -> str | None:
    """An alert or error code."""
    code = _CODE.match(title)
    return f"What does {code.group()} mean?" if code else None


def _compared(title: str, vocabulary: Vocabulary) -> str | None:
    named = re.sub(r"^compar(?:e|ing|ison of) ", "", title, flags=re.I)
    one, versus, other = (part.strip() for part in re.sub(r"\bversus\b|\bvs\b\.?", "|", named).partition("|"))
    if not (one and versus and other) or ":" in title:
        return None
    return f"What is the difference between {vocabulary.running(one)} and {vocabulary.running(other)}?"


def _done(title: str, vocabulary: Vocabulary) -> str | None:
    """A heading that says to do something: `Install X` or `Installing X`."""
    words = title.split()
    for length in (2, 1):
        first, rest = " ".join(words[:length]).lower(), words[length:]
        base = first if first in VERBS else _BASES.get(first)
        if base is None and rest and first in MAYBE_VERBS and rest[0].lower() in ARTICLES:
            base = first
        if base and rest and rest[0].lower() not in ("and", "or", "of", "for"):
            return f"How do I {base} {vocabulary.running(' '.join(rest))}?"
    return None


_BASES = {ing: base for base, ing in VERBS.items()}


def _named(title: str, topics: Sequence[str], vocabulary: Vocabulary) -> str | None:
    """A heading that names a thing: asked for by name, with what it is about, as people type it."""
    name = vocabulary.running(_without_preface(title).replace(":", ""))
    about = _other(name, topics)
    if about is None and len(content(name)) < SPECIFIC:
        return None
    head = re.split(r" (?:of|for|in|from|with|to) ", name)[0]
    if _is_several(head) and " " in name and " and " not in name and "," not in name:
        article = "" if name.startswith("the ") else "the "
        return f"What are {article}{name}{f' in {about}' if about and head == name else ''}?"
    if re.match(r"(?:the|an?) ", name):
        return f"What is {name}{f' in {about}' if about else ''}?"
    return f"{name} {about}" if about else name


def _is_several(name: str) -> bool:
    return name.endswith("s") and not name.endswith(("ss", "is", "us", "ics", "'s"))
