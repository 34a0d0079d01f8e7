"""Flags laid over settings."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from citewise.api import Library, LibraryView, QueryOptions
from citewise.errors import BadRequest
from citewise.model.access import OWNER, Principal, Scope, checked_name
from citewise.settings import Settings


def named_path(text: str) -> Path:
    """A path that was really given: an empty one (an unset variable) would mean the current folder."""
    if not text:
        raise BadRequest("an empty path names nothing: write . for the current folder")
    return Path(text)


def spelled_out(rules: Iterable[str], user: str | None, groups: Iterable[str]) -> tuple[str, ...]:
    """Access rules with `owner` and `group` alone replaced by whom they mean."""
    return tuple(named for rule in rules for named in _meant(rule, user, tuple(groups)))


def _meant(rule: str, user: str | None, groups: tuple[str, ...]) -> tuple[str, ...]:
    if rule == "owner" and user:
        return (f"owner:{user}",)
    if rule == "group" and groups:
        return tuple(f"group:{group}" for group in groups)
    return (rule,)


def with_ingest_flags(
    settings: Settings, include: list[str] | None, exclude: list[str] | None, max_file_mb: float | None
) -> Settings:
    """What the command line says about files wins over what the settings say."""
    rules = settings.ingest
    return replace(
        settings,
        ingest=replace(
            rules,
            include=tuple(include) if include else rules.include,
            exclude=(*rules.exclude, *(exclude or ())),
            max_file_mb=max_file_mb or rules.max_file_mb,
        ),
    )


class Caller(NamedTuple):
    """Who asks, and in which scope."""

    principal: Principal
    scope: Scope

    def view(self, library: Library) -> LibraryView:
        return library.as_principal(self.principal, self.scope)


def caller_of(tenant: str, project: str, user: str | None, groups: Iterable[str] | None) -> Caller:
    return Caller(principal_of(user, groups or ()), Scope(tenant, project))


def query_options(
    filters: Iterable[str] | None, top_k: int | None, *, rerank: bool, expand_graph: bool
) -> QueryOptions:
    """What `search` and `ask` have in common."""
    options = QueryOptions(filters=tuple(filters or ()), rerank=rerank, expand_graph=expand_graph)
    if top_k is not None:
        options["top_k"] = top_k
    return options


def principal_of(user: str | None, groups: Iterable[str]) -> Principal:
    """Who asks; without a name, the library's owner."""
    named = frozenset(checked_name("group", group) for group in groups)
    if user is None and not named:
        return OWNER
    return Principal(None if user is None else checked_name("user", user), named)


def fewest(top_k: int | None, limit: int | None) -> int | None:
    """What both bounds leave; none if neither was given."""
    return limit if top_k is None else top_k if limit is None else min(top_k, limit)


def checked_limit(limit: int | None) -> int | None:
    if limit is not None and limit < 1:
        raise BadRequest(f"limit is {limit}; it is at least 1")
    return limit
