"""What a question names and no source mentions."""

from collections.abc import Sequence

import pytest

from citewise.answer.ground import Ground
from citewise.ports.models import TokenCounter
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.prompts import a_context, a_source

TEXT = "Set up the UR5 arm with ROS 2. The micro-controller reads ISO codes in Kenya."


class Vocabulary:
    """Knows every word but one; of that it makes two tokens."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [2 if text.lower().startswith("quadcopt") else 1 for text in texts]


def missing(question: str, text: str, counter: TokenCounter) -> float | None:
    context = a_context(a_source(1, text, title=""))
    return Ground(HashEmbedder(), counter).selection_signals(question, context, ())["missing"]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How do I set up the UR5?", 0),
        ("How do I set up the UR10?", 1),
        ("Which vaccines do I need in Kenya?", 0),
        ("Which vaccines do I need in Peru?", 1),
        ("Does MoveIt 7 run on an ESP32 in Lima?", 2),
        ("Microcontroller with ISO codes?", 0),
        ("Peru is where? Lima is what?", 0),
        ("WHERE IS LIMA?", 0),
        ("What about ur5 and Micro-Controller?", 0),
        ("who and why", 0),
    ],
)
def test_names_that_no_text_holds_are_counted_up_to_two(question: str, names: float) -> None:
    assert missing(question, TEXT, WordCounter()) == names


def test_a_rare_word_counts_half_and_a_common_one_not_at_all() -> None:
    assert missing("How high does a quadcopter fly?", TEXT, Vocabulary()) == 0.5
    assert missing("How high does a pilot fly?", TEXT, Vocabulary()) == 0
    assert missing("How high?", "Quadcopters fly", Vocabulary()) == 0
