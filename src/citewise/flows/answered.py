"""What both ways of answering share: the last value of an answer, or of a refusal."""

import time
from dataclasses import replace

from citewise.answer.write import Written
from citewise.model.answer import Answer, Quality, Usage
from citewise.model.context import Context, Grounds, Prompt
from citewise.model.result import SearchResult
from citewise.ports.token_counter import TokenCounter

INSUFFICIENT = "the sources do not seem to answer the question"
UNFAITHFUL = "a sentence is not supported by the source it points at"


def answer_of(result: SearchResult, prompt: Prompt, written: Written, generator: str, counter: TokenCounter) -> Answer:
    """Everything about a written answer in one value."""
    spent = sum(counter.counts([*(message.content for message in prompt.messages), written.text]))
    return Answer(
        result,
        written.text,
        generator,
        sufficient_context=True,
        citations=written.citations,
        removed_markers=written.removed_markers,
        unsupported_sentences=written.unsupported_sentences,
        quality=_quality(prompt.context, prompt.grounds, faithfulness=written.faithfulness),
        usage=Usage(prompt.context.tokens_before, prompt.context.tokens, spent),
    )


def refusal_of(
    result: SearchResult,
    context: Context,
    grounds: Grounds,
    generator: str,
    text: str,
    suggestions: tuple[str, ...],
) -> Answer:
    """An answer that says that there is none, and where to go from here."""
    return Answer(
        result,
        text,
        generator,
        sufficient_context=False,
        citations=(),
        removed_markers=0,
        unsupported_sentences=(),
        quality=_quality(context, grounds, faithfulness=None),
        usage=Usage(context.tokens_before, context.tokens, 0),
        suggestions=suggestions,
    )


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
