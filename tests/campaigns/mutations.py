"""Real files, made wrong in three ways: by bytes, by words and marks, and by lines and blocks."""

import random
import re

MAX_BYTES = 40_000  # of a mutated file: what grows faster than its input shows well before
MAX_MUTATIONS = 4

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]+")
# What parsers, chunkers, masks and printers treat in a way of its own.
_MARKS = (
    *(
        "```",
        "~~~",
        "````js",
        "---",
        "***",
        "# ",
        "###### ",
        "> ",
        "- ",
        "1. ",
        "* [ ] ",
        "|",
        "|-|-|",
        "\\",
        "`",
        "*",
        "_",
    ),
    *(
        "$$",
        "\\(",
        "[",
        "](",
        "![",
        "[^1]",
        "[^1]: ",
        "[a]: b",
        "<",
        "<!--",
        "-->",
        "{/*",
        "*/}",
        "</p>",
        "<script>",
        "&#0;",
    ),
    *(
        ":::note",
        ":::",
        "{#id}",
        "{",
        "}",
        "import a from 'b'",
        "export default",
        "\t",
        "\r",
        "\r\n",
        "\n\n",
        "\x0b",
        "\x0c",
    ),
    *(
        "\x00",
        "\x1b[31m",
        "\x85",
        "\u2028",
        "\u200b",
        "\u202e",
        "\ufeff",
        "\ufffd",
        "\U0001f600",
        "e\u0301",
        "\u4e2d\u6587",
    ),
    *(
        "access: public",
        "access: [group:hr",
        "title: ",
        "tags: [a, b",
        "!!python/object",
        "&a [*a]",
        "? ",
        "''",
        "key: |",
    ),
    *("password: hunter2secret", "AKIAIOSFODNN7EXAMPLE", "-----BEGIN RSA PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9."),
    *("9" * 400, "a" * 3_000, "../../etc/passwd", "%00", "%s", "\\u0000", "**/", "*a", "!", "[!a", "[]"),
)
_ODD_BYTES = (
    b"\x00",
    b"\xff",
    b"\xfe\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf5",
    b"\xef\xbb\xbf",
    b"\x80",
    b"\r",
    b"\x1a",
)


def mutated(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """The file with one to four things wrong; `other` is another file, to splice with."""
    for _ in range(draw.randint(1, MAX_MUTATIONS)):
        kind = draw.choice((_bytes, _tokens, _structure))
        data = kind(draw, data, other)[:MAX_BYTES]
    return data


def _bytes(draw: random.Random, data: bytes, other: bytes) -> bytes:
    start, end = _span(draw, len(data))
    kind = draw.randrange(6)
    if kind == 0 and data:  # a flipped bit
        return data[:start] + bytes([data[start % len(data)] ^ 1 << draw.randrange(8)]) + data[start + 1 :]
    if kind == 1:
        return data[:start] + draw.choice(_ODD_BYTES) + data[start:]
    if kind == 2:
        return data[:start] + data[end:]
    if kind == 3:
        return data[:start]
    if kind == 4:
        return data[:start] + draw.randbytes(draw.choice((1, 8, 64))) + data[start:]
    return data[:start] + data[start:end] * draw.choice((2, 3, 50)) + data[end:]


def _tokens(draw: random.Random, data: bytes, other: bytes) -> bytes:
    tokens = _TOKEN.findall(data.decode("utf-8", "surrogateescape")) or ["a"]
    for _ in range(draw.choice((1, 3, 20))):
        at, mark = draw.randrange(len(tokens)), draw.choice(_MARKS)
        kind = draw.randrange(5)
        if kind == 0:
            tokens[at] = mark
        elif kind == 1:
            tokens.insert(at, mark)
        elif kind == 2:
            tokens[at] = (draw.choice((mark, tokens[at])) * draw.choice((2, 30, 1_000)))[:MAX_BYTES]
        elif kind == 3:
            tokens[at], tokens[-at] = tokens[-at], tokens[at]
        elif len(tokens) > 1:
            del tokens[at]
    return _encoded("".join(tokens))


def _structure(draw: random.Random, data: bytes, other: bytes) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    start, end = _span(draw, len(lines))
    kind = draw.randrange(9)
    if kind == 0:  # blocks in another order
        part = lines[start:end]
        draw.shuffle(part)
        lines[start:end] = part
    elif kind == 1:
        lines[start:end] *= draw.choice((2, 10, 200))
    elif kind == 2:  # nested deeper
        prefix = draw.choice(("> ", "  ", "    ", "\t", "- ", "#", "| ")) * draw.choice((1, 3, 40))
        lines[start:end] = [prefix + line for line in lines[start:end]]
    elif kind == 3:  # half of another file in the middle
        lines[start:start] = other.decode("utf-8", "surrogateescape").split("\n")[: draw.choice((1, 5, 100))]
    elif kind == 4:
        return _encoded(text.replace("\n", draw.choice(("\r\n", "\r", "", "\n\n", "\u2028"))))
    elif kind == 5:
        return text.encode(draw.choice(("utf-16", "utf-8-sig", "latin-1", "utf-32")), "replace")
    elif kind == 6:  # front matter begins, or does not end
        lines[:0] = ["---", *draw.choices(_MARKS, k=draw.choice((1, 4)))]
    elif kind == 7:
        lines[:0] = [
            "---",
            f"access: {draw.choice(('public', 'group:hr', 'nobody', '[]', '{a: b}', '[group:hr'))}",
            "---",
        ]
    else:  # a table whose rows differ in length
        lines[start:start] = ["|" + "a|" * draw.randrange(1, 40) for _ in range(draw.choice((2, 5, 40)))]
    return _encoded("\n".join(lines))


def _span(draw: random.Random, length: int) -> tuple[int, int]:
    start = draw.randrange(length + 1)
    return start, min(length, start + draw.choice((1, 4, 32, 1_000)))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
