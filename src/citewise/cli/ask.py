"""`citewise ask`: call, stream, then show the sources. Nothing here may bring a store along."""

import sys
from contextlib import closing
from pathlib import Path

from citewise.api import Library, QueryOptions
from citewise.cli.options import Caller
from citewise.cli.output import answer_json, print_json, printable, show_warnings
from citewise.errors import BadData, BadRequest, PathNotFound
from citewise.model.answer import Answer, Done, Failed, Token
from citewise.model.query import MAX_SELECTED_CHARACTERS, Mode, Selection
from citewise.settings import Settings
from citewise.text.encoding import decoded

MAX_BYTES = 4 * MAX_SELECTED_CHARACTERS  # of a selection's file: what UTF-8 needs at most


def run_ask(
    settings: Settings,
    caller: Caller,
    question: str,
    selection: Selection | None,
    options: QueryOptions,
    *,
    explain: bool,
    as_json: bool,
) -> int:
    """Print the answer; "the sources do not suffice" is an answer, not a failure."""
    with Library(settings=settings) as library:  # shown before it closes, which waits for the log
        has_begun = False
        with closing(caller.view(library).stream(question, selection=selection, **options)) as events:
            try:
                for event in events:
                    if isinstance(event, Token) and not as_json:
                        has_begun = True
                        sys.stdout.write(printable(event.text))
                        sys.stdout.flush()
                    elif isinstance(event, Done | Failed):
                        answer = Answer.of([event])
            finally:
                sys.stdout.write("\n" if has_begun else "")  # what is printed next is not part of the answer
        if as_json:
            print_json(answer_json(answer, explain=explain))
        else:
            show_warnings(answer.result)
            _show_sources(answer)
            compress = options.get("compress")
            if settings.answer.compression != "none" if compress is None else compress:
                before, after = answer.usage.context_tokens_before, answer.usage.context_tokens_after
                sys.stdout.write(f"(compressed: {after:,} of the {before:,} tokens that were found)\n")
            if explain:
                from rich.console import Console

                from citewise.cli.search import show_explanation

                show_explanation(Console(highlight=False), answer.result)
        sys.stdout.flush()
    return 0


def selection_of(file: str | None, document: str | None, section: str | None) -> Selection | None:
    """The selection that a file holds; `-` is standard input."""
    if file is None:
        if document is not None or section is not None:
            raise BadRequest(
                "--source-document and --source-section say where a selection stands: add --selection-file"
            )
        return None
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise PathNotFound(f"cannot read the selection {file}: {error.strerror}") from error
    except OSError as error:
        raise BadRequest(f"cannot read the selection {file}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise BadRequest(f"the selection {file} is larger than {MAX_BYTES:,} bytes: select less")
    try:
        return Selection(decoded(data), document, section)
    except BadData as error:
        raise BadRequest(f"cannot read the selection {file}: {error}") from error


def _show_sources(answer: Answer) -> None:
    lines = [""]
    if answer.citations:
        lines.append("Sources")
    for source in answer.citations:
        place = source.document or ""
        if source.document and source.lines:
            place += f":{source.lines[0]}-{source.lines[1]}"
        lines.append(f"  [{source.n}] {' > '.join(source.breadcrumb) or source.title}")
        where = "  ".join(part for part in (place, source.url) if part)
        lines += [f"      {where}"] if where else []
    if answer.suggestions:
        title = "What it does know" if answer.result.mode is Mode.NORMAL else "What you can do"
        lines += [title, *(f"  - {topic}" for topic in answer.suggestions)]
    lines += [f"not supported by its source: {sentence}" for sentence in answer.unsupported_sentences]
    if answer.removed_markers:
        lines.append(f"{answer.removed_markers} markers pointed at no source and were removed")
    took = answer.result.timings_ms.get("total", 0.0)
    by = f"{answer.generator}, quality {answer.quality.overall or 0:.2f}, " if answer.sufficient_context else ""
    lines.append(f"({by}{took:.0f} ms)")
    sys.stdout.write(printable("\n".join(lines)) + "\n")
