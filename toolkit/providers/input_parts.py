"""
Says what the tokens of a request were for: the definitions of the tools, the results of each tool, and the rest.

A provider reports one number for the whole request. The parts are estimated from their texts, and scaled so that they
add up to that number. If a provider reports none, the estimate itself is the number.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..content import Part
from ..errors import DefinitionError
from ..spec import Tool
from ..values.part_texts import has_text, render_part
from ..values.rendering import as_json, as_text
from ..values.text_limits import BYTES_PER_TOKEN, count_bytes, estimate_tokens
from .base import Reply, Request
from .messages import AssistantMessage, Message, MessageCache, ToolMessage, UserMessage

__all__ = ["InputSplitter"]

_MEDIA_BYTES = 1_000 * BYTES_PER_TOKEN  # an image of usual size costs about a thousand tokens
_UNKNOWN = "(unknown)"
_REST = ""


class InputSplitter:
    """Splits the usage of the replies in one conversation. What it has measured before is not measured again."""

    def __init__(self) -> None:
        self._sizes = MessageCache(_measure_message)
        self._definition_sizes: weakref.WeakKeyDictionary[Tool, int] = weakref.WeakKeyDictionary()

    def split(self, reply: Reply, request: Request) -> Reply:
        """Return *reply*, the answer to *request*, with a usage that says what its input was for."""
        definitions = sum(map(self._measure_tool, _list_tools(request)))
        sizes = {_REST: count_bytes(request.system)}
        for message_sizes in self._sizes.values_for(request.messages):
            for name, part in message_sizes.items():
                sizes[name] = sizes.get(name, 0) + part
        size = definitions + sum(sizes.values())
        reported = max(0, reply.usage.input_tokens)
        tokens = reported or estimate_tokens(size)
        shares = {name: part * tokens // size for name, part in sizes.items() if name != _REST} if size else {}
        usage = replace(
            reply.usage,
            definition_tokens=definitions * tokens // size if size else 0,
            result_tokens={name: share for name, share in shares.items() if share},
            unreported_tokens=0 if reported else tokens,
        )
        return replace(reply, usage=usage)

    def _measure_tool(self, tool: Tool) -> int:
        size = self._definition_sizes.get(tool)
        if size is None:
            try:
                definition = tool.definition
                size = count_bytes(as_text([tool.name, definition["description"], definition["input_schema"]]))
            except DefinitionError:  # the provider reports it, if it needs the definition
                size = 0
            self._definition_sizes[tool] = size
        return size


def _list_tools(request: Request) -> Iterable[Tool]:
    offered = [] if request.catalog is None else request.catalog.offered(request.session)
    return offered if request.output is None else [*offered, request.output]


def _measure_message(message: Message) -> Mapping[str, int]:
    """Return the bytes of *message* for each tool whose results are in it, or under `_REST`."""
    if isinstance(message, UserMessage):
        return {_REST: sum(map(_measure_part, message.parts))}
    if isinstance(message, AssistantMessage):
        content = [message.text, *([call.name, call.arguments] for call in message.calls)]
        return {_REST: count_bytes(as_text(as_json(content if message.native is None else message.native.content)))}
    return _measure_results(message)


def _measure_results(message: ToolMessage) -> Counter[str]:
    sizes: Counter[str] = Counter()
    for result in message.results:
        # A model can invent any number of names that no tool has.
        name = _UNKNOWN if result.kind == "not_found" or not result.tool else result.tool
        media = sum(not has_text(part) for part in result.parts)
        sizes[name] += count_bytes(result.text) + media * _MEDIA_BYTES
    return sizes


def _measure_part(part: Part) -> int:
    return count_bytes(render_part(part)) if has_text(part) else _MEDIA_BYTES
