"""LogScope rows are whose, and what may be written down of a question."""

import pytest

from citewise.model.access import OWNER, Principal
from citewise.model.logged import LogScope
from citewise.text.redaction import Redaction
from tests.builders import SCOPE, a_row
from tests.growth import assert_linear

OPS = frozenset({"ops"})


def sees(reader: Principal, asker: Principal) -> bool:
    return LogScope.of(SCOPE, reader).admits(a_row(who=asker))


def test_the_owner_sees_everybodys_rows() -> None:
    assert all(sees(OWNER, asker) for asker in (OWNER, Principal(), Principal("ann", OPS)))


def test_a_name_sees_what_was_asked_in_it_whatever_its_groups_were() -> None:
    assert sees(Principal("ann"), Principal("ann", OPS))
    assert sees(Principal("ann", OPS), Principal("ann"))
    assert not sees(Principal("ann", OPS), Principal("bob", OPS))
    assert not sees(Principal("ann", OPS), Principal(None, OPS))
    assert not sees(Principal("ann"), OWNER)


def test_groups_without_a_name_see_nothing_since_they_may_be_several_people() -> None:
    assert not sees(Principal(None, OPS), Principal(None, OPS))
    assert not sees(Principal(None, OPS), Principal(None, OPS | {"crew"}))
    assert not sees(Principal(None, OPS | {"crew"}), Principal(None, OPS))
    assert not sees(Principal(None, OPS), Principal("ann", OPS))
    assert not sees(Principal(None, OPS), OWNER)


def test_strangers_do_not_see_each_other() -> None:
    assert not sees(Principal(), Principal())
    assert not sees(Principal(), OWNER)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("How often is the gauge read?", "How often is the gauge read?"),
        ("Mail ann.o'neil+tides@mail.example.org now", "Mail <address> now"),
        ("ünal@müller.example", "<address>"),
        ("call +49 (30) 1234-5678 today", "call <number> today"),
        ("card 4111 1111 1111 1111?", "card <number>?"),
        ("DE89370400440532013000", "DE<number>"),
        ("born on 1984-02-29", "born on <number>"),
        ("error TIDE-204 in 2026, port 8080, v1.2.3", "error TIDE-204 in 2026, port 8080, v1.2.3"),
        ("password: hunter2x9Q", "password: <secret:password>"),
        ("is password: hunter2secret still good?", "is password: <secret:password> still good?"),
        ("why is PassWord = swordfish refused?", "why is PassWord = <secret:password> refused?"),
        ("my passwd is swordfish. Why?", "my passwd is <secret:password> Why?"),
        ("the password is not swordfish", "the password is not <secret:password>"),
        ('pwd: "open sesame" in two words', "pwd: <secret:password> in two words"),
        ("the secret is \u201copen sesame\u201d there", "the secret is <secret:shared-secret> there"),
        ('{"api_key": "sword\\"fish", "page": 4}', '{"api_key": <secret:key> "page": 4}'),
        ("API key:\nswordfish", "API key:\n<secret:key>"),
        ("token='never closed", "token=<secret:token>"),
        ("token: Bearer swordfish", "token: <secret:token>"),
        ("db_password=<secret:password>,fish", "db_password=<secret:password>"),
        ("passphrase: correct horse battery, why?", "passphrase: <secret:password>, why?"),
        ("secret is1234567", "secret is<number>"),
        ("How is a password reset, and what is a token?", "How is a password reset, and what is a token?"),
        ("our secretary is ill; password rules", "our secretary is ill; password rules"),
        ("@here and a@b", "@here and a@b"),
    ],
)
def test_masked_text_names_no_person_and_opens_no_door(text: str, kept: str) -> None:
    assert Redaction.MASKED(text) == kept
    assert Redaction.MASKED(kept) == kept


def test_full_is_as_asked_and_none_is_nothing() -> None:
    assert Redaction.FULL("ann@example.org") == "ann@example.org"
    assert Redaction.NONE("ann@example.org") is None


UNITS = (
    *("1 ", "a@", "a.", "1(", "+(1", "a@b.", "%", "secret", "<secret:", "password  ", "password is not ", "token:'\\"),
    "passphrase: a. ",
)


@pytest.mark.parametrize("unit", UNITS)
def test_hostile_text_is_masked_in_linear_time(unit: str) -> None:
    assert_linear(Redaction.MASKED, unit, characters=200_000)
