"""Sources, contexts, evidence and prompts for tests, with everything that does not matter filled in."""

from collections.abc import Mapping, Sequence

from citewise.answer.pack import SEPARATOR, Pack, _block
from citewise.model.answer import Citation, Context, ContextSource, Evidence, Grounds, Message, Prompt, Role
from citewise.text.units import units_of
from citewise.text.urls import Addresses
from tests.builders import a_finding, a_passage
from tests.fakes.counters import WordCounter


def a_source(n: int = 1, text: str = "The gauge is read at noon.", *, title: str = "Tides") -> ContextSource:
    passage = a_passage(text, document=f"{n}.md", title=title)
    citation = Citation(
        n=n,
        chunk_id=passage.chunk_id,
        document_id=passage.document_id,
        document=passage.document,
        title=title,
        section=passage.section,
        breadcrumb=passage.breadcrumb,
        url=None,
        module=None,
        chapter=None,
        lines=(1, 1),
        page=None,
        excerpt=text[:200],
        score=0.5,
    )
    return ContextSource(n, (passage,), text, passage.tokens, 0.5, citation, units_of(n, text))


def a_context(*sources: ContextSource) -> Context:
    text = SEPARATOR.join(_block(source.n, source.passages[0], source.text) for source in sources)
    tokens = sum(source.tokens for source in sources)
    return Context(text, sources, tokens, tokens)


def a_prompt(*sources: ContextSource, question: str = "When is the gauge read?") -> Prompt:
    messages = (Message(Role.SYSTEM, "Answer from the sources."), Message(Role.USER, question))
    context = a_context(*(sources or (a_source(),)))
    return Prompt(question, "normal", context, Grounds(0.9, "answered"), messages)


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
    return Grounds(0.9, "answered", tuple(evidence))
