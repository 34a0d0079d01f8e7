"""Context and grounds -> how far an answer can be trusted, each part in 0..1 with a meaning of its own.

`python -m benchmarks.quality_score --fit` prints the tables; ADR 18 says what they reach. They were fitted
with as many questions that have a right passage as questions that have none, half of these asked of a library from
which the right pages were taken: chances are those of such a mixture.
"""

import math
from collections.abc import Sequence
from itertools import combinations

from citewise.answer.ground import Calibration
from citewise.model.answer import Citation, Context, Grounds, Prompt, Quality
from citewise.model.query import Mode
from citewise.text.analysis import terms

# How likely a right passage is among the sources, by what the rankings alone say.
RETRIEVAL = Calibration(
    {"closeness": (0.626, 0.154, 0.318), "lead": (0.176, 0.086, 0.403), "agreement": (0.333, 0.247, 0.413)},
    intercept=0.092,
)
# The same by all that the decision to answer weighs: what its logits are worth, and where they count as even.
RIGHT_SLOPE, RIGHT_SHIFT = 0.5, -0.764
# Of the chance that a right passage is among the sources; below it an answer is shown with a warning. 0: none is; 1:
# all are. It warns of 11 % of the answers that have one, and of 60 % of those to what the library does not answer.
LOW = 0.45

INSUFFICIENT = "the sources do not seem to answer the question"
UNCITED = "the answer points at no source"
UNFAITHFUL = "a sentence is not supported by the source it points at"
DOUBTFUL = "the right source may not be among these: check what is quoted"


class CalibratedQuality:
    """Quality by calibrated signals of the search and by the share of sentences that their sources support."""

    def quality(
        self, prompt: Prompt, text: str, *, citations: Sequence[Citation], faithfulness: float | None
    ) -> Quality:
        grounds, chance = prompt.grounds, self.chance(prompt.mode, prompt.grounds)
        overall = chance * (1.0 if faithfulness is None else faithfulness)
        warning = DOUBTFUL if chance < LOW else None
        if grounds.outcome != "answered":
            warning = INSUFFICIENT
        elif faithfulness is None:  # the generator was asked and found no answer
            overall, warning = 0.0, INSUFFICIENT
        elif not citations:
            overall, warning = 0.0, UNCITED
        elif faithfulness < 1.0:
            warning = UNFAITHFUL
        return Quality(
            overall=overall,
            retrieval_confidence=_retrieval_confidence(prompt),
            sufficiency=grounds.confidence,
            diversity=_diversity(prompt.context),
            faithfulness=faithfulness,
            warning=warning,
        )

    @staticmethod
    def chance(mode: Mode, grounds: Grounds) -> float:
        """How likely a right passage is among the sources; of a selection, how likely it holds the answer."""
        confidence = grounds.confidence
        if mode == "selected_text_only" or not 0 < confidence < 1:
            return confidence
        logits = RIGHT_SHIFT + RIGHT_SLOPE * math.log(confidence / (1 - confidence))
        return 1 / (1 + math.exp(-logits))


def _retrieval_confidence(prompt: Prompt) -> float | None:
    """None where no ranking said anything; nothing is searched for a selection, which is the right passage or not."""
    signals = prompt.grounds.signals
    if prompt.mode == "selected_text_only" or not prompt.context.sources:
        return prompt.grounds.confidence
    is_known = any(signals.get(name) is not None for name in RETRIEVAL.weights)
    return RETRIEVAL.confidence(signals) if is_known else None


def _diversity(context: Context) -> float:
    """One minus what two sources have in common on average, of the smaller one's stems; 0 for a single voice."""
    stems = [terms(source.text).stems for source in context.sources]
    shared = [len(words & other) / min(len(words), len(other)) for words, other in combinations(filter(None, stems), 2)]
    return 1 - math.fsum(shared) / len(shared) if shared else 0.0
