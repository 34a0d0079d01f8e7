"""Settings -> the decision whether to answer."""

from dataclasses import replace

from citewise.answer.ground import SEARCH, SELECTION, Ground
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding

MIN_FOR_A_MODEL = (
    0.15  # it can say itself that the sources do not suffice; 0.3 would still refuse 4 % of what they answer
)


def ground_of(settings: Settings, embedding: Embedding) -> Ground:
    """Quoting needs more confidence than asking a model that reads the sources."""
    chosen = settings.answer
    least = chosen.min_confidence or (MIN_FOR_A_MODEL if chosen.generator == "openai" else 0.0)
    ground = Ground(embedding.embedder, embedding.counter)
    if not least:
        return ground
    return replace(ground, search=replace(SEARCH, threshold=least), selection=replace(SELECTION, threshold=least))
