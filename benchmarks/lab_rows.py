"""The alternatives to each default, the default itself first; those about features have a file of their own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.lab_choice import Alternative, Parts
from benchmarks.lab_libraries import asked_in_chunks, bare_arms
from benchmarks.lab_pools import (
    Pool,
    Pools,
    Scoring,
    answered_within,
    blended,
    by_cosine,
    by_every_cosine,
    by_nearness,
    by_ranks,
    within,
    worths,
)
from benchmarks.lab_sets import EVERYTHING, PARAPHRASED, PLAIN, Arms, Asked, asked_set, parts_of, pools_of
from benchmarks.lab_terms import TermRules, VariantAnalyzer, word_index
from benchmarks.results import Cell
from citewise.model.ranking import CODE, DENSE, WORDS
from citewise.ports.models import Embedding
from citewise.search.fuse import BY_NEARNESS, HALVES, HEAD, RANK_CONSTANT
from citewise.search.rankings import MIN_HITS

DEFAULT = (BY_NEARNESS[DENSE], BY_NEARNESS[WORDS], BY_NEARNESS[CODE])
NEARNESS = by_nearness(DEFAULT)
GRID = (0.2, 0.3, 0.4)  # weights of words and of code, where that of meaning is 1 at a cosine of 1
ONE_FIELD = DEFAULT[1] + DEFAULT[2]  # the weight of words where only one form of them is looked at
FETCHED = ((20, 20), (40, 40), (100, HEAD), (200, HEAD), (100, 100), (200, 200), (200, 20), (200, 40))  # hits, head
SIZES = ((350, 512), (500, 800))  # target and ceiling, in tokens
READ_TOKENS = 1_000  # that somebody reads: five long passages hold more than five short ones
CHUNK_COLUMNS = (
    "chunks",
    "tokens a chunk",
    f"plain in {READ_TOKENS:,} tokens",
    f"paraphrased in {READ_TOKENS:,} tokens",
)


@dataclass
class Lab:
    """What is measured on: the sets, each asked once."""

    names: tuple[str, ...]
    embedding: Embedding
    kept: Path
    say: Callable[[str], None]

    @property
    def parts(self) -> Parts:
        return parts_of(self.names)

    @cached_property
    def asked(self) -> Mapping[str, Asked]:
        made = {}
        for name in self.names:
            self.say(f"asking {name}")
            made[name] = asked_set(name, self.embedding, kept=self.kept)
        return made

    @cached_property
    def deep(self) -> Pools:
        """As many hits as any alternative looks at."""
        return {stratum: pools for asked in self.asked.values() for stratum, pools in asked.pools().items()}

    @cached_property
    def pools(self) -> Pools:
        """As many hits as the product fetches for a top_k of 10."""
        return within(self.deep, MIN_HITS)


def fusion_rows(lab: Lab) -> list[Alternative]:
    rows: dict[str, Scoring] = {
        _weighing(*DEFAULT[1:]): NEARNESS,
        **{_weighing(words, code): by_nearness((1.0, words, code)) for words in GRID for code in GRID},
        "min-max, equal weights": blended((1.0, 1.0, 1.0)),
        "min-max, 0.5 / 0.25 / 0.25": blended((HALVES[DENSE], HALVES[WORDS], HALVES[CODE])),
        f"reciprocal ranks, k {RANK_CONSTANT}": by_ranks(RANK_CONSTANT),
        "reciprocal ranks, k 10": by_ranks(10),
        **{f"nearness to all, words and code {each}": by_every_cosine((1.0, each, each)) for each in (*GRID, 0.35)},
        **{f"raw cosine, words and code {each}": by_cosine(each, each) for each in (0.05, 0.1, 0.2)},
        "dense alone": blended((1.0, 0.0, 0.0)),
        "words alone": blended((0.0, 1.0, 0.0)),
        "code alone": blended((0.0, 0.0, 1.0)),
    }
    return [Alternative(name, worths(lab.pools, scoring)) for name, scoring in rows.items()]


def _weighing(words: float, code: float) -> str:
    is_default = (1.0, words, code) == DEFAULT
    return f"nearness, words {words}, code {code}{' (default)' if is_default else ''}"


def over_fetch_rows(lab: Lab) -> list[Alternative]:
    made = [Alternative(f"{MIN_HITS} hits, head {HEAD} (default)", worths(lab.pools, NEARNESS))]
    for limit, head in FETCHED:
        found = worths(within(lab.deep, limit), by_nearness(DEFAULT, head))
        made.append(Alternative(f"{limit} hits, head {head}", found))
    return made


def stem_rows(lab: Lab) -> list[Alternative]:
    """Terms made by other rules; meaning is what it was."""
    rules = {
        "words with stop words": TermRules(words_keep_stop_words=True),
        "words not stemmed": TermRules(words_are_stemmed=False),
        "words with stop words, not stemmed": TermRules(words_keep_stop_words=True, words_are_stemmed=False),
        "code without stop words": TermRules(code_keeps_stop_words=False),
    }
    weights = {
        f"words only, weight {ONE_FIELD}": (1.0, ONE_FIELD, 0.0),
        f"code only, weight {ONE_FIELD}": (1.0, 0.0, ONE_FIELD),
    }
    made = [Alternative("words stemmed, no stop words; code as written (default)", worths(lab.pools, NEARNESS))]
    made += [Alternative(name, worths(lab.pools, by_nearness(each))) for name, each in weights.items()]
    for name, rule in rules.items():
        lab.say(name)
        made.append(Alternative(name, worths(_with_terms(lab, VariantAnalyzer(rule)), NEARNESS)))
    return made


def _with_terms(lab: Lab, analyzer: VariantAnalyzer) -> Pools:
    pools: dict[str, list[Pool]] = {}
    for asked in lab.asked.values():
        texts = {id_: held.searchable_text for id_, held in asked.corpus.items()}
        with word_index(texts, analyzer) as index:
            arms: dict[str, Arms] = {}
            for question, found in asked.arms.items():
                terms = analyzer.terms(question)
                arms[question] = {
                    DENSE: found[DENSE][:MIN_HITS],
                    WORDS: index.search(terms.words, field="words", where=EVERYTHING, limit=MIN_HITS),
                    CODE: index.search(terms.code, field="code", where=EVERYTHING, limit=MIN_HITS),
                }
        pools |= pools_of(asked.name, asked.cases, asked.corpus, arms.__getitem__)
    return pools


def breadcrumb_rows(lab: Lab) -> list[Alternative]:
    """The headings above a chunk in front of what is embedded, of what is looked up as words, of both, of neither."""
    bare: dict[str, Mapping[str, Arms]] = {}
    for name, asked in lab.asked.items():
        lab.say(f"embedding {len(asked.corpus):,} chunks of {name} without their headings")
        bare[name] = bare_arms(asked, lab.embedding)

    def pools(*, is_in_dense: bool, is_in_words: bool) -> Pools:
        made: dict[str, list[Pool]] = {}
        for name, asked in lab.asked.items():
            dense, words = (asked.arms if has else bare[name] for has in (is_in_dense, is_in_words))
            arms = {
                question: {DENSE: dense[question][DENSE], **{arm: words[question][arm] for arm in (WORDS, CODE)}}
                for question in asked.arms
            }
            made |= pools_of(name, asked.cases, asked.corpus, arms.__getitem__)
        return within(made, MIN_HITS)

    rows = {
        "embedded and in words (default)": pools(is_in_dense=True, is_in_words=True),
        "embedded only": pools(is_in_dense=True, is_in_words=False),
        "in words only": pools(is_in_dense=False, is_in_words=True),
        "nowhere": pools(is_in_dense=False, is_in_words=False),
    }
    return [Alternative(name, worths(found, NEARNESS)) for name, found in rows.items()]


def chunk_rows(lab: Lab) -> list[Alternative]:
    """Sections whole up to the ceiling, as they are, against chunks of other sizes that the model sees in windows."""
    rows = [_cut_row("sections whole up to 800, longer ones cut to the window (default)", lab, lab.asked)]
    for target, ceiling in SIZES:
        made = {}
        for name in lab.names:
            lab.say(f"{name} in chunks of {target}")
            made[name] = asked_in_chunks(name, (target, ceiling), lab.embedding, kept=lab.kept)
        rows.append(_cut_row(f"target {target}, at most {ceiling}", lab, made))
    return rows


def _cut_row(title: str, lab: Lab, asked: Mapping[str, Asked]) -> Alternative:
    pools = within({stratum: some for one in asked.values() for stratum, some in one.pools().items()}, MIN_HITS)
    tokens = [held.piece.tokens for one in asked.values() for held in one.corpus.values()]
    extra: list[Cell] = [len(tokens), round(float(np.mean(tokens)), 1)]
    for stratum in (PLAIN, PARAPHRASED):
        found = [answered_within(pool, NEARNESS(pool), READ_TOKENS) for pool in pools.get(stratum, ())]
        extra.append(int(sum(found)) if found else None)
    return Alternative(title, worths(pools, NEARNESS), tuple(extra))
