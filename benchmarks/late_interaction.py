"""What is late interaction worth, and what does it cost? Vectors of words, MaxSim over the first 20, blended.

The graph that makes a chunk's vector gives its tokens' vectors on the way. Each form of keeping them (all tokens, words
or content words pooled, 16, 2 or 1 bit a component) takes the place of the product's in the stage `late`:
before it stands all that the product's search does without it, behind it the stages that follow. The product's form is
read from the sets' libraries. Token vectors of the others are kept beside those, a file a set, so that a run that was
stopped goes on with the next set and only the first run embeds. All sets together are also written to results/; some of
them only if `--results` says where to.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.judged import DATA, KEPT
from benchmarks.lab_late import FORMS, PRODUCT, AskedWords, Form, TokenEncoder, kept_vectors, windows_of
from benchmarks.lab_late_rows import Lab, lab_with, late_results
from benchmarks.lab_late_stage import DEPTH, Question
from benchmarks.lab_sets import SETS, Arms, Case, Corpus, cases_of, corpus_of, parts_of, pools_of, set_library
from benchmarks.printing import printed, say
from benchmarks.results import RESULTS, write_results
from citewise.errors import BadData
from citewise.model.access import OWNER
from citewise.model.chunk import Hit, WordVectors
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.ranking import CODE, DENSE, WORDS, Shortlist
from citewise.models import embedding_of
from citewise.ports.catalog import EmbeddingCache
from citewise.ports.models import Embedding
from citewise.search.rescore import Late
from citewise.settings import Settings
from citewise.wiring import search_of

ONE_THREAD = "OPENBLAS_NUM_THREADS"

Stored = Mapping[ChunkId, WordVectors]


@dataclass(frozen=True, slots=True)
class Searched:
    """A set, its questions as the stage finds them, not scored yet; and the product's own vectors of words."""

    questions: Mapping[str, Sequence[Question]]  # by stratum
    corpus: Corpus
    stored: Stored  # of all that any question found

    @property
    def every(self) -> list[Question]:
        return [one for some in self.questions.values() for one in some]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", type=set_names, default=SETS, help=f"two or more of {','.join(SETS)}")
    arguments.add_argument("--kept", type=Path, default=KEPT, help="where the sets' libraries are, or are made")
    arguments.add_argument("--results", type=Path, help=f"where to write; all sets go to {RESULTS.name}/ without it")
    chosen = arguments.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"no judged sets at {DATA}: this benchmark needs the shared data")
    use_one_thread()
    started = time.perf_counter()
    lab = lab_of(chosen.sets, chosen.kept)
    say(f"{time.perf_counter() - started:.0f} s until all is scored")
    results = late_results(lab)
    print("\n\n".join(map(printed, results.tables)))
    if chosen.results or chosen.sets == SETS:
        say(f"wrote {write_results(results, chosen.results or RESULTS)}")
    say(f"{time.perf_counter() - started:.0f} s in all")


def use_one_thread() -> None:
    """Start again with one thread for products of matrices.

    They are small, and numpy's threads wait for each other: beside other work on two cores they take ten times as long.
    The library reads this when it is loaded, so it is too late for this process.
    """
    if ONE_THREAD not in os.environ:
        again = [sys.executable, "-m", "benchmarks.late_interaction", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, ONE_THREAD: "1"})


def set_names(text: str) -> tuple[str, ...]:
    """Names of sets, in the order of the tables."""
    names = text.split(",")
    unknown = [name for name in names if name not in SETS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no judged set is called {unknown[0]!r}; there are {', '.join(SETS)}")
    if len(set(names)) < 2:
        raise argparse.ArgumentTypeError("a weight is chosen on the other sets, so name two or more")
    return tuple(name for name in SETS if name in names)


def lab_of(names: Sequence[str], kept: Path) -> Lab:
    settings = Settings()
    embedding, encoder = embedding_of(settings), TokenEncoder()
    questions: dict[str, list[Question]] = {}
    vectors = []
    for name in names:
        say(name)
        found = searched(name, embedding, kept)
        scored = scored_questions(found, encoder, kept / "late" / f"{name}.npz")
        questions |= {stratum: [scored[one.pool.question] for one in some] for stratum, some in found.questions.items()}
        vectors.append(vectors_a_chunk(found.corpus, encoder))
    means = {form: float(np.mean([each[form] for each in vectors])) for form in FORMS}
    return lab_with(parts_of(names), questions, means)


def searched(name: str, embedding: Embedding, kept: Path) -> Searched:
    """What the product finds for each question of a set, up to the stage that is measured."""
    with set_library(name, embedding, kept=kept) as library, ThreadPoolExecutor() as threads:
        whole = search_of(library, reranker=None, threads=threads)
        at = [stage.name for stage in whole.refine].index(Late.name)
        before, later = replace(whole, refine=whole.refine[:at]), whole.refine[at + 1 :]
        found: dict[str, Shortlist] = {}

        def asking(question: str) -> Arms:
            query = Query(question, "", 0.0, OWNER)
            found[question] = Shortlist(query, tuple(sorted(before(query).findings, key=Late.by_rankings)))
            return {
                DENSE: [Hit(one.candidate.id, one.score) for one in found[question].findings],
                WORDS: (),
                CODE: (),
            }

        corpus, cases = corpus_of(library), cases_of(name)
        check_fit(name, cases, corpus)
        questions = {
            stratum: [Question(pool, found[pool.question], later, {}, {}, {}) for pool in some]
            for stratum, some in pools_of(name, cases, corpus, asking).items()
        }
        return Searched(questions, corpus, stored_words(name, library.catalog, found.values()))


def check_fit(name: str, cases: Sequence[Case], corpus: Corpus) -> None:
    """A library whose documents are called otherwise would be worth nothing in every row, and look measured."""
    wanted = {path for case in cases for path in case.gold}
    if wanted.isdisjoint(held.path for held in corpus.values()):
        raise BadData(
            f"the library of {name} holds none of the {len(wanted)} documents that its questions are about, such as "
            f"{min(wanted, default='none')!r}: remove the library, and it is made anew"
        )


def stored_words(name: str, cache: EmbeddingCache, found: Iterable[Shortlist]) -> Stored:
    """The product's vectors of words, of everything found."""
    digests = {one.candidate.id: one.passage.text_digest for each in found for one in each.findings}
    stored = cache.word_vectors(set(digests.values()))
    if missing := set(digests.values()) - set(stored):
        raise BadData(
            f"the library of {name} has no vectors of words for {len(missing)} passages that were found: "
            "`citewise reindex` makes them"
        )
    return {id_: stored[digest] for id_, digest in digests.items()}


def scored_questions(found: Searched, encoder: TokenEncoder, file: Path) -> Mapping[str, Question]:
    """Each question with its scores, by its text: a form at a time, so that only one is ever held."""
    heads = {one.pool.question: head_ids(one) for one in found.every}
    texts = {id_: found.corpus[id_].searchable_text for ids in heads.values() for id_ in ids}
    asked = dict(zip(heads, encoder.windows(list(heads)), strict=True))
    questions = {one.pool.question: one for one in found.every}
    kinds = dict(zip(texts, encoder.kinds(list(texts.values())), strict=True))
    with kept_vectors(file, list(texts.values()), encoder.vectors) as kept:

        def stored_in(form: Form) -> Stored:
            return {id_: form.stored(windows_of(kept[text], kinds[id_])) for id_, text in texts.items()}

        for form in FORMS:
            stored = found.stored if form == PRODUCT else stored_in(form)
            for text, one in questions.items():
                questions[text] = with_scores(one, form, form.asked(asked[text]), stored)
    return questions


def head_ids(question: Question) -> list[ChunkId]:
    """Of the passages that every form scores."""
    return [one.candidate.id for one in question.found.findings[:DEPTH]]


def with_scores(question: Question, form: Form, words: AskedWords, stored: Stored) -> Question:
    """With how near its words are to each passage in this form; those behind the first are scored where stored."""
    head = [stored[id_] for id_ in head_ids(question)]
    if not head:
        return replace(
            question,
            by_word={**question.by_word, form: np.zeros(0)},
            rows={**question.rows, form: np.zeros(0)},
        )
    started = time.perf_counter()
    near = form.closeness(words, head)
    ms = 1000 * (time.perf_counter() - started)
    behind = [stored[one.candidate.id] for one in question.found.findings[DEPTH:]] if form == PRODUCT else []
    if behind:
        near = np.concatenate((near, form.closeness(words, behind)))
    return replace(
        question,
        by_word={**question.by_word, form: near},
        ms={**question.ms, form: ms},
        rows={**question.rows, form: np.array(form.rows([*head, *behind]))},
    )


def vectors_a_chunk(corpus: Corpus, encoder: TokenEncoder) -> dict[Form, float]:
    kinds = encoder.kinds([held.searchable_text for held in corpus.values()])
    return {form: float(np.mean([form.vectors(each) for each in kinds])) for form in FORMS}


if __name__ == "__main__":
    main()
