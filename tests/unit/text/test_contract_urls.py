"""The URL examples of the original contract, with its base URL as a setting."""

import pytest

from citewise.text.urls import Addresses
from tests.passages import a_passage

BASE = "/physical-ai-robotics-textbook/docs/"
CHAPTER = "module-1/1.1-introduction-to-physical-ai"


@pytest.mark.parametrize("prefix", ["", "website/docs/"])
@pytest.mark.parametrize(
    ("document", "section", "anchor", "url"),
    [
        (f"{CHAPTER}/physical-ai-foundations.md", "Embodiment", "embodiment", "/physical-ai-foundations#embodiment"),
        (
            f"{CHAPTER}/physical-ai-foundations.md",
            "Principle 1: Embodiment",
            "principle-1-embodiment",
            "/physical-ai-foundations#principle-1-embodiment",
        ),
        (f"{CHAPTER}/index.md", "N/A", "", "/"),
    ],
)
def test_the_examples_of_the_contract_have_its_urls(
    prefix: str, document: str, section: str, anchor: str, url: str
) -> None:
    addresses = Addresses({"website/docs/": BASE, "": BASE})
    passage = a_passage(document=f"{prefix}{document}", section=section, anchor=anchor)
    assert addresses.url(passage) == f"{BASE}{CHAPTER}{url}"
