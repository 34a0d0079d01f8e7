"""Names and weights of what is measured about the question's words in a passage."""

from collections.abc import Mapping

TITLE = "title"  # share of the question's words that the headings above the passage have
PROXIMITY = "proximity"  # how close together words stand that are neighbors in the question
WINDOW = "window"  # share of the question's words in the best stretch of twenty

FEATURES = (TITLE, PROXIMITY, WINDOW)

# Beside the fused score, which weighs 1. 0: not looked at; 1: as much as all three rankings together. Chosen on six
# sets: `python -m benchmarks.defaults --only features` has the rows. A window of any width lost more than it won.
FEATURE_WEIGHTS: Mapping[str, float] = {TITLE: 0.2, PROXIMITY: 0.1}

# How near the question's words find one in the passage, on average, less what its length gives it; for far questions.
BY_WORD = "by_word"
# Beside all that was said before, which weighs 1, where nothing is near. 0: not looked at. `make bench-late` has rows.
LATE_WEIGHT = 1.0
