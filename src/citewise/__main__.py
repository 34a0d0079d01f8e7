"""The command `citewise`, also as `python -m citewise`."""

import sys


def main() -> None:
    """Import the commands, which takes some tenths of a second, and run one. Ctrl-C is no traceback even then."""
    try:
        from citewise.cli.main import main as run
    except (KeyboardInterrupt, RuntimeError) as error:  # Python 3.11 makes one of an interrupt in a class
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        sys.stderr.write("\ncitewise: stopped before anything was done\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
