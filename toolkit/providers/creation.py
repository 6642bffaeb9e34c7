"""
Make the provider that a text names: `create_provider("groq:llama-3.3-70b-versatile")`.

The services in the table `SERVICES` share one class, which is `OpenAIProvider` with what is special about the service.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from typing import Any

from ..spec import Tool
from .anthropic import AnthropicProvider
from .base import Request
from .bedrock import BedrockProvider
from .gemini import GeminiProvider
from .http.failures import ProviderFailure
from .model_names import SCRIPTED, split_model_name
from .openai import OpenAIProvider, can_structure
from .openai_responses import OpenAIResponsesProvider
from .remote import RemoteProvider
from .scripted import ScriptedProvider
from .services import SERVICES, Service
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


def create_provider(text: str, **options: Any) -> RemoteProvider | ScriptedProvider:
    """
    Return the provider of the model that *text* names, such as "anthropic:claude-sonnet-4-5" or "ollama:qwen3:8b".

    *options* are the arguments of `RemoteProvider`. The key is read at the first request, from the variable of the
    provider, unless `api_key` is given. "scripted:FILE" plays the answers in a file; see `ScriptedProvider.from_file`.

    Raises:
        ProviderFailure: The package that the provider needs is not installed.
        ValueError: The provider is not known, no model is named, or a script cannot be read. The message says what to
            write.
    """
    name, model = split_model_name(text)
    if name == SCRIPTED:
        if options:
            raise ValueError(f"a script asks no server, so it takes no {', '.join(options)}; leave it out")
        return ScriptedProvider.from_file(model)
    if name in SERVICES:
        return ServiceProvider(SERVICES[name], model, **options)
    return _CLASSES[name](model, **options)


_log = logging.getLogger("toolkit")
_ANSWER = {"role": "assistant", "content": "OK."}
"""What stands between the results of tools and a message of the user, for services that demand an answer there."""


class ServiceProvider(OpenAIProvider):
    """
    The provider of the models of *service*. Its arguments are those of `RemoteProvider`.

    What the service lacks is left out of a request. With *strict*, a note in the log says so.
    """

    def __init__(
        self,
        service: Service,
        model: str,
        *,
        base_url: str | None = None,
        strict: bool = False,
        options: Mapping[str, Any] | None = None,
        **further: Any,
    ) -> None:
        address = service.find_address() if base_url is None else base_url
        self.service = service
        self.name, self._title, self._key_variables = service.name, service.title, service.key_variables
        # The key of the environment is sent to this address only. A server that needs no key gets none.
        self._address = address if base_url is None and service.key_variables else ""
        if strict and "strict" in service.lacks:
            _log.info("%s: it has no strict schemas; `strict` is left out", service.name)
            strict = False
        lacking = {"stream_options": None} if "stream_usage" in service.lacks else {}
        super().__init__(model, base_url=address, strict=strict, options={**lacking, **(options or {})}, **further)

    def structures_output(self, tool: Tool, *, has_tools: bool) -> bool:
        lack = "output_with_tools" if has_tools else "output"
        return self.service.lacks.isdisjoint(["output", lack]) and can_structure(self.model, tool)

    @property
    def _is_openai(self) -> bool:
        return self.service.is_openai

    @property
    def _takes_cache_key(self) -> bool:
        return self.service.is_openai or self.service.has_cache_key

    def _body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        body = super()._body(request, stream=stream)
        for message in body["messages"]:
            message["content"] = _join_texts(message["content"])
        if "user_after_tool" in self.service.lacks:
            following = [*body["messages"][1:], {"role": ""}]
            body["messages"] = [
                part
                for message, after in zip(body["messages"], following, strict=True)
                for part in ([message, _ANSWER] if (message["role"], after["role"]) == ("tool", "user") else [message])
            ]
        return body

    def _wire_id(self, call_id: Any) -> Any:
        length = self.service.id_length
        if length is None or not isinstance(call_id, str) or re.fullmatch(rf"[A-Za-z0-9]{{{length}}}", call_id):
            return super()._wire_id(call_id)
        return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:length]

    def _definitions(self, request: Request) -> list[dict[str, Any]] | None:
        definitions = super()._definitions(request)
        if definitions and "tools" in self.service.lacks:
            raise ProviderFailure(
                f"{self._title} takes no tools, and the request offers {len(definitions)}; leave them out, or choose "
                "another provider"
            )
        return definitions


def _join_texts(content: Any) -> Any:
    """Return *content* as one text if it is a list of texts, because some services refuse such a list."""
    if isinstance(content, list) and all(part["type"] == "text" for part in content):
        return "\n".join(part["text"] for part in content)
    return content
