"""Settings -> the server of a remote model."""

from citewise.adapters.breaker import Breaker
from citewise.adapters.http import Remote, Retry, open_client
from citewise.settings import AnswerSettings, EmbeddingSettings, RerankSettings, Settings


def remote_of(settings: Settings, section: str, retry: Retry) -> Remote:
    """The server that a section of the settings names, with a circuit breaker of its own."""
    chosen: EmbeddingSettings | RerankSettings | AnswerSettings = getattr(settings, section)
    guard = settings.guard
    return Remote(
        open_client(section, chosen.base_url, chosen.api_key_variable, chosen.timeout_seconds),
        section,
        chosen.model,
        chosen.api_key_variable,
        retry,
        Breaker(f"the {section} server", max_failures=guard.failures, pause_seconds=guard.pause_seconds),
    )
