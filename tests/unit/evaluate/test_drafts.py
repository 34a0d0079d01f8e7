"""Drafted questions: what each rule makes of a heading or a sentence, what none may use, and how they are spread."""

from dataclasses import replace

import pytest

from citewise.evaluation.draft_headings import heading_question
from citewise.evaluation.draft_sentences import keywords, sentence_question
from citewise.evaluation.draft_text import Vocabulary, vocabulary_of
from citewise.evaluation.drafts import Draft, Section, draft_json, drafts_of, sections_of
from citewise.model.chunk import Piece, chunks_of
from tests.builders import a_document

PROSE = "The quiet pumps of the outer harbor run at night, and nobody who lives near them has ever complained of it."
VOCABULARY = vocabulary_of(
    ["the message bus and the board of a station", "on Isaac Sim we test the energy of physical AI, and the tide"]
)


@pytest.mark.parametrize(
    ("breadcrumb", "question"),
    [
        ("Firmware > Flash a Board", "How do I flash a board?"),
        ("1.2 Firmware > Step 3: Installing the Message Bus", "How do I install the message bus?"),
        ("Robots > Adding Objects on Isaac Sim", "How do I add objects on Isaac Sim?"),
        ("WX-117: wrong pressure > Close the alert", "How do I close the alert for WX-117?"),
        ("WX-117: wrong pressure", "What does WX-117 mean?"),
        ("Gazebo > 1.1.1 What is Gazebo?", "What is Gazebo?"),
        ("How do I reset the gauge?", "How do I reset the gauge?"),
        ("FAQ > Q: How do I reset the gauge", "How do I reset the gauge?"),
        ("FAQ > Could I use two boards?", "Could I use two boards?"),
        ("FAQ > My station is offline, what now?", "My station is offline, what now?"),
        ("Can the buoy be moved", "Can the buoy be moved?"),
        ("Calibration > When to calibrate", "When do I calibrate?"),
        ("Firmware > How a reading is made", "How is a reading made?"),
        ("Bus > If a station is stolen", "What should I do if a station is stolen?"),
        ("Formats > URDF vs. SDF", "What is the difference between URDF and SDF?"),
        ("Message Bus > Troubleshooting", "How do I troubleshoot message bus?"),
        ("Physical AI > Constraints > Energy Constraints", "What are the energy constraints in physical AI?"),
        ("Firmware > Status Light", "status light firmware"),
        ("Walking > Understanding Gait > Duty Factor (10 points)", "duty factor gait"),
        ("Handbook > Set up your board", "How do I set up my board?"),
    ],
)
def test_a_heading_becomes_what_people_type(breadcrumb: str, question: str) -> None:
    assert heading_question(breadcrumb.split(" > "), VOCABULARY) == question


@pytest.mark.parametrize(
    "breadcrumb",
    [
        "",
        "Firmware",
        "Firmware > Overview",
        "Firmware > Next Steps",
        "Firmware > Exercise 3",
        "Firmware > When it comes back",
        "Troubleshooting",
        "Firmware > Key AKIAIOSFODNN7EXAMPLQ",
        "Firmware > The `a[i] = b` form",
    ],
)
def test_a_heading_that_says_nothing_by_itself_is_left_out(breadcrumb: str) -> None:
    assert heading_question([part for part in breadcrumb.split(" > ") if part], VOCABULARY) is None


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("A **node** is a process that performs computation.", "What is a node?"),
        ("The [tide gauge](gauge.md) is the oldest instrument of all.", "What is the tide gauge?"),
        ("URDF stands for Unified Robot Description Format, an old one.", "What does URDF stand for?"),
        ("The buffer is used to keep readings that could not be sent.", "What is the buffer used for?"),
        ("Each morning round takes 20 minutes, weather or no weather.", None),
        ("A staff comparison takes about 20 minutes on a calm day.", "How long does a staff comparison take?"),
        ("If the broker cannot be reached, readings wait in flash.", "What happens if the broker cannot be reached?"),
        ("If your site is too dark, ask for the larger panel.", "What should I do if my site is too dark?"),
        ("When choosing a site, look at the tide first of all.", "What should I consider when choosing a site?"),
        ("To release the brake, press both of the buttons down.", "How do I release the brake?"),
    ],
)
def test_a_sentence_becomes_what_it_answers(sentence: str, question: str | None) -> None:
    assert sentence_question(sentence, VOCABULARY) == question


@pytest.mark.parametrize(
    "sentence",
    [
        "It is the only part of the station that can be seen.",
        "This is a process that performs computation in the system.",
        "The goal is a station that nobody has to look after.",
        "Simulation is a critical component of any modern robotics development.",
        "If it fails again, replace the cable and the connector.",
        "When in doubt, pull the station from the public charts.",
        "When the queue is full the collector stops, so that nothing is lost.",
        "Is the tide gauge the oldest instrument of them all?",
        "A node is short.",
        "The password is a secret: hunter2-is-not-it and never was.",
        "The page at https://example.org is the place to look first.",
    ],
)
def test_a_sentence_that_no_rule_fits_is_left_out(sentence: str) -> None:
    assert sentence_question(sentence, VOCABULARY) is None


def test_keywords_are_a_facts_words_without_its_rarest_and_its_numbers() -> None:
    common = "the station stretches its measuring cycle by minutes when the battery voltage is low in winter"
    vocabulary = vocabulary_of([common, common])
    fact = "The station stretches its measuring cycle from 6 to 30 minutes when the zinc battery is low in deep winter."
    assert keywords(fact, vocabulary) == "station stretches measuring cycle minutes battery low winter"
    assert "zinc" not in (keywords(fact, vocabulary) or "")


@pytest.mark.parametrize(
    "sentence",
    [
        "The station stretches its measuring cycle when the battery is low.",
        "It stretches the measuring cycle of the station to 30 minutes in winter.",
        "You stretch the measuring cycle of the station to 30 minutes in winter.",
        "Stations, measuring cycle and battery in Module 3 are for winter operators.",
        "Cycle: stations stretch their measuring from 6 to 30 minutes in winter.",
    ],
    ids=["no number", "a pronoun", "the reader", "a chapter's number", "a label"],
)
def test_there_are_no_keywords_for_what_is_no_fact(sentence: str) -> None:
    assert keywords(sentence, Vocabulary()) is None


def a_section(document: str, at: int, heading: str, *sentences: str) -> Section:
    return Section(document, heading, ("Handbook", heading), 10 * at + 1, 10 * at + 9, (*sentences, PROSE))


def shelf(documents: int = 6, sections: int = 6) -> list[Section]:
    names = ("anchor", "beacon", "cable", "drogue", "ensign", "fender")
    parts = ("bolt", "cover", "gauge", "hinge", "lamp", "motor")
    return [
        a_section(
            f"page-{page}.md",
            at,
            f"Install the {names[page]} {parts[at]}",
            f"The {names[page]}{at} {parts[at]}{page} is a part that holds the rest of it together.",
        )
        for page in range(documents)
        for at in range(sections)
    ]


def test_the_same_seed_drafts_the_same_questions() -> None:
    assert drafts_of(shelf(), count=10, seed=1) == drafts_of(shelf(), count=10, seed=1)
    assert drafts_of(shelf(), count=10, seed=1) != drafts_of(shelf(), count=10, seed=2)


def test_questions_are_spread_over_documents_and_kinds() -> None:
    drafts = drafts_of(shelf(), count=12, seed=1)
    assert [sum(one.places[0].document == f"page-{page}.md" for one in drafts) for page in range(6)] == [2] * 6
    assert {kind: sum(one.kind == kind for one in drafts) for kind in ("heading", "sentence")} == {
        "heading": 6,
        "sentence": 6,
    }


def test_no_section_is_asked_about_twice_and_no_two_questions_are_alike() -> None:
    drafts = drafts_of(shelf(), count=1000, seed=1)
    places = [place for one in drafts for place in one.places]
    assert len(places) == len(set(places)) <= 36
    alike = [a_section("a.md", 0, "Install the beacon lamp"), a_section("b.md", 0, "Installing a beacon lamp glass")]
    assert len(drafts_of(alike, count=10, seed=1)) == 1


def test_a_question_that_two_sections_answer_has_both_as_gold_and_one_that_many_do_is_dropped() -> None:
    sections = [
        a_section(f"{at}.md", 0, "Overview", "A drogue is a cone of cloth that slows a boat.") for at in range(5)
    ]
    (both,) = drafts_of(sections[:2], count=10, seed=1)
    assert (both.question, {place.document for place in both.places}) == ("What is a drogue?", {"0.md", "1.md"})
    assert drafts_of(sections, count=10, seed=1) == ()


def a_piece(heading: str, text: str, *, first_line: int = 1, ordinal: int = 0) -> Piece:
    return Piece(
        anchor=heading.lower(),
        ordinal=ordinal,
        section=heading,
        breadcrumb=("Handbook", heading),
        text=text,
        first_line=first_line,
        last_line=first_line + 4,
        tokens=len(text.split()),
        kind=None,
        has_code=False,
        has_equations=False,
        language=None,
    )


def sections_in(*pieces: Piece, content_type: str = "prose") -> list[Section]:
    document = replace(a_document("page.md"), content_type=content_type)
    return list(sections_of("page.md", chunks_of(document, pieces)))


def test_a_section_is_all_its_chunks_and_says_each_sentence_once() -> None:
    (section,) = sections_in(
        a_piece("Pumps", f"## Pumps\n\nFirst things first. {PROSE}", first_line=3),
        a_piece("Pumps", f"{PROSE} Last things last.", first_line=6, ordinal=1),
    )
    assert (section.first_line, section.last_line) == (3, 10)
    assert section.sentences == ("First things first.", PROSE, "Last things last.")


@pytest.mark.parametrize(
    ("heading", "text", "content_type"),
    [
        ("Pumps", PROSE, "quiz"),
        ("Pumps", PROSE, "assessment"),
        ("Exercise 3", PROSE, "prose"),
        ("Summary", PROSE, "prose"),
        (
            "Pumps",
            "```python\nprint('a great many words that are code and no prose, however long they go on')\n```",
            "prose",
        ),
        ("Contents", "\n".join(f"- [Chapter {at} of the long handbook](c-{at}.md)" for at in range(9)), "prose"),
    ],
    ids=["quiz", "assessment", "exercise", "summary", "code", "contents"],
)
def test_what_is_not_for_reading_is_not_asked_about(heading: str, text: str, content_type: str) -> None:
    assert sections_in(a_piece(heading, text), content_type=content_type) == []
    assert sections_in(a_piece("Pumps", PROSE)) != []


def test_what_was_masked_is_not_asked_about() -> None:
    told = "The hoist key is a token <secret:token> that opens the old hoist of the quay."
    assert [one.kind for one in drafts_of([a_section("a.md", 0, "Overview", told)], count=9, seed=1)] == []


def test_the_file_says_what_it_is_and_where_each_answer_stands() -> None:
    section = a_section("a.md", 2, "Pumps")
    made = draft_json([Draft("What is a pump?", "sentence", "A pump is a pump.", (section,))])
    assert made["draft"] is True
    assert "nobody has checked" in str(made["note"])
    assert made["questions"] == [
        {
            "id": "draft-001",
            "question": "What is a pump?",
            "type": "sentence",
            "relevant": [
                {
                    "doc": "a.md",
                    "section": "Pumps",
                    "grade": 2,
                    "heading_path": ["Handbook", "Pumps"],
                    "line_start": 21,
                    "line_end": 29,
                }
            ],
            "answer": "A pump is a pump.",
        }
    ]
