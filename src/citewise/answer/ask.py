"""Question -> answer over the library: search, pack, ground, compress, write. Every statement points at its source."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

from citewise.answer.answered import Grounded, answer_of, grounded, pointed, refusal_of, timed
from citewise.answer.compress import Compress
from citewise.answer.ground import Ground
from citewise.answer.pack import Pack
from citewise.answer.prompt import fitting_history, messages_of
from citewise.answer.quality import Judge
from citewise.answer.write import Write, Written
from citewise.model.answer import AnswerEvents, Cited, Done, Message, Prompt, Token
from citewise.model.query import Mode, Query
from citewise.model.ranking import Dropped, Finding, SearchResult, topic_of
from citewise.search.adjust import Cut
from citewise.search.fallback import is_popular

GROUNDING_TOP_K = 20  # findings that the decision to answer looks at, whatever the answer itself may quote
MAX_SUGGESTIONS = 5
NOTHING_FOUND = "Nothing that you may read in this library could answer this question."
REFUSAL = "The library does not seem to answer this question."
NOT_SEARCHED = (
    "The library cannot be searched just now, so nothing was looked up for this question. "
    "What is suggested is what others often read; it did not come from the question."
)


@dataclass(frozen=True, slots=True)
class Ask:
    """Answers from what was found, or says that it does not suffice and what the library does know."""

    search: Callable[[Query], SearchResult]
    pack: Pack
    ground: Ground
    write: Write
    compress: Compress = field(default_factory=Compress)

    def __call__(self, query: Query, *, history: Sequence[Message] = ()) -> AnswerEvents:
        found = self.search(replace(query, top_k=max(GROUNDING_TOP_K, query.top_k)))
        cut = _cut(found, query)
        made = grounded(query, self.compress, self.pack, self.ground, packed=partial(_packed, cut, found))
        if not made.grounds.is_sufficient:
            text = _refusal(made.result)
            yield Token(text)
            yield Done(refusal_of(made, text, Judge(), suggestions=topics(found.findings)))
            return
        messages = messages_of(query.text, Mode.NORMAL, made.context, fitting_history(history, self.pack.counter))
        yield from self._written(made.result, Prompt(query.text, Mode.NORMAL, made.context, made.grounds, messages))

    def _written(self, result: SearchResult, prompt: Prompt) -> AnswerEvents:
        started = time.perf_counter()
        with closing(self.write(prompt)) as events:
            for event in events:
                if isinstance(event, Written):
                    done = timed(result, "generate", started)
                    yield Done(answer_of(done, prompt, event, self.write, self.pack.counter))
                elif isinstance(event, Cited):
                    yield Cited(pointed(event.citation, prompt))
                else:
                    yield event


def _refusal(result: SearchResult) -> str:
    if is_popular(result):
        return NOT_SEARCHED
    return REFUSAL if result.findings else NOTHING_FOUND


def _packed(result: SearchResult, found: SearchResult, pack: Pack, ground: Ground) -> Grounded:
    """What was asked for as sources; the decision looks at all that was found."""
    started = time.perf_counter()
    context = pack(() if is_popular(found) else result.findings)  # no answer may rest on what is popular
    grounds = ground.of_search(result.query.text, found.findings, context)
    return Grounded(timed(result, "ground", started), context, grounds)


def _cut(found: SearchResult, query: Query) -> SearchResult:
    """The result as it was asked for: what only the decision looked at counts as cut."""
    others = [one.candidate for one in found.findings[query.top_k :]]
    cut = [*others, *(one.candidate for one in found.dropped if one.stage == Cut.name)]
    return replace(
        found,
        query=query,
        findings=found.findings[: query.top_k],
        counts={**found.counts, Cut.name: len(found.findings[: query.top_k])},
        dropped=(
            *(one for one in found.dropped if one.stage != Cut.name),
            *(Dropped(one, Cut.name, f"beyond the first {query.top_k}") for one in cut),
        ),
    )


def topics(findings: Sequence[Finding]) -> tuple[str, ...]:
    """What the library does know, nearest first: sections that were found, which the reader may therefore see."""
    named = dict.fromkeys(topic_of(one.passage) for one in findings)
    return tuple(named)[:MAX_SUGGESTIONS]
