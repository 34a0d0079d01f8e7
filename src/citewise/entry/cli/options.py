"""Flags laid over settings."""

from dataclasses import replace

from citewise.settings import Settings


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
