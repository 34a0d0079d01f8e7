"""What both ways of answering share: the last value of an answer, or of a refusal."""

import time
from dataclasses import replace

from citewise.answer.support import says_nothing
from citewise.answer.write import Written
from citewise.context.cite import excerpt_of
from citewise.model.answer import Answer, Quality, Usage
from citewise.model.citation import Citation
from citewise.model.context import Context, Grounds, Prompt
from citewise.model.result import SearchResult
from citewise.ports.token_counter import TokenCounter

NO_GENERATOR = "none"
INSUFFICIENT = "the sources do not seem to answer the question"
UNCITED = "the answer points at no source"
UNFAITHFUL = "a sentence is not supported by the source it points at"


def answer_of(result: SearchResult, prompt: Prompt, written: Written, generator: str, counter: TokenCounter) -> Answer:
    """Everything about a written answer in one value."""
    spent = sum(counter.counts([*(message.content for message in prompt.messages), written.text]))
    return Answer(
        result,
        written.text,
        generator,
        sufficient_context=not _is_silent(written),
        citations=tuple(pointed(one, prompt) for one in written.citations),
        removed_markers=written.removed_markers,
        unsupported_sentences=written.unsupported_sentences,
        quality=_judged(_quality(prompt.context, prompt.grounds, faithfulness=written.faithfulness), written),
        usage=Usage(prompt.context.tokens_before, prompt.context.tokens, spent),
    )


def _judged(quality: Quality, written: Written) -> Quality:
    """A generator that found no answer, or points at nothing, is not to be trusted for having been asked."""
    if _is_silent(written):
        return replace(quality, overall=0.0, faithfulness=None, warning=INSUFFICIENT)
    return quality if written.citations else replace(quality, overall=0.0, warning=UNCITED)


def _is_silent(written: Written) -> bool:
    """It says that the sources do not; what it cites all the same is a statement ("there is no network code [1]")."""
    return not written.citations and says_nothing(written.text)


def refusal_of(
    result: SearchResult, context: Context, grounds: Grounds, text: str, *, suggestions: tuple[str, ...]
) -> Answer:
    """An answer that says that there is none, and where to go from here. No generator was asked for it."""
    return Answer(
        result,
        text,
        NO_GENERATOR,
        sufficient_context=False,
        citations=(),
        removed_markers=0,
        unsupported_sentences=(),
        quality=_quality(context, grounds, faithfulness=None),
        usage=Usage(context.tokens_before, context.tokens, 0),
        suggestions=suggestions,
    )


def pointed(citation: Citation, prompt: Prompt) -> Citation:
    """The citation with the excerpt that speaks most of the question."""
    weighed = [one for one in prompt.grounds.evidence if one.unit.source == citation.n]
    source = next((one for one in prompt.context.sources if one.n == citation.n), None)
    if not weighed or source is None:
        return citation
    best = max(weighed, key=lambda one: one.score)
    return replace(citation, excerpt=excerpt_of(source.text, best.unit.text))


def timed(result: SearchResult, stage: str, started: float) -> SearchResult:
    """The result with one more stage on its clock."""
    took = 1000 * (time.perf_counter() - started)
    total = result.timings_ms.get("total", 0.0) + took
    others = {name: ms for name, ms in result.timings_ms.items() if name != "total"}
    return replace(result, timings_ms={**others, stage: took, "total": total})


def _quality(context: Context, grounds: Grounds, *, faithfulness: float | None) -> Quality:
    documents = {passage.document_id for source in context.sources for passage in source.passages}
    warning = None if grounds.is_sufficient else INSUFFICIENT
    if faithfulness is not None and faithfulness < 1.0:
        warning = UNFAITHFUL
    return Quality(
        overall=grounds.confidence * (1.0 if faithfulness is None else faithfulness),
        retrieval_confidence=grounds.confidence,
        sufficiency=max((one.score for one in grounds.evidence), default=0.0),
        diversity=len(documents) / len(context.sources) if context.sources else 0.0,
        faithfulness=faithfulness,
        warning=warning,
    )
