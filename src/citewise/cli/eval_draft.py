"""`citewise eval draft`: a question file to begin with, for whoever has no judgments yet."""

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from citewise.cli.output import print_json, printable
from citewise.errors import BadRequest
from citewise.evaluation.drafting import drafted, refuse_existing, write_draft
from citewise.evaluation.drafts import Draft, draft_json
from citewise.evaluation.summary import counted
from citewise.model.access import LOCAL_PRINCIPAL, Principal, Scope
from citewise.settings import Settings

ORIGINS = {"heading": "from headings", "sentence": "from sentences", "keywords": "of a sentence's keywords"}


@dataclass(frozen=True, slots=True)
class DraftOptions:
    """What the command line says."""

    scope: Scope
    out: Path
    count: int
    seed: int
    principal: Principal = LOCAL_PRINCIPAL
    repeated: tuple[str, ...] = ()  # flags that the next command needs as well
    as_json: bool = False


def run_draft(settings: Settings, options: DraftOptions) -> int:
    """Write a draft; 1 if nothing in the library could be made a question of. An existing file is left alone."""
    if options.count < 1:
        raise BadRequest(f"count is {options.count}; it is at least 1")
    refuse_existing(options.out)
    drafts = drafted(settings, options.scope, options.principal, count=options.count, seed=options.seed)
    if drafts:
        write_draft(options.out, drafts)
    if options.as_json:
        print_json(drafted_json(drafts, options.out))
    sys.stderr.write(printable(_told(drafts, options)))
    return 0 if drafts else 1


def drafted_json(drafts: Sequence[Draft], out: Path) -> dict[str, object]:
    """What was written, which is a question file itself, and how much of it there is; file is null if nothing was."""
    kinds = Counter(one.kind for one in drafts)
    counts = {"questions": len(drafts), "documents": len(_documents(drafts)), **{kind: kinds[kind] for kind in ORIGINS}}
    return {**draft_json(drafts), "file": str(out) if drafts else None, "counts": counts}


def _documents(drafts: Sequence[Draft]) -> set[str]:
    return {one.places[0].document for one in drafts}


def _told(drafts: Sequence[Draft], options: DraftOptions) -> str:
    if not drafts:
        return (
            f"nothing in {options.scope} could be made a question of: the rules are for English prose under headings. "
            "Write questions yourself; docs/evaluation.md has the format\n"
        )
    kinds = Counter(one.kind for one in drafts)
    made = ", ".join(f"{kinds[kind]} {origin}" for kind, origin in ORIGINS.items() if kinds[kind])
    about = f"{counted(len(drafts), 'question')} about {counted(len(_documents(drafts)), 'document')}"
    return (
        f"{about} in {options.out} ({made}).\n"
        "They are no judgments: nobody has checked them, and in the documents' own words they favor a search that "
        "already works by words.\n"
        f"Next: edit {options.out}, delete what nobody would ask, say it as your readers would, add other places that "
        f"answer;\nthen {shlex.join(['citewise', 'eval', _word(options.out), *options.repeated])}\n"
    )


def _word(out: Path) -> str:
    """The file as `citewise eval` takes it for a set: not for a command of that name, nor for a flag."""
    return str(out) if out.suffix or len(out.parts) > 1 else f"./{out}"
