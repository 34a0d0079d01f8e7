"""What a document's path says about it: module, chapter, corpus and content type, by rules that can be configured."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from citewise.model.errors import Misconfigured

FIELDS = ("module", "chapter", "corpus_type", "content_type")
UNKNOWN = "Unknown"
_DEFAULTS = {"module": UNKNOWN, "chapter": UNKNOWN, "corpus_type": "DOC_PAGE", "content_type": "prose"}


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PathRule:
    """Where `pattern` is found in the path (case does not matter), its named groups and `sets` fill fields."""

    pattern: str
    sets: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            names = {*self.sets, *_compiled(self.pattern).groupindex}
        except re.error as error:
            raise Misconfigured(f"path rule {self.pattern!r} is no regular expression: {error}") from error
        if unknown := names - set(FIELDS):
            raise Misconfigured(
                f"path rule {self.pattern!r} fills {', '.join(sorted(unknown))}: use {', '.join(FIELDS)}"
            )


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What the rules made of one path."""

    module: str
    chapter: str
    corpus_type: str
    content_type: str

    @property
    def missing(self) -> tuple[str, ...]:
        """Fields that no rule filled and a textbook would have."""
        return tuple(name for name in ("module", "chapter") if getattr(self, name) == UNKNOWN)


def _word(*words: str) -> str:
    return rf"(?:^|[/_. -])(?:{'|'.join(words)})(?:[/_. -]|$)"


DEFAULT_RULES = (
    PathRule(_word("labs?"), {"content_type": "lab"}),
    PathRule(_word("quiz", "quizzes"), {"content_type": "quiz"}),
    PathRule(_word("assessments?", "exams?"), {"content_type": "assessment"}),
    PathRule(_word("runbooks?"), {"corpus_type": "DOC_RUNBOOK"}),
    PathRule(r"(?:^|/)readme\.mdx?$", {"corpus_type": "DOC_README"}),
    PathRule(r"^(?:module|chapter|part|unit|week|lesson)[-_ ]?\d", {"corpus_type": "DOC_TEXTBOOK"}),
    PathRule(r"^(?P<module>[^/]+)/(?P<chapter>[^/]+)/"),
    PathRule(r"^(?P<module>[^/]+)/"),
)


def path_facts(path: str, rules: Iterable[PathRule] = DEFAULT_RULES) -> PathFacts:
    """For each field the first rule that fills it wins; what none fills gets its default."""
    facts: dict[str, str] = {}
    for rule in rules:
        match = _compiled(rule.pattern).search(path)
        if match:
            for name, value in {**rule.sets, **match.groupdict()}.items():
                if value is not None:
                    facts.setdefault(name, value)
    return PathFacts(**{name: facts.get(name, _DEFAULTS[name]) for name in FIELDS})
