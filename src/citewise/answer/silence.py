"""How an answer says that its sources do not answer: a statement about them, which they need not support."""

import re

_NOT = r"(?:not|n['\u2019]t|no|nothing|cannot|never|neither)"
_SOURCES = (
    r"(?:sources?|excerpts?|passages?|documents?|documentation|texts?|selection|context|information|material|library)"
)
_ANSWER = (
    r"(?:answer|say|state|mention|cover|contain|hold|include|provide|specify|describe|explain|discuss|address|give|tell|"
    r"suffice|show|support|define|list)"
)
_TOLD = (
    r"(?:answered|said|stated|mentioned|covered|contained|found|included|provided|specified|described|explained|"
    r"discussed|addressed|given|shown|defined|listed)"
)
_SILENCE = re.compile(
    rf"\b{_SOURCES}\b.{{0,60}}{_NOT}\b.{{0,30}}\b{_ANSWER}"
    rf"|\b{_SOURCES}\b.{{0,30}}\b{_ANSWER}s?\s+(?:no|nothing|neither)\b"
    rf"|{_NOT}\s+(?:\w+\s+)?{_TOLD}\b.{{0,30}}\b{_SOURCES}\b"
    r"|\b(?:no|not\s+enough|insufficient)\s+(?:\w+\s+)?(?:information|mention|details?|context|evidence)\b"
    r"|\b(?:can|could)(?:not|n['\u2019]t|\s+not)\s+(?:be\s+answered|find|answer)\b",
    re.IGNORECASE | re.DOTALL,
)
_TURN = re.compile(r"(?:[,;]|(?<![\s,;]))\s++(?:but|however|though|although|yet)\b,?|;\s", re.IGNORECASE)
_COURTESY = re.compile(
    r"(?:(?:i['\u2019]m|i\s+am|we\s+are)\s+)?(?:very\s+)?sorry|unfortunately"
    r"|(?:i|we)\s+apologi[sz]e"
    r"|(?:sorry,\s+)?(?:i|we)\s+(?:do\s+not|don['\u2019]t)\s+know(?:\s+(?:that|this|it|the\s+answer))?",
    re.IGNORECASE,
)


def claims_in(sentence: str) -> str:
    """The sentence without the clauses that only say what the sources leave open."""
    if not _SILENCE.search(sentence):
        return sentence
    return " ".join(clause.strip() for clause in _TURN.split(sentence) if not _SILENCE.search(clause)).strip()


def is_silent(sentence: str) -> bool:
    """Whether nothing is left of the sentence but what the sources leave open, and regrets."""
    claims = claims_in(sentence).strip(" \t\n.,;:!*_")
    return not any(map(str.isalnum, claims)) or _COURTESY.fullmatch(claims) is not None
