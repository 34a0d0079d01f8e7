"""What both ways of answering share: the last value of an answer, or of a refusal."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from citewise.answer.cite import excerpt_of
from citewise.answer.compress import Compress
from citewise.answer.ground import Ground
from citewise.answer.pack import Pack
from citewise.answer.quality import Judge, silent, uncited
from citewise.answer.support import says_nothing
from citewise.answer.write import Write, Written
from citewise.model.answer import Answer, Citation, Context, Grounds, Prompt, Quality, Usage
from citewise.model.query import Query
from citewise.model.ranking import SearchResult
from citewise.ports.models import TokenCounter

NO_GENERATOR = "none"


@dataclass(frozen=True, slots=True)
class Grounded:
    """What an answer may rest on, and what speaks for it."""

    result: SearchResult
    context: Context
    grounds: Grounds


def grounded(
    query: Query, compress: Compress, pack: Pack, ground: Ground, *, packed: Callable[[Pack, Ground], Grounded]
) -> Grounded:
    """The sources under the query's budget; compressed, where that is wanted and anything fits whole."""
    pack = pack.within(query.budget_tokens)
    if not compress.is_wanted(query):
        return packed(pack, ground)
    whole = packed(pack.widened(), ground.thorough())
    started = time.perf_counter()
    made = compress(query.text, whole.context, whole.grounds, pack=pack)
    if made is None:
        return packed(pack, ground)
    result = replace(whole.result, degraded=(*whole.result.degraded, *made.degraded))
    return Grounded(timed(result, "compress", started), made.context, made.grounds)


def answer_of(result: SearchResult, prompt: Prompt, written: Written, write: Write, counter: TokenCounter) -> Answer:
    """Everything about a written answer in one value."""
    *asked, answered = counter.counts([*(message.content for message in prompt.messages), written.text])
    return Answer(
        result,
        written.text,
        write.generator.name,
        sufficient_context=not _is_silent(written),
        citations=tuple(pointed(one, prompt) for one in written.citations),
        removed_markers=written.removed_markers,
        unsupported_sentences=written.unsupported_sentences,
        quality=_judged(prompt, written, Judge()),
        usage=Usage(prompt.context.tokens_before, prompt.context.tokens, sum(asked), answered),
    )


def _judged(prompt: Prompt, written: Written, judge: Judge) -> Quality:
    quality = judge(prompt.mode, prompt.context, prompt.grounds, faithfulness=written.faithfulness)
    if _is_silent(written):
        return silent(quality)
    return quality if written.citations else uncited(quality)


def _is_silent(written: Written) -> bool:
    """It says that the sources do not; what it cites all the same is a statement ("there is no network code [1]")."""
    return not written.citations and says_nothing(written.text)


def refusal_of(grounded: Grounded, text: str, judge: Judge, *, suggestions: tuple[str, ...]) -> Answer:
    """An answer that says that there is none, and where to go from here. No generator was asked for it."""
    context = grounded.context
    return Answer(
        grounded.result,
        text,
        NO_GENERATOR,
        sufficient_context=False,
        citations=(),
        removed_markers=0,
        unsupported_sentences=(),
        quality=judge(grounded.result.mode, context, grounded.grounds, faithfulness=None),
        usage=Usage(context.tokens_before, context.tokens, 0, 0),
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
