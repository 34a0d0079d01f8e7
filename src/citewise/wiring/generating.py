"""Settings -> a generator. Each kind is imported in its own branch."""

from citewise.model.errors import Misconfigured
from citewise.ports.generator import Generator
from citewise.settings import AnswerSettings, Settings
from citewise.wiring.keys import key_of


def generator_of(settings: Settings) -> Generator:
    """The generator that the settings name."""
    if settings.answer.generator == "openai":
        return _openai(settings.answer)
    from citewise.adapters.generate.extractive import ExtractiveGenerator

    return ExtractiveGenerator()


def _openai(chosen: AnswerSettings) -> Generator:
    import httpx

    from citewise.adapters.generate.openai import OpenAIGenerator

    if not chosen.model:
        raise Misconfigured("answer.generator is openai: set answer.model to the model's name there")
    client = httpx.Client(
        base_url=chosen.base_url, headers=key_of(chosen.api_key_variable), timeout=chosen.timeout_seconds
    )
    return OpenAIGenerator(
        client,
        model=chosen.model,
        max_tokens=chosen.max_tokens,
        key_hint=f"the key in {chosen.api_key_variable}",
    )
