"""Questions in the query log: what may be written down of them."""

import re
from enum import StrEnum

from citewise.text.secrets import NAMES, kind_of, masked

# Both begin where a run of their characters begins and take all of it at once, so hostile text costs linear time.
_ADDRESS = re.compile(r"(?<![\w.+%'-])[\w.+%'-]++@[\w-]++(?:\.[\w-]++)+")
# Seven digits or more, however they are grouped: telephones, cards, accounts, and dates of birth.
_NUMBER = re.compile(r"(?<!\d)\+?\(?\d(?:[ ().\-/]{0,2}+\d){6,}+")

# What is said behind a telling name ("my password is swordfish"), be it a plain word: of a question, a word too many
# may be hidden. In documents that would hide prose, so there `masked` judges the value. Linear too: once a name and a
# sign are found nothing is given back, and what follows is taken in one go.
_SIGN = r"\s*+[:=\uff1a]{1,3}+>?\*{0,2}+"  # uff1a: the wide colon of Chinese and Japanese
_IS = r"\s++(?:is|was)(?=[\s:=])(?:\s*+[:=]++)?+(?:\s++(?:not|now|still|set\s++to)\b){0,2}+"
_JOIN = rf"""(?>s?\d{{0,2}}(?:["'`\u2019\u201d]\]?|\*{{1,2}}|__)?(?:{_SIGN}|{_IS})\s*+)"""
# An opening quote and what can close it; where nothing does, the rest of the line is taken.
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c\u201d\u201e": "\u201c\u201d", "\u2018\u2019\u201a": "\u2018\u2019"}
_QUOTED = "|".join(rf"[{begin}](?:[^{end}\\\n]|\\.)*+[{end}]?+\S*+" for begin, end in _QUOTES.items())
_CLAUSE = r"(?:[^\n.,;?!]|[.,;?!](?=\S))++"  # a passphrase has several words
_BARE = rf"(?!<secret:[a-z-]{{1,40}}+>(?!\S))(?:(?:bearer|basic)\s++)?+(?(phrase)(?:{_CLAUSE}|\S++)|\S++)"
_SAID = re.compile(rf"(?P<lead>{NAMES}{_JOIN})(?:{_QUOTED}|{_BARE})", re.IGNORECASE)


class Redaction(StrEnum):
    """The setting `query_log.text`."""

    FULL = "full"
    MASKED = "masked"
    NONE = "none"

    def __call__(self, text: str) -> str | None:
        """What may be written down of a text: masked, secrets, e-mail addresses and long numbers by their kind.

        Doing it twice is doing it once.
        """
        if self is not Redaction.MASKED:
            return text if self is Redaction.FULL else None

        def masked_value(said: re.Match[str]) -> str:
            return f"{said['lead']}<secret:{kind_of(said)}>"

        open_text = _SAID.sub(masked_value, masked(text).text)
        return _NUMBER.sub("<number>", _ADDRESS.sub("<address>", open_text))
