"""Settings -> a draft of questions, in a file that was not there before."""

import json
from pathlib import Path

from citewise.errors import BadRequest, Unavailable
from citewise.evaluation.draft import DraftQuestions
from citewise.evaluation.drafts import Draft, draft_json
from citewise.model.access import Principal, Scope
from citewise.settings import Settings
from citewise.wiring.full import opened_for_reading
from citewise.wiring.seen import seen_by


def drafted(settings: Settings, scope: Scope, principal: Principal, *, count: int, seed: int) -> tuple[Draft, ...]:
    """Questions about what the principal may see of the library; no model is loaded for it."""
    with opened_for_reading(settings) as library:
        seen = seen_by(principal, library.catalog)
        if library.catalog.known(scope) and not seen.known(scope):
            raise BadRequest(
                f"nothing in {scope} is for this --user and --group to see: name others, or leave them out"
            )
        return DraftQuestions(seen)(scope, count=count, seed=seed)


def refuse_existing(file: Path) -> None:
    """Somebody may have worked on it for hours."""
    if file.exists() or file.is_symlink():
        raise BadRequest(f"{file} is there already and is not overwritten: give another name with --out")


def write_draft(file: Path, drafts: tuple[Draft, ...]) -> None:
    """The question file, new."""
    text = json.dumps(draft_json(drafts), ensure_ascii=False, indent=1) + "\n"
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        refuse_existing(file)
    except FileNotFoundError as error:
        raise BadRequest(f"there is no folder {file.parent} to write {file.name} to") from error
    except OSError as error:
        raise Unavailable(f"cannot write {file}: {error.strerror}") from error
