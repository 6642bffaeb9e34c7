"""
The name of a provider and a model in one text: "anthropic:claude-sonnet-4-5".

What stands before the first colon is the provider. The model may have colons of its own: "ollama:qwen3:8b".
"""

from __future__ import annotations

import re
from typing import Any

from .._option_checks import explain_unknown_choice
from .services import SERVICES

__all__ = ["PROVIDER_NAMES", "SCRIPTED", "check_provider_name", "split_model_name"]

PROVIDER_NAMES = tuple(sorted(["anthropic", "bedrock", "gemini", "openai", "openai_responses", "vertex", *SERVICES]))
"""The names of all providers, in the order of the alphabet."""

SCRIPTED = "scripted"
"""Stands in the place of a provider, with a file in the place of the model."""

# What people write who know a provider by another name. It is only suggested, so that each provider has one name.
_OTHER_NAMES = {
    **dict.fromkeys(["claude"], "anthropic"),
    **dict.fromkeys(["aws", "amazon"], "bedrock"),
    **dict.fromkeys(["google", "google_gla"], "gemini"),
    **dict.fromkeys(["google_vertex", "google_cloud"], "vertex"),
    **dict.fromkeys(["gpt", "chatgpt"], "openai"),
    **dict.fromkeys(["dashscope", "qwen"], "alibaba"),
    **dict.fromkeys(["kimi"], "moonshot"),
    **dict.fromkeys(["grok", "x"], "xai"),
    **dict.fromkeys(["hf"], "huggingface"),
}
_FAMILIES = {
    "anthropic": re.compile("claude"),
    "gemini": re.compile("gemini"),
    "openai": re.compile(r"gpt-(?!oss)|chatgpt|o\d"),
    "deepseek": re.compile("deepseek"),
    "mistral": re.compile("mistral|codestral|devstral|magistral"),
    "xai": re.compile("grok"),
}
"""How the names of models begin whose own makers provide them."""


def split_model_name(text: str) -> tuple[str, str]:
    """
    Return the provider and the model that *text* names.

    Raises:
        ValueError: The provider is not known, or one of the two is missing. The message says what to write.
    """
    name, colon, model = text.partition(":")
    if not colon:
        raise ValueError(_explain_missing_provider(text))
    provider = check_provider_name(name)
    if not model.strip():
        raise ValueError(f'{text!r:.100} names no model; write it after the colon: "{provider}:MODEL"')
    return provider, model.strip()


def check_provider_name(name: Any) -> str:
    """Return *name* as it is in `PROVIDER_NAMES`; raise `ValueError` with the name that was probably meant."""
    known_name = name.strip().lower().replace("-", "_") if isinstance(name, str) else ""
    if known_name in PROVIDER_NAMES or known_name == SCRIPTED:
        return known_name
    meant = _OTHER_NAMES.get(known_name)
    hint = (
        f"{name!r:.80} is not known; did you mean `{meant}`?" if meant else explain_unknown_choice(name, PROVIDER_NAMES)
    )
    raise ValueError(f"the provider {hint}")


def _explain_missing_provider(text: str) -> str:
    before, slash, model = text.partition("/")
    provider = next((name for name, pattern in _FAMILIES.items() if pattern.match(text)), None)
    if slash and before in PROVIDER_NAMES:
        provider, text = before, model
    example = f'"{provider or "PROVIDER"}:{text or "MODEL"}"'
    return f"a model is named with its provider: write {example:.120}" + (
        "" if provider else f"; the providers are {', '.join(PROVIDER_NAMES)}"
    )
