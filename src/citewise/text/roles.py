"""Sections that stand beside the content of a page: exercises, quizzes, objectives, changelogs, lists of links.

They share the words of many questions and answer few of them.
"""

import re
from collections.abc import Sequence, Set
from enum import StrEnum

from citewise.text.markdown import LINK, LIST_MARK, WIKI_LINK


class SectionRole(StrEnum):
    """What a section is for, if not to explain. The values are content types."""

    EXERCISE = "exercise"
    QUIZ = "quiz"
    OBJECTIVES = "objectives"
    CHANGELOG = "changelog"
    LINKS = "links"


_BY_CONTENT_TYPE = {role.value: role for role in SectionRole}

# What a heading says as a whole: "Exercise caution" and "Reference" are none of these.
_NUMBER = r"(?: #?\d[\d.]*[a-z]?)?"
_EXERCISE = (
    rf"(?:[\w-]+ ){{0,2}}exercises?{_NUMBER}(?: (?:instructions?|questions?|challenges?|solutions?))?",
    rf"(?:[\w-]+ )?(?:practice problems?|problem sets?|homework){_NUMBER}",
    rf"(?:übungs)?aufgaben?{_NUMBER}|übung(?:en)?{_NUMBER}|exercices?{_NUMBER}|ejercicios?{_NUMBER}",
    "练习题?|习题|練習問題|演習(?:問題)?",
)
# Below the heading of an exercise, what explains all the same.
_EXPLANATION = (
    rf"(?:[\w-]+ )?(?:troubleshooting|implementation|solutions?|hints?|examples?)(?: (?:tips|steps|code))?{_NUMBER}",
    r"common (?:issues|problems|errors|mistakes)(?: and (?:solutions|fixes))?",
    "fehlersuche|lösung(?:en)?|dépannage|solution de problèmes|solución(?:es)?|故障排除|解答|トラブルシューティング",
)
_QUIZ = (
    rf"(?:[\w-]+ ){{0,2}}quiz(?:zes)?{_NUMBER}(?: (?:instructions?|questions?|answers?))?",
    r"(?:knowledge|comprehension|concept)[ -]checks?|(?:check|test) your (?:knowledge|understanding|learning)",
    r"self[ -](?:check|test|assessment)(?: questions?)?|answer key|question \d+",
    r"(?:sample )?(?:review|discussion|comprehension|practice|exam|test|assessment|lab|short[ -]answer|"
    r"multiple[ -]choice) (?:questions?|answers?|responses?)",
    r"(?:[\w-]+ )?rubrics?|grading(?: (?:scale|criteria))?|cuestionario|preguntas de repaso|questions de révision",
    "测验|小测|复习题|クイズ|確認問題",
)
_OBJECTIVES = (
    r"(?:(?:learning|lab|chapter|module|lesson|course|unit) )?(?:objectives|outcomes)|learning goals",
    r"what you(?:['\u2019]?ll| will) (?:learn|build)|in this (?:chapter|lesson|module|unit|tutorial)",
    r"lernziele|das lernen sie|objectifs(?: d['\u2019]apprentissage)?|objetivos(?: de aprendizaje)?",
    "学习目标|学習目標",
)
_CHANGELOG = (
    r"change ?logs?|(?:[\w-]+ ){0,2}release notes?(?: for .+)?|(?:version|release|revision|change) history",
    r"what['\u2019]?s new(?: in .+)?|änderungsprotokoll|versionshinweise|journal des modifications",
    r"notes? de version|registro de cambios|notas de la versión",
    "更新日志|变更日志|发布说明|変更履歴|更新履歴|リリースノート",
)
_LINKS = (
    r"(?:(?:additional|useful|important|related|provided|more|external|helpful) )?(?:references|resources|links)",
    r"further reading|see also|learn more|read more|next steps?",
    r"related (?:pages|links|topics|articles|content|reading)|bibliography|what['\u2019]?s next|where to go next",
    r"siehe auch|weiterführende links|nächste schritte|literatur|voir aussi|prochaines étapes|références",
    r"véase también|ver también|próximos pasos|referencias",
    "参考资料|参考文献|延伸阅读|相关链接|下一步|関連項目|関連リンク|参考資料|次のステップ",
)


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


# Links come last: only by its headings' text and its own lines is a section known to be a list of them.
_HEADINGS = {
    SectionRole.EXERCISE: _any_of(_EXERCISE),
    SectionRole.QUIZ: _any_of(_QUIZ),
    SectionRole.OBJECTIVES: _any_of(_OBJECTIVES),
    SectionRole.CHANGELOG: _any_of(_CHANGELOG),
}
_POINTS = re.compile(  # "Kinematics (10% of total)", "Excellent (9-10 points)"
    r"\([^()]*\d[\d \u2013-]*(?:% of (?:the )?(?:total|grade|mark|score)|points?\b|pts\b)[^()]*\)\W*\Z", re.IGNORECASE
)
_LINK_HEADING = _any_of(_LINKS)
_EXPLAINS = _any_of(_EXPLANATION)
# A question with one of these words asks for such a section itself.
_ASKED = {
    SectionRole.EXERCISE: r"exercises?|practi[cs]e|homework|assignments?|übung(?:en)?|exercices?|ejercicios?|练习|演習",
    SectionRole.QUIZ: (
        r"quiz(?:zes)?|exams?|assess(?:ed|ments?)|grad(?:ed|es|ing)|rubrics?|question \d+|review questions|测验|クイズ"
    ),
    SectionRole.OBJECTIVES: r"objectives?|goals?|outcomes?|learn|lernziele?|objectifs?|objetivos?|目标|目標",
    SectionRole.CHANGELOG: (
        r"chang(?:e|es|ed|elog)|releas(?:e|es|ed)|versions?|what's new|new in|since|deprecated|removed|added|"
        r"introduced|version(?:en|es)|geändert|neu|nouveau|nouveautés|nuevo|cambios|更新|变更|変更|版本|バージョン"
    ),
    SectionRole.LINKS: r"links?|read(?:ing)?|references?|resources|see also|next steps?|lire|leer|链接|参考|リンク",
}
_WORDS = {role: re.compile(rf"(?<![a-zà-ÿ])(?:{words})(?![a-zà-ÿ])", re.IGNORECASE) for role, words in _ASKED.items()}

_MIGRATION = re.compile(r"(?:migration|migrating|upgrading)\b|upgrade (?:guide|notes|from|to)\b", re.IGNORECASE)
_MIGRATION_PATH = re.compile(r"(?:^|[/_.-])(?:migration|migrating|upgrading|upgrade)(?=[/_.-]|$)", re.IGNORECASE)
_BEFORE = re.compile(
    r"\b(?:migrat\w*|upgrad\w*|(?:from|to|in|since) v?\d[\d.]*|v(?:ersions? )?\d[\d.]*|older?|since|previous\w*"
    r"|replac\w*|renam\w*|remov\w*|deprecat\w*|no longer|used to|chang\w*|new in)\b",
    re.IGNORECASE,
)
_NUMBERING = re.compile(r"^[\W\d_]+|\s*\([^()]*\)\s*$")  # "4.2 Quiz", "Question 3 (5 points)"
_SUBTITLE = re.compile(r"\s*[:\uff1a]\s*|\s+[|\u2013\u2014-]\s+")  # "Week 2 Quiz: Messages"
_OPTION = re.compile(r"[ \t]*(?:[-*+] +)?(?:\*\*)?\(?([a-eA-E])[.)](?:\*\*)? +\S")
_LINK = re.compile("|".join((LINK.pattern, WIKI_LINK.pattern, r"<https?://[^>\s]*>", r"https?://\S+")))
_ITEM = re.compile(rf"[ \t]*{LIST_MARK}[ \t]+")
MAX_BESIDE = 4  # words beside the link in the item of a list that is only links; more: descriptions are read as content


def role_of(breadcrumb: Sequence[str], text: str) -> SectionRole | None:
    """What a passage is for, by the headings it stands under and by its own lines; None: content."""
    names = [_plain(heading) for heading in breadcrumb]
    explains = bool(names) and _EXPLAINS.fullmatch(names[-1]) is not None
    if any(map(_POINTS.search, breadcrumb)):
        return SectionRole.QUIZ
    for name in names:
        for role, pattern in _HEADINGS.items():
            if pattern.fullmatch(name) and not (explains and role is SectionRole.EXERCISE):
                return role
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    if not lines:
        return None
    if _asks_with_options(lines):
        return SectionRole.QUIZ
    is_named = bool(breadcrumb) and _LINK_HEADING.fullmatch(_plain(breadcrumb[-1])) is not None
    return SectionRole.LINKS if _is_link_list(lines, is_named=is_named) else None


def roles_asked(question: str) -> frozenset[SectionRole]:
    """The roles that a question names: what changed, exercises on a topic, where to read on."""
    return frozenset(role for role, words in _WORDS.items() if words.search(question))


def is_beside(content_type: str, asked: Set[SectionRole]) -> bool:
    """Whether a passage of this content type stands beside the content, and its role is none of those asked for."""
    role = _BY_CONTENT_TYPE.get(content_type)
    return role is not None and role not in asked


def leads_from_before(document: str, breadcrumb: Sequence[str]) -> bool:
    """Whether it says how to get here from an earlier version: it speaks of what was as much as of what is."""
    if _MIGRATION_PATH.search(document):
        return True
    return any(_MIGRATION.match(_plain(heading)) for heading in breadcrumb)


def asks_about_before(question: str) -> bool:
    """Whether a question is about an earlier version, or about what changed since."""
    return _BEFORE.search(question) is not None


def _plain(heading: str) -> str:
    """What a heading says, without its number and its subtitle."""
    return _SUBTITLE.split(_NUMBERING.sub("", heading), maxsplit=1)[0].strip(" .*_`?!")


def _asks_with_options(lines: Sequence[str]) -> bool:
    """Whether most of it is a question with lettered options."""
    letters = [match[1].lower() for line in lines if (match := _OPTION.match(line))]
    has_question = any(line.rstrip(" *_").endswith(("?", "\uff1f")) for line in lines)
    return has_question and {"a", "b", "c"} <= set(letters) and 2 * len(letters) >= len(lines)


def _is_link_list(lines: Sequence[str], *, is_named: bool) -> bool:
    """Whether it is a list of links and of nothing else; below a heading that says so, a list is enough."""
    items = [line for line in lines if _ITEM.match(line) or _LINK.match(line.lstrip())]
    if is_named:
        return 2 * len(items) >= len(lines)
    return len(items) >= 2 and len(items) == len(lines) and all(map(_is_mere_link, items))


def _is_mere_link(item: str) -> bool:
    beside, links = _LINK.subn(" ", _ITEM.sub("", item, count=1))
    return links > 0 and len(re.findall(r"\w+", beside)) <= MAX_BESIDE
