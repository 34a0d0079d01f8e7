"""Settings -> a generator. Each kind is imported in its own branch."""

from citewise.errors import Misconfigured
from citewise.ports.models import Generator
from citewise.settings import AnswerSettings, Settings
from citewise.wiring.remote import client_of


def generator_of(settings: Settings) -> Generator:
    """The generator that the settings name."""
    if settings.answer.generator == "openai":
        return _openai(settings.answer)
    from citewise.answer.extractive import ExtractiveGenerator

    return ExtractiveGenerator()


def _openai(chosen: AnswerSettings) -> Generator:
    from citewise.adapters.openai.generator import OpenAIGenerator

    if not chosen.model:
        raise Misconfigured("answer.generator is openai: set answer.model to the model's name there")
    return OpenAIGenerator(
        client_of("answer", chosen.base_url, chosen.api_key_variable, chosen.timeout_seconds),
        model=chosen.model,
        max_tokens=chosen.max_tokens,
        key_variable=chosen.api_key_variable,
    )
