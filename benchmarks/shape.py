"""The shape of the code beside what the style guide aims for. A row is a place to look, not a verdict."""

import ast
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "citewise"
MAX_FILE_LINES = 500
PRIVATE_WORDS = re.compile(
    r"_?(?:MOST_\w+|LEAST_\w+|\w*anew|[Ss]aying|[Ww]ish|[Ww]hose|[Ff]illing|[Aa]bsorb\w*|forgiving)"
)
Row = tuple[str, str, str]


@dataclass(slots=True)
class Shape:
    """What is counted over all source files."""

    lines: Counter[str] = field(default_factory=Counter)  # by file, relative to the package
    function_lines: list[int] = field(default_factory=list)
    class_files: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    public: int = 0
    private_words: int = 0
    loop_variables_one: int = 0

    def add(self, name: str, text: str) -> None:
        self.lines[name] = text.count("\n")
        tree = ast.parse(text)
        names = list(_names(tree))
        self.private_words += sum(PRIVATE_WORDS.fullmatch(word) is not None for word in names)
        self.loop_variables_one += names.count("one")
        definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        self.public += sum(isinstance(node, definitions) and not node.name.startswith("_") for node in tree.body)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.function_lines.append((node.end_lineno or node.lineno) - node.lineno + 1)
            elif isinstance(node, ast.ClassDef) and not name.startswith("compat/"):
                self.class_files[node.name.lstrip("_")].add(name)

    def package_lines(self) -> Counter[str]:
        packages: Counter[str] = Counter()
        for name, count in self.lines.items():
            packages[name.split("/")[0] if "/" in name else "(top)"] += count
        return packages


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


def _percentile(values: Sequence[int], share: float) -> int:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _rows(shape: Shape) -> Iterator[Row]:
    total = sum(shape.lines.values())
    thousand = total / 1000
    evaluation = sum(count for name, count in shape.lines.items() if name.startswith(("evaluation/", "cli/eval")))
    wiring = sum(count for name, count in shape.lines.items() if name.startswith("wiring"))
    tests = sum(file.read_text("utf-8").count("\n") for file in (ROOT / "tests").rglob("*.py"))
    readme = (ROOT / "README.md").read_text("utf-8").count("\n")
    lengths = shape.function_lines
    long_files = [f"{name} ({count})" for name, count in shape.lines.items() if count > MAX_FILE_LINES]
    reused = sorted(name for name, files in shape.class_files.items() if len(files) > 1)
    functions = f"{statistics.median(lengths):.0f} / {_percentile(lengths, 0.9)} / {max(lengths)}"
    yield "source lines", f"{total:,}", "each capability pays for its lines"
    yield "  of which evaluation", f"{evaluation:,}", "<= 2,500"
    yield "files per thousand lines", f"{len(shape.lines) / thousand:.1f}", "<= 6"
    yield "public functions and classes per thousand", f"{shape.public / thousand:.1f}", "<= 18"
    yield "function lines, median / p90 / max", functions, "~8 / 30 / 60"
    yield f"files over {MAX_FILE_LINES} lines", str(len(long_files)), "0, or a reason: " + ", ".join(long_files[:3])
    yield "class names used for several things", str(len(reused)), ", ".join(reused[:10])
    yield "private words, and `one` as a name", f"{shape.private_words}, {shape.loop_variables_one}", "0, 0"
    yield "wiring lines", str(wiring), "<= 350, constructors only"
    yield "test lines : source lines", f"{tests:,} ({tests / total:.2f})", ""
    yield "README lines", str(readme), "< 150"


def main() -> None:
    shape = Shape()
    for file in sorted(SOURCE.rglob("*.py")):
        if text := file.read_text("utf-8"):
            shape.add(file.relative_to(SOURCE).as_posix(), text)
    for name, value, aim in _rows(shape):
        print(f"{name:42} {value:>18}   {aim}")
    print("by package: " + ", ".join(f"{name} {count:,}" for name, count in shape.package_lines().most_common()))


if __name__ == "__main__":
    main()
