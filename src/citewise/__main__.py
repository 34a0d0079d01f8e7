"""`python -m citewise`: the command, where its script is not on the path."""

from citewise.cli.main import main

if __name__ == "__main__":
    main()
