"""Question and context -> grounds: how well each unit of the sources answers, and whether they answer at all.

A unit is weighed by its words and by its meaning. How telling a word is, is counted over the sources themselves, so
that a selection is weighed as a search's findings are. The decision is a logistic regression over a few signals that
mean the same in every library. One that is not there (a ranking was down) counts as an average one.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from citewise.errors import Unavailable, part_failed
from citewise.model.answer import Context, Evidence, Grounds, Outcome, Signals, Unit
from citewise.model.chunk import Terms, cosine
from citewise.model.ranking import DENSE, WORDS, Finding, Passage
from citewise.ports.models import Embedder, TokenCounter
from citewise.text.analysis import stems_in, terms
from citewise.text.sections import sections_of

MAX_EMBEDDED = 24  # units; 0: words alone decide; more: at 2 to 3 ms each, a long selection keeps its reader waiting
# Units that are embedded where evidence decides what is shown at all. With 24 one in a hundred answer-bearing sentences
# more is lost of the API documentation (benchmarks.compression), beyond 40 nothing changes there.
THOROUGH = 48
MAX_CHARACTERS = 300  # of a unit are embedded; fewer: what it is about may be cut off; more: only code is so long

# Chosen by how many of the best units come from a gold section; both have a wide plateau. With 0.6 and 0 it was 55 %
# in the textbook and 68 % in the API documentation, with these 68 % and 83 %.
MEANING = 0.6  # 0: shared words alone; 1: meaning alone
STANDING = 0.85  # 0: a unit is as good in the last source as in the first; 1: one in a worthless source is worthless
# A judgment, not a measurement: no set asks for what only a quiz says.
QUIZ = 0.6  # what a quiz is worth: it says wrong things on purpose; 1: as much as a page; 0: it is never quoted

# What a word counts for that no source holds. A name stands for itself; another rare word may be said otherwise.
# The weights are those of the best mean AUC over the textbook and the runbooks in benchmarks.grounding.
MISSING_NAME, MISSING_RARE_WORD = 1.0, 0.5
MAX_MISSING = 2.0  # the third missing name says nothing new

# Stems that a source counts for which holds every one the question has; 1: a question of one word is hardly ever
# answered; more: a long one gains nothing by being matched. At 4 that is an average match (1.6 below), and of the
# benchmark's 15 short questions 14 are answered, not 10.
ALL_WORDS = 4
MIN_FIELD = 10  # findings between which a lead means something; 2: a lucky pair; 20: small libraries have none
AGREED_RANK = 5  # a chunk this high in both rankings is agreed on; 1: only the same best one; 60: any at all

# Confidence from which on an answer is given, and below which nothing is shown; between them the nearest excerpts are,
# said to be that. 0: everything is answered; 1: nothing is. ADR 23 has what other values of the two let through.
ANSWERED_CONFIDENCE, SHOWN_CONFIDENCE = 0.6, 0.07
# A model that reads the sources can say itself that they do not suffice: 0.3 would refuse 4 % of what they answer.
MODEL_CONFIDENCE = 0.15
# Stems of a question in which a word in front of another names something: "what does the blue lamp mean?". More: a long
# question has some word that no page has. Of 81 such questions of the shared sets that have an answer both rules
# demote 2, texts of alerts; what they are for are small libraries (ADR 23).
MAX_NAMING = 6
# Stems of a question each of which must stand somewhere: "what is the password for the north door?". At 5 two in ten
# such questions that have an answer are demoted; 0: none has to.
MAX_ALL_NAMING = 4


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Confidences from which on an answer is given, and from which on anything is shown."""

    answered: float = ANSWERED_CONFIDENCE
    shown: float = SHOWN_CONFIDENCE

    def outcome(self, confidence: float) -> Outcome:
        return "answered" if confidence >= self.answered else "unsure" if confidence >= self.shown else "nothing"


DEFAULT = Thresholds()

# Stems that are no stop words and name nothing: "how long may a lamp burn?"
_NAMING_NOTHING = frozenset(
    {"long", "many", "much", "often", "far", "may", "might", "must", "shall", "would", "could", "one", "get", "use"}
    | {"mean", "work", "happen", "explain", "defin", "show", "differ", "compar", "vs", "versus", "better", "best"}
)
# By which a question is not English: of another language it is not known which of its words name something.
_FOREIGN = re.compile(
    r"(?=[^\W\d_])[^\x00-\x7f]|\b(?:que|qui|quand|pourquoi|les|une|der|das|wie|wann|wer|ist|como|cuando|donde|los|che)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+(?:[.'\u2019/-]\w+)*")
_NUMBER = re.compile(r"v?\d[\d.,:/%-]*")
_JOINT = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Calibration:
    """Signals into a probability.

    Of each signal its mean, its standard deviation, and the coefficient of the standardized value in a logistic
    regression (0: the signal is ignored).
    """

    weights: Mapping[str, tuple[float, float, float]]
    intercept: float  # logits where every signal has its mean

    def confidence(self, signals: Signals) -> float:
        given = [(signals[name], *weight) for name, weight in self.weights.items()]
        logits = (worth * (value - usual) / spread for value, usual, spread, worth in given if value is not None)
        return 1 / (1 + math.exp(-self.intercept - math.fsum(logits)))


# `python -m benchmarks.grounding --fit` prints both tables; ADR 11 says what they reach.
SEARCH = Calibration(
    {
        "closeness": (0.636, 0.194, 0.633),
        "lead": (0.191, 0.095, 0.345),
        "matched": (1.618, 0.406, 0.88),
        "missing": (0.416, 0.626, -1.242),
        "agreement": (0.366, 0.269, 0.668),
    },
    intercept=1.259,
)
SELECTION = Calibration(
    {"closeness": (0.353, 0.177, 1.24), "coverage": (0.121, 0.174, 0.704), "missing": (0.464, 0.646, -0.407)},
    intercept=-0.183,
)


@dataclass(frozen=True, slots=True)
class Ground:
    """Decides whether a context answers a question: by one calibration after a search, by another for a selection."""

    embedder: Embedder
    counter: TokenCounter
    meaning: float = MEANING
    standing: float = STANDING
    max_embedded: int = MAX_EMBEDDED

    def of_search(
        self, question: str, findings: Sequence[Finding], *, top_k: int, thresholds: Thresholds = DEFAULT
    ) -> Grounds:
        """Whether findings answer, of which a model would read the best `top_k`; 20 are enough."""
        signals = self.search_signals(question, findings, top_k=top_k)
        confidence = SEARCH.confidence(signals) if findings else 0.0
        outcome = thresholds.outcome(confidence)
        if outcome == "answered" and _names_another(question, findings, top_k=top_k):
            outcome = "unsure" if thresholds.shown < thresholds.answered else outcome
        return Grounds(confidence, outcome, signals=signals)

    def of_selection(self, question: str, context: Context, *, thresholds: Thresholds = DEFAULT) -> Grounds:
        """Whether selected text answers, and which of its units do."""
        evidence, problem = self.weigh(question, context)
        signals = self.selection_signals(question, context, evidence)
        # A text without a single unit answers nothing, whatever else speaks for it.
        confidence = SELECTION.confidence(signals) if evidence else 0.0
        return Grounds(confidence, thresholds.outcome(confidence), evidence, signals, problem)

    def search_signals(self, question: str, findings: Sequence[Finding], *, top_k: int) -> Signals:
        """What SEARCH weighs, by name."""
        cosines = sorted(found.candidate.scores[DENSE] for found in findings if DENSE in found.candidate.scores)
        lead = None  # where there are too few to lag behind: a library of one page answers too
        if len(cosines) >= MIN_FIELD:  # of a subject that is merely near, the lower half is as near as the best
            lower = cosines[: len(cosines) // 2]
            lead = cosines[-1] - math.fsum(lower) / len(lower)
        sources = [_indexed(section.passages) for section in sections_of(findings[:top_k])]
        asked = terms(question).stems
        matched = max((len(asked & source.stems) for source in sources), default=0)  # of the best source
        if matched and matched == len(asked):
            matched = max(matched, ALL_WORDS)
        return {
            "closeness": max(cosines, default=None),
            "lead": lead,
            "matched": math.log1p(matched),  # the first stems count most
            "missing": self._missing(question, sources, number=MISSING_RARE_WORD),
            "agreement": _agreement(findings),
        }

    def selection_signals(self, question: str, context: Context, evidence: Sequence[Evidence]) -> Signals:
        """What SELECTION weighs, by name."""
        embedded = [weighed.closeness for weighed in evidence if weighed.closeness is not None]
        return {
            "closeness": max(embedded, default=None),
            "coverage": max((weighed.coverage for weighed in evidence), default=0.0),
            "missing": self._missing(question, [_indexed(source.passages) for source in context.sources]),
        }

    def weigh(self, question: str, context: Context) -> tuple[tuple[Evidence, ...], str]:
        """Every unit of the context against the question, in order of source and position, and what did not work."""
        units, words, texts = list[Unit](), list[Set[str]](), list[str]()
        best = max((source.score for source in context.sources), default=0.0)
        standings: dict[int, float] = {}  # by source, its score as a share of the best one's
        for source in context.sources:
            is_quiz = all(passage.content_type == "quiz" for passage in source.passages)
            standings[source.n] = (source.score / best if best > 0 else 1.0) * (QUIZ if is_quiz else 1.0)
            headings = source.citation.breadcrumb or (source.citation.title,)
            above = terms("\n".join(headings)).stems
            for unit in source.units:
                # Behind its headings, since a list item hardly ever names what it is about.
                beginning = unit.content[:MAX_CHARACTERS]
                is_whole = len(beginning) == len(unit.content)
                units.append(unit)
                words.append(above | (unit.stems if is_whole else terms(beginning).stems))
                texts.append(f"{headings[-1]}: {beginning}" if headings[-1] else beginning)
        coverages = coverages_of(terms(question).stems, words)
        closenesses, problem = self._closenesses(question, texts, coverages)
        weighed: list[Evidence] = []
        for at, (unit, coverage) in enumerate(zip(units, coverages, strict=True)):
            closeness, standing = closenesses.get(at), standings[unit.source]
            fit = self.meaning * max(0.0, min(1.0, closeness or 0.0)) + (1 - self.meaning) * coverage
            score = fit * (1 - self.standing + self.standing * standing)
            weighed.append(Evidence(unit, score, fit, closeness, coverage, standing))
        return tuple(weighed), problem

    def _closenesses(
        self, question: str, texts: Sequence[str], coverages: Sequence[float]
    ) -> tuple[Mapping[int, float], str]:
        """By place, for the units that share most with the question; the first in a source before the later ones.

        Words still tell something of those that cannot be embedded; why not is the second value.
        """
        chosen = sorted(range(len(texts)), key=lambda at: (-coverages[at], at))[: self.max_embedded]
        if not chosen:
            return {}, ""
        try:
            asked = self.embedder.query(question)
            pairs = list(zip(chosen, self.embedder.documents([texts[at] for at in chosen]), strict=True))
            problems = (_problem(outcome) for _, outcome in pairs if isinstance(outcome, Unavailable))
            found = {at: cosine(asked, outcome) for at, outcome in pairs if not isinstance(outcome, Unavailable)}
            return found, next(problems, "")
        except Exception as error:  # noqa: BLE001  it may be anybody's code
            return {}, _problem(error)

    def _missing(self, question: str, sources: Sequence[Terms], *, number: float = MISSING_NAME) -> float:
        """How much of what the question names is in no source: 0 (everything is mentioned) to 2.

        Common words do not count: a good answer need not repeat the question. `number`: what a number counts for; of a
        whole library it is often that of who asks: their version, their port.
        """
        present = frozenset(term for source in sources for term in (*source.words, *source.code))
        absent = {word: is_name for word, is_name in _words(question) if not _is_mentioned(word, present)}
        missing = 0.0
        for word, is_name in absent.items():
            # Rare: a general vocabulary knows some part of the word neither as it stands nor by its stem.
            forms = ((part, *terms(part).words) for part in _JOINT.split(word))
            if is_name:
                missing += number if _NUMBER.fullmatch(word) else MISSING_NAME
            elif any(len(of_part) > 1 and min(self.counter.counts(of_part)) > 1 for of_part in forms):
                missing += MISSING_RARE_WORD
        return min(MAX_MISSING, missing)


def coverages_of(asked: Set[str], texts: Sequence[Set[str]]) -> list[float]:
    """Of each text, the share of the asked stems that it holds; the fewer texts hold a stem, the more it counts."""
    present = Counter(stem for text in texts for stem in text if stem in asked)
    weights = {stem: math.log(1 + len(texts) / (present[stem] + 0.5)) for stem in sorted(asked)}
    total = math.fsum(weights.values())
    held = (math.fsum(weight for stem, weight in weights.items() if stem in text) for text in texts)
    return [share / total if total else 0.0 for share in held]


def _problem(error: Exception) -> str:
    return part_failed("ground", error, "what was not embedded was compared by words")


def _words(question: str) -> Iterator[tuple[str, bool]]:
    """Each word, and whether it is a name: it has a digit, or a capital that no sentence's beginning explains."""
    is_shouted = question == question.upper()
    for match in _WORD.finditer(question):
        word = match.group()
        before = question[: match.start()].rstrip()
        is_inside = bool(before) and before[-1] not in ".?!:"
        is_capital = (word[0].isupper() and is_inside) or any(map(str.isupper, word[1:]))
        yield word, any(map(str.isdigit, word)) or (is_capital and not is_shouted)


def _names_another(question: str, findings: Sequence[Finding], *, top_k: int) -> bool:
    """Whether a short question says of a thing that was found what no page says of it: the blue lamp, not the red one.

    Of a very short one that is any word that no finding has; else one right in front of a word that the best have.
    """
    stems = terms(question).stems - _NAMING_NOTHING
    if len(stems) > MAX_NAMING or _FOREIGN.search(question):
        return False
    found = ["\n".join((*each.passage.breadcrumb, each.passage.text)) for each in findings]
    missing = stems.difference(*(stems_in(text, stems) for text in found))
    if len(stems) <= MAX_ALL_NAMING:
        return bool(missing) and missing != stems
    names = [(match, terms(match.group()).stems) for match in _WORD.finditer(question)]
    return any(
        len(before) == 1
        and before <= missing
        and not question[left.end() : right.start()].strip()  # a comma or a full stop is between others
        and any(stems_in(text, behind - _NAMING_NOTHING) for text in found[:top_k])
        for (left, before), (right, behind) in pairwise(names)
    )


def _is_mentioned(word: str, present: Set[str]) -> bool:
    """Whether the texts have the word in some form; an identifier (`UR5`) only as a whole."""
    whole = word.lower()
    if whole in present or whole.replace("-", "") in present:
        return True
    is_identifier = word[0].isalpha() and any(map(str.isdigit, word))
    return not is_identifier and present >= terms(word).stems


def _indexed(passages: Sequence[Passage]) -> Terms:
    """The terms of neighbors behind their headings, as they were indexed."""
    return terms("\n".join((*passages[0].breadcrumb, *(passage.text for passage in passages))))


def _agreement(findings: Sequence[Finding]) -> float | None:
    """The share of the best chunks by meaning that are among the best by words; None without a ranking by meaning."""
    ranks = [found.candidate.ranks for found in findings]
    if not any(DENSE in of_chunk for of_chunk in ranks):
        return None
    agreed = sum(
        all(of_chunk.get(ranking, AGREED_RANK + 1) <= AGREED_RANK for ranking in (DENSE, WORDS)) for of_chunk in ranks
    )
    return agreed / min(AGREED_RANK, len(findings))
