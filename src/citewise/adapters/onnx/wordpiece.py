"""BERT's uncased WordPiece tokenizer from the vocabulary file, and a quick count of its tokens."""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from citewise.text.encoding import well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VOCABULARY = "bert-uncased-vocab.txt"
CACHED_WORDS = 200_000  # 0: every word is tokenized again; a word takes about 120 bytes
CACHED_CHARACTERS = 64  # of one word; a longer one is a line without spaces, and occurs once

PLAIN = re.compile(r"[\t\n\r -~]*")  # text in which BERT splits exactly where WORD does
WORD = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")
BLANKS = re.compile(r"[\t\n\r ]+")


@lru_cache(maxsize=1)  # it takes longer to make than most of what it is used for, and nobody changes it
def uncased_tokenizer() -> "Tokenizer":
    """The tokenizer of bert-base-uncased; names of special tokens inside a text are just text."""
    # Imported here: most commands count no tokens.
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    lines = files("citewise").joinpath("data", VOCABULARY).read_text("utf-8").splitlines()
    vocabulary = {token: number for number, token in enumerate(lines)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    return tokenizer


def token_ids(tokenizer: "Tokenizer", texts: Sequence[str]) -> list[list[int]]:
    """Each text's tokens, special ones left out; half a surrogate pair, which none takes, becomes "?"."""
    batch = [well_formed(text) for text in texts]
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False)]


class WordPieceCounter:
    """The port `TokenCounter` for uncased WordPiece: a word is cut the same everywhere, so it is cut only once.

    On ASCII text two to three times as fast as tokenizing on two cores (benchmarks). Other text is split at white
    space, since BERT never looks beyond it.
    """

    def __init__(self) -> None:
        self._pieces = _Pieces()

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [sum(map(self._pieces.__getitem__, words_of(text))) for text in texts]


def words_of(text: str) -> list[str]:
    """What is tokenized apart from each other."""
    return WORD.findall(text.lower()) if PLAIN.fullmatch(text) else BLANKS.split(text)


class _Pieces(dict[str, int]):
    """How many tokens a word is cut into, cached."""

    def __missing__(self, word: str) -> int:
        if len(self) >= CACHED_WORDS:
            self.clear()
        (ids,) = token_ids(uncased_tokenizer(), [word])
        if len(word) <= CACHED_CHARACTERS:
            self[word] = len(ids)
        return len(ids)
