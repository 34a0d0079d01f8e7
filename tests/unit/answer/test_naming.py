"""What a short question names must be there: the blue lamp is not answered with the red one."""

import pytest

from citewise.answer.ground import _names_another
from tests.builders import a_finding, a_passage

PAGES = (
    "The red lamp means that the pump is blocked. Press the reset button twice.",
    "The north door is opened with the brass key. A calibration may be up to 14 days late.",
)


def names_another(question: str) -> bool:
    return _names_another(question, [a_finding(a_passage(text)) for text in PAGES], top_k=5)


@pytest.mark.parametrize(
    "question",
    [
        "What does the blue lamp mean?",
        "What is the password for the north door?",
        "How do I paint the north door?",
        "Which lamp tells me that the steel door is opened with a key?",
    ],
)
def test_what_no_page_says_of_a_thing_is_noticed(question: str) -> None:
    assert names_another(question)


@pytest.mark.parametrize(
    "question",
    [
        "What does the red lamp mean?",
        "How long may a calibration be late?",
        "How do I open the north door?",
        "Which key opens the north door?",
        "After a storm, lamp and pump are tested, are they not, by the keeper on duty?",
        "Where is Paris?",
        "red lamp vs north door",
        "What is the difference between the red lamp and the north door?",
        "Comment ouvrir la door \u00e0 key ?",
        "Wann calibration late?",
        "",
    ],
)
def test_a_question_whose_words_are_there_or_of_which_none_is_names_nothing_else(question: str) -> None:
    assert not names_another(question)
