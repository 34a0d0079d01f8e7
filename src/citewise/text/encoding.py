"""Bytes of a source file to text, if their encoding announces itself; and text that every reader takes."""

import codecs

from citewise.errors import BadData


class NotText(BadData):
    """The file is no text at all: nothing its author could mend."""


_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decoded(data: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 that says so; BadData tells where anything else goes wrong."""
    if data.startswith(_UTF16_MARKS):
        return _utf16(data)
    nul = data.find(b"\0")
    if nul >= 0:
        raise NotText(f"binary file: NUL byte at offset {nul}")
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        raise BadData(f"is not UTF-8: byte 0x{byte:02x} at line {line}; save it as UTF-8") from error


def _utf16(data: bytes) -> str:
    try:
        text = data.decode("utf-16")
    except UnicodeDecodeError as error:
        raise BadData(f"is not UTF-16 past offset {error.start}; save it as UTF-8") from error
    nul = text.find("\0")
    if nul >= 0:
        offset = len(text[:nul].encode("utf-16"))  # the mark counts, as it does in the file
        raise NotText(f"binary file: NUL byte at offset {offset}")
    return text


def well_formed(text: str) -> str:
    """The text with "?" for half a surrogate pair, which no tokenizer and no strict JSON reader takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
