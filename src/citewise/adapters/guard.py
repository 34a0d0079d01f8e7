"""A reranker behind a guard."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock
from typing import TypeVar

from citewise.errors import CitewiseError, Unavailable
from citewise.model.chunk import EmbeddingFailure, EmbeddingModel, Vector
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.model.report import Check
from citewise.ports.catalog import Hydrated, PassageReader
from citewise.ports.models import Embedder, Reranker

_log = logging.getLogger(__name__)


class Phase(StrEnum):
    """What becomes of a call."""

    CLOSED = "closed"  # it goes through
    OPEN = "open"  # it fails at once
    HALF_OPEN = "half-open"  # one goes through, and what comes of it decides for the others


@dataclass(frozen=True, slots=True)
class BreakerState:
    """A breaker at one moment."""

    part: str
    phase: Phase
    failures: int  # in a row
    rests_seconds: float  # until a call is let through; 0 where the next one is
    last_error: str  # the last failure's; empty before the first

    @property
    def failed(self) -> str:
        return "failed once" if self.failures == 1 else f"failed {self.failures} times in a row"


class Breaker:
    """Counts one part's failures in a row. Threads may share it.

    A call counts when it ends, and only if no change of phase came before that: what was begun while the part still
    seemed well says nothing of it now. A trial that has not ended after another pause is given up for the next call.
    """

    def __init__(
        self,
        part: str,
        *,
        remedy: str,  # what a person can do about it
        failures: int,  # in a row, until it is left alone; 1: a single hiccup will do; many: a dead part is waited for
        pause_seconds: float,  # short: a dead part is waited for again and again; long: a well one is missed
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.part = part
        self.remedy = remedy
        self._most_failures = failures
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._lock = Lock()
        self._turn = 0  # grows with every change of phase
        self._failures = 0
        self._last_error = ""
        self._rests_until: float | None = None  # None: closed
        self._is_trying = False  # then others rest until the trial ends, or until that moment

    @contextmanager
    def watching(self) -> Iterator[None]:
        """One call. Unavailable from inside is a failure; any other error is the caller's, and counts for nothing."""
        turn = self._admitted()
        try:
            yield
        except Unavailable as error:
            self._end_failed(turn, str(error))
            raise
        except BaseException:
            self._end_untold(turn)
            raise
        self._end_well(turn)

    def state(self) -> BreakerState:
        with self._lock:
            return self._state()

    def refusal(self) -> str | None:
        """In words, why a call would fail at once; None if it would go through."""
        state = self.state()
        return _refusal(state) if state.rests_seconds else None

    def _state(self) -> BreakerState:
        if self._rests_until is None:
            return BreakerState(self.part, Phase.CLOSED, self._failures, 0.0, self._last_error)
        left = max(0.0, self._rests_until - self._clock())
        phase = Phase.HALF_OPEN if self._is_trying or not left else Phase.OPEN
        return BreakerState(self.part, phase, self._failures, left, self._last_error)

    def _admitted(self) -> int:
        """The turn that a call belongs to; Unavailable if it must not be made."""
        with self._lock:
            if self._rests_until is None:
                return self._turn
            if self._rests_until <= self._clock():  # the pause is over: this is the one call
                self._change(rests_until=self._clock() + self._pause_seconds, is_trying=True)
                return self._turn
            state = self._state()
        raise Unavailable(_refusal(state))

    def _end_well(self, turn: int) -> None:
        with self._lock:
            if turn != self._turn:
                return
            self._failures = 0
            was_trying = self._is_trying
            if was_trying:
                self._change(rests_until=None)
        if was_trying:
            _log.info("%s answers again", self.part)

    def _end_failed(self, turn: int, error: str) -> None:
        with self._lock:
            if turn != self._turn:
                return
            self._failures += 1
            self._last_error = error
            opens = self._is_trying or self._failures >= self._most_failures
            if opens:
                self._change(rests_until=self._clock() + self._pause_seconds)
        if opens:
            _log.warning("%s is left alone for %.1f s: %s", self.part, self._pause_seconds, error)

    def _end_untold(self, turn: int) -> None:
        """A trial that tells nothing leaves its turn to the next call."""
        with self._lock:
            if turn == self._turn and self._is_trying:
                self._change(rests_until=self._clock())

    def _change(self, *, rests_until: float | None, is_trying: bool = False) -> None:
        self._rests_until = rests_until
        self._is_trying = is_trying
        self._turn += 1


def _refusal(state: BreakerState) -> str:
    is_tried = state.phase is Phase.HALF_OPEN
    what = "is being tried again" if is_tried else f"is left alone for another {state.rests_seconds:.1f} s"
    return f"{state.part} {state.failed} and {what}; last: {state.last_error}"


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Guard:
    """Makes calls into one part. What is Unavailable is tried once more; a breaker counts the calls that failed twice.

    Errors that another try would not change (BadRequest, Misconfigured, BadData) pass as they are. What is no error of
    ours comes out as Unavailable, so that a part which breaks costs a search that part and no more. No call is cut
    short: each adapter keeps its own time limits, and a thread inside a library cannot be stopped.
    """

    breaker: Breaker
    backoff_seconds: float = 0.05  # before the retry; 0: at once; more: every failing call takes so much longer
    retries: bool = True  # False for an adapter that tries again by itself, within its own deadline
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, call: Callable[[], T]) -> T:
        with self.breaker.watching():
            try:
                return self._answered(call)
            except Unavailable:
                if not self.retries:
                    raise
            self.sleep(self.backoff_seconds)
            return self._answered(call)

    def _answered(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except (CitewiseError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a native library's panic (tantivy's, for one) is no Exception
            _log.warning("%s broke", self.breaker.part, exc_info=True)
            raise Unavailable(f"{self.breaker.part} broke ({type(error).__name__})") from error


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


class GuardedEmbedder:
    """The port `Embedder` around another. Questions count; of other texts, one that fails says nothing of the model."""

    def __init__(self, embedder: Embedder, guard: Guard) -> None:
        self._embedder = embedder
        self._guard = guard

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | EmbeddingFailure, ...]:
        refusal = self._guard.breaker.refusal()
        if refusal:  # an answer weighs its sources by words then, and does not wait
            return (EmbeddingFailure(refusal),) * len(texts)
        return self._embedder.documents(texts)

    def query(self, text: str) -> Vector:
        return self._guard(lambda: self._embedder.query(text))


class GuardedPassages:
    """The port `PassageReader` around another."""

    def __init__(self, store: PassageReader, guard: Guard) -> None:
        self._store = store
        self._guard = guard

    def passages(self, ids: Sequence[ChunkId], *, where: Where) -> Hydrated:
        return self._guard(lambda: self._store.passages(ids, where=where))


class GuardedReranker:
    """The port `Reranker` around another."""

    def __init__(self, reranker: Reranker, guard: Guard) -> None:
        self._reranker = reranker
        self._guard = guard

    @property
    def name(self) -> str:
        return self._reranker.name

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        return self._guard(lambda: self._reranker.scores(question, texts))
