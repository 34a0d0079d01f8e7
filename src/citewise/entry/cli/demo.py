"""`citewise demo`: the sample handbook in a library of its own."""

import shlex
import shutil
import sys
from importlib.resources import as_file, files

from citewise.entry.cli.ingest import IngestOptions, run_ingest
from citewise.settings import Settings


def run_demo(settings: Settings, *, as_json: bool) -> int:
    """Ingest the handbook and say what can be done with it."""
    options = IngestOptions("default", "default", (), None, None, watch=False, verbose=False, as_json=as_json)
    with as_file(files("citewise") / "data" / "handbook") as handbook:
        code = run_ingest(settings, [handbook], options)
    if not as_json:
        library = shlex.quote(str(settings.library))
        citewise = shlex.quote(_command())
        sys.stdout.write(
            f"\nThe Harbor Handbook is in {library}. Try next:\n"
            f'  {citewise} ask "What does TIDE-204 mean?" --library {library}\n'
            f'  {citewise} search "calibrate the pressure sensor" --explain --library {library}\n'
            f"  {citewise} status --library {library}    # what the library holds\n"
            f"  {citewise} doctor --library {library}    # whether all is well\n"
            f"  {citewise} ingest YOUR/DOCS             # a library of your own, in .citewise\n"
        )
    return code


def _command() -> str:
    """The command as it can be typed here: its bare name only where the shell would find it."""
    return "citewise" if shutil.which("citewise") else sys.argv[0]
