"""Whether an answer's sentences rest on their sources: a lexical rule, simple enough to explain to a reader.

A sentence is checked against the sources it cites, or against all of them if it cites none. Three things flag it: too
few of its words stand together in a source, a number that no source has, or a `not` where the source has none.
What the rule cannot see: two names exchanged, an opposite without a negation, a cause made up from known words.
Code, headings, lines that lead in a list, and what an answer says about its sources' silence are not checked.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewise.model.answer import ContextSource, Unit
from citewise.text.analysis import terms
from citewise.text.markdown import Line
from citewise.text.units import units_of

# All three rules together, on single sentences. Flagged though true: 0 of 452 handbook and 0 of 1,500 textbook
# sentences against their own section; 3 % and 1 % with a quarter of their words dropped or exchanged (each had lost a
# `not`); 8 % of 144 sentences of api_docs' reference answers, which paraphrase. Missed though wrong: 7 % and 16 % of
# handbook and textbook sentences against another section of their page, 4 % and 8 % against another page (three
# and six points of these are lines that lead in a list, which are not checked); of api_docs' answers 4 % against five
# random sections, but 47 % against the five sections that are most alike: words cannot tell those apart.

# Share of a sentence's different stems that NEIGHBORS units of one source must hold together. 0: nothing is flagged; 1:
# all but quotations. By itself it flags 6 % of the paraphrases; 0.4 flags 4 % and misses 73 % of the most alike.
SUPPORTED_SHARE = 0.5
# Units. 1: a sentence that sums up two is flagged; all of a source: its words prove nearly anything. 2 flags 11 % of
# the paraphrases; without this bound, at the same false flags, 81 % of the most alike are missed.
NEIGHBORS = 3
# Share of their stems that two sentences have in common, seen from both, when one is taken for the other's denial. 0:
# any two; 1: the very same. Of sentences with a `not` put in or taken out it misses 5 % (handbook) and 14 % (textbook).
SAME_STATEMENT = 0.6
MIN_STEMS = 3  # fewer state nothing that words could prove: "Yes.", "In short.", "See below."

_MARKER = re.compile(r"(?<!\s)\s*+\[(\d{1,9})\]")
_LEADING_MARKERS = re.compile(r"(?:\[\d{1,9}\]\s*)+")
_NEGATION = re.compile(r"\b(?:not|no|never|cannot|neither|nor|none|nothing|nobody)\b|n['\u2019]t\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_SPELLED = "zero one two three four five six seven eight nine ten eleven twelve"  # beyond them digits are usual
_SPELLED_NUMBERS = {word: str(number) for number, word in enumerate(_SPELLED.split())}
_SPELLED_NUMBER = re.compile(rf"\b(?:{_SPELLED.replace(' ', '|')})\b", re.IGNORECASE)

# How an answer says that its sources do not answer: a statement about them, which they need not support.
_NOT = r"(?:not|n['\u2019]t|no|nothing|cannot|never|neither)"
_SOURCES = (
    r"(?:sources?|excerpts?|passages?|documents?|documentation|texts?|selection|context|information|material|library)"
)
_ANSWER = (
    r"(?:answer|say|state|mention|cover|contain|hold|include|provide|specify|describe|explain|discuss|address|give|tell|"
    r"suffice|show|support|define|list)"
)
_TOLD = (
    r"(?:answered|said|stated|mentioned|covered|contained|found|included|provided|specified|described|explained|"
    r"discussed|addressed|given|shown|defined|listed)"
)
_SILENCE = re.compile(
    rf"\b{_SOURCES}\b.{{0,60}}{_NOT}\b.{{0,30}}\b{_ANSWER}"
    rf"|\b{_SOURCES}\b.{{0,30}}\b{_ANSWER}s?\s+(?:no|nothing|neither)\b"
    rf"|{_NOT}\s+(?:\w+\s+)?{_TOLD}\b.{{0,30}}\b{_SOURCES}\b"
    r"|\b(?:no|not\s+enough|insufficient)\s+(?:\w+\s+)?(?:information|mention|details?|context|evidence)\b"
    r"|\b(?:can|could)(?:not|n['\u2019]t|\s+not)\s+(?:be\s+answered|find|answer)\b",
    re.IGNORECASE | re.DOTALL,
)
_TURN = re.compile(r"(?:[,;]|(?<![\s,;]))\s++(?:but|however|though|although|yet)\b,?|;\s", re.IGNORECASE)
_COURTESY = re.compile(
    r"(?:(?:i['\u2019]m|i\s+am|we\s+are)\s+)?(?:very\s+)?sorry|unfortunately"
    r"|(?:i|we)\s+apologi[sz]e"
    r"|(?:sorry,\s+)?(?:i|we)\s+(?:do\s+not|don['\u2019]t)\s+know(?:\s+(?:that|this|it|the\s+answer))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Support:
    """The sentences that rest on nothing, in order, and the share of those checked that do rest on something."""

    unsupported: tuple[str, ...]
    faithfulness: float  # 0..1; 1 if there was nothing to check
    says_nothing: bool  # the text is blank, or says no more than that the sources leave the question open

    @classmethod
    def of(cls, text: str, sources: Sequence[ContextSource]) -> "Support":
        """How far an answer rests on its sources; `[n]` in its text is the n-th of them."""
        units = units_of(0, text)
        analyzed = [_AnalyzedSource.of(source) for source in sources]
        checked, unsupported = 0, list[str]()
        for sentence in _sentences(units):
            claims = _claims_in(_prose(sentence))
            stems = terms(claims).stems
            numbers, is_lead_in = _numbers(claims), claims.rstrip("*_ ").endswith(":")
            if not numbers and (len(stems) < MIN_STEMS or is_lead_in):
                continue
            cited = frozenset(map(int, _MARKER.findall(sentence)))
            relevant = [source for n, source in enumerate(analyzed, start=1) if n in cited] or analyzed
            checked += 1
            is_near = len(stems) < MIN_STEMS or any(source.share(stems) >= SUPPORTED_SHARE for source in relevant)
            # Of sentences with another number put in, 9 % (handbook) and 13 % are missed: it stood elsewhere there.
            is_known = numbers <= frozenset().union(*(source.numbers for source in relevant))
            if not is_near or not is_known or _contradicts(claims, stems, relevant):
                unsupported.append(sentence)
        faithfulness = 1 - len(unsupported) / checked if checked else 1.0
        is_silent = all(unit.is_prose and _is_silent(_prose(unit.text)) for unit in units)
        # Headings are no units, but they say something.
        return cls(tuple(unsupported), faithfulness, is_silent if units else not any(map(str.isalnum, text)))


@dataclass(frozen=True, slots=True)
class _AnalyzedSource:
    """A source, read once for all sentences."""

    units: tuple[tuple[frozenset[str], bool], ...]  # the stems of each, and whether it is negated
    headings: frozenset[str]  # their words may be left out in the sentences below them
    numbers: frozenset[str]

    @classmethod
    def of(cls, source: ContextSource) -> "_AnalyzedSource":
        place = source.citation
        lines = (line for line in source.text.split("\n") if Line(line).is_heading)
        headings = "\n".join((place.title, place.section, *place.breadcrumb, *lines))
        spelled = (_SPELLED_NUMBERS[word.lower()] for word in _SPELLED_NUMBER.findall(source.text))
        return cls(
            units=tuple((unit.stems, _is_negative(unit.text)) for unit in source.units),
            headings=terms(headings).stems,
            numbers=_numbers(f"{headings}\n{source.text}").union(spelled),
        )

    def share(self, stems: frozenset[str]) -> float:
        """The largest share of the stems that neighboring units hold together."""
        unit_stems = [unit for unit, _ in self.units]
        windows = (unit_stems[at : at + NEIGHBORS] for at in range(max(1, len(unit_stems) - NEIGHBORS + 1)))
        return max(len(stems & self.headings.union(*window)) / len(stems) for window in windows)


def _prose(sentence: str) -> str:
    return _MARKER.sub("", sentence[len(Line(sentence).list_mark) :])


def _sentences(units: Sequence[Unit]) -> list[str]:
    """Sentences and table rows; a marker behind the full stop belongs to what it follows."""
    sentences: list[str] = []
    for unit in units:
        rows = unit.text.splitlines()[2:] if unit.kind == "table" else [unit.text]  # below the table's head
        for sentence in rows if unit.kind != "code" else ():
            leading = _LEADING_MARKERS.match(sentence) if sentences else None
            if leading:
                sentences[-1] += f" {leading.group().rstrip()}"
                sentence = sentence[leading.end() :]
            if sentence:
                sentences.append(sentence)
    return sentences


def _contradicts(claims: str, stems: frozenset[str], sources: Sequence[_AnalyzedSource]) -> bool:
    """Whether the source's sentence that is most alike says the same with the negation the other way around."""
    alike = [unit for source in sources for unit in source.units if unit[0] & stems]
    if not alike:
        return False
    closest, is_negative = max(alike, key=lambda unit: len(unit[0] & stems) / len(unit[0] | stems))
    is_same = len(closest & stems) >= SAME_STATEMENT * max(len(stems), len(closest))
    return is_same and is_negative != _is_negative(claims)


def _is_negative(text: str) -> bool:
    return _NEGATION.search(text) is not None


def _numbers(text: str) -> frozenset[str]:
    """Numbers in digits, however they are written: 1,000 is 1000, and 07 is 7."""
    parts: list[str] = []
    for written in _NUMBER.findall(text):
        parts += [written.replace(",", "")] if _THOUSANDS.fullmatch(written) else written.split(",")
    return frozenset(f"{float(part):g}" if part.count(".") < 2 and len(part) < 16 else part for part in parts)


def _claims_in(sentence: str) -> str:
    """The sentence without the clauses that only say what the sources leave open."""
    if not _SILENCE.search(sentence):
        return sentence
    return " ".join(clause.strip() for clause in _TURN.split(sentence) if not _SILENCE.search(clause)).strip()


def _is_silent(sentence: str) -> bool:
    """Whether nothing is left of the sentence but what the sources leave open, and regrets."""
    claims = _claims_in(sentence).strip(" \t\n.,;:!*_")
    return not any(map(str.isalnum, claims)) or _COURTESY.fullmatch(claims) is not None
