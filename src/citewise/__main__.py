"""`python -m citewise`: the command, where its script is not on the path."""

from citewise.entry.cli.main import main

if __name__ == "__main__":
    main()
