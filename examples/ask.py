"""Ingest a folder, ask a question, print the answer and where it comes from.

python examples/ask.py [FOLDER QUESTION]
"""

import sys
from importlib.resources import files
from tempfile import TemporaryDirectory

from citewise import Library

HANDBOOK = str(files("citewise") / "data" / "handbook")  # a sample that ships with citewise

folder, question = sys.argv[1:] or (HANDBOOK, "What happens below power.low_volts?")

with TemporaryDirectory() as home, Library(home) as library:
    report = library.ingest(folder)
    print(f"{report.ingested} documents, {report.chunks.created} chunks\n")
    answer = library.as_owner().ask(question)
    print(answer.text)
    for source in answer.citations:
        lines = f":{source.lines[0]}" if source.lines else ""
        place = source.url or f"{source.document}{lines}"
        print(f"\n[{source.n}] {' > '.join(source.breadcrumb)}\n    {place}")
    if not answer.sufficient_context:  # a refusal is an answer, too: it names the nearest places
        for nearby in answer.suggestions:
            print(f"  - {nearby.title}\n    {nearby.document}")
