"""What was said before reaches the generator, and what mode it answers in."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from citewise import BadRequest, Library, Message, Role
from citewise.ports.models import Embedding
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.fakes.scripted_generator import ScriptedGenerator

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
        embedding = Embedding(HashEmbedder(), WordCounter())
        self.library = Library(
            home / "library",
            embedder=embedding.embedder,
            token_counter=embedding.counter,
            word_embedder=embedding.words,
            generator=self.generator,
        )
        (home / "gauge.md").write_text(PAGE)
        self.library.ingest(home / "gauge.md")

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


def test_about_a_selection_the_generator_is_told_to_use_that_text_and_nothing_else(asked: Asked) -> None:
    system, *_ = asked.told(selection=PAGE)
    assert "from that text and nothing else" in system.content
    assert asked.generator.prompts[0].mode == "selected_text_only"


def test_about_the_library_the_generator_is_told_of_several_sources(asked: Asked) -> None:
    system, *_ = asked.told()
    assert "a library of documents" in system.content
    assert asked.generator.prompts[0].mode == "normal"


def test_a_message_may_be_a_mapping(asked: Asked) -> None:
    _, *history, _ = asked.told(history=[{"role": turn.role.value, "content": turn.content} for turn in HISTORY])
    assert tuple(history) == HISTORY


@pytest.mark.parametrize(
    "message", [{"role": "user"}, {"role": "robot", "content": "Hi"}, {"role": "user", "content": 3}, "Hi", None]
)
def test_something_else_is_not_a_message(asked: Asked, message: Any) -> None:
    with pytest.raises(BadRequest, match="message"):
        asked.told(history=[message])
