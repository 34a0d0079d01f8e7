"""Contexts to be compressed, for tests: pages with a score each, and how well each of their units fits."""

from collections.abc import Mapping, Sequence

from citewise.answer.pack import Pack
from citewise.model.answer import Context, Evidence, Grounds
from citewise.text.urls import Addresses
from tests.fakes.counters import WordCounter
from tests.passages import a_finding, a_passage

PACK = Pack(WordCounter(), Addresses())


def a_wide_context(*pages: tuple[str, float], budget_tokens: int = 6_000) -> Context:
    """Sources of these texts with these scores, best first."""
    findings = [
        a_finding(a_passage(text, document=f"{at}.md", title=f"Page {at}", section="Reading"), score=score)
        for at, (text, score) in enumerate(pages, start=1)
    ]
    return PACK.within(budget_tokens)(findings)


def evidence_of(context: Context, fits: Mapping[str, float] | None = None) -> tuple[Evidence, ...]:
    """Each unit with the fit of the first text that it holds; 0 if it holds none."""
    best = max(source.score for source in context.sources)
    return tuple(
        Evidence(unit, score=fit, fit=fit, standing=source.score / best)
        for source in context.sources
        for unit in source.units
        for fit in [next((fit for text, fit in (fits or {}).items() if text in unit.text), 0.0)]
    )


def grounds_of(evidence: Sequence[Evidence]) -> Grounds:
    return Grounds(0.9, is_sufficient=True, evidence=tuple(evidence))
