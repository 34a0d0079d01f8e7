"""`citewise eval draft`: a question file to begin with, for whoever has no judgments yet."""

import shlex
import sys
from collections import Counter
from pathlib import Path

from citewise.entry.cli.output import printable
from citewise.model.errors import BadRequest
from citewise.model.scope import Scope
from citewise.settings import Settings
from citewise.wiring.drafting import drafted, refuse_existing, write_draft

ORIGINS = {"heading": "from headings", "sentence": "from sentences", "keywords": "of a sentence's keywords"}


def run_draft(settings: Settings, *, scope: Scope, out: Path, count: int, seed: int) -> int:
    """Write a draft; 1 if nothing in the library could be made a question of. An existing file is left alone."""
    if count < 1:
        raise BadRequest(f"count is {count}; it is at least 1")
    refuse_existing(out)
    drafts = drafted(settings, scope, count=count, seed=seed)
    if not drafts:
        sys.stderr.write(
            f"nothing in {scope} could be made a question of: the rules are for English prose under headings. "
            "Write questions yourself; docs/evaluation.md has the format\n"
        )
        return 1
    write_draft(out, drafts)
    kinds = Counter(one.kind for one in drafts)
    documents = {one.places[0].document for one in drafts}
    made = ", ".join(f"{kinds[kind]} {origin}" for kind, origin in ORIGINS.items() if kinds[kind])
    sys.stderr.write(
        printable(
            f"{len(drafts)} questions about {len(documents)} documents in {out} ({made}).\n"
            "They are no judgments: nobody has checked them, and in the documents' own words they favor a search that "
            "already works by words.\n"
            f"Next: edit {out}, delete what nobody would ask, say it as your readers would, add other places that "
            f"answer;\nthen citewise eval {shlex.quote(str(out))} --library {shlex.quote(str(settings.library))}\n"
        )
    )
    return 0
