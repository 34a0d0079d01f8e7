"""What a language model is told: how to answer, what was said before, the sources as quoted data, the question.

The sources stand between two tags whose name is made from the sources themselves: to fake the closing one, a passage
would have to contain the digest of a text that contains it.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from citewise.model.answer import Context, Message, Role
from citewise.model.query import Mode
from citewise.ports.models import TokenCounter

HISTORY_MESSAGES = 10  # as the contract says; 0: every question stands alone
HISTORY_TOKENS = 1_000  # 0: every question stands alone; half of what the sources get keeps them in front
_TAG_CHARACTERS = 20  # of a hexadecimal digest: 80 bits, which nobody hits by trying

_PROMPTS = {"normal": "library.txt", "selected_text_only": "selection.txt"}


def messages_of(
    question: str, mode: Mode, context: Context, history: Sequence[Message], counter: TokenCounter
) -> tuple[Message, ...]:
    """Instructions, the latest turns of the conversation, and last the fenced sources with the question."""
    tag = f"sources-{sha256(context.text.encode('utf-8', 'surrogatepass')).hexdigest()[:_TAG_CHARACTERS]}"
    quoted = f"<{tag}>\n{context.text}\n</{tag}>\n\nQuestion: {question}"
    # An earlier answer may hold what the library says; a selection is answered without it.
    roles = (Role.USER,) if mode == "selected_text_only" else (Role.USER, Role.ASSISTANT)
    turns = [turn for turn in _fitting_history(history, counter) if turn.role in roles]
    joined: list[Message] = []  # turns of one side in a row as one: many models insist that the two take turns
    for turn in (*turns, Message(Role.USER, quoted)):
        if joined and joined[-1].role is turn.role:
            joined[-1] = Message(turn.role, f"{joined[-1].content}\n\n{turn.content}")
        else:
            joined.append(turn)
    instructions = _prompt(_PROMPTS[mode]) + _prompt("rules.txt").format(tag=tag)
    return Message(Role.SYSTEM, instructions.rstrip()), *joined


@cache
def _prompt(name: str) -> str:
    return files("citewise").joinpath("data", "prompts", name).read_text("utf-8")


def _fitting_history(
    history: Sequence[Message], counter: TokenCounter, budget_tokens: int = HISTORY_TOKENS
) -> tuple[Message, ...]:
    """The latest turns that fit the budget, without answers to questions that are gone: many models insist that the
    user speaks first."""
    # A stored conversation gives no instructions, whatever role it claims.
    turns = [message for message in history if message.role is not Role.SYSTEM][-HISTORY_MESSAGES:]
    tokens = counter.counts([turn.content for turn in turns])
    while turns and (sum(tokens) > budget_tokens or turns[0].role is not Role.USER):
        del turns[0], tokens[0]
    return tuple(turns)
