"""
A short way for plain `tools/call` requests.

The SDK validates a request three times and a result twice, with models for every revision of the protocol. Most calls
are a name and arguments, and most results are built by this package. For these, the checks here are enough. Every other
request takes the SDK's own way.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.methods import serialize_server_result

from .calling import ToolCaller
from .conversations import connection_of, is_modern

__all__ = ["PLAIN_KEYS", "CallShortcut", "install_shortcut", "strip_answer"]

PLAIN_KEYS = frozenset({"name", "arguments", "_meta"})


def install_shortcut(server: Server[Any], caller: ToolCaller) -> CallShortcut:
    """Let *server*, which has no middleware of its own yet, answer plain calls with *caller*."""
    if "opentelemetry.sdk" not in sys.modules:
        # The SDK adds spans for OpenTelemetry. Without that package they go nowhere, and take a tenth of the time.
        server.middleware.clear()
    shortcut = CallShortcut(caller, server.server_info_stamp)
    server.middleware.append(shortcut)
    return shortcut


class CallShortcut:
    """
    Middleware that answers plain calls.

    Args:
        caller: Makes the calls.
        server_info: What a result of the newer revision says about its server.

    Attributes:
        caller: Makes the calls.
    """

    def __init__(self, caller: ToolCaller, server_info: Mapping[str, Any]) -> None:
        self.caller = caller
        self._server_info = dict(server_info)

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer the request, or pass it on."""
        if ctx.method != "tools/call":
            return await call_next(ctx)
        call = _read_plain_call(ctx)
        if call is None or not connection_of(ctx).initialize_accepted:
            return await call_next(ctx)
        answer = await self.caller.call(ctx, call)
        return self.complete(answer, ctx.protocol_version) if is_modern(ctx) else strip_answer(answer)

    def complete(self, answer: dict[str, Any], version: str) -> dict[str, Any]:
        """Return *answer* as the newer revision wants it."""
        if answer["resultType"] != "complete":
            answer = serialize_server_result("tools/call", version, answer)
        return {**answer, "_meta": {SERVER_INFO_META_KEY: self._server_info}}


class PlainCall:
    """The parameters of a call that is no answer to a question."""

    input_responses: Mapping[str, Any] | None = None
    request_state: str | None = None

    def __init__(self, name: str, arguments: dict[str, Any] | None) -> None:
        self.name = name
        self.arguments = arguments


def _read_plain_call(context: ServerRequestContext[Any, Any]) -> PlainCall | None:
    params = context.params
    if params is None or not params.keys() <= PLAIN_KEYS or ("_meta" in params and context.meta is None):
        return None
    name, arguments = params.get("name"), params.get("arguments")
    if type(name) is not str or not (arguments is None or type(arguments) is dict):
        return None
    return PlainCall(name, arguments)


def strip_answer(answer: dict[str, Any]) -> dict[str, Any]:
    """Return *answer* as an older revision wants it."""
    return {key: value for key, value in answer.items() if key != "resultType"}
