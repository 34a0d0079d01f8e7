"""The pairs that the cache is measured on are what they are called."""

import pytest
from benchmarks.cache_pairs import near_misses, rewordings

from citewise.search.sameness import Sameness

QUESTIONS = ["How do I read the tide gauge at quay 5 before noon?", "What is the limit of get_level, and why?"]


def test_every_kind_of_rewording_is_made_and_says_the_same() -> None:
    pairs = list(rewordings(QUESTIONS))
    assert {pair.kind for pair in pairs} == {
        "case",
        "punctuation",
        "politeness",
        "contractions",
        "how do I, how to, how can I",
    }
    assert all(pair.one != pair.other for pair in pairs)
    assert all(Sameness().says_the_same(pair.one, pair.other) for pair in pairs)


def test_every_kind_of_near_miss_is_made_and_is_another_question() -> None:
    names = "What does read_level give?"
    pairs = list(near_misses([*QUESTIONS, names]))
    kinds = {"another number", "a negation more", "the opposite", "two words swapped", "a word fewer"}
    assert {pair.kind for pair in pairs} == {*kinds, "another identifier"}
    assert all(sorted(pair.one.lower()) != sorted(pair.other.lower()) or "swapped" in pair.kind for pair in pairs)


@pytest.mark.parametrize(
    ("kind", "question", "other"),
    [
        ("the opposite", "Who left before noon?", "Who left after noon?"),
        ("another identifier", "Why does get_level fail?", "Why does read_level fail?"),
        ("two words swapped", "Does the ferry pull the barge?", "Does the barge pull the ferry?"),
    ],
)
def test_a_near_miss_changes_what_its_kind_says(kind: str, question: str, other: str) -> None:
    made = [pair for pair in near_misses([question] * 40 + ["Is read_level new?"])]
    assert (question, other) in {(pair.one, pair.other) for pair in made if pair.kind == kind}
