"""Runs for tests of the report: made up, but shaped like real ones."""

import random
from collections.abc import Mapping
from dataclasses import replace

from citewise.evaluation.cases import Kind, Place
from citewise.evaluation.compare import Ablation, Comparison
from citewise.evaluation.runs import QuestionResult, Run

GROUPS = ("plain", "paraphrase", "table", "procedure")
DOCUMENTS = (
    "handbook/tides/readings.md",
    "handbook/boats/engine-maintenance-and-winter-storage.md",
    "handbook/radio.md",
)
SECTIONS = (
    "Reading the gauge",
    "Before the first frost",
    "Distress calls",
    "Changing the impeller of the cooling pump",
)
ABOUT = "how often should the tide gauge near the old harbor wall be read when a storm surge is expected at night"
STAGES = {"rankings": 6.4, "dense": 4.1, "words": 1.9, "fuse": 0.21, "hydrate": 1.1, "boost": 0.05, "total": 8.2}
SETTINGS = {"fusion": {"kind": "convex", "weights": [0.6, 0.3, 0.1]}, "top_k": 10}


def an_outcome(number: int, draw: random.Random, *, quality: float = 0.75) -> QuestionResult:
    """One answerable question, found at a place that the quality makes likely to be high."""
    rank = 1 + int(draw.expovariate(quality * 1.4)) if draw.random() < quality + 0.15 else None
    found = tuple(_place(draw, grade=2 if place == rank else 0) for place in range(1, 11))
    score = 0.0 if rank is None or rank > 10 else 1 / rank
    is_refused = draw.random() < 0.06
    return QuestionResult(
        id=f"q-{number:03}",
        question=" ".join(draw.sample(ABOUT.split(), draw.randint(5, 18))).capitalize() + "?",
        kind="answerable",
        group=GROUPS[number % len(GROUPS)],
        measures={
            "ndcg@10": score**0.6,
            "ndcg@5": score**0.6 if score >= 0.2 else 0.0,
            "recall@5": float(score >= 0.2),
            "recall@100": float(rank is not None),
            "precision@5": 0.2 * (score >= 0.2),
            "mrr@10": score,
            "refusal_accuracy": float(not is_refused),
            "citation_accuracy": 1.0 if draw.random() < 0.97 else 0.5,
        },
        latency_ms=draw.lognormvariate(2.1, 0.35),
        expected=(_place(draw, grade=2), _place(draw, grade=1)),
        found=found,
        answer="The gauge is read at noon [1], and every hour while a surge is expected [2].",
        outcome="nothing" if is_refused else "answered",
    )


def a_run(questions: int = 120, *, seed: int = 1, quality: float = 0.75) -> Run:
    """Answerable questions in four groups, some unanswerable ones, some about selections."""
    draw = random.Random(seed)
    outcomes = [an_outcome(number, draw, quality=quality) for number in range(questions)]
    outcomes += [_other("unanswerable", number, draw) for number in range(questions // 6)]
    outcomes += [_other("selected", number, draw) for number in range(questions // 10)]
    return run_of(*outcomes)


def run_of(*outcomes: QuestionResult, settings: Mapping[str, object] = SETTINGS) -> Run:
    return Run("harbor handbook", "passage", outcomes, STAGES, settings, commit="1a2b3c4d5e6f")


def some_ablations(run: Run) -> tuple[Ablation, ...]:
    """Everything, and three runs that are worse by different amounts."""
    names = {"without dense": 0.5, "without words": 0.3, "without code": 0.02}
    rows = [Ablation("everything", run, ())]
    for seed, (name, loss) in enumerate(names.items()):
        poorer = _poorer(run, random.Random(seed), loss)
        rows.append(Ablation(name, poorer, Comparison(run, poorer).differences(["ndcg@10", "recall@5"])))
    return tuple(rows)


def _poorer(run: Run, draw: random.Random, loss: float) -> Run:
    outcomes = []
    for outcome in run.questions:
        factor = draw.choice((0.0, 0.4, 0.63, 1.2)) if draw.random() < loss else 1.0
        ranked = {name: min(1.0, value * factor) for name, value in outcome.measures.items() if "@" in name}
        outcomes.append(replace(outcome, measures={**outcome.measures, **ranked}))
    return run_of(*outcomes)


def _other(kind: Kind, number: int, draw: random.Random) -> QuestionResult:
    is_right = draw.random() < 0.85
    name = "selected_accuracy" if kind == "selected" else "refusal_accuracy"
    measures = {name: float(is_right), **({"selected_leaks": 0.0} if kind == "selected" else {})}
    return QuestionResult(
        id=f"{kind}-{number:02}",
        question=" ".join(draw.sample(ABOUT.split(), 8)).capitalize() + "?",
        kind=kind,
        measures=measures,
        latency_ms=draw.lognormvariate(2.1, 0.35),
        answer="The sources do not say.",
        outcome="nothing" if is_right else "answered",
    )


def _place(draw: random.Random, *, grade: int) -> Place:
    first = draw.randint(1, 300)
    return Place(draw.choice(DOCUMENTS), draw.choice(SECTIONS), (first, first + draw.randint(2, 30)), None, grade)
