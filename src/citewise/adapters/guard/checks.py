"""What breakers have to say to whoever looks after a library."""

from collections.abc import Iterable

from citewise.adapters.guard.breaker import Breaker, BreakerState, Phase
from citewise.model.care import Check


def checks_of(breakers: Iterable[Breaker]) -> tuple[Check, ...]:
    """One check for each part that a search leans on; one that rests is a problem."""
    return tuple(
        Check(f"breaker: {breaker.part}", _detail(state), "" if state.phase is Phase.CLOSED else breaker.remedy)
        for breaker in breakers
        for state in [breaker.state()]
    )


def _detail(state: BreakerState) -> str:
    match state.phase:
        case Phase.CLOSED:
            return f"closed; {state.failed}, last: {state.last_error}" if state.failures else "closed"
        case Phase.OPEN:
            what = f"left alone for another {state.rests_seconds:.1f} s"
        case Phase.HALF_OPEN:
            what = "being tried again" if state.rests_seconds else "tried again by the next call"
    return f"{state.phase}, {what}; {state.failed}, last: {state.last_error}"
