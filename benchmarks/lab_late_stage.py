"""A question as the stage `late` finds it, and what it and all stages behind it make of that, with other numbers.

Pure. With the product's numbers `Blend` does what citewise.search.rescore does; a test holds it to that.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature

import numpy as np

from benchmarks.lab_late import PRODUCT, Form
from benchmarks.lab_pools import Numbers, Pool
from citewise.adapters.onnx.word_vectors import LENGTH_BONUS
from citewise.model.query import LATE_WEIGHT
from citewise.model.ranking import DENSE, Finding, Shortlist
from citewise.search.pipeline import Stage
from citewise.search.rescore import FAR, NEAR, Late, stretched

DEPTH = int(signature(Late).parameters["depth"].default)
Scored = tuple[Pool, Numbers]  # what is shown, and scores that put it into its order


@dataclass(frozen=True, slots=True)
class Gate:
    """Which questions the stage is for, by the cosine of their nearest passage."""

    far: float = FAR  # up to which it has its whole weight
    near: float = NEAR  # from which it has none; between the two it falls

    @property
    def name(self) -> str:
        return "everywhere" if math.isinf(self.far) else f"{self.far:g} to {self.near:g}"

    def farness(self, nearest: float) -> float:
        if nearest <= self.far:
            return 1.0
        return max(0.0, (self.near - nearest) / (self.near - self.far))


EVERYWHERE = Gate(math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Blend:
    """One way of doing it; the product's, where nothing else is said."""

    form: Form = PRODUCT
    weight: float = LATE_WEIGHT  # beside the search's score, which weighs 1; 0: not asked
    gate: Gate = Gate()
    depth: int = DEPTH  # passages that are scored
    by_chance: float = LENGTH_BONUS  # that a text loses each time that it is e times as long


@dataclass(frozen=True, slots=True)
class Question:
    """What the stage is given for one question, and how near its words are to each passage in every form."""

    pool: Pool
    found: Shortlist  # in the order of fusion, by which the stage chooses whom it looks at
    later: tuple[Stage, ...]  # the stages behind it
    by_word: Mapping[Form, Numbers]  # of the first passages, as many as any blend looks at
    ms: Mapping[Form, float]  # none where nothing was found
    rows: Mapping[Form, Numbers]  # how many vectors each of these passages is

    @property
    def nearest(self) -> float:
        return nearest_cosine(self.found.findings[:DEPTH])

    def shown(self, blend: Blend) -> Scored:
        """What a caller gets."""
        found = self.reordered(blend)
        for stage in self.later:
            found = stage(found)
        at = {id_: place for place, id_ in enumerate(self.pool.ids)}
        places = np.array([at[one.candidate.id] for one in found.findings], np.int64)
        return self.pool.chosen(places), -np.arange(len(places), dtype=float)

    def reordered(self, blend: Blend) -> Shortlist:
        """What the stage makes of it; the order before it where it has nothing to say."""
        findings = self.found.findings
        head, tail = findings[: blend.depth], findings[blend.depth :]
        weight = self.weight(blend)
        if not weight:
            return self.found.with_findings(Finding.in_order(findings))
        late = stretched(self.near(blend)[: len(head)].tolist())
        scores = [(one.score + weight * share) / (1 + weight) for one, share in zip(head, late, strict=True)]
        scores += [one.score / (1 + weight) for one in tail]
        changed = (one.rescored(Late.name, score) for one, score in zip(findings, scores, strict=True))
        return self.found.with_findings(Finding.in_order(changed))

    def near(self, blend: Blend) -> Numbers:
        """How near its words are to each passage."""
        near = self.by_word[blend.form]
        return near + (LENGTH_BONUS - blend.by_chance) * np.log(self.rows[blend.form])

    def weight(self, blend: Blend) -> float:
        """That the stage has for this question."""
        head = self.found.findings[: blend.depth]
        return blend.weight * blend.gate.farness(nearest_cosine(head)) if len(head) > 1 else 0.0


def nearest_cosine(findings: Sequence[Finding]) -> float:
    """Infinite where nobody looked: such a question is not far from anything."""
    return max((one.candidate.scores[DENSE] for one in findings if DENSE in one.candidate.scores), default=math.inf)
