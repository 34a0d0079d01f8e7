"""Flags laid over settings."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from citewise.model.errors import BadRequest
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
