"""Bytes to text."""

import codecs

import pytest

from citewise.errors import BadData
from citewise.text.encoding import NotText, decoded


@pytest.mark.parametrize("text", ["", "plain", "naïve — 日本語 🎉\n", "kept where it is not the first\ufeff"])
@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_text_is_read_as_it_is_without_the_mark_of_its_encoding(mark: bytes, encoding: str, text: str) -> None:
    assert decoded(mark + text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("data", "error", "reason"),
    [
        (b"a\n" * 11 + b"caf\xff\n", BadData, "is not UTF-8: byte 0xff at line 12; save it as UTF-8"),
        (codecs.BOM_UTF8 + b"a\n\xe9 b", BadData, "is not UTF-8: byte 0xe9 at line 2; save it as UTF-8"),
        (b"cut \xe2\x82", BadData, "is not UTF-8: byte 0xe2 at line 1; save it as UTF-8"),
        (b"\xed\xa0\x80", BadData, "is not UTF-8: byte 0xed at line 1; save it as UTF-8"),
        (codecs.BOM_UTF16_LE + b"a\x00b", BadData, "is not UTF-16 past offset 4; save it as UTF-8"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8a\x00", BadData, "is not UTF-16 past offset 2; save it as UTF-8"),
        (b"\x89PNG\x00", NotText, "binary file: NUL byte at offset 4"),
        (b"\x00", NotText, "binary file: NUL byte at offset 0"),
        (codecs.BOM_UTF16_LE + "ab\0".encode("utf-16-le"), NotText, "binary file: NUL byte at offset 6"),
    ],
)
def test_what_is_no_text_says_where_and_what_to_do(data: bytes, error: type[Exception], reason: str) -> None:
    with pytest.raises(error) as raised:
        decoded(data)
    assert str(raised.value) == reason
