"""Sources, contexts and prompts for tests, with everything that does not matter filled in."""

from citewise.answer.pack import SEPARATOR, _block
from citewise.model.answer import Citation, Context, ContextSource, Grounds, Message, Prompt, Role
from citewise.text.units import units_of
from tests.passages import a_passage


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
    return Prompt(question, "normal", context, Grounds(0.9, is_sufficient=True, evidence=()), messages)
