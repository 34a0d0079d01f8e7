"""What was said before reaches the generator, and what mode it answers in."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from citewise import BadRequest, Message, Role
from tests.fakes.scripted_generator import ScriptedGenerator
from tests.pipelines.harness import Shelf

PAGE = "# Gauge\n\nThe tide gauge is read at noon.\n"
QUESTION = "When is the tide gauge read?"
HISTORY = (
    Message(Role.USER, "Which gauge do we have?"),
    Message(Role.ASSISTANT, "A tide gauge from 1871 [1]."),
)


class Asked:
    """A library that answers with a script, and what its generator was told."""

    def __init__(self, home: Path) -> None:
        self.generator = ScriptedGenerator(["It is read at noon [1]."])
        self.library = Shelf.holding(home, {"gauge.md": PAGE}).library(generator=self.generator)

    def told(self, *, selection: str | None = None, history: Sequence[Any] = HISTORY) -> tuple[Message, ...]:
        with self.library:
            assert self.library.as_owner().ask(QUESTION, selection=selection, history=history).sufficient_context
        return self.generator.prompts[0].messages


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path)


def test_both_sides_of_a_conversation_stand_before_the_question(asked: Asked) -> None:
    system, *history, question = asked.told()
    assert system.role is Role.SYSTEM
    assert tuple(history) == HISTORY
    assert question.content.endswith(QUESTION)


def test_about_a_selection_only_what_the_reader_said_before_is_heard(asked: Asked) -> None:
    system, *said = asked.told(selection=PAGE)
    assert {message.role for message in said} == {Role.USER}
    assert HISTORY[0].content in said[0].content
    assert "1871" not in "".join(message.content for message in (system, *said))


@pytest.mark.parametrize(
    ("selection", "said", "mode"),
    [(PAGE, "from that text and nothing else", "selected_text_only"), (None, "a library of documents", "normal")],
    ids=["a selection", "the library"],
)
def test_the_generator_is_told_what_it_answers_from(asked: Asked, selection: str | None, said: str, mode: str) -> None:
    system, *_ = asked.told(selection=selection)
    assert said in system.content
    assert asked.generator.prompts[0].mode == mode


def test_a_message_may_be_a_mapping(asked: Asked) -> None:
    _, *history, _ = asked.told(history=[{"role": turn.role.value, "content": turn.content} for turn in HISTORY])
    assert tuple(history) == HISTORY


@pytest.mark.parametrize(
    "message", [{"role": "user"}, {"role": "robot", "content": "Hi"}, {"role": "user", "content": 3}, "Hi", None]
)
def test_something_else_is_not_a_message(asked: Asked, message: Any) -> None:
    with pytest.raises(BadRequest, match="message"):
        asked.told(history=[message])
