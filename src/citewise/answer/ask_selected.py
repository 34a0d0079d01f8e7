"""Question -> answer from selected text alone. Nothing here, or imported from here, knows a store (Q13)."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

from citewise.answer.answered import Grounded, answer_of, grounded, refusal_of, timed
from citewise.answer.compress import Compress
from citewise.answer.cut import fitted
from citewise.answer.ground import Ground
from citewise.answer.pack import Pack
from citewise.answer.prompt import fitting_history, messages_of
from citewise.answer.quality import Judge
from citewise.answer.write import Write, Written
from citewise.errors import BadRequest, Misconfigured
from citewise.model.answer import SELECTION, AnswerEvents, Context, Done, Message, Prompt, Token
from citewise.model.chunk import NO_SECTION
from citewise.model.document import Lines
from citewise.model.ids import DocumentId, digest
from citewise.model.query import Mode, Query, Selection
from citewise.model.ranking import Candidate, Finding, Passage, SearchResult
from citewise.text.html import as_seen
from citewise.text.slugs import slug

REFUSAL = "The selected text does not answer this question."
OFFER = "Ask the whole library: the same question without the selection."
UNTITLED = "Selected text"
LABEL_TOKENS = 100  # of the budget, for the source's label


@dataclass(frozen=True, slots=True)
class AskSelected:
    """Answers from the selection, or says that it does not hold the answer and offers the library."""

    pack: Pack
    ground: Ground
    write: Write
    compress: Compress = field(default_factory=Compress)

    def __call__(self, query: Query, selection: Selection, *, history: Sequence[Message] = ()) -> AnswerEvents:
        packed = partial(self._packed, query, selection)
        made = grounded(query, self.compress, self.pack, self.ground, packed=packed)
        citation = made.context.sources[0].citation
        if not made.grounds.is_sufficient:
            refused = refusal_of(made, REFUSAL, Judge(), suggestions=(OFFER,))
            yield Token(REFUSAL)
            yield Done(replace(refused, citations=(citation,)))
            return
        mode, history = Mode.SELECTED_TEXT_ONLY, fitting_history(history, self.pack.counter)
        messages = messages_of(query.text, mode, made.context, history)
        yield from self._written(made.result, Prompt(query.text, mode, made.context, made.grounds, messages))

    def _written(self, result: SearchResult, prompt: Prompt) -> AnswerEvents:
        started = time.perf_counter()
        citation = prompt.context.sources[0].citation
        with closing(self.write(prompt)) as events:
            for event in events:
                if isinstance(event, Written):
                    done = timed(result, "generate", started)
                    answer = answer_of(done, prompt, event, self.write, self.pack.counter)
                    yield Done(replace(answer, citations=(citation,)))
                else:
                    yield event

    def _packed(self, query: Query, selection: Selection, pack: Pack, ground: Ground) -> Grounded:
        started = time.perf_counter()
        context = self._context(query, selection, pack)
        grounds = ground.of_selection(query.text, context)
        return Grounded(timed(_result(query, context), "ground", started), context, grounds)

    def _context(self, query: Query, selection: Selection, pack: Pack) -> Context:
        """The selection as the only source; of a very long one, what speaks of the question."""
        room = max(pack.budget_tokens - LABEL_TOKENS, 1)
        seen = as_seen(selection.text)
        text = fitted(seen, query.text, counter=pack.counter, budget_tokens=room)
        whole, tokens = pack.counter.counts([seen, text])
        context = pack([Finding(_passage(selection, text, tokens), Candidate(SELECTION, 1.0, {}, {}))])
        if not context.sources:
            said = f"{pack.budget_tokens} tokens leave no room for the selection: raise the budget"
            raise BadRequest(said) if query.budget_tokens else Misconfigured(said)
        source = context.sources[0]
        citation = replace(
            source.citation,
            document_id=None,
            document=selection.document,
            url=source.citation.url if selection.document else None,
            module=None,
            chapter=None,
            lines=None,
        )
        return replace(
            context,
            sources=(replace(source, citation=citation),),
            tokens_before=context.tokens_before + max(whole - tokens, 0),
        )


def _passage(selection: Selection, text: str, tokens: int) -> Passage:
    section = selection.section or NO_SECTION
    return Passage(
        chunk_id=SELECTION,
        document_id=DocumentId(""),
        document=selection.document or "",
        title=selection.document or UNTITLED,
        section=section,
        breadcrumb=(selection.section,) if selection.section else (),
        anchor=slug(selection.section) if selection.section else "",
        position=0,
        location=Lines(1, text.count("\n") + 1),
        corpus_type="DOC_PAGE",
        content_type="prose",
        module="",
        chapter="",
        text=text,
        tokens=tokens,
        text_digest=digest(text),
    )


def _result(query: Query, context: Context) -> SearchResult:
    """The header that programs expect of every answer; nothing was searched."""
    passage = context.sources[0].passages[0]
    finding = Finding(passage, Candidate(SELECTION, 1.0, {}, {}))
    return SearchResult(query, (finding,), total_candidates=1, timings_ms={}, mode=Mode.SELECTED_TEXT_ONLY)
