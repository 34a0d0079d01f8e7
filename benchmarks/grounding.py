"""Does a library know when it does not know?

`--fit` derives the tables of citewise.answer.ground anew; without it they are measured as they are. The decision to
answer is fitted on the textbook and the runbooks, with the handbook held out; the one for selections on sections that
hold the answer against their neighbors, with the real selections held out. What is shown and what is said to be an
answer have a threshold each; how good the answers are, `python -m benchmarks.answers` says.
"""

import argparse
import math
import time
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.grounding_sets import (
    GROUND,
    HANDBOOK_QUESTIONS,
    TEXTBOOK,
    Questions,
    Rows,
    SearchedQuestion,
    questions_of,
    search_rows,
    searched,
    selected_rows,
    selection_rows,
)
from benchmarks.logistic import REPEATS, Fit, Numbers, area, fitted, stretched, unseen_logits
from citewise.answer.ground import DEFAULT, SEARCH, SELECTION, Calibration
from citewise.model.query import ANSWER_TOP_K

# 0: the tightest fit; large: every signal is worth what it is alone. Of 1, 3, 10, 40, 160 and 640: cross-validated AUC
# 0.914, 0.918, 0.923, 0.926, 0.926, 0.925; on the runbooks by a fit on the textbook 0.88, 0.90, 0.93, 0.94, 0.95, 0.95.
RIDGE = 40.0

# Short questions to the textbook, written for this: what it speaks of, and what it does not.
SHORT = (
    "What is AMCL? | costmap inflation | DBSCAN | How do I import a URDF? | zero moment point | What is a costmap? | "
    "lifecycle node | RRT | capture point | late penalty | What is domain randomization? | duty factor | hysteresis | "
    "Who is Rodney Brooks? | waggle dance"
)
SHORT_UNANSWERED = (
    "MoveIt | What is Kubernetes? | sourdough | Who is Angela Merkel? | PX4 | What is a blockchain? | tax | "
    "How do I bake bread? | ethanol | football | What is OAuth? | vaccine | docker compose | LoRaWAN | stock options"
)

FOREIGN = (
    ("api_docs", "textbook"),
    ("scifact", "textbook"),
    ("runbooks", "textbook"),
    ("handbook", "textbook"),
    ("textbook", "api_docs"),
    ("textbook", "runbooks"),
    ("textbook", "scifact"),
    ("scifact", "cranfield"),
    ("textbook", "handbook"),
)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--fit", action="store_true", help="print the tables that these sets would choose")
    wants_fit = arguments.parse_args().fit
    started = time.perf_counter()
    print("Is the question answered by what was found?")
    chosen_on = {name: search_rows(name) for name in ("textbook", "runbooks")}
    search = decision(chosen_on, {"handbook": search_rows("handbook")}, SEARCH, wants_fit=wants_fit)
    print_other_sets(search)
    print("\nIs the question answered by the selection?")
    selected = {
        "textbook, selected": selected_rows(TEXTBOOK / "questions" / "selected.json"),
        "handbook, selected": selected_rows(HANDBOOK_QUESTIONS / "selected.json"),
    }
    neighbors = {name: selection_rows(name) for name in ("textbook", "handbook")}
    decision(neighbors, selected, SELECTION, wants_fit=wants_fit)
    print_speed(searched("textbook", questions_of("textbook")))
    print(f"\n{time.perf_counter() - started:.0f} s in all")


def decision(
    chosen_on: Mapping[str, Rows], held_out: Mapping[str, Rows], now: Calibration, *, wants_fit: bool
) -> Calibration:
    """Print how well the signals decide; what is then looked at is the fit if it is wanted, else what is wired."""
    names = list(now.weights)
    rows, labels, groups = _stacked(chosen_on, names)
    runs = [unseen_logits(rows, labels, groups, ridge=RIDGE, seed=seed) for seed in range(REPEATS)]
    mean = np.mean(runs, axis=0)
    areas = [area(logits, labels) for logits in runs]
    print(f"  {' + '.join(chosen_on)}: {int(labels.sum())} answered there, {int((1 - labels).sum())} not")
    print(f"  AUC, {REPEATS} cross-validations: {np.mean(areas):.3f} +- {np.std(areas):.3f}")
    _print_by_set(rows, labels, groups, mean)
    fit = fitted(rows, labels, groups, ridge=RIDGE)
    for at, name in enumerate(names):
        print(f"    {name} alone: {area(rows[:, at] * np.sign(fit.worths[at]), labels):.3f}")
    unseen = stretched(Fit(np.zeros(1), np.ones(1), np.ones(1), 0.0), mean, labels, groups).logits(mean[:, None])
    for threshold in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        print(f"    cross-validated at {threshold}: {_errors(unseen, labels, threshold)}")
    looked_at = _calibration(names, stretched(fit, mean, labels, groups)) if wants_fit else now
    for name, pair in {**chosen_on, **held_out}.items():
        _print_as_wired(name, pair, looked_at)
    if wants_fit:
        print(*_table(looked_at), sep="\n")
    return looked_at


def _stacked(pairs: Mapping[str, Rows], names: Sequence[str]) -> tuple[Numbers, Numbers, list[str]]:
    rows: list[list[float]] = []
    labels: list[float] = []
    groups: list[str] = []
    for group, pair in pairs.items():
        for label, side in zip((1.0, 0.0), pair, strict=True):
            rows += [[_known(signals[name]) for name in names] for signals in side]
            labels += [label] * len(side)
            groups += [group] * len(side)
    matrix = np.array(rows)
    means = np.nanmean(matrix, axis=0)  # a signal that is not there counts as an average one, as it does when wired
    return np.where(np.isnan(matrix), means, matrix), np.array(labels), groups


def _known(signal: float | None) -> float:
    return math.nan if signal is None else signal


def _print_by_set(rows: Numbers, labels: Numbers, groups: Sequence[str], mean: Numbers) -> None:
    for name in dict.fromkeys(groups):
        own = np.array([group == name for group in groups])
        others = [group for group in groups if group != name]
        across = fitted(rows[~own], labels[~own], others, ridge=RIDGE).logits(rows[own])
        within = area(mean[own], labels[own])
        print(f"    {name}: {within:.3f}; fitted on the other set alone: {area(across, labels[own]):.3f}")


def _print_as_wired(name: str, pair: Rows, calibration: Calibration) -> None:
    confidences = np.array([calibration.confidence(signals) for side in pair for signals in side])
    labels = np.array([1.0] * len(pair[0]) + [0.0] * len(pair[1]))
    logits = np.log(confidences / (1 - confidences))
    print(f"    {name}, AUC {area(logits, labels):.3f}")
    for does, threshold in (("answers", DEFAULT.answered), ("shows", DEFAULT.shown)):
        print(f"      {does} from {threshold:g} on: {_errors(logits, labels, threshold)}")


def _errors(logits: Numbers, labels: Numbers, threshold: float) -> str:
    is_over = logits >= np.log(threshold / (1 - threshold))
    below, over = 1 - is_over[labels == 1].mean(), is_over[labels == 0].mean()
    return f"{below:.0%} of what is answered there are below, {over:.0%} of what is not are not"


def _calibration(names: Sequence[str], fit: Fit) -> Calibration:
    columns = zip(names, fit.centers, fit.spreads, fit.worths, strict=True)
    weights = {
        name: (round(float(usual), 3), round(float(spread), 3), round(float(worth), 3))
        for name, usual, spread, worth in columns
    }
    return Calibration(weights, round(fit.intercept, 3))


def _table(calibration: Calibration) -> list[str]:
    return [
        *(f'    "{name}": {weight},' for name, weight in calibration.weights.items()),
        f"    intercept={calibration.intercept}",
    ]


def print_other_sets(calibration: Calibration) -> None:
    """Of questions to their own library most should be answered, of those to a foreign one hardly any."""
    own = tuple((name, name) for name in ("api_docs", "scifact", "cranfield"))
    for name, library in (*own, *FOREIGN):
        shares = _shares(library, questions_of(name), calibration)
        print(f"    questions of {name} to the library of {library}: {shares}")
    for title, texts in (("short, in the book", SHORT), ("short, not in it", SHORT_UNANSWERED)):
        print(f"    {title}: {_shares('textbook', {text: text for text in texts.split(' | ')}, calibration)}")


def _shares(library: str, questions: Questions, calibration: Calibration) -> str:
    rows = searched(library, questions)
    outcomes = [DEFAULT.outcome(calibration.confidence(question.signals)) for question in rows]
    answered, unsure = (outcomes.count(outcome) / len(rows) for outcome in ("answered", "unsure"))
    return f"{answered:.0%} are answered, {unsure:.0%} shown without being sure"


def print_speed(rows: Sequence[SearchedQuestion]) -> None:
    """What the decision costs."""
    taken = []
    for question in rows:
        started = time.perf_counter()
        GROUND.of_search(question.question, question.findings, top_k=ANSWER_TOP_K)
        taken.append(1000 * (time.perf_counter() - started))
    print(f"  deciding takes {np.median(taken):.1f} ms, {np.quantile(taken, 0.95):.1f} ms at the 95th percentile")


if __name__ == "__main__":
    main()
