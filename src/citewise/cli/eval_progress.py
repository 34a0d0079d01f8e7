"""How far an evaluation is, on standard error: a bar on a terminal, nothing elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from citewise.cli.progress import shown_progress
from citewise.evaluation.evaluating import Listeners
from citewise.evaluation.pipeline import Step
from citewise.model.report import IngestEvent


@contextmanager
def shown_steps(*, bar: bool) -> Iterator[Listeners]:
    """Listeners for an evaluation; only one of their bars stands at a time."""
    with ExitStack() as stack:
        shown = _Shown(stack, bar=bar and Console(stderr=True).is_terminal)
        yield Listeners(shown.event, shown.step, shown.part)


class _Shown:
    def __init__(self, stack: ExitStack, *, bar: bool) -> None:
        self._stack = stack
        self._bar = bar
        self._ingesting: ExitStack | None = None
        self._progress: Progress | None = None
        self._part = ""
        self._on_event: Callable[[IngestEvent], None] = _nothing

    def event(self, event: IngestEvent) -> None:
        if self._ingesting is None:
            self._ingesting = self._stack.enter_context(ExitStack())
            self._on_event = self._ingesting.enter_context(shown_progress(verbose=False, bar=self._bar))
        self._on_event(event)

    def part(self, name: str) -> None:
        self._part = f"{name}: "

    def step(self, step: Step) -> None:
        if not self._bar:
            return
        if self._progress is None:
            self._progress = self._begun()
        self._progress.update(
            self._progress.task_ids[0],
            description=f"{self._part}{step.doing}",
            completed=step.done,
            total=step.total,
        )

    def _begun(self) -> Progress:
        if self._ingesting is not None:
            self._ingesting.close()
        columns = (TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        # The stream as it is now: the leak suite catches what commands print, and must not catch the bar with it.
        progress = Progress(*columns, console=Console(file=sys.stderr), transient=True)
        self._stack.enter_context(progress).add_task("", total=None)
        return progress


def _nothing(event: IngestEvent) -> None:
    """Nobody is watching."""
