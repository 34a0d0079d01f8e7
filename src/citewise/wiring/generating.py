"""Settings -> a generator. Each kind is imported in its own branch."""

from citewise.errors import Misconfigured
from citewise.ports.models import Generator
from citewise.settings import Settings


def generator_of(settings: Settings) -> Generator:
    """The generator that the settings name."""
    chosen = settings.answer
    if chosen.generator != "openai":
        from citewise.answer.extractive import ExtractiveGenerator

        return ExtractiveGenerator()
    from citewise.adapters.openai.generator import RETRY, OpenAIGenerator
    from citewise.wiring.remote import remote_of

    if not chosen.model:
        raise Misconfigured("answer.generator is openai: set answer.model to the model's name there")
    return OpenAIGenerator(remote_of(settings, "answer", RETRY), max_tokens=chosen.max_tokens)
