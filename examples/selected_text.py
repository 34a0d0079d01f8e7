"""Answer from text that a reader selected, and from nothing else: no library is opened, none needs to exist."""

from citewise import Library, Selection

SELECTED = """\
Below `power.low_volts` the board stretches its cycle from 6 to 30 minutes and switches the anemometer off.
It returns to the normal cycle only when the voltage has stayed 0.3 V above the threshold for two hours.
"""

library = Library("no-library-is-needed")
selection = Selection(SELECTED, document="module-1/1.1-stations/firmware.mdx", section="Low-power mode")

for question in ("Which instrument is switched off?", "Who painted the lighthouse in 1912?"):
    answer = library.as_owner().ask(question, selection=selection)
    print(f"{question}\n  {answer.text}")
    for source in answer.citations:
        print(f"  [{source.n}] {source.chunk_id}: {source.document}, {source.section}")
