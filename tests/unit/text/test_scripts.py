"""Which script a text is in."""

import pytest

from citewise.text.scripts import Script, script_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("水位計はどこですか", Script.JAPANESE),
        ("网址末尾的 .html 怎么去掉", Script.HAN),
        ("lastUpdated 默认值", Script.HAN),
        ("한국어로 질문합니다", Script.HANGUL),
        ("What does 水位 mean on the gauge of the harbor?", Script.LATIN),
        ("Où est la jauge?", Script.LATIN),
        ("Где водомер?", Script.CYRILLIC),
        ("איפה המד?", Script.HEBREW),
        ("", Script.LATIN),
        ("42 \U0001f600", Script.LATIN),
    ],
)
def test_a_text_is_in_the_script_of_most_of_its_words(text: str, script: Script) -> None:
    assert script_of(text) is script


def test_a_word_of_japanese_does_not_make_a_chinese_page_japanese() -> None:
    page = "本页说明潮汐表的用法" * 6
    assert script_of(f"{page} ひらがな {page}") is Script.HAN
