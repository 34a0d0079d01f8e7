"""A question as the search sees it: checked, with who asks, what may be looked at, and when."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import float_info
from typing import Literal, TypeAlias

from citewise.errors import BadRequest, shown
from citewise.model.access import Principal, Scope, checked_text, is_control
from citewise.model.filters import Condition, Where

MAX_CHARACTERS = 2000
MAX_TOP_K = 1000
MAX_SELECTED_CHARACTERS = 200_000
MAX_NAME_CHARACTERS = 4_096  # of a path, or of what a selection is called: as long as a path can be on a disk

START_AGAIN = "search again without a cursor"
UNKNOWN_CURSOR = f"the cursor is not one of this library's, or has expired: {START_AGAIN}"
_CURSOR = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_whole(name: str, value: object, low: int, high: int) -> None:
    """Raise BadRequest unless the value is a whole number in low..high."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BadRequest(f"{name} is {shown(value)}; it must be a whole number from {low} to {high}")


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max


def _is_visible(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CZ"


@dataclass(frozen=True, slots=True)
class Selection:
    """The only text that an answer in selected-text mode may rest on.

    It is trimmed, and has blanks for form feeds and the like, which copied text is full of.
    """

    text: str
    document: str | None = None
    section: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise BadRequest(f"a selection is text, not {type(self.text).__name__}")
        for name, text in (("the selection's document", self.document), ("the selection's section", self.section)):
            if text is not None:
                checked_text(name, text, max_characters=MAX_NAME_CHARACTERS, has_controls=True)
        if len(self.text) > MAX_SELECTED_CHARACTERS:
            raise BadRequest(
                f"the selection has {len(self.text):,} characters; {MAX_SELECTED_CHARACTERS:,} are allowed: "
                "select less, or ingest the document and ask the library"
            )
        selection = "".join(" " if is_control(character) else character for character in self.text).strip()
        if not any(map(_is_visible, selection)):
            raise BadRequest("the selection is empty: select some text, or ask the whole library instead")
        object.__setattr__(self, "text", selection)


@dataclass(frozen=True, slots=True)
class BoostRule:
    """A question with one of the keywords multiplies the scores of these corpus types."""

    keywords: tuple[str, ...]
    corpus_types: tuple[str, ...]
    factor: float  # 1: no change; 1.3: a passage at 0.5 comes to 0.65


DEFAULT_BOOSTS = (
    BoostRule(
        ("deploy", "deploys", "deployed", "deployment", "k8s", "kubernetes", "pod", "pods", "container", "helm"),
        ("CODE_DEPLOY", "DOC_RUNBOOK"),
        1.3,
    ),
    BoostRule(
        ("incident", "incidents", "broke", "broken", "down", "outage", "outages", "alert", "alerts"),
        ("CONVO_SLACK", "DOC_RUNBOOK"),
        1.3,
    ),
    BoostRule(("how to", "steps", "procedure", "procedures", "guide"), ("DOC_RUNBOOK", "DOC_README"), 1.2),
)


TITLE = "title"  # share of the question's words that the headings above the passage have
PROXIMITY = "proximity"  # how close together words stand that are neighbors in the question

FEATURES = (TITLE, PROXIMITY)

# Beside the fused score, which weighs 1. 0: not looked at; 1: as much as all three rankings together. Chosen on six
# sets: `python -m benchmarks.defaults --only features` has the rows.
FEATURE_WEIGHTS: Mapping[str, float] = {TITLE: 0.2, PROXIMITY: 0.1}

# How near the question's words find one in the passage, on average, less what its length gives it.
BY_WORD = "by_word"
# Beside all that was said before, which weighs 1, where a passage is near; up to ten times that where none is. 0: not
# looked at; 2: near questions follow it too far, and api_docs loses 0.04 nDCG@10. `make bench-late` has rows.
LATE_WEIGHT = 0.4


SEARCH_TOP_K = 20
ANSWER_TOP_K = 5
GROUNDING_TOP_K = 20  # findings that the decision to answer looks at, whatever the answer itself may quote
# Findings whose sections are read for each source that an answer may have: the sections of the best 3, 5 and 10 hold
# .78, .90 and .98 of what answers must say. 1: what stands in the sixth is never seen.
SECTIONS_PER_SOURCE = 2
PAGE_LIMIT, MAX_PAGE_LIMIT = 5, 20  # hits on a page
NOT_SHARED = "paging: the library's folder cannot be written to; cursors work in this process only"
MIN_BUDGET, MAX_BUDGET = 50, 100_000  # tokens of sources: fewer hold no passage, more no model reads


Mode: TypeAlias = Literal["normal", "selected_text_only"]  # where an answer may come from


@dataclass(frozen=True, slots=True)
class Query:
    """One search. Time and identity arrive from outside, so that the same query gives the same result."""

    text: str
    request_id: str
    asked_at: float  # seconds since 1970
    principal: Principal
    scope: Scope = field(default_factory=Scope)
    conditions: tuple[Condition, ...] = ()
    top_k: int = SEARCH_TOP_K
    rerank: bool = True
    expand_graph: bool = False
    half_life_days: float | None = None  # of conversations; None: as the settings say
    freshness_weight: float | None = None
    budget_tokens: int | None = None  # of the sources that an answer may rest on; None: as the settings say
    compress: bool | None = None  # sources, to what speaks of the question; None: as the settings say

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.checked_text(self.text))
        check_whole("top_k", self.top_k, 1, MAX_TOP_K)
        Scope.checked(self.scope)
        Principal.checked(self.principal)
        if self.budget_tokens is not None:
            check_whole("budget_tokens", self.budget_tokens, MIN_BUDGET, MAX_BUDGET)
        half_life, weight = self.half_life_days, self.freshness_weight
        if half_life is not None and not (is_number(half_life) and half_life > 0):
            raise BadRequest(f"half_life_days is {shown(half_life)}; it must be a number above 0")
        if weight is not None and not (is_number(weight) and 0 <= weight <= 1):
            raise BadRequest(f"freshness_weight is {shown(weight)}; it must be a number from 0 to 1")
        switches = {"rerank": self.rerank, "expand_graph": self.expand_graph, "compress": self.compress or False}
        for name, value in switches.items():
            if not isinstance(value, bool):
                raise BadRequest(f"{name} is {shown(value)}; it must be True or False")

    @staticmethod
    def checked_text(text: str) -> str:
        """The question, trimmed; BadRequest if there is none, if it is too long, or if it holds what nobody types."""
        question = text.strip() if isinstance(text, str) else text
        remedy = "ask for one thing, and give a longer text as the selection"
        checked_text("the question", question, max_characters=MAX_CHARACTERS, remedy=remedy)
        if not any(map(_is_visible, question)):
            raise BadRequest("the question is empty: ask something")
        return question

    @property
    def where(self) -> Where:
        """What this search may look at: access is part of it, not a step after it."""
        return Where(self.scope, self.principal.readers, self.conditions)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page is asked for: how many hits, after which cursor. Without a cursor it is the first page."""

    limit: int = PAGE_LIMIT
    cursor: str | None = None
    is_open: bool = True  # no top_k was given: the pages go on through everything that was found

    def __post_init__(self) -> None:
        check_whole("limit", self.limit, 1, MAX_PAGE_LIMIT)
        if self.cursor is not None and (not isinstance(self.cursor, str) or _CURSOR.fullmatch(self.cursor) is None):
            raise BadRequest(UNKNOWN_CURSOR)
