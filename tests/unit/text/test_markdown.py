"""Fences: where they stand, which are around all of a text, and which have to be closed."""

import pytest

from citewise.text.markdown import Markdown


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("```\na\n```", "```\na\n```"),
        ("    ~~~~ sh\n    a\n    ~~~~\n\n", "    ~~~~ sh\n    a\n    ~~~~\n\n"),
        ("> ```\n> a\n> ```", "> ```\n> a\n> ```"),
        ("```", "```\n```"),
        ("> ```\n> a", "> ```\n> a\n> ```"),
        ("a\n```", "````\na\n```\n````"),
        ("a", "```\na\n```"),
    ],
)
def test_a_fence_is_around_all_of_what_is_closed(text: str, closed: str) -> None:
    assert Markdown(text).closed() == closed
    assert Markdown(text).is_fenced is (text == closed)
    assert Markdown(closed).is_fenced


def test_two_fences_with_text_between_them_are_not_around_all_of_it() -> None:
    assert not Markdown("```\na\n```\n\nb\n\n```\nc\n```").is_fenced


def test_a_text_is_cut_into_its_fences_and_what_stands_between_them() -> None:
    runs = [("a\n", False), ("```\nb\n```", True), ("~~~\n```\n~~~", True), ("", False), ("```\nc", True)]
    text = "\n".join(run for run, _ in runs)
    assert list(Markdown(text).runs()) == runs
    assert sum(Markdown(text).fenced_lines()) == 8


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("> ```sh\n> a\n> ```\n>", "> ```sh\n> a\n> ```\n>"),
        ("Run:\n\n```sh\na", "Run:\n\n```sh\na\n```"),
        ("1. Run:\n   ```sh\n   a", "1. Run:\n   ```sh\n   a\n   ```"),
        ("> ~~~\n> a", "> ~~~\n> a\n> ~~~"),
        ("No code", "No code"),
    ],
)
def test_a_fence_that_is_open_at_the_end_gets_one(text: str, ended: str) -> None:
    assert Markdown(text).ended() == ended
    assert Markdown(ended).ended() == ended
