"""`citewise demo`: the sample handbook in a library of its own."""

import shlex
import shutil
import sys
from importlib.resources import as_file, files

from citewise.cli.ingest import run_ingest
from citewise.settings import Settings


def run_demo(settings: Settings, *, as_json: bool) -> int:
    """Ingest the handbook and say what can be done with it."""
    with as_file(files("citewise") / "data" / "handbook") as handbook:
        code = run_ingest(settings, [handbook], as_json=as_json)
    if not as_json:
        library = shlex.quote(str(settings.library))
        citewise = shlex.quote(_command())
        sys.stdout.write(f"\nThe Harbor Handbook is in {library}. Try next:\n{_hints(citewise, library)}")
    return code


def _hints(citewise: str, library: str) -> str:
    """A command a line; what is said of some of them stands in one column."""
    explained = {
        f"status --library {library}": "documents, chunks, sizes",
        f"doctor --library {library}": "check the installation",
        "ingest YOUR/DOCS": "your own library, in .citewise",
    }
    width = max(map(len, explained))
    return (
        f'  {citewise} ask "What does TIDE-204 mean?" --library {library}\n'
        f'  {citewise} search "calibrate the pressure sensor" --explain --library {library}\n'
    ) + "".join(f"  {citewise} {command:<{width}}    # {what}\n" for command, what in explained.items())


def _command() -> str:
    """The command as it can be typed here: its bare name only where the shell would find it."""
    return "citewise" if shutil.which("citewise") else sys.argv[0]
