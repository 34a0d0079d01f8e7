"""The usual function words of English; question words are among them, since every question has one."""

from importlib.resources import files

STOP_WORDS = frozenset(files("citewise").joinpath("data", "stop-words-en.txt").read_text("utf-8").split())
