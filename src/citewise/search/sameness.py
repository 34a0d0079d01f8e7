"""Do two questions say the same? Only if they differ in manners alone.

A cosine cannot tell: "increases" and "reduces" in one sentence stand at 0.997 (`benchmarks/cache.py`). So every word
counts, in its order: negations, numbers, names, code, what stands in quotes. Only what is listed here is forgiven.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from citewise.text.analysis import terms

Saying: TypeAlias = tuple[str, ...]  # what is left of a question without its manners, in order

HOW_TO = "\0how"  # stands for every way to ask for one; no question holds a control character

MIN_GERUND = 5  # letters: "bring" and "sing" are verbs themselves

_END = re.compile(r"(?:(?<=[^\W\d]{2})[?!.]+|[?.\s]+)$")  # "5!" and "n!" are numbers
# Behind a mark: "how to say thanks" and "how to install please" ask for something.
_THANKS = re.compile(r"(?<=[.,;?!])\s*(?:please|(?:thanks|thank you|thx)(?: in advance)?)[\s.?!]*$", re.IGNORECASE)
_QUOTED = re.compile(r"(`[^`]+`|\"[^\"]+\"|\u201c[^\u201d]+\u201d|(?<!\w)'[^']+'(?!\w))")

_ASKS = "(?= (?:how|what|where|when|why|which|who|if|whether) )"
_CONTRACTIONS = (
    (r"(what|how|where|when|why|who|that|there|it)'s", r"\1 is"),
    (r"(i|you|we|they)'d", r"\1 would"),
    (r"i'm", "i am"),
    (r"(you|we|they)'re", r"\1 are"),
    (r"(i|you|we|they)'ve", r"\1 have"),
    (r"can't|cannot", "can not"),
    (r"won't", "will not"),
    (r"(do|does|did|is|are|was|were|has|have|had|could|should|would|must|need)n't", r"\1 not"),
)
_MANNERS = (
    (rf"^(?:hi|hello|hey)(?: there)?!?(?:{_ASKS}|(?= (?:please|can|could|would|i) ))", ""),
    (r"^please|(?<=you )please", ""),
    (r"^(?:can|could|would|will) (?:you|someone|anyone)(?= (?:tell|show|explain) )", ""),
    (rf"^(?:tell|show|explain to|teach) me{_ASKS}", ""),
    (rf"^(?:do you know|does anyone know|i (?:want|need|would like) to know|i (?:am|was) wondering){_ASKS}", ""),
    # Not "how do you", nor "we": there it may be asked what somebody does, not what to do.
    (r"what is the way (?:to|of)|how (?:do|can|could|would) i(?: go about)?|how (?:does|can|could) one|how to", HOW_TO),
    (r"the", ""),
)
# Over words in lower case with one blank between them, one after the other.
_FORGIVEN = tuple((re.compile(rf"(?<!\S)(?:{form})(?!\S)"), instead) for form, instead in _CONTRACTIONS + _MANNERS)


@dataclass(frozen=True, slots=True)
class Sameness:
    """Tells whether two questions differ in manners alone: that is an equivalence, so sayings can be looked up."""

    def says_the_same(self, one: str, other: str) -> bool:
        return self.saying(one) == self.saying(other)

    def saying(self, question: str) -> Saying:
        """Equal for questions that say the same."""
        text = unicodedata.normalize("NFC", question.strip()).replace("\u2019", "'")
        text = _THANKS.sub("", text.lower() if text.isupper() else text)  # who shouts shouts everything
        parts = _QUOTED.split(_END.sub("", text) or text)
        said: list[str] = []
        for at, part in enumerate(parts):
            said += [part] if at % 2 else self._plain(part)  # every second one stands in quotes
        return tuple(self._inflected(said)) or (text,)

    def _plain(self, text: str) -> list[str]:
        plain = " ".join(self._folded(word.rstrip(".,;:") or word) for word in text.split())
        for form, instead in _FORGIVEN:
            plain, changed = form.subn(instead, plain)
            if changed:
                plain = " ".join(plain.split())
        return plain.split()

    def _folded(self, word: str) -> str:
        """In lower case, if the search sees no difference: it does in `setTimeout`, which it takes apart.

        What is all capitals stays so: US is no pronoun, and a language model reads the question too.
        """
        lower = word.lower()
        if len(word) > 1 and word.isupper():
            return word
        if lower == word or terms(word).code == terms(lower).code:
            return lower
        return word

    def _inflected(self, said: list[str]) -> Iterator[str]:
        """ "How to install" and "how to go about installing": only there does a verb's ending say nothing."""
        before = ""
        for word in said:
            yield _bare(word) if before == HOW_TO and word.isalpha() else word
            before = word


def _bare(verb: str) -> str:
    """The same for "make" and "making", "run" and "running". A stemmer would join "initial" and "initialize", too."""
    end = "ing" if len(verb) > MIN_GERUND and verb.endswith("ing") else "e"
    bare = verb.removesuffix(end)
    return bare[:-1] if bare[-2:-1] == bare[-1:] else bare
