"""Question and context -> evidence: how well each unit of the sources answers, by its words and by its meaning.

No statistic of a library is needed: how telling a word is, is counted over the sources themselves, so that a
selection is weighed as a search's findings are.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from citewise.errors import CitewiseError
from citewise.model.answer import Context, Evidence, Source, Unit
from citewise.model.chunk import EmbeddingFailure, cosine
from citewise.ports.models import Embedder
from citewise.text.analysis import stems
from citewise.text.markdown import without_list_mark
from citewise.text.units import units_of

MAX_EMBEDDED = 24  # units; 0: words alone decide; more: at 2 to 3 ms each, a long selection keeps its reader waiting
MAX_CHARACTERS = 300  # of a unit are embedded; fewer: what it is about may be cut off; more: only code is so long

# Chosen by "are the right places quoted" of benchmarks.grounding; both have a wide plateau. With 0.6 and 0, 55 % of the
# textbook's quoted units and 68 % of the API documentation's came from a gold section; now 68 % and 83 %.
MEANING = 0.6  # 0: shared words alone; 1: meaning alone
STANDING = 0.85  # 0: a unit is as good in the last source as in the first; 1: one in a worthless source is worthless
# A judgment, not a measurement: no set asks for what only a quiz says.
QUIZ = 0.6  # what a quiz is worth: it says wrong things on purpose; 1: as much as a page; 0: it is never quoted


@dataclass(frozen=True, slots=True)
class Weighed:
    """A unit with both sides of its score."""

    unit: Unit
    closeness: float | None  # cosine of question and unit under its heading; None for one that was not embedded
    coverage: float  # 0..1: share of the question's words it holds, telling ones counting more
    fit: float  # 0..1: both together
    score: float  # 0..1: the fit, less in a source that the search thinks less of

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.unit, self.score, self.fit)


@dataclass(frozen=True, slots=True)
class Weigh:
    """Weigh every unit of a context against a question, in order of source and position."""

    embedder: Embedder
    meaning: float = MEANING
    standing: float = STANDING
    max_embedded: int = MAX_EMBEDDED

    def __call__(self, question: str, context: Context) -> tuple[Weighed, ...]:
        units = [unit for source in context.sources for unit in units_of(source.n, source.text, source.blocks)]
        sources = {source.n: source for source in context.sources}
        coverages = self._coverages(question, [headed(unit, path_of(sources[unit.source])) for unit in units])
        texts = [headed(unit, heading_of(sources[unit.source])) for unit in units]
        closenesses = self._closenesses(question, texts, coverages)
        standings = standings_of(context.sources)
        return tuple(
            self._weighed(unit, closenesses.get(at), coverages[at], standings[unit.source])
            for at, unit in enumerate(units)
        )

    def _weighed(self, unit: Unit, closeness: float | None, coverage: float, standing: float) -> Weighed:
        fit = self.meaning * max(0.0, min(1.0, closeness or 0.0)) + (1 - self.meaning) * coverage
        return Weighed(unit, closeness, coverage, fit, fit * (1 - self.standing + self.standing * standing))

    def _coverages(self, question: str, texts: Sequence[str]) -> list[float]:
        words = [stems(text) for text in texts]
        weights = telling(stems(question), words)
        return [covered(weights, held) for held in words]

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


def heading_of(source: Source) -> str:
    """The heading that a source's units stand under: what they mean together."""
    return source.citation.breadcrumb[-1] if source.citation.breadcrumb else source.citation.title


def path_of(source: Source) -> str:
    """All the headings above them: the words that need not be said again, such as what the page is about."""
    return " > ".join(source.citation.breadcrumb) or source.citation.title


def standings_of(sources: Sequence[Source]) -> Mapping[int, float]:
    """By number, each source's score as a share of the best one's: what the search thought of it."""
    best = max((source.score for source in sources), default=0.0)
    return {
        source.n: (source.score / best if best > 0 else 1.0) * (QUIZ if _is_quiz(source) else 1.0) for source in sources
    }


def _is_quiz(source: Source) -> bool:
    return all(passage.content_type == "quiz" for passage in source.passages)


def headed(unit: Unit, heading: str) -> str:
    """A unit behind its heading, since a list item hardly ever names what it is about."""
    text = without_list_mark(unit.text)[:MAX_CHARACTERS]
    return f"{heading}: {text}" if heading else text


def telling(asked: Set[str], texts: Sequence[Set[str]]) -> Mapping[str, float]:
    """How much each stem tells: the fewer texts hold it, the more."""
    held = Counter(stem for text in texts for stem in text if stem in asked)
    return {stem: math.log(1 + len(texts) / (held[stem] + 0.5)) for stem in sorted(asked)}


def covered(weights: Mapping[str, float], held: Set[str]) -> float:
    """The share of the weights whose stems a text holds; 0 for a question without any."""
    total = math.fsum(weights.values())
    return math.fsum(weight for stem, weight in weights.items() if stem in held) / total if total else 0.0
