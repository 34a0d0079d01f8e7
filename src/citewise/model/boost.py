"""Which words of a question speak for which kinds of document (Q9)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BoostRule:
    """A question with one of the keywords multiplies the scores of these corpus types."""

    keywords: tuple[str, ...]
    corpus_types: tuple[str, ...]
    factor: float  # 1: no change; 1.3: a passage at 0.5 comes to 0.65


DEFAULT_BOOSTS = (
    BoostRule(
        ("deploy", "deploys", "deployed", "deployment", "k8s", "kubernetes", "pod", "pods", "container", "helm"),
        ("CODE_DEPLOY", "DOC_RUNBOOK"),
        1.3,
    ),
    BoostRule(
        ("incident", "incidents", "broke", "broken", "down", "outage", "outages", "alert", "alerts"),
        ("CONVO_SLACK", "DOC_RUNBOOK"),
        1.3,
    ),
    BoostRule(("how to", "steps", "procedure", "procedures", "guide"), ("DOC_RUNBOOK", "DOC_README"), 1.2),
)
