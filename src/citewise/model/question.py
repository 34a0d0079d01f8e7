"""What may be asked: bounds that every surface shares."""

import unicodedata

from citewise.model.errors import BadRequest

MOST_CHARACTERS = 2000
MOST_TOP_K = 1000
MOST_SELECTED_CHARACTERS = 200_000

_BLANKS = "\t\n\r"


def checked_question(text: str) -> str:
    """The question, trimmed; BadRequest if there is none, if it is too long, or if it holds what nobody types."""
    if not isinstance(text, str):
        raise BadRequest(f"a question is text, not {type(text).__name__}")
    if len(text) > MOST_CHARACTERS * 10:  # before anything looks at each of them
        raise BadRequest(_too_long(len(text)))
    _refuse_control_characters("question", text)
    question = text.strip()
    if not any(_is_visible(character) for character in question):
        raise BadRequest("the question is empty: ask something")
    if len(question) > MOST_CHARACTERS:
        raise BadRequest(_too_long(len(question)))
    return question


def checked_selection(text: str) -> str:
    """The selected text, trimmed, with blanks for form feeds and the like, which copied text is full of.

    BadRequest if there is none, or if no reader could have selected that much.
    """
    if len(text) > MOST_SELECTED_CHARACTERS:
        raise BadRequest(
            f"the selection has {len(text):,} characters; {MOST_SELECTED_CHARACTERS:,} are allowed: "
            "select less, or ingest the document and ask the library"
        )
    selection = "".join(" " if _is_control(character) else character for character in text).strip()
    if not any(_is_visible(character) for character in selection):
        raise BadRequest("the selection is empty: select some text, or ask the whole library instead")
    return selection


def checked_top_k(top_k: int) -> int:
    if not isinstance(top_k, int) or isinstance(top_k, bool) or not 1 <= top_k <= MOST_TOP_K:
        raise BadRequest(f"top_k is {top_k}; it can be 1 to {MOST_TOP_K}")
    return top_k


def _too_long(characters: int) -> str:
    return (
        f"the question has {characters:,} characters; {MOST_CHARACTERS:,} are allowed: "
        "ask for one thing, and give a longer text as the selection"
    )


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") and character not in _BLANKS


def _refuse_control_characters(kind: str, text: str) -> None:
    if text.isprintable():  # nearly always
        return
    found = next(filter(_is_control, text), None)
    if found is not None and unicodedata.category(found) == "Cs":
        raise BadRequest(f"the {kind} is not valid UTF-8: type it again")
    if found is not None:
        raise BadRequest(f"the {kind} holds the control character U+{ord(found):04X}: remove it and ask again")


def _is_visible(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CZ"
