"""Question and context -> grounds: how well each unit of the sources answers, and whether they answer at all.

A unit is weighed by its words and by its meaning. How telling a word is, is counted over the sources themselves, so
that a selection is weighed as a search's findings are. The decision is a logistic regression over a few signals that
mean the same in every library. One that is not there (a ranking was down) counts as an average one.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from citewise.errors import CitewiseError
from citewise.model.answer import Context, ContextSource, Evidence, Grounds, Signals, Unit
from citewise.model.chunk import EmbeddingFailure, cosine
from citewise.model.ranking import DENSE, WORDS, Finding
from citewise.ports.models import Embedder, TokenCounter
from citewise.text import analysis
from citewise.text.analysis import stems
from citewise.text.markdown import without_list_mark
from citewise.text.units import units_of

MAX_EMBEDDED = 24  # units; 0: words alone decide; more: at 2 to 3 ms each, a long selection keeps its reader waiting
# Units that are embedded where evidence decides what is shown at all. With 24 one in a hundred answer-bearing sentences
# more is lost of the API documentation (benchmarks.compression), beyond 40 nothing changes there.
THOROUGH = 48
MAX_CHARACTERS = 300  # of a unit are embedded; fewer: what it is about may be cut off; more: only code is so long

# Chosen by "are the right places quoted" of benchmarks.grounding; both have a wide plateau. With 0.6 and 0, 55 % of the
# textbook's quoted units and 68 % of the API documentation's came from a gold section; now 68 % and 83 %.
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

# Confidence from which on an answer is given; 0: everything is answered; 1: nothing is. Quoting leans to answering,
# since every statement shows its source: at 0.5 both errors would weigh the same. A model that reads the sources can
# say itself that they do not suffice: 0.3 would still refuse 4 % of what they answer.
QUOTE_CONFIDENCE = 0.4
MODEL_CONFIDENCE = 0.15

_WORD = re.compile(r"\w+(?:[.'\u2019/-]\w+)*")
_JOINT = re.compile(r"[\W_]+")


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
        logits = (part.worth * (value - part.center) / part.spread for part, value in given if value is not None)
        return 1 / (1 + math.exp(-self.intercept - math.fsum(logits)))


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


@dataclass(frozen=True, slots=True)
class Ground:
    """Decides whether a context answers a question: by one calibration after a search, by another for a selection."""

    embedder: Embedder
    counter: TokenCounter
    meaning: float = MEANING
    standing: float = STANDING
    max_embedded: int = MAX_EMBEDDED

    def thorough(self) -> "Ground":
        """The same with an eye on more units, for what is to be compressed."""
        return replace(self, max_embedded=THOROUGH)

    def of_search(
        self, question: str, findings: Sequence[Finding], context: Context, *, threshold: float = QUOTE_CONFIDENCE
    ) -> Grounds:
        """What the findings (20 are enough) and the sources made of them say."""
        signals = self.search_signals(question, findings, context)
        return _grounds(SEARCH.confidence(signals), signals, self.weigh(question, context), threshold)

    def of_selection(self, question: str, context: Context, *, threshold: float = QUOTE_CONFIDENCE) -> Grounds:
        evidence = self.weigh(question, context)
        signals = self.selection_signals(question, context, evidence)
        return _grounds(SELECTION.confidence(signals), signals, evidence, threshold)

    def search_signals(self, question: str, findings: Sequence[Finding], context: Context) -> Signals:
        """What SEARCH weighs, by name."""
        cosines = [found.candidate.scores[DENSE] for found in findings if DENSE in found.candidate.scores]
        texts = [_indexed(source) for source in context.sources]
        return {
            "closeness": max(cosines, default=None),
            "lead": _lead(sorted(cosines)),
            "matched": _matched(stems(question), [stems(text) for text in texts]),
            "missing": _missing(question, texts, self.counter),
            "agreement": _agreement(findings),
        }

    def selection_signals(self, question: str, context: Context, evidence: Sequence[Evidence]) -> Signals:
        """What SELECTION weighs, by name."""
        embedded = [unit.closeness for unit in evidence if unit.closeness is not None]
        return {
            "closeness": max(embedded, default=None),
            "coverage": max((unit.coverage for unit in evidence), default=0.0),
            "missing": _missing(question, [_indexed(source) for source in context.sources], self.counter),
        }

    def weigh(self, question: str, context: Context) -> tuple[Evidence, ...]:
        """Every unit of the context against the question, in order of source and position."""
        units = [
            (each, source) for source in context.sources for each in units_of(source.n, source.text, source.blocks)
        ]
        words = [stems(_headed(unit, " > ".join(_headings(source)))) for unit, source in units]
        weights = telling(stems(question), words)
        coverages = [covered(weights, present) for present in words]
        headed = [_headed(unit, _headings(source)[-1]) for unit, source in units]
        closenesses = self._closenesses(question, headed, coverages)
        standings = standings_of(context.sources)
        weighed: list[Evidence] = []
        for at, (unit, _) in enumerate(units):
            closeness, coverage = closenesses.get(at), coverages[at]
            fit = self.meaning * max(0.0, min(1.0, closeness or 0.0)) + (1 - self.meaning) * coverage
            score = fit * (1 - self.standing + self.standing * standings[unit.source])
            weighed.append(Evidence(unit, score, fit, closeness, coverage))
        return tuple(weighed)

    def _closenesses(self, question: str, texts: Sequence[str], coverages: Sequence[float]) -> Mapping[int, float]:
        """By place, for the units that share most with the question; the first in a source before the later ones."""
        chosen = sorted(range(len(texts)), key=lambda at: (-coverages[at], at))[: self.max_embedded]
        if not chosen:
            return {}
        try:
            asked = self.embedder.query(question)
            outcomes = self.embedder.documents([texts[at] for at in chosen])
        except CitewiseError:  # the search has said so already; words alone still tell something
            return {}
        return {
            at: cosine(asked, outcome)
            for at, outcome in zip(chosen, outcomes, strict=True)
            if not isinstance(outcome, EmbeddingFailure)
        }


def standings_of(sources: Sequence[ContextSource]) -> Mapping[int, float]:
    """By number, each source's score as a share of the best one's: what the search thought of it."""
    best = max((source.score for source in sources), default=0.0)
    shares = {source.n: source.score / best if best > 0 else 1.0 for source in sources}
    quizzes = {source.n for source in sources if all(passage.content_type == "quiz" for passage in source.passages)}
    return {n: share * QUIZ if n in quizzes else share for n, share in shares.items()}


def telling(asked: Set[str], texts: Sequence[Set[str]]) -> Mapping[str, float]:
    """How much each stem tells: the fewer texts hold it, the more."""
    present = Counter(stem for text in texts for stem in text if stem in asked)
    return {stem: math.log(1 + len(texts) / (present[stem] + 0.5)) for stem in sorted(asked)}


def covered(weights: Mapping[str, float], present: Set[str]) -> float:
    """The share of the weights whose stems a text holds; 0 for a question without any."""
    total = math.fsum(weights.values())
    return math.fsum(weight for stem, weight in weights.items() if stem in present) / total if total else 0.0


def _missing(question: str, texts: Sequence[str], counter: TokenCounter) -> float:
    """How much of what the question names is in no text: 0 (everything is mentioned) to 2.

    Common words do not count: a good answer need not repeat the question.
    """
    present = frozenset(term for terms in map(analysis.terms, texts) for term in (*terms.words, *terms.code))
    absent = {word: is_name for word, is_name in _words(question) if not _is_mentioned(word, present)}
    names = sum(absent.values())
    rare = sum(_is_rare(word, counter) for word, is_name in absent.items() if not is_name)
    return min(MAX_MISSING, MISSING_NAME * names + MISSING_RARE_WORD * rare)


def _words(question: str) -> Iterator[tuple[str, bool]]:
    """Each word, and whether it is a name: it has a digit, or a capital that no sentence's beginning explains."""
    is_shouted = question == question.upper()
    for match in _WORD.finditer(question):
        word = match.group()
        before = question[: match.start()].rstrip()
        is_inside = bool(before) and before[-1] not in ".?!:"
        is_capital = (word[0].isupper() and is_inside) or any(map(str.isupper, word[1:]))
        yield word, any(map(str.isdigit, word)) or (is_capital and not is_shouted)


def _is_mentioned(word: str, present: Set[str]) -> bool:
    """Whether the texts have the word in some form; an identifier (`UR5`) only as a whole."""
    whole = word.lower()
    if whole in present or whole.replace("-", "") in present:
        return True
    is_identifier = word[0].isalpha() and any(map(str.isdigit, word))
    return not is_identifier and present >= stems(word)


def _is_rare(word: str, counter: TokenCounter) -> bool:
    """Whether a general vocabulary knows some part of the word neither as it stands nor by its stem."""
    forms = ((part, *analysis.terms(part).words) for part in _JOINT.split(word))
    return any(len(of_part) > 1 and min(counter.counts(of_part)) > 1 for of_part in forms)


def _grounds(confidence: float, signals: Signals, evidence: tuple[Evidence, ...], threshold: float) -> Grounds:
    """Sources without a single unit answer nothing, whatever else speaks for them."""
    confidence = confidence if evidence else 0.0
    return Grounds(confidence, bool(evidence) and confidence >= threshold, evidence, signals)


def _indexed(source: ContextSource) -> str:
    """A source's text behind its headings, as it was indexed."""
    return "\n".join((*source.citation.breadcrumb, source.text))


def _headings(source: ContextSource) -> tuple[str, ...]:
    return source.citation.breadcrumb or (source.citation.title,)


def _headed(unit: Unit, heading: str) -> str:
    """A unit behind its heading, since a list item hardly ever names what it is about."""
    text = without_list_mark(unit.text)[:MAX_CHARACTERS]
    return f"{heading}: {text}" if heading else text


def _lead(cosines: Sequence[float]) -> float | None:
    """How far the best is ahead of the lower half: of a subject that is merely near, every chunk is as near.

    None where there are too few to lag behind: a library of one page answers too.
    """
    if len(cosines) < MIN_FIELD:
        return None
    lower = cosines[: len(cosines) // 2]
    return cosines[-1] - math.fsum(lower) / len(lower)


def _matched(asked: Set[str], present: Sequence[Set[str]]) -> float:
    """How many of the question's stems the best source holds, the first ones counting most."""
    best = max((len(asked & words) for words in present), default=0)
    return math.log1p(max(best, ALL_WORDS) if best and best == len(asked) else best)


def _agreement(findings: Sequence[Finding]) -> float | None:
    """The share of the best chunks by meaning that are among the best by words; None without a ranking by meaning."""
    ranks = [found.candidate.ranks for found in findings]
    if not any(DENSE in of_chunk for of_chunk in ranks):
        return None
    agreed = sum(all(of_chunk.get(arm, AGREED_RANK + 1) <= AGREED_RANK for arm in (DENSE, WORDS)) for of_chunk in ranks)
    return agreed / min(AGREED_RANK, len(findings))
