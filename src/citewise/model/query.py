"""A question as the search sees it: checked, with who asks, what may be looked at, and when."""

import math
from dataclasses import dataclass, field
from enum import StrEnum

from citewise.model.errors import BadRequest
from citewise.model.question import checked_question, checked_top_k
from citewise.model.scope import LOCAL_PRINCIPAL, Principal, Scope, checked_principal, checked_scope
from citewise.model.where import Condition, Where

SEARCH_TOP_K = 20
ANSWER_TOP_K = 5
LEAST_BUDGET, MOST_BUDGET = 50, 100_000  # tokens of sources: fewer hold no passage, more no model reads


class Mode(StrEnum):
    """Where an answer may come from."""

    NORMAL = "normal"
    SELECTED_TEXT_ONLY = "selected_text_only"


@dataclass(frozen=True, slots=True)
class Query:
    """One search. Time and identity arrive from outside, so that the same query gives the same result."""

    text: str
    request_id: str
    asked_at: float  # seconds since 1970
    scope: Scope = field(default_factory=Scope)
    principal: Principal = LOCAL_PRINCIPAL
    conditions: tuple[Condition, ...] = ()
    top_k: int = SEARCH_TOP_K
    rerank: bool = True
    expand_graph: bool = False
    half_life_days: float | None = None  # of conversations; None: as the settings say
    freshness_weight: float | None = None
    budget_tokens: int | None = None  # of the sources that an answer may rest on; None: as the settings say
    compress: bool | None = None  # sources, to what speaks of the question; None: as the settings say

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", checked_question(self.text))
        checked_top_k(self.top_k)
        checked_scope(self.scope)
        checked_principal(self.principal)
        if self.half_life_days is not None and not 0 < self.half_life_days < math.inf:
            raise BadRequest(f"half_life_days is {self.half_life_days}; it is above 0")
        if self.freshness_weight is not None and not 0 <= self.freshness_weight <= 1:
            raise BadRequest(f"freshness_weight is {self.freshness_weight}; it is in 0..1")
        if self.budget_tokens is not None and not LEAST_BUDGET <= self.budget_tokens <= MOST_BUDGET:
            raise BadRequest(f"budget_tokens is {self.budget_tokens}; it is in {LEAST_BUDGET}..{MOST_BUDGET}")

    @property
    def where(self) -> Where:
        """What this search may look at: access is part of it, not a step after it."""
        return Where(self.scope, self.principal.readers, self.conditions)
