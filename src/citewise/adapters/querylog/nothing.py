"""No log at all: nothing is to be kept, or nobody here may write."""

from citewise.model.logged import Logged


class NoLog:
    """The port `QueryLog` where questions are not remembered."""

    def add(self, row: Logged) -> None:
        pass

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass
