"""How much of a question's words is kept: all of them, none, or all but what would tell of a person or open a door."""

import re
from enum import StrEnum

from citewise.model.secrets import masked

# Both begin where a run of their characters begins and take all of it at once, so hostile text costs linear time.
_ADDRESS = re.compile(r"(?<![\w.+%'-])[\w.+%'-]++@[\w-]++(?:\.[\w-]++)+")
# Seven digits or more, however they are grouped: telephones, cards, accounts, and dates of birth.
_NUMBER = re.compile(r"(?<!\d)\+?\(?\d(?:[ ().\-/]{0,2}+\d){6,}+")


class Redaction(StrEnum):
    """The setting `query_log.text`."""

    FULL = "full"
    MASKED = "masked"
    NONE = "none"

    def __call__(self, text: str) -> str | None:
        """What may be written down of a text."""
        if self is Redaction.NONE:
            return None
        return text if self is Redaction.FULL else _without_traces(text)


def _without_traces(text: str) -> str:
    """Secrets, e-mail addresses and long numbers by their kind; doing it twice is doing it once."""
    open_text = masked(text).text
    return _NUMBER.sub("<number>", _ADDRESS.sub("<address>", open_text))
