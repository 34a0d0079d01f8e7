"""The shape of the code: lengths of functions and files, share of comments. A growing number needs a reason."""

import ast
import io
import statistics
import tokenize
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "citewise"


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def docstring_lines(tree: ast.Module) -> int:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documented = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    return sum((ast.get_docstring(node) or "").count("\n") + 1 for node in documented if ast.get_docstring(node))


def comment_lines(text: str) -> int:
    return sum(token.type == tokenize.COMMENT for token in tokenize.generate_tokens(io.StringIO(text).readline))


def main() -> None:
    texts = {file.relative_to(SOURCE).as_posix(): file.read_text() for file in sorted(SOURCE.rglob("*.py"))}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    found = sorted(
        ((length, f"{name}:{function}") for name, tree in trees.items() for function, length in functions(tree)),
        reverse=True,
    )
    lengths = [length for length, _ in found]
    lines = {name: text.count("\n") for name, text in texts.items() if text}
    total = sum(lines.values())
    print(f"{len(lines)} files, {total} lines; longest: " + ", ".join(_longest(lines)))
    print(f"{len(lengths)} functions: median {statistics.median(lengths):.0f} lines, ", end="")
    print(
        f"{sum(length < 30 for length in lengths) / len(lengths):.0%} under 30, longest {found[0][0]} ({found[0][1]})"
    )
    documented = sum(map(docstring_lines, trees.values()))
    print(f"docstrings {documented / total:.0%} of lines, ", end="")
    print(f"comments {sum(map(comment_lines, texts.values())) / total:.0%}")


def _longest(lines: dict[str, int]) -> list[str]:
    return [f"{name} {count}" for name, count in sorted(lines.items(), key=lambda item: -item[1])[:3]]


if __name__ == "__main__":
    main()
