"""Bring your own reranker and your own generator: anything with the port's name and method will do."""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from tempfile import TemporaryDirectory

from citewise import Library, Prompt


class SharedWords:  # citewise.ports.models.Reranker
    name = "shared-words"

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        return tuple(sum(word in text for word in question.split()) / len(question.split()) for text in texts)  # 0..1


class BestUnit:  # citewise.ports.models.Generator
    name = "best-unit"

    def stream(self, prompt: Prompt, cancellation: object = None) -> Iterator[str]:
        best = max(prompt.grounds.evidence, key=lambda evidence: evidence.score)
        yield f"{best.unit.text} [{best.unit.source}] And this marker points at nothing [99]."


with TemporaryDirectory() as home, Library(home, reranker=SharedWords(), generator=BestUnit()) as library:
    library.ingest(str(files("citewise") / "data" / "handbook" / "runbooks"))
    answer = library.as_owner().ask("How many times may I restart a station in one day?")
    print(answer.text, f"({answer.generator}; {answer.removed_markers} marker removed)", sep="\n")
