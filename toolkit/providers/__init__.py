"""Communication with models: neutral messages, the `Provider` protocol, and one file for each provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr
from .base import (
    Provider,
    ProviderChanged,
    Reply,
    Request,
    StopReason,
    StreamEvent,
    StructuredProvider,
    TextDelta,
    Usage,
)
from .messages import AssistantMessage, Message, Native, ToolMessage, UserMessage, message_from_json
from .prices import Price, Prices
from .scripted import Asked, ScriptedProvider

if TYPE_CHECKING:  # a program uses one of these at most, so they are loaded on first use
    from .anthropic import AnthropicProvider
    from .bedrock import BedrockProvider
    from .creation import create_provider
    from .fallback import FallbackProvider
    from .gemini import GeminiProvider
    from .http.failures import ProviderFailure
    from .openai import OpenAIProvider
    from .openai_responses import OpenAIResponsesProvider
    from .vertex import VertexProvider

__all__ = [
    "AnthropicProvider",
    "Asked",
    "AssistantMessage",
    "BedrockProvider",
    "FallbackProvider",
    "GeminiProvider",
    "Message",
    "Native",
    "OpenAIProvider",
    "OpenAIResponsesProvider",
    "Price",
    "Prices",
    "Provider",
    "ProviderChanged",
    "ProviderFailure",
    "Reply",
    "Request",
    "ScriptedProvider",
    "StopReason",
    "StreamEvent",
    "StructuredProvider",
    "TextDelta",
    "ToolMessage",
    "Usage",
    "UserMessage",
    "VertexProvider",
    "create_provider",
    "message_from_json",
]

__getattr__ = _lazy_getattr(
    __name__,
    {
        "AnthropicProvider": "anthropic",
        "BedrockProvider": "bedrock",
        "FallbackProvider": "fallback",
        "GeminiProvider": "gemini",
        "OpenAIProvider": "openai",
        "OpenAIResponsesProvider": "openai_responses",
        "ProviderFailure": "http.failures",
        "VertexProvider": "vertex",
        "create_provider": "creation",
    },
)
