"""The alternatives to each default, the default itself first; those about features have a file of their own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.lab_choice import Alternative, Parts
from benchmarks.lab_pools import Pool, Pools, Scoring, blended, by_nearness, by_ranks, within, worths
from benchmarks.lab_sets import EVERYTHING, RankedHits, SearchedSet, parts_of, pools_of, searched_set
from benchmarks.lab_terms import TermRules, VariantAnalyzer, word_index
from citewise.model.ranking import CODE, DENSE, WORDS
from citewise.ports.models import Embedding
from citewise.search.fuse import BY_NEARNESS, HALVES, HEAD, RANK_CONSTANT
from citewise.search.rankings import MIN_HITS

DEFAULT = (HALVES[DENSE], HALVES[WORDS], HALVES[CODE])
USUAL = blended(DEFAULT)
GRID = (0.15, 0.25, 0.35)  # weights of words and of code, where that of meaning is 0.5
ONE_FIELD = DEFAULT[1] + DEFAULT[2]  # the weight of words where only one form of them is looked at
FETCHED = ((20, 20), (40, 40), (100, HEAD), (200, HEAD), (100, 100), (200, 200), (200, 20), (200, 40))  # hits, head


@dataclass
class Lab:
    """What is measured on: the sets, each searched once."""

    names: tuple[str, ...]
    embedding: Embedding
    kept: Path
    say: Callable[[str], None]

    @property
    def parts(self) -> Parts:
        return parts_of(self.names)

    @cached_property
    def sets(self) -> Mapping[str, SearchedSet]:
        made = {}
        for name in self.names:
            self.say(f"asking {name}")
            made[name] = searched_set(name, self.embedding, kept=self.kept)
        return made

    @cached_property
    def deep(self) -> Pools:
        """As many hits as any alternative looks at."""
        return {stratum: pools for searched in self.sets.values() for stratum, pools in searched.pools().items()}

    @cached_property
    def pools(self) -> Pools:
        """As many hits as the product fetches for a top_k of 10."""
        return within(self.deep, MIN_HITS)


def fusion_rows(lab: Lab) -> list[Alternative]:
    rows: dict[str, Scoring] = {
        _weighing(*DEFAULT[1:]): USUAL,
        **{_weighing(words, code): blended((DEFAULT[0], words, code)) for words in GRID for code in GRID},
        "min-max, equal weights": blended((1.0, 1.0, 1.0)),
        "nearness": by_nearness((BY_NEARNESS[DENSE], BY_NEARNESS[WORDS], BY_NEARNESS[CODE])),
        f"reciprocal ranks, k {RANK_CONSTANT}": by_ranks(RANK_CONSTANT),
        "reciprocal ranks, k 10": by_ranks(10),
        "dense alone": blended((1.0, 0.0, 0.0)),
        "words alone": blended((0.0, 1.0, 0.0)),
        "code alone": blended((0.0, 0.0, 1.0)),
    }
    return [Alternative(name, worths(lab.pools, scoring)) for name, scoring in rows.items()]


def _weighing(words: float, code: float) -> str:
    is_default = (words, code) == DEFAULT[1:]
    return f"min-max, {DEFAULT[0]} / {words} / {code}{' (default)' if is_default else ''}"


def over_fetch_rows(lab: Lab) -> list[Alternative]:
    made = [Alternative(f"{MIN_HITS} hits, head {HEAD} (default)", worths(lab.pools, USUAL))]
    for limit, head in FETCHED:
        found = worths(within(lab.deep, limit), blended(DEFAULT, head))
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
        f"words only, weight {ONE_FIELD}": (DEFAULT[0], ONE_FIELD, 0.0),
        f"code only, weight {ONE_FIELD}": (DEFAULT[0], 0.0, ONE_FIELD),
    }
    made = [Alternative("words stemmed, no stop words; code as written (default)", worths(lab.pools, USUAL))]
    made += [Alternative(name, worths(lab.pools, blended(each))) for name, each in weights.items()]
    for name, rule in rules.items():
        lab.say(name)
        made.append(Alternative(name, worths(_with_terms(lab, VariantAnalyzer(rule)), USUAL)))
    return made


def _with_terms(lab: Lab, analyzer: VariantAnalyzer) -> Pools:
    pools: dict[str, list[Pool]] = {}
    for searched in lab.sets.values():
        texts = {id_: held.searchable_text for id_, held in searched.corpus.items()}
        with word_index(texts, analyzer) as index:
            rankings: dict[str, RankedHits] = {}
            for question, found in searched.hits.items():
                terms = analyzer.terms(question)
                rankings[question] = {
                    DENSE: found[DENSE][:MIN_HITS],
                    WORDS: index.search(terms.words, field="words", where=EVERYTHING, limit=MIN_HITS),
                    CODE: index.search(terms.code, field="code", where=EVERYTHING, limit=MIN_HITS),
                }
        pools |= pools_of(searched.name, searched.cases, searched.corpus, rankings.__getitem__)
    return pools
