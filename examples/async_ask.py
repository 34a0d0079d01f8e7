"""From async code: the library is synchronous and may be shared by threads, so each question gets a thread."""

import asyncio
from importlib.resources import files
from tempfile import TemporaryDirectory

from citewise import Library

QUESTIONS = ("How many times may I restart a station in one day?", "How do I save a diagnostic bundle from a station?")


async def main() -> None:
    with TemporaryDirectory() as home, Library(home) as library:
        handbook = str(files("citewise") / "data" / "handbook" / "runbooks")
        await asyncio.to_thread(library.ingest, handbook)
        answers = await asyncio.gather(*(asyncio.to_thread(library.as_owner().ask, question) for question in QUESTIONS))
        for question, answer in zip(QUESTIONS, answers, strict=True):
            print(f"{question}\n{answer.text}\n")


asyncio.run(main())
