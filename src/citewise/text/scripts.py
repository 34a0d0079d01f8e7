"""Which writing a text is in: a question is best answered in its own."""

import re
from enum import StrEnum

# A character of a script without blanks is worth so many letters: a word takes one or two of them, and a question in
# Chinese may be half names in Latin letters. 1: "lastUpdated 默认值" would be English.
LETTERS_PER_CHARACTER = 4
MIN_KANA = 0.1  # share of kana from which on Han characters are Japanese; a Chinese page may quote a word of it


class Script(StrEnum):
    LATIN = "latin"
    GREEK = "greek"
    CYRILLIC = "cyrillic"
    HEBREW = "hebrew"
    ARABIC = "arabic"
    INDIC = "indic"
    THAI = "thai"
    HANGUL = "hangul"
    HAN = "han"
    JAPANESE = "japanese"


UNSPACED = frozenset({Script.HANGUL, Script.HAN, Script.JAPANESE})  # as far as the analyzer pairs their characters

_KANA = re.compile(r"[\u3040-\u30ff]")
_LETTERS = {
    Script.LATIN: re.compile(r"[A-Za-z\u00c0-\u024f]"),
    Script.GREEK: re.compile(r"[\u0370-\u03ff]"),
    Script.CYRILLIC: re.compile(r"[\u0400-\u04ff]"),
    Script.HEBREW: re.compile(r"[\u0590-\u05ff]"),
    Script.ARABIC: re.compile(r"[\u0600-\u06ff]"),
    Script.INDIC: re.compile(r"[\u0900-\u0dff]"),
    Script.THAI: re.compile(r"[\u0e00-\u0e7f]"),
    Script.HANGUL: re.compile(r"[\uac00-\ud7af]"),
    Script.HAN: re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"),
}


def script_of(text: str) -> Script:
    """The script that most of a text is in; Latin where it has no letters."""
    if text.isascii():
        return Script.LATIN
    counts = {script: len(letters.findall(text)) for script, letters in _LETTERS.items()}
    for script in (Script.HANGUL, Script.HAN):
        counts[script] *= LETTERS_PER_CHARACTER
    most = max(counts, key=counts.__getitem__)
    is_japanese = most is Script.HAN and LETTERS_PER_CHARACTER * len(_KANA.findall(text)) >= MIN_KANA * counts[most]
    return Script.JAPANESE if is_japanese else most
