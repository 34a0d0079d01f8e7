"""Random Markdown for property tests, built from pieces that interact badly."""

from hypothesis import strategies as st

word = st.sampled_from(
    ["tide", "gauge", "buoy", "wind", "the", "of", "and", "calibrate", "pressure", "harbor", "é", "水位", "x1", "a_b"]
)
sentence = st.lists(word, min_size=1, max_size=12).map(lambda found: " ".join(found).capitalize() + ".")
paragraph = st.lists(sentence, min_size=1, max_size=6).map(" ".join)
wrapped = st.lists(sentence, min_size=1, max_size=6).map("\n".join)


def _fence(body: str, mark: str) -> str:
    return f"{mark}python\n{body}\n{mark}"


fence = st.builds(_fence, st.lists(sentence, min_size=1, max_size=30).map("\n".join), st.sampled_from(["```", "~~~~"]))
table = st.lists(word, min_size=1, max_size=15).map(
    lambda cells: "| a | b |\n|---|---|\n" + "\n".join(f"| {cell} | {n} |" for n, cell in enumerate(cells))
)
bullets = st.lists(sentence, min_size=1, max_size=12).map(lambda found: "\n".join(f"- {item}" for item in found))
admonition = st.builds(
    lambda inner, more: f":::note\n\n{inner}\n\n{more}\n\n:::", paragraph, st.one_of(paragraph, fence)
)
math = st.just("$$\nh = a \\cos(\\omega t)\n$$")
heading = st.builds(lambda level, title: f"{'#' * level} {title}", st.integers(1, 4), sentence)
block = st.one_of(paragraph, wrapped, fence, table, bullets, admonition, math)
section = st.builds(lambda top, blocks: "\n\n".join([top, *blocks]), heading, st.lists(block, max_size=5))
sections = st.lists(section, min_size=1, max_size=5)
document = sections.map(lambda found: "\n\n".join(found) + "\n")
