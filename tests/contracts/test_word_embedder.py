"""What every embedder of words promises."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from citewise.errors import BadData, Unavailable
from citewise.model.chunk import Vector, WordVectors
from citewise.ports.models import Embedder, WordEmbedder
from citewise.settings import Settings
from citewise.wiring_models import embedding_of
from tests.fakes.counters import HashEmbedder, HashWords

LONG = "The gauge reads the water level every six minutes. " * 80  # windows of the built-in model: four
TEXTS = [
    "a tide",
    "",
    "?!… — (…)",
    "The tide gauge is read at noon by the keeper of the harbor.",
    LONG,
    "水位 は 毎日 читается ежедневно",
    "[CLS] [SEP]",
    "half a \ud83d pair",
    "😀",
    "a tide",
    " \n\t ",
]
QUESTION = "When is the gauge read?"
ROUNDING = 1e-6  # a product of matrices owes its last bits to the shape of all of them


@dataclass(frozen=True, slots=True)
class Model:
    """Both sides of one."""

    embedder: Embedder
    words: WordEmbedder


def minilm() -> Model:
    vectors_of = embedding_of(Settings())
    assert vectors_of.words is not None
    return Model(vectors_of.embedder, vectors_of.words)


def hashed() -> Model:
    embedder = HashEmbedder()
    return Model(embedder, HashWords(embedder))


@pytest.fixture(params=[minilm, hashed], ids=["minilm", "hash"], scope="module")
def model(request: pytest.FixtureRequest) -> Model:
    make: Callable[[], Model] = request.param
    return make()


def vectors_of(outcome: tuple[Vector, WordVectors] | Unavailable) -> tuple[Vector, WordVectors]:
    assert not isinstance(outcome, Unavailable)
    return outcome


def words_of(model: Model, *texts: str) -> list[WordVectors]:
    return [vectors_of(outcome)[1] for outcome in model.words.embedded(texts)]


def test_the_vector_is_the_very_one_of_the_embedder(model: Model) -> None:
    assert tuple(vectors_of(first)[0] for first in model.words.embedded(TEXTS)) == model.embedder.documents(TEXTS)
    for text in TEXTS:
        assert vectors_of(model.words.embedded([text])[0])[0] == model.embedder.documents([text])[0]


def test_each_text_gets_its_words_in_order(model: Model) -> None:
    together = words_of(model, *TEXTS)
    alone = [words_of(model, text)[0] for text in TEXTS]
    assert list(map(len, together)) == list(map(len, alone))
    assert all(together)
    for first, other in zip(together, alone, strict=True):
        # What is stored may be rounded, and what lies on the edge then fall on either side.
        assert sum(a != b for a, b in zip(first, other, strict=True)) <= len(first) / 500
    assert together[0] == together[9]  # equal texts


def test_nothing_gives_nothing(model: Model) -> None:
    assert model.words.embedded([]) == ()
    assert model.words.closeness(QUESTION, []) == ()


def test_a_longer_text_has_more_words_to_the_last(model: Model) -> None:
    short, long, longer = words_of(model, "a tide", LONG, f"{LONG} {LONG}")
    assert len(short) < len(long) < len(longer)
    assert len(longer) == pytest.approx(2 * len(long), rel=0.02)
    first, other = words_of(model, f"{LONG} flood", f"{LONG} anchor")
    assert first != other


def test_closeness_is_one_number_a_text_in_order(model: Model) -> None:
    stored = words_of(model, *TEXTS)
    close = model.words.closeness(QUESTION, stored)
    assert close == pytest.approx([model.words.closeness(QUESTION, [each])[0] for each in stored], abs=ROUNDING)
    assert model.words.closeness(QUESTION, stored[::-1]) == pytest.approx(close[::-1], abs=ROUNDING)


def test_closeness_does_not_depend_on_the_neighbors(model: Model) -> None:
    first, *others = words_of(model, "The gauge is read at noon.", *TEXTS)
    (alone,) = model.words.closeness(QUESTION, [first])
    for at in (0, 3, len(others)):
        close = model.words.closeness(QUESTION, [*others[:at], first, *others[at:]])
        assert close[at] == pytest.approx(alone, abs=ROUNDING)


def test_a_text_that_holds_the_questions_words_is_nearer_than_one_that_does_not(model: Model) -> None:
    stored = words_of(model, "The gauge is read at noon.", "Bread is baked with salt.", f"{LONG} Bread is baked.")
    near, far, within = model.words.closeness(QUESTION, stored)
    assert near > far
    assert within > far


def test_a_text_that_says_everything_over_and_over_is_no_nearer_for_it(model: Model) -> None:
    (once,) = words_of(model, "The gauge is read at noon.")
    lengths = model.words.closeness(QUESTION, [WordVectors(once * times) for times in (1, 2, 8, 64)])
    assert list(lengths) == sorted(lengths, reverse=True)
    assert len(set(lengths)) == 4


def test_the_same_question_gives_the_same_closeness_whatever_was_asked_between(model: Model) -> None:
    stored = words_of(model, *TEXTS)
    before = model.words.closeness(QUESTION, stored)
    for at in range(20):
        model.words.closeness(f"{QUESTION} {at}", stored[:1])
    assert model.words.closeness(QUESTION, stored) == before


@pytest.mark.parametrize("question", ["", "?", "水位", "half a \ud83d pair", LONG])
def test_any_question_can_be_compared(model: Model, question: str) -> None:
    stored = words_of(model, question or "nothing", "Bread is baked with salt.")
    same, other = model.words.closeness(question, stored)
    assert same == pytest.approx(same)
    assert same >= other or not question


HEADINGS = "Tides > Reading\n\n"
PARTS = [HEADINGS, "The gauge is read at noon. ", "Bread is baked with salt. ", "Gulls rest. "]


def parts_of(model: Model, *parts: str) -> tuple[WordVectors, list[str]]:
    return words_of(model, "".join(parts))[0], list(parts)


def test_each_part_but_the_first_has_a_closeness_in_order(model: Model) -> None:
    ((near, far, other),) = model.words.part_closeness(QUESTION, [parts_of(model, *PARTS)])
    assert near > max(far, other)
    ((turned,),) = model.words.part_closeness(QUESTION, [parts_of(model, *PARTS[:2])])
    assert turned > max(far, other)


def test_the_first_part_counts_in_every_other(model: Model) -> None:
    said, unsaid = parts_of(model, *PARTS), parts_of(model, "Gulls > Bread\n\n", *PARTS[1:])
    ((_, with_headings, _), (_, without, _)) = model.words.part_closeness("Reading tides?", [said, unsaid])
    assert with_headings > without


def test_the_parts_of_a_text_do_not_depend_on_other_texts(model: Model) -> None:
    texts = [parts_of(model, *PARTS), parts_of(model, "", LONG, "Gulls rest."), parts_of(model, HEADINGS)]
    together = model.words.part_closeness(QUESTION, texts)
    assert [len(found) for found in together] == [3, 2, 0]
    for text, found in zip(texts, together, strict=True):
        assert model.words.part_closeness(QUESTION, [text])[0] == pytest.approx(found, abs=ROUNDING)
    assert model.words.part_closeness(QUESTION, []) == ()


def test_a_whole_text_as_its_only_part_is_as_near_as_the_text(model: Model) -> None:
    for text in (each for each in TEXTS if any(map(str.isalnum, each))):
        (whole,) = words_of(model, text)
        ((part,),) = model.words.part_closeness(QUESTION, [(whole, ["", text])])
        assert part == pytest.approx(model.words.closeness(QUESTION, [whole])[0], abs=ROUNDING)


@pytest.mark.parametrize("wrong", [b"", b"x", b"of another model, or damaged on the way"])
def test_what_the_model_did_not_make_is_bad_data(model: Model, wrong: bytes) -> None:
    (whole,) = words_of(model, "a tide")
    for texts in ([wrong], [whole, wrong], [wrong, whole], [whole[:-1]], [whole, whole + b"x"]):
        with pytest.raises(BadData):
            model.words.closeness(QUESTION, [WordVectors(each) for each in texts])
        with pytest.raises(BadData):
            model.words.part_closeness(QUESTION, [(WordVectors(each), ["", "a tide"]) for each in texts])


def test_a_text_that_cannot_be_embedded_spoils_no_other() -> None:
    words = HashWords(HashEmbedder(poison="poison"))
    good, bad, too = words.embedded(["a tide", "poison", "a gauge"])
    assert isinstance(bad, Unavailable)
    alone = HashWords(HashEmbedder()).embedded(["a tide", "a gauge"])
    assert (good, too) == alone


def test_words_are_left_out_where_the_settings_say_so() -> None:
    assert embedding_of(Settings().changed(embedding={"word_vectors": False})).words is None
