"""Properties of masking, over texts put together from the pieces that matter to it."""

import random
import string

from hypothesis import given
from hypothesis import strategies as st

from citewise.text.secrets import masked

ALNUM = string.ascii_letters + string.digits

heads = st.sampled_from(
    (
        *("AKIA", "ASIA", "ghp_", "github_pat_", "glpat-", "xoxb-", "AIza", "sk_live_", "sk-", "hf_", "npm_"),
        *("pypi-", "SG.", "SK", "eyJ", "password", "passwd", "pwd", "secret", "secret_access_key", "token"),
        *("api_key", "apiKey", "Authorization: Bearer ", "Authorization: Basic ", "https://a:", "://", "@"),
        *("https://hooks.slack.com/services/", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"),
    )
)
glue = st.sampled_from((*"=:\"'`][.-_/& \né#", " = ", ": ", "\r\n", "\\n"))
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
