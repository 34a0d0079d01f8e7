"""What a question names and its sources do not: the plainest sign that they do not answer it."""

import re
from collections.abc import Iterator, Sequence, Set

from citewise.ports.analyzer import Analyzer
from citewise.ports.token_counter import TokenCounter

# What a word counts for that no source holds. A name stands for itself; another rare word may be said otherwise.
# The weights are those of the best mean AUC over the textbook and the runbooks in benchmarks.grounding.
NAME, RARE = 1.0, 0.5
MOST = 2.0  # the third missing name says nothing new

_WORD = re.compile(r"\w+(?:[.'\u2019/-]\w+)*")
_JOINT = re.compile(r"[\W_]+")
_SENTENCE_ENDS = (".", "?", "!", ":")


def missing(question: str, texts: Sequence[str], analyzer: Analyzer, counter: TokenCounter) -> float:
    """0 (everything is mentioned) to 2. Common words do not count: a good answer need not repeat the question."""
    terms = [analyzer.terms(text) for text in texts]
    held = frozenset(term for one in terms for term in (*one.words, *one.code))
    absent = {word: is_name for word, is_name in _words(question) if not _is_held(word, held, analyzer)}
    names = sum(absent.values())
    rare = sum(_is_rare(word, analyzer, counter) for word, is_name in absent.items() if not is_name)
    return min(MOST, NAME * names + RARE * rare)


def _words(question: str) -> Iterator[tuple[str, bool]]:
    """Each word, and whether it is a name: it has a digit, or a capital that no sentence's beginning explains."""
    is_shouted = question == question.upper()
    for match in _WORD.finditer(question):
        word = match.group()
        before = question[: match.start()].rstrip()
        is_inside = bool(before) and not before.endswith(_SENTENCE_ENDS)
        is_capital = (word[0].isupper() and is_inside) or any(map(str.isupper, word[1:]))
        yield word, any(map(str.isdigit, word)) or (is_capital and not is_shouted)


def _is_held(word: str, held: Set[str], analyzer: Analyzer) -> bool:
    """Whether the texts have the word in some form; an identifier (`UR5`) only as a whole."""
    whole = word.lower()
    if whole in held or whole.replace("-", "") in held:
        return True
    is_identifier = word[0].isalpha() and any(map(str.isdigit, word))
    return not is_identifier and held >= frozenset(analyzer.terms(word).words)


def _is_rare(word: str, analyzer: Analyzer, counter: TokenCounter) -> bool:
    """Whether a general vocabulary knows some part of the word neither as it stands nor by its stem."""
    forms = ((part, *analyzer.terms(part).words) for part in _JOINT.split(word))
    return any(len(of_part) > 1 and min(counter.counts(of_part)) > 1 for of_part in forms)
