"""
Make the provider that a text names: `create_provider("groq:llama-3.3-70b-versatile")`.
"""

from __future__ import annotations

from typing import Any

from .anthropic import AnthropicProvider
from .bedrock import BedrockProvider
from .gemini import GeminiProvider
from .model_names import split_model_name
from .openai import OpenAIProvider
from .openai_responses import OpenAIResponsesProvider
from .remote import RemoteProvider
from .service_provider import ServiceProvider
from .services import SERVICES
from .vertex import VertexProvider

__all__ = ["create_provider"]

_CLASSES: dict[str, type[RemoteProvider]] = {
    provider.name: provider
    for provider in (
        AnthropicProvider,
        BedrockProvider,
        GeminiProvider,
        OpenAIProvider,
        OpenAIResponsesProvider,
        VertexProvider,
    )
}


def create_provider(text: str, **options: Any) -> RemoteProvider:
    """
    Return the provider of the model that *text* names, such as "anthropic:claude-sonnet-4-5" or "ollama:qwen3:8b".

    *options* are the arguments of `RemoteProvider`. The key is read at the first request, from the variable of the
    provider, unless `api_key` is given.

    Raises:
        ProviderFailure: The package that the provider needs is not installed.
        ValueError: The provider is not known, or no model is named. The message says what to write.
    """
    name, model = split_model_name(text)
    if name in SERVICES:
        return ServiceProvider(SERVICES[name], model, **options)
    return _CLASSES[name](model, **options)
