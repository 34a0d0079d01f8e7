"""Properties of masking, over texts put together from the pieces that matter to it."""

import random
import string
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.text.secrets import masked

SHARED = Path(__file__).parents[3] / "shared" / "data"
ALNUM = string.ascii_letters + string.digits

heads = st.sampled_from(
    (
        *("AKIA", "ASIA", "ghp_", "github_pat_", "glpat-", "xoxb-", "AIza", "sk_live_", "sk-", "hf_", "npm_"),
        *("pypi-", "SG.", "SK", "eyJ", "password", "passwd", "pwd", "secret", "secret_access_key", "token"),
        *("api_key", "apiKey", "Authorization: Bearer ", "Authorization: Basic ", "https://a:", "://", "@"),
        *("MTA4", "GOCSPX-", "dapi", "key-", "1234567:A", "?sig=", "cookie: session=", "curl -u a:", "mysql -p"),
        *("--password ", "password is ", "passphrase: ", "password:\n", "password: |\n", "<password>", "</password>"),
        *("| password |\n|---|\n| ", "\n|---|\n", "| a | Token |\n", "Private-Lines: 2\n", '"auth": "', "\u200b"),
        *("https://hooks.slack.com/services/", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"),
    )
)
glue = st.sampled_from((*"=:\"'`][.-_/& \né#|<>*+", " = ", ": ", "\r\n", "\\n"))
tails = st.text(ALNUM, min_size=1, max_size=40) | st.text(ALNUM + "-_", min_size=16, max_size=64)
masks = st.sampled_from(("<secret:token>", "<secret:private-key>", "${TOKEN}", "xxxx", "example"))
texts = st.lists(st.one_of(heads, glue, tails, masks, st.text(max_size=5)), max_size=24).map("".join)


@given(texts)
def test_masking_twice_is_masking_once(text: str) -> None:
    once = masked(text).text
    assert masked(once).text == once


@given(texts)
def test_no_line_is_added_lost_or_moved(text: str) -> None:
    found = masked(text).text
    assert found.count("\n") == text.count("\n")
    assert found.count("\r") == text.count("\r")
    assert len(found.splitlines()) == len(text.splitlines())


@given(texts)
def test_a_text_changes_exactly_when_something_is_counted(text: str) -> None:
    found = masked(text)
    assert (found.text != text) == bool(found.counts)


@given(st.text())
def test_any_text_at_all_can_be_masked(text: str) -> None:
    assert masked(text).text.count("\n") == text.count("\n")


@given(before=texts, seed=st.integers())
def test_a_token_on_its_own_line_goes_whatever_stands_before_it(before: str, seed: int) -> None:
    token = "ghp_" + "".join(random.Random(seed).choices(ALNUM, k=36))
    assert token not in masked(f"{before}\n{token}\n").text


# Read one by one: what is counted are values that documentation shows as credentials, and nothing else is masked.
TREES = {
    "api_docs": {},
    "cosqa_dev": {},
    "cranfield": {},
    "docs_docusaurus": {"key": 1},
    "docs_react_native": {},
    "docs_real": {"password": 2, "shared-secret": 6},
    "lists": {},
    "runbooks": {},
    "scifact": {},
    "slack": {},
    "squad2_dev": {},
    "systems": {},
    "textbook": {},
}


def found_in(folder: Path) -> Counter[str]:
    """What masking finds in the texts below; masking what it left finds nothing more, line for line."""
    found = Counter[str]()
    for file in (file for file in folder.rglob("*") if file.is_file()):
        text = file.read_bytes().decode("utf-8", "replace")
        once = masked(text)
        assert once.text.count("\n") == text.count("\n"), file
        assert not once.counts or masked(once.text).text == once.text, file
        found.update(once.counts)
    return found


@pytest.mark.parametrize("tree", TREES)
def test_nothing_but_credentials_is_masked_in_real_documentation(tree: str) -> None:
    if not (SHARED / tree).is_dir():
        pytest.skip(f"{tree} of the shared data is not beside the checkout")
    assert found_in(SHARED / tree) == TREES[tree]


def test_only_the_planted_pair_of_keys_is_masked_in_the_sample_handbook() -> None:
    handbook = Path(str(files("citewise").joinpath("data", "handbook")))
    assert found_in(handbook) == {"aws-access-key": 1, "aws-secret-key": 1}
