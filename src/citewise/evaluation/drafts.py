"""A library's own sections -> questions that each of them should answer.

What comes out is a start for a person and no judgment: questions in the documents' own words favor a search that
already works by words.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from citewise.evaluation.draft_headings import cleaned, heading_question, is_question
from citewise.evaluation.draft_sentences import keywords, sentence_question
from citewise.evaluation.draft_text import Vocabulary, content, is_secretive, plain, vocabulary_of, words_in
from citewise.evaluation.draft_words import COURSEWORK, FACTLESS
from citewise.model.answer import UnitKind
from citewise.model.chunk import NO_SECTION, Chunk
from citewise.model.filters import label
from citewise.text.units import units_of, without_marker

NOTE = (
    "A draft: made from headings and sentences by citewise eval draft; nobody has checked them. "
    "Look at each one, change or delete it, then take the line with draft away."
)
FULL_ANSWER = 2  # the grade of a section that answers in full
NO_READING = ("quiz", "assessment")  # content types that ask themselves
KINDS = ("sentence", "heading", "keywords")
MAX_PLACES = 3  # that may answer a question; one that more sections would answer tests nothing
MAX_ALIKE = 0.5  # shared content words of two questions; 0: no word twice in a file; 1: only equal ones are left out
MIN_PROSE_WORDS = 20  # of a section; under this it is a signpost, or only code
MIN_ANSWER_WORDS = 4  # the same, where the heading is a question: "Yes, hold the left button" is an answer
MAX_LINKS = 0.3  # of a section's sentences that are links; above this it is a table of contents


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it up to the next."""

    document: str
    name: str
    breadcrumb: tuple[str, ...]
    first_line: int
    last_line: int
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposed question, and the sections that should answer it."""

    question: str
    kind: str  # heading, sentence or keywords: how it was made
    answer: str | None
    places: tuple[Section, ...]


def sections_of(document: str, chunks: Sequence[Chunk]) -> Iterator[Section]:
    """The sections of a document that are for reading: not quizzes and exercises, lists of links, or code alone."""
    by_anchor: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        if not any(label("content_type", kind) in chunk.labels for kind in NO_READING):
            by_anchor.setdefault(chunk.piece.anchor, []).append(chunk)
    for some in by_anchor.values():
        section = _section(document, some)
        if _is_prose(section) and not _is_coursework(section):
            yield section


def _section(document: str, chunks: Sequence[Chunk]) -> Section:
    pieces = [chunk.piece for chunk in chunks]
    units = (unit for piece in pieces for unit in units_of(0, piece.text) if unit.kind is UnitKind.SENTENCE)
    return Section(
        document,
        pieces[0].section,
        pieces[0].breadcrumb,
        min(piece.first_line for piece in pieces),
        max(piece.last_line for piece in pieces),
        tuple(dict.fromkeys(without_marker(unit.text) for unit in units)),  # pieces of a section overlap
    )


def _is_prose(section: Section) -> bool:
    words = sum(len(sentence.split()) for sentence in section.sentences)
    links = sum("](" in sentence for sentence in section.sentences)
    least = MIN_ANSWER_WORDS if is_question(section.name) else MIN_PROSE_WORDS
    return words >= least and links <= MAX_LINKS * len(section.sentences)


def _is_coursework(section: Section) -> bool:
    named = {word.lower() for heading in section.breadcrumb for word in words_in(heading)}
    return bool(named & COURSEWORK) or cleaned(section.name).lower() in FACTLESS


def drafts_of(sections: Sequence[Section], *, count: int, seed: int) -> tuple[Draft, ...]:
    """At most `count` questions, spread over documents and kinds; the same ones for the same seed."""
    vocabulary = vocabulary_of("\n".join(map(plain, section.sentences)) for section in sections)
    draw = Random(seed)
    offered: dict[str, list[Draft]] = {}
    for draft in _joined(_offers(sections, vocabulary)):
        offered.setdefault(draft.places[0].document, []).append(draft)
    for some in offered.values():
        draw.shuffle(some)
    turns = list(offered.values())
    draw.shuffle(turns)
    chosen = _chosen(turns, count)
    return tuple(sorted(chosen, key=lambda one: (one.places[0].document, one.places[0].first_line, one.question)))


def _offers(sections: Iterable[Section], vocabulary: Vocabulary) -> Iterator[Draft]:
    for section in sections:
        if section.name != NO_SECTION and (question := heading_question(section.breadcrumb, vocabulary)):
            yield Draft(question, "heading", None, (section,))
            if is_question(section.name):  # better than any that could be made
                continue
        for sentence in section.sentences:
            answer = plain(sentence)
            if is_secretive(sentence):  # what was masked has left the word "secret" in its place
                continue
            if question := sentence_question(sentence, vocabulary):
                yield Draft(question, "sentence", answer, (section,))
            elif question := keywords(sentence, vocabulary):
                yield Draft(question, "keywords", answer, (section,))


def _joined(offers: Iterable[Draft]) -> Iterator[Draft]:
    """A question that several sections raise is one with several answers; one that many raise is dropped."""
    alike: dict[tuple[str, ...], Draft] = {}
    for draft in offers:
        key = tuple(sorted(content(draft.question)))
        first = alike.get(key)
        places = dict.fromkeys((*first.places, *draft.places)) if first else draft.places
        alike[key] = replace(first or draft, places=tuple(places))
    yield from (draft for draft in alike.values() if len(draft.places) <= MAX_PLACES)


def _chosen(turns: list[list[Draft]], count: int) -> list[Draft]:
    """One question of each document in turn, of the kind that there are fewest of so far."""
    chosen: list[Draft] = []
    kinds: Counter[str] = Counter()
    while turns and len(chosen) < count:
        for offers in turns[: count - len(chosen)]:
            offers.sort(key=lambda one: (kinds[one.kind], KINDS.index(one.kind)))
            while offers:
                draft = offers.pop(0)
                if not _repeats(draft, chosen):
                    chosen.append(draft)
                    kinds[draft.kind] += 1
                    break
        turns = [offers for offers in turns if offers]
    return chosen


def _repeats(draft: Draft, chosen: Sequence[Draft]) -> bool:
    """Whether a question so like this one, or one about the same section, is there already."""
    words = content(draft.question)
    for other in chosen:
        theirs = content(other.question)
        if len(words & theirs) > MAX_ALIKE * len(words | theirs) or set(draft.places) & set(other.places):
            return True
    return False


def draft_json(drafts: Sequence[Draft]) -> dict[str, object]:
    """The question file, as docs/evaluation.md has it."""
    return {
        "draft": True,
        "note": NOTE,
        "questions": [_entry(f"draft-{at:03}", draft) for at, draft in enumerate(drafts, start=1)],
    }


def _entry(id_: str, draft: Draft) -> dict[str, object]:
    entry: dict[str, object] = {
        "id": id_,
        "question": draft.question,
        "type": draft.kind,
        "relevant": [
            {
                "doc": place.document,
                "section": place.name,
                "grade": FULL_ANSWER,
                "heading_path": list(place.breadcrumb),
                "line_start": place.first_line,
                "line_end": place.last_line,
            }
            for place in draft.places
        ],
    }
    return entry if draft.answer is None else {**entry, "answer": draft.answer}
