"""Do two questions say the same?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.search.sameness import Sameness

SAMENESS = Sameness()
QUESTIONS = st.text(st.sampled_from("aAbX5'?!.,`\" thowtedi"), min_size=1, max_size=40)


@pytest.mark.parametrize(
    "other",
    [
        "how can i install x",
        "How could I install X?",
        "how to install X",
        "How would I install the X",
        "How does one install X?",
        "What's the way to install X",
        "what is the way of installing X?",
        "How do I go about installing X?",
        "HOW DO I INSTALL X",
        "please tell me how to install X",
        "Can you please show me how to install X?",
        "Hello, could you tell me how to install X?",
        "Hi there! I would like to know how to install X.",
        "I was wondering how to install X",
        "Do you know how to install X?",
        "How do I install X? Thanks in advance!",
        "How do I install X, please?",
        "  how   do I install\u00a0X ??",
    ],
)
def test_manners_make_no_difference(other: str) -> None:
    assert SAMENESS.says_the_same("How do I install X?", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is a chunk?", "what's a chunk"),
        ("Why doesn't it start?", "why does not it start"),
        ("What if it can't start?", "What if it cannot start"),
        ("What if it won\u2019t start?", "what if it will not start"),
        ("Which tides are high?", "which tides are high."),
        ("Is the ferry late, or not?", "is the ferry late or not"),
        ("What does README.md say?", "what does readme.md say"),
        ("What does `setTimeout()` do?", "what does `setTimeout()` do"),
        ("Wo ist die Fähre?", "wo ist die fa\u0308hre"),
        ("潮汐表在哪里", "潮汐表在哪里?"),
    ],
)
def test_case_marks_and_contractions_make_none(one: str, other: str) -> None:
    assert SAMENESS.says_the_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I enable caching?", "How do I disable caching?"),
        ("How do I convert A to B?", "How do I convert B to A?"),
        ("What happens before a deploy?", "What happens after a deploy?"),
        ("What is the max size?", "What is the min size?"),
        ("What is new in v1?", "What is new in v2?"),
        ("How do I run it?", "How do I not run it?"),
        ("How do I run it with tests?", "How do I run it without tests?"),
        ("Can I share it?", "Can't I share it?"),
        ("Does it always stop?", "Does it never stop?"),
        ("Is it safe?", "Isn't it safe?"),
        ("What costs 5 dollars?", "What costs 50 dollars?"),
        ("What is 5!", "What is 5?"),
        ("Is it above -5?", "Is it above 5?"),
        ("When is x > 5?", "When is x < 5?"),
        ("Does 1,000 fit?", "Does 1.000 fit?"),
        ("What is new in 1.2?", "What is new in 12?"),
        ("How do I write C?", "How do I write C++?"),
        ("What does --force do?", "What does force do?"),
        ("What does setTimeout do?", "What does settimeout do?"),
        ("What does get_item do?", "What does get_items do?"),
        ("What does `item` do?", "What does `items` do?"),
        ('Who said "the tide is high"?', 'Who said "tide is high"?'),
        ("Who said 'Yes'?", "Who said 'yes'?"),
        ("How does int? differ from int?", "How does int differ from int?"),
        ("What is the calling function?", "What is the called function?"),
        ("How do I install X?", "How does X install?"),
        ("How do I store passwords?", "How do you store passwords?"),
        ("How do I deploy?", "Why do I deploy?"),
        ("What is a deploy?", "How to deploy"),
        ("Is it possible to deploy?", "How do I deploy?"),
        ("hello world in Python", "world in Python"),
        ("How do I say thanks", "How do I say"),
        ("How to install please", "How to install"),
        ("How to import", "How to import important"),
        ("What is important?", "What is import?"),
        ("x²", "x2"),
        ("please", "the"),
    ],
)
def test_everything_else_does(one: str, other: str) -> None:
    assert not SAMENESS.says_the_same(one, other)


@given(QUESTIONS)
def test_every_question_says_something_and_the_same_as_itself(question: str) -> None:
    if question.strip():
        assert SAMENESS.saying(question)
        assert SAMENESS.says_the_same(question, f" {question} ")


@given(QUESTIONS, st.sampled_from(["not", "never", "without", "7", "v2", "disable", "after"]), st.integers(0, 8))
def test_a_word_more_is_never_overlooked(question: str, word: str, at: int) -> None:
    words = question.split()
    assert not SAMENESS.says_the_same(question, " ".join([*words[:at], word, *words[at:]]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How to initial a document?", "How to initialize a document?"),
        ("How to custom a page?", "How to customize a page?"),
        ("What is US policy?", "What is us policy?"),
        ("How does IT support work?", "How does it support work?"),
    ],
)
def test_words_that_only_look_alike_say_something_else(one: str, other: str) -> None:
    assert not SAMENESS.says_the_same(one, other)


@pytest.mark.parametrize(
    ("verb", "gerund"), [("make", "making"), ("run", "running"), ("add", "adding"), ("sing", "singing")]
)
def test_how_to_do_and_how_to_go_about_doing_say_the_same(verb: str, gerund: str) -> None:
    assert SAMENESS.says_the_same(f"How do I {verb} it?", f"How do I go about {gerund} it?")
