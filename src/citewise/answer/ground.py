"""Question, findings and context -> grounds: do the sources answer, and which of their units do.

The decision is a logistic regression over a few signals that mean the same in every library, small or large, and all
point the same way wherever they were measured. One that is not there (a ranking was down) counts as an average one.
"""

import math
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from citewise.answer.evidence import MAX_EMBEDDED, Weigh, Weighed
from citewise.model.answer import Context, Grounds, Signals, Source
from citewise.model.ranking import DENSE, WORDS, Finding
from citewise.ports.models import Embedder, TokenCounter
from citewise.text import analysis

# What a word counts for that no source holds. A name stands for itself; another rare word may be said otherwise.
# The weights are those of the best mean AUC over the textbook and the runbooks in benchmarks.grounding.
NAME, RARE = 1.0, 0.5
MOST = 2.0  # the third missing name says nothing new

_WORD = re.compile(r"\w+(?:[.'\u2019/-]\w+)*")
_JOINT = re.compile(r"[\W_]+")
_SENTENCE_ENDS = (".", "?", "!", ":")


def missing(question: str, texts: Sequence[str], counter: TokenCounter) -> float:
    """0 (everything is mentioned) to 2. Common words do not count: a good answer need not repeat the question."""
    terms = [analysis.terms(text) for text in texts]
    held = frozenset(term for one in terms for term in (*one.words, *one.code))
    absent = {word: is_name for word, is_name in _words(question) if not _is_held(word, held)}
    names = sum(absent.values())
    rare = sum(_is_rare(word, counter) for word, is_name in absent.items() if not is_name)
    return min(MOST, NAME * names + RARE * rare)


def _words(question: str) -> Iterator[tuple[str, bool]]:
    """Each word, and whether it is a name: it has a digit, or a capital that no sentence's beginning explains."""
    is_shouted = question == question.upper()
    for match in _WORD.finditer(question):
        word = match.group()
        before = question[: match.start()].rstrip()
        is_inside = bool(before) and not before.endswith(_SENTENCE_ENDS)
        is_capital = (word[0].isupper() and is_inside) or any(map(str.isupper, word[1:]))
        yield word, any(map(str.isdigit, word)) or (is_capital and not is_shouted)


def _is_held(word: str, held: Set[str]) -> bool:
    """Whether the texts have the word in some form; an identifier (`UR5`) only as a whole."""
    whole = word.lower()
    if whole in held or whole.replace("-", "") in held:
        return True
    is_identifier = word[0].isalpha() and any(map(str.isdigit, word))
    return not is_identifier and held >= analysis.stems(word)


def _is_rare(word: str, counter: TokenCounter) -> bool:
    """Whether a general vocabulary knows some part of the word neither as it stands nor by its stem."""
    forms = ((part, *analysis.terms(part).words) for part in _JOINT.split(word))
    return any(len(of_part) > 1 and min(counter.counts(of_part)) > 1 for of_part in forms)


@dataclass(frozen=True, slots=True)
class Weight:
    """A signal's part in the decision: what it usually is, how much it varies, and what that is worth."""

    signal: str
    center: float
    spread: float
    worth: float  # logits for one spread above the center; 0: the signal is ignored


@dataclass(frozen=True, slots=True)
class Calibration:
    """Signals into a probability."""

    weights: tuple[Weight, ...]
    intercept: float  # logits where every signal is at its center

    def confidence(self, signals: Signals) -> float:
        given = [(weight, signals[weight.signal]) for weight in self.weights]
        logits = (one.worth * (value - one.center) / one.spread for one, value in given if value is not None)
        return 1 / (1 + math.exp(-self.intercept - math.fsum(logits)))


# Confidence from which on an answer is given; 0: everything is answered; 1: nothing is. Quoting leans to answering,
# since every statement shows its source: at 0.5 both errors would weigh the same. A model that reads the sources can
# say itself that they do not suffice: 0.3 would still refuse 4 % of what they answer.
QUOTE_CONFIDENCE = 0.4
MODEL_CONFIDENCE = 0.15

# `python -m benchmarks.grounding --fit` prints both tables; docs/retrieval.md says what they reach.
SEARCH = Calibration(
    (
        Weight("closeness", 0.636, 0.194, 0.633),
        Weight("lead", 0.191, 0.095, 0.345),
        Weight("matched", 1.618, 0.406, 0.88),
        Weight("missing", 0.416, 0.626, -1.242),
        Weight("agreement", 0.366, 0.269, 0.668),
    ),
    intercept=1.259,
)
SELECTION = Calibration(
    (
        Weight("closeness", 0.353, 0.177, 1.24),
        Weight("coverage", 0.121, 0.174, 0.704),
        Weight("missing", 0.464, 0.646, -0.407),
    ),
    intercept=-0.183,
)

# Stems that a source counts for which holds every one the question has; 1: a question of one word is hardly ever
# answered; more: a long one gains nothing by being matched. At 4 that is an average match (1.6 above), and of the
# benchmark's 15 short questions 14 are answered, not 10.
ALL_WORDS = 4
MIN_FIELD = 10  # findings between which a lead means something; 2: a lucky pair; 20: small libraries have none
# Units that are embedded where evidence decides what is shown at all. With 24 one in a hundred answer-bearing sentences
# more is lost of the API documentation (benchmarks.compression), beyond 40 nothing changes there.
THOROUGH = 48
AGREED_RANK = 5  # a chunk this high in both rankings is agreed on; 1: only the same best one; 60: any at all


@dataclass(frozen=True, slots=True)
class Ground:
    """Decides whether a context answers a question: one way after a search, another for a selection."""

    embedder: Embedder
    counter: TokenCounter
    search: Calibration = SEARCH
    selection: Calibration = SELECTION
    max_embedded: int = MAX_EMBEDDED

    def thorough(self) -> "Ground":
        """The same with an eye on more units, for what is to be compressed."""
        return replace(self, max_embedded=THOROUGH)

    def of_search(
        self, question: str, findings: Sequence[Finding], context: Context, *, threshold: float = QUOTE_CONFIDENCE
    ) -> Grounds:
        """What the findings (20 are enough) and the sources made of them say."""
        signals = self.search_signals(question, findings, context)
        return _grounds(self.search.confidence(signals), signals, self.weigh(question, context), threshold)

    def of_selection(self, question: str, context: Context, *, threshold: float = QUOTE_CONFIDENCE) -> Grounds:
        weighed = self.weigh(question, context)
        signals = self.selection_signals(question, context, weighed)
        return _grounds(self.selection.confidence(signals), signals, weighed, threshold)

    def search_signals(self, question: str, findings: Sequence[Finding], context: Context) -> Signals:
        """What SEARCH weighs, by name."""
        stems = analysis.stems(question)
        held = [analysis.stems(_indexed(one)) for one in context.sources]
        return {
            "closeness": _closeness(findings),
            "lead": _lead(findings),
            "matched": _matched(stems, held),
            "missing": self._missing(question, context),
            "agreement": _agreement(findings),
        }

    def selection_signals(self, question: str, context: Context, weighed: Sequence[Weighed]) -> Signals:
        """What SELECTION weighs, by name."""
        embedded = [one.closeness for one in weighed if one.closeness is not None]
        return {
            "closeness": max(embedded, default=None),
            "coverage": max((one.coverage for one in weighed), default=0.0),
            "missing": self._missing(question, context),
        }

    def weigh(self, question: str, context: Context) -> tuple[Weighed, ...]:
        """The evidence, with both sides of its scores."""
        return Weigh(self.embedder, max_embedded=self.max_embedded)(question, context)

    def _missing(self, question: str, context: Context) -> float:
        return missing(question, [_indexed(one) for one in context.sources], self.counter)


def _grounds(confidence: float, signals: Signals, weighed: Sequence[Weighed], threshold: float) -> Grounds:
    """Sources without a single unit answer nothing, whatever else speaks for them."""
    confidence = confidence if weighed else 0.0
    is_sufficient = bool(weighed) and confidence >= threshold
    return Grounds(confidence, is_sufficient, tuple(unit.evidence for unit in weighed), signals)


def _indexed(source: Source) -> str:
    """A source's text behind its headings, as it was indexed."""
    return "\n".join((*source.citation.breadcrumb, source.text))


def _closeness(findings: Sequence[Finding]) -> float | None:
    """The best cosine."""
    return max(_cosines(findings), default=None)


def _lead(findings: Sequence[Finding]) -> float | None:
    """How far the best is ahead of the lower half: of a subject that is merely near, every chunk is as near.

    None where there are too few to lag behind: a library of one page answers too.
    """
    cosines = sorted(_cosines(findings))
    if len(cosines) < MIN_FIELD:
        return None
    lower = cosines[: len(cosines) // 2]
    return cosines[-1] - math.fsum(lower) / len(lower)


def _matched(stems: Set[str], held: Sequence[Set[str]]) -> float:
    """How many of the question's stems the best source holds, the first ones counting most."""
    best = max((len(stems & words) for words in held), default=0)
    return math.log1p(max(best, ALL_WORDS) if best and best == len(stems) else best)


def _cosines(findings: Sequence[Finding]) -> list[float]:
    return [one.candidate.scores[DENSE] for one in findings if DENSE in one.candidate.scores]


def _agreement(findings: Sequence[Finding]) -> float | None:
    """The share of the best chunks by meaning that are among the best by words; None without a ranking by meaning."""
    ranks = [one.candidate.ranks for one in findings]
    if not any(DENSE in of_one for of_one in ranks):
        return None
    agreed = sum(all(of_one.get(arm, AGREED_RANK + 1) <= AGREED_RANK for arm in (DENSE, WORDS)) for of_one in ranks)
    return agreed / min(AGREED_RANK, len(findings))
