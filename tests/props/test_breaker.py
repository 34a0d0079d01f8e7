"""The breaker against its definition, for calls that overlap, end in any order and in any way."""

from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from citewise.adapters.guard import Breaker, Phase
from citewise.errors import BadRequest, Unavailable
from tests.fakes.clock import Clock

FAILURES, PAUSE = 2, 30.0


@dataclass(frozen=True)
class Call:
    """One that was let through, and in which stretch of the history: each is one phase, from change to change."""

    watching: AbstractContextManager[None]
    stretch: int


class Histories(RuleBasedStateMachine):
    """Keeps the whole history and reads the phase off it, where the breaker keeps four numbers."""

    calls = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.breaker = Breaker("part", remedy="-", failures=FAILURES, pause_seconds=PAUSE, clock=self.clock)
        self.stretches: list[tuple[Phase, float]] = [(Phase.CLOSED, self.clock.now)]
        self.ended: list[str] = []  # how the calls of this stretch ended

    @property
    def phase(self) -> Phase:
        return self.stretches[-1][0]

    @property
    def age(self) -> float:
        return self.clock.now - self.stretches[-1][1]

    def begin_stretch(self, phase: Phase) -> None:
        self.stretches.append((phase, self.clock.now))
        self.ended = []

    @rule(seconds=st.sampled_from([0.5, 10.0, 29.5, 30.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(target=calls)
    def begin(self) -> Call | None:
        watching = self.breaker.watching()
        if self.phase is not Phase.CLOSED and self.age < PAUSE:
            with pytest.raises(Unavailable, match="part failed"):
                watching.__enter__()
            return None
        watching.__enter__()
        if self.phase is not Phase.CLOSED:
            self.begin_stretch(Phase.HALF_OPEN)
        return Call(watching, len(self.stretches))

    @rule(call=consumes(calls), how=st.sampled_from(["well", "failed", "untold"]))
    def end(self, call: Call | None, how: str) -> None:
        if call is None:
            return
        errors = {"well": None, "failed": Unavailable("x"), "untold": BadRequest("x")}
        error = errors[how]
        assert not call.watching.__exit__(type(error) if error else None, error, None)
        if call.stretch == len(self.stretches):
            self.counts(how)

    def counts(self, how: str) -> None:
        self.ended.append(how)
        if self.phase is Phase.HALF_OPEN and how == "well":
            self.begin_stretch(Phase.CLOSED)
        elif self.phase is Phase.HALF_OPEN and how == "untold":
            self.begin_stretch(Phase.OPEN)
            self.stretches[-1] = (Phase.OPEN, self.clock.now - PAUSE)  # whose pause is over
        elif (
            self.phase is Phase.HALF_OPEN
            or [one for one in self.ended if one != "untold"][-FAILURES:] == ["failed"] * FAILURES
        ):
            self.begin_stretch(Phase.OPEN)

    @invariant()
    def the_phase_is_the_one_of_the_history(self) -> None:
        expected = Phase.HALF_OPEN if self.phase is Phase.OPEN and self.age >= PAUSE else self.phase
        assert self.breaker.state().phase is expected

    @invariant()
    def it_refuses_exactly_while_it_rests(self) -> None:
        rests = self.phase is not Phase.CLOSED and self.age < PAUSE
        assert (self.breaker.refusal() is not None) is rests


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
