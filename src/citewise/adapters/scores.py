"""What every reranker does to a text before it is read and to a number after: half characters, logits."""

from math import exp


def sigmoid(logit: float) -> float:
    """A logit on the scale 0..1; neither end overflows."""
    if logit >= 0:
        return 1.0 / (1.0 + exp(-logit))
    grown = exp(logit)
    return grown / (1.0 + grown)


def whole(text: str) -> str:
    """The text with "?" for half a surrogate pair, which neither a tokenizer nor a strict JSON reader takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
