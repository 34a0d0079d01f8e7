"""What every embedder promises, and the token counter that goes with it."""

import math
import struct
from collections.abc import Iterator

import httpx
import pytest

from citewise.adapters.http import Remote
from citewise.adapters.memory.cache import RememberingEmbedder
from citewise.adapters.openai.embedder import OpenAIEmbedder
from citewise.errors import Unavailable
from citewise.model.chunk import EmbeddingModel, Vector
from citewise.ports.models import Embedder, TokenCounter
from citewise.settings import Settings
from citewise.wiring_models import embedding_of
from tests.fakes.counters import HashEmbedder, WordCounter, dimensions_of
from tests.fakes.embedding_server import DIMENSIONS, running_server

pytestmark = pytest.mark.server

LONG = "The gauge reads the water level every six minutes. " * 80


@pytest.fixture(params=["minilm", "hash", "openai", "remembering hash"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    if request.param == "minilm":
        yield embedding_of(Settings()).embedder
    elif request.param == "hash":
        yield HashEmbedder()
    elif request.param == "remembering hash":
        yield RememberingEmbedder(HashEmbedder())
    else:
        with running_server() as server, httpx.Client(base_url=server.url, trust_env=False) as client:
            model = EmbeddingModel("tiny", DIMENSIONS, 256)
            yield OpenAIEmbedder(Remote(client, "embedding", "tiny"), model, max_input_chars=768)


def vector_of(outcome: Vector | Unavailable) -> Vector:
    assert not isinstance(outcome, Unavailable)
    return outcome


def numbers(vector: Vector) -> tuple[float, ...]:
    return struct.unpack(f"<{dimensions_of(vector)}f", vector)


def test_one_vector_a_text_in_order_at_unit_length(embedder: Embedder) -> None:
    texts = ["a tide", "a gauge", "the wind at sea"]
    vectors = [vector_of(outcome) for outcome in embedder.documents(texts)]
    assert [dimensions_of(vector) for vector in vectors] == [embedder.model.dimensions] * 3
    assert all(math.hypot(*numbers(vector)) == pytest.approx(1.0, abs=1e-5) for vector in vectors)
    assert vectors == [vector_of(embedder.documents([text])[0]) for text in texts]


def test_nothing_gives_nothing(embedder: Embedder) -> None:
    assert embedder.documents([]) == ()


def test_a_vector_does_not_depend_on_its_neighbors(embedder: Embedder) -> None:
    alone = embedder.documents(["a tide"])[0]
    assert embedder.documents(["short", "a tide", LONG, "a tide"])[1] == alone
    assert embedder.documents([LONG, "a tide"])[1] == alone


def test_the_last_word_of_a_long_text_counts(embedder: Embedder) -> None:
    first, other = embedder.documents([f"{LONG} flood", f"{LONG} anchor"])
    assert first != other


def test_a_query_lives_in_the_same_space(embedder: Embedder) -> None:
    assert dimensions_of(embedder.query("a tide")) == embedder.model.dimensions


@pytest.mark.parametrize("counter", [embedding_of(Settings()).counter, WordCounter()], ids=["wordpiece", "words"])
def test_counts_of_lines_add_up(counter: TokenCounter) -> None:
    lines = ["# Tides", "", "A gauge reads `read_level()` twice.", "Größe: 水位 ± 3 cm…", "```python"]
    assert sum(counter.counts(lines)) == counter.counts(["\n".join(lines)])[0]
    assert counter.counts([]) == []
