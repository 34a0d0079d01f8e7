"""The error tree: what programs catch, and the code and exit code each error has."""

import pickle

import pytest

from citewise.errors import BadData, BadRequest, CitewiseError, Locked, Misconfigured, PathNotFound, Unavailable

EVERY_ERROR = [CitewiseError, BadRequest, PathNotFound, Misconfigured, Unavailable, Locked, BadData]


@pytest.mark.parametrize(
    ("error", "builtin"), [(BadRequest, ValueError), (PathNotFound, FileNotFoundError), (Unavailable, ConnectionError)]
)
def test_an_error_is_also_the_builtin_that_a_program_would_catch(
    error: type[CitewiseError], builtin: type[Exception]
) -> None:
    with pytest.raises(builtin, match="what failed"):
        raise error("what failed")


@pytest.mark.parametrize("error", EVERY_ERROR)
def test_an_error_keeps_its_message_when_it_is_pickled(error: type[CitewiseError]) -> None:
    copied = pickle.loads(pickle.dumps(error("what failed")))
    assert type(copied) is error
    assert str(copied) == "what failed"


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (CitewiseError, "error", 1),
        (BadData, "bad_data", 1),
        (BadRequest, "bad_request", 2),
        (PathNotFound, "path_not_found", 2),
        (Misconfigured, "misconfigured", 3),
        (Unavailable, "unavailable", 4),
        (Locked, "locked", 4),
    ],
)
def test_every_error_has_a_code_of_its_own_and_an_exit_code(
    error: type[CitewiseError], code: str, exit_code: int
) -> None:
    assert (error.code, error("what failed").exit_code) == (code, exit_code)
