"""What kind of answer a question wants: how long it may be, and which blocks look like one."""

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from citewise.answer.blocks import TextBlock
from citewise.text.analysis import terms
from citewise.text.quoting import shown

Form: TypeAlias = Literal["comparison", "code", "why", "how-to", "fact", "which", "error", "definition", "other"]

# What a question begins with or asks for, first match first. English, with a few words of Chinese and Japanese.
_PATTERNS: Mapping[Form, str] = {
    "comparison": (
        r"\bdiffer(?:s|ence|ences)?\b|\bdifferent (?:from|to|than)\b|\bhow (?:is|are)\b.*\bdifferent\b"
        r"|\bvs\b|\bversus\b|\bcompar(?:e|ed|es|ison)\b"
        r"|\bbetter\b.*\bor\b|\bor\b.*\bbetter\b"
        r"|\b(?:should i|when to) use\b.*\b(?:or|over|instead)\b|\u9055\u3044|\u533a\u522b"
    ),
    "code": (
        r"(?<![./@\w])examples?\b(?!\.\w)|\bsnippets?\b"
        r"|\b(?:the|its|this) (?:[\w-]+ ){1,3}(?:code|class|method|function)\b(?! blocks?\b)"
        r"|\b(?:show|sample|write)\b.*\bcode\b(?! blocks?\b)|\bcode (?:for|to)\b|\b(?:workflow|manifest)\b"
    ),
    "why": r"\bwhy\b",
    "how-to": (
        r"\bhow (?:do|can|could|should|would|to|does one|are|is)\b|\bsteps\b|\bset(?:ting)? ?up\b"
        r"|^(?!.*\b(?:which|what) (?:[\w.]+ ){0,3}(?:version|release)).*\b(?:install|can i\b)"
        r"|\bis there (?:a|any) way\b|\u600e\u4e48|\u5982\u4f55|\u65b9\u6cd5"
    ),
    "fact": (
        r"\bdefaults?\b|\bhow (?:many|much|long|often|large|big|fast|far|old)\b"
        r"|\bwh(?:at|ich) (?:[\w.-]+ ){0,2}"
        r"(?:value|port|version|release|flag|size|colou?r|rate|topic|name|number|key|option)s?\b"
        r"|\u9ed8\u8ba4|\u65e2\u5b9a"
    ),
    "which": r"^\W*(?:when|who|where|which)\b",
    "error": r"\bcauses?\b|\berrors?\b|\bfail(?:s|ed|ing|ure)?\b|\bnot work|\b[45]\d\d\b",
    "definition": r"^\W*(?:what(?:'s| is| are| does)|define|explain)\b|\bmean(?:s|ing)?\b",
}
_FORMS = {form: re.compile(pattern, re.IGNORECASE) for form, pattern in _PATTERNS.items()}


def _form_of(question: str) -> Form:
    """What kind of answer a question wants: a value, steps, both sides, a reason."""
    return next((form for form, pattern in _FORMS.items() if pattern.search(question)), "other")


class Shape(NamedTuple):
    """Lines of a screen that a form deserves. Fewer: the thing itself is missing more often; more: it is buried."""

    lines: int  # of the answer
    whole: int  # up to which a section comes whole
    code: int  # of one block of code; one that is a little longer comes whole
    rows: int  # of one table

    def limit(self, block: TextBlock) -> int:
        """How many lines or rows of a block are shown."""
        if block.kind == "table":
            return self.rows
        is_long = block.code_lines > SLACK * self.code
        return block.lines - block.code_lines + self.listing(block) * block.listings if is_long else block.lines

    def listing(self, block: TextBlock) -> int:
        """How many lines of each of a block's fences are shown: they share what one may have."""
        return max(MIN_LISTING, self.code // max(1, block.listings))


MIN_LISTING = 8  # lines of one of several fences; fewer say nothing
SLACK = 1.3  # times the limit, up to which code is not cut; 1: three lines are missing at the end of a listing
# Chosen by coverage and length in benchmarks/answers.py: half as many lines cost a fifth of the coverage.
SHAPES: Mapping[Form, Shape] = {
    "comparison": Shape(36, 12, 20, 14),
    "code": Shape(43, 16, 36, 14),
    "why": Shape(33, 12, 20, 12),
    "how-to": Shape(36, 16, 26, 14),
    "fact": Shape(11, 4, 12, 6),
    "which": Shape(22, 8, 14, 10),
    "error": Shape(33, 12, 20, 12),
    "definition": Shape(11, 8, 12, 6),
    "other": Shape(33, 12, 20, 12),
}

_QUANTITY = re.compile(
    r"\bhow (?:many|much|long|often|large|big|fast|far|old|high)\b"
    r"|\b(?:max|min)(?:imum)? (?:[\w-]+ )?(?:size|number|amount|length|count|value|limit)\b"
    r"|\b(?:which|what) (?:[\w.-]+ )?(?:version|date|percentage|year|timeout)\b|\bdefault timeout\b",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"^[ \t]*\d{1,3}[.)][ \t]", re.MULTILINE)
_NUMBER = re.compile(
    r"\d|\b(?:zero|two|three|four|five|six|seven|eight|nine|ten|once|twice|never|every|unlimited|infinite|no limit"
    r"|dozens?|hundreds?|thousands?|daily|weekly|monthly|yearly)\b",
    re.IGNORECASE,
)
_UNITS = {  # as a question names them, and how a text may write any of that kind
    re.compile(rf"\b(?:{asked})s?\b", re.IGNORECASE): re.compile(
        rf"(?<![^\W\d])(?:{written})(?![^\W\d])", re.IGNORECASE
    )
    for asked, written in {
        "millisecond|second|minute|hour|day|week|month|year": (
            "(?:milli|micro)?(?:second|minute|hour|day|week|month|year|sec)s?|daily|weekly|monthly|yearly"
            r"|(?<=\d)\s?(?:ms|mins?|hrs?|[smhdwy])"
        ),
        "byte|kilobyte|megabyte|gigabyte|[kmg]i?b": "(?:kilo|mega|giga)?bytes?|[kmgt]i?b?",
        "pixel": "pixels?|px|r?em|pt",
        "percent": "percent(?:age)?|per cent|%",
    }.items()
}
_IN_UNIT = re.compile(
    r"\b(?:what|which)\b.*\bin (?:milliseconds|seconds|minutes|hours|days|bytes|pixels|percent)\b", re.IGNORECASE
)
_WANTED: Mapping[Form, re.Pattern[str]] = {
    "fact": re.compile(r"\d|\btrue\b|\bfalse\b|\bnone\b|\bdefaults?\b", re.IGNORECASE),
    "why": re.compile(r"\b(?:because|since|due to|reason|so that|therefore|caused?)\b", re.IGNORECASE),
    "definition": re.compile(r"\b(?:is|are|means?|refers? to|defines?)\b", re.IGNORECASE),
}
_HEADINGS = {  # what a question asks for, and the headings below which authors write that
    re.compile(rf"\b(?:{asked})\b", re.IGNORECASE): re.compile(rf"\b(?:{heading})\b", re.IGNORECASE)
    for asked, heading in {
        "what (?:do|should|can|could|must) (?:i|we|one) (?:do|try|check)|what now|what to do|fix|solve|resolve|repair"
        "|mitigate|get rid|recover": (
            r"mitigation|solutions?|resolution|fix(?:es)?|workarounds?|remed\w+|recovery|troubleshooting|repair"
        ),
        "downsides?|drawbacks?|limits|limitations?|disadvantages?|caveats?|trade-?offs?": (
            "downsides?|drawbacks?|limitations?|disadvantages?|caveats?|trade-?offs?|challenges"
        ),
        "examples?|samples?|snippets?|show me": "examples?|usage|samples?",
    }.items()
}
_DEFAULT = re.compile(r"(?<![/\w.-])defaults?\b(?![/\w-])", re.IGNORECASE)  # the word, not `ns/default`
_VERSION = re.compile(r"\d+\.\d")
_ASKS_VERSION = re.compile(r"\bversions?\b|\b(?:which|what) (?:[\w.]+ ){0,3}release\b", re.IGNORECASE)
SIDE_STEMS = 2  # beside the word between two sides; 1: "early fusion" and "late fusion" are one; more: other words
_COMPARED = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"(.+?)\s(?:vs\.?|versus)\s(.+)",
        r"\bbetween\s(.+?)\sand\s(.+)",
        r"(.+?)\s(?:differs?|different|compared?)\s(?:from|to|with|than)\s(.+)",
        r"\bcompare\s(.+?)\s(?:with|to|and)\s(.+)",
        r"(.+?)\sor\s(.+)",
        r"(.+?),?\sand\show (?:is|are|does|do)\s(.+?)\sdiffer",
        r"(.+?)[\u3068\u548c\u4e0e](.+?)(?:\u306e\u9055\u3044|\u7684?\u533a\u522b)",
    )
)
_PHRASE = re.compile(
    r"[,:;?!]\s|\s[-\u2013\u2014]\s|\s(?:for|in|of|on|when|to|as|is|are|does|do|should)\s", re.IGNORECASE
)  # ends one
_COMPARING = frozenset({"differ", "compar", "better", "use"})  # stems that belong to no side
_FRAME = re.compile(  # of a question about a thing: all but the thing
    r"^\W*(?:(?:what|who)(?:'s| is| are| does| do)?|define|explain|describe)\s+|^(?:the|an?)\s+"
    r"|\s+(?:mean|do|for|meant|stand for|about|used)\s*$",
    re.IGNORECASE,
)
_TOLD = re.compile(  # the beginning of a sentence that says what a thing is, up to the verb
    r"(?:the |an? )?(.{1,80}?)(?:\s(?:is|are|means?|refers?|describes?|provides?|lets?|allows?|enables?|represents?"
    r"|defines?|specif(?:y|ies)|controls?|determines?|can be|stands? for)\b|:\s)",
    re.IGNORECASE,
)
MAX_BESIDE = 2  # words beside the thing's name at the beginning of what defines it


class Wanted:
    """What a question asks for, and whether a block is of that kind."""

    def __init__(self, question: str) -> None:
        self.form = form = _form_of(question)
        self._value: re.Pattern[str] | None = None  # what a block has that tells the value
        if form == "fact":
            self._value = (
                _DEFAULT if _DEFAULT.search(question) else _VERSION if _ASKS_VERSION.search(question) else None
            )
        # What a sentence has that tells it; None: nothing that can be seen does.
        self.telling = self._value or (_WANTED["why"] if form == "why" else None)
        if self.telling is None and _QUANTITY.search(question):
            self.telling = _NUMBER
        self._thing = terms(_thing_of(question)).stems if form == "definition" else frozenset()
        self._headings = [heading for asked, heading in _HEADINGS.items() if asked.search(question)]

    def is_below(self, heading: str) -> bool:
        """Whether authors write what is asked for below such a heading: how to repair it below "Mitigation"."""
        return any(pattern.search(heading) for pattern in self._headings)

    def fit(self, block: TextBlock) -> float:
        """0: not at all. 2 for what one can do, as introductions that say the same words stand above it; 3 for a number
        where one is asked for: what has none cannot answer. Code says little in words."""
        if self.form in ("how-to", "code"):
            return 2.0 * (block.has_code or block.is_step)
        if self._defines(block):
            return 2.0
        is_code = block.kind == "code"
        if self._value:
            return (1.0 if is_code else 2.0) * (self._value.search(block.text) is not None)
        if self.telling is _NUMBER:
            return 3.0 * _has_number(block.text)
        pattern = _WANTED.get(self.form)
        is_told = pattern is not None and pattern.search(block.text) is not None
        return float(is_told and (self.form == "fact" or not is_code))

    def _defines(self, block: TextBlock) -> bool:
        """Whether it begins with the thing and says what it is."""
        if not self._thing or block.kind == "code":
            return False
        said = _TOLD.match(shown(block.text[:200]).strip("*_>#- \n"))
        named = terms(said[1]).stems if said else frozenset()
        return self._thing <= named and len(named) <= len(self._thing) + MAX_BESIDE


def sides_of(question: str) -> tuple[frozenset[str], ...]:
    """The two things that a question compares, each by the stems that tell it from the other; empty: not known."""
    for pattern in _COMPARED:
        if found := pattern.search(question):
            phrases = _PHRASE.split(found[1])[-1], _PHRASE.split(found[2])[0]
            left, right = ([stem for stem in terms(side).words if stem not in _COMPARING] for side in phrases)
            both = frozenset(left[-SIDE_STEMS:]), frozenset(right[:SIDE_STEMS])
            sides = both[0] - both[1], both[1] - both[0]
            return sides if all(sides) else ()
    return ()


def lacks_quantity(question: str, texts: Iterable[str]) -> bool:
    """Whether a question asks how many, how long or which version, and no text has a number.

    Of one that names a unit ("after how many days") a line must have a number and a unit of that kind.
    """
    unit = next((written for asked, written in _UNITS.items() if asked.search(question)), None)
    if not (_QUANTITY.search(question) or _IN_UNIT.search(question)):
        return False
    lines = (line for text in texts for line in text.split("\n"))
    return not any(_has_number(line) and (unit is None or unit.search(line)) for line in lines)


def _has_number(text: str) -> bool:
    """Whether it has one besides those of a list's items."""
    return _NUMBER.search(_LIST_NUMBER.sub("", text)) is not None


def _thing_of(question: str) -> str:
    """What a question asks about: "What is the global filter?" is about the global filter."""
    thing = question.strip(" \n?!.")
    while (shorter := _FRAME.sub("", thing, count=1)) != thing:
        thing = shorter
    return thing
