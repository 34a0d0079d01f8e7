"""Print an answer as it is written, and each source at the moment the text first points at it."""

from importlib.resources import files
from tempfile import TemporaryDirectory

from citewise import Cited, Done, Failed, Library, Sources, Token

handbook = files("citewise") / "data" / "handbook"

with TemporaryDirectory() as home, Library(home) as library:
    library.ingest(str(handbook / "runbooks"))
    for event in library.as_owner().stream("How many times may I restart a station in one day?"):
        match event:
            case Sources(citations):
                print(f"{len(citations)} sources")
            case Token(text):
                print(text, end="", flush=True)
            case Cited(citation):
                print(f" <- {citation.document}, {citation.section}", end="", flush=True)
            case Done(answer):
                print(f"\n\n{answer.generator}, faithfulness {answer.quality.faithfulness}", answer.usage, sep="\n")
            case Failed(error):
                print(f"\n\nThe answer broke off: {error}")
