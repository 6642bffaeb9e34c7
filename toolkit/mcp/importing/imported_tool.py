"""
Makes a tool of the program from the definition of a server's tool, and results from the server's answers.

The tool is destructive and open-world unless its server is trusted. Its schemas are enforced by this package. Its name
begins with the server, is legal, and is never one that another tool holds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias, get_args

import mcp_types as types

from ...catalogs.foreign_names import fold_name, make_legal_name, reason_against
from ...catalogs.foreign_text import clean_text, explain_address
from ...content import FilePart, Part, TextPart
from ...context import Context
from ...errors import DefinitionError
from ...facts import FactOptions
from ...formats import mcp as mcp_format
from ...results import ToolResult
from ...spec import Tool
from .call_errors import UnusableAnswer
from .pins import Pins
from .questions import CallLink
from .remote_server import RemoteServer
from .remote_tools import RemoteTool

__all__ = ["NameBook", "SendCall", "build_result", "build_tool", "read_block", "read_facts"]

_MAX_TITLE_CHARS = 300
_ADVICE = "What it does is done, so do not call it again for that; tell the user."
_ERROR = "error: "
_CHANGED = "its server has changed its definition since it was last used"

_Failure: TypeAlias = Literal["failed", "bad_args"]
"""The kinds of results that an answer about a failure may have: a server does not say that a call was denied here."""

SendCall: TypeAlias = Callable[[RemoteTool, Mapping[str, Any], CallLink], Awaitable[types.CallToolResult]]
"""Sends a call to the server and returns its answer: the tool, the arguments, and the call that it is for."""


def build_tool(server: RemoteServer, remote: RemoteTool, name: str, send: SendCall, pins: Pins, *, defer: bool) -> Tool:
    """Return the tool *name* for *remote*; raise `DefinitionError` if its schema cannot be enforced or is too large."""
    if remote.problem is not None:
        raise DefinitionError(remote.problem)
    identity = server.identity

    async def call_server(arguments: dict[str, Any], context: Context) -> ToolResult:
        pins.keep(identity, remote)
        link = CallLink(context)
        try:
            answer = await send(remote, arguments, link)
            if link.unanswered:
                note = types.TextContent(text=link.describe_unanswered(server.name))
                answer = answer.model_copy(update={"content": [*answer.content, note]})
            return build_result(answer, server.name, is_wrapped=remote.is_wrapped)
        except UnusableAnswer as problem:
            # The call has happened.
            return ToolResult.failure("failed", str(problem), details={"ran": True}, cause=problem, advice=_ADVICE)

    facts: FactOptions = {
        **read_facts(server, remote),
        "defer": defer,
        "group": server.name,
        "timeout_seconds": server.timeout_seconds,
        "approval": lambda arguments: _CHANGED if pins.has_changed(identity, remote) else False,
        "preview": lambda arguments: _describe_change(pins, identity, remote),
        "metadata": {"mcp": {"server": server.name, "tool": remote.name, "trusted": server.trusted}},
    }
    if server.cost is not None:
        facts["cost"] = server.cost
    tool = Tool.from_schema(
        make_legal_name(remote.name),
        remote.description or f"The tool {remote.name[:100]} of the MCP server {server.name}.",
        remote.input_schema,
        call_server,
        # Every structured content is an object, so that a schema which says no more would only refuse wrapped values.
        output_schema=None if remote.output_schema == {"type": "object"} else remote.output_schema,
        origin=server.origin,
        **facts,
    )
    return tool.renamed(name)


def read_facts(server: RemoteServer, remote: RemoteTool) -> FactOptions:
    """
    Return the facts about *remote*: those that the hints of a trusted server state, and the strictest for others.

    A hint that is left out has the default of the protocol, which is the stricter value.
    """
    if not server.trusted:
        return {"destructive": True, "open_world": True}
    hints = remote.hints
    read_only = hints.get("readOnlyHint") is True
    return {
        "read_only": read_only,
        "destructive": not read_only and hints.get("destructiveHint") is not False,
        "idempotent": read_only or hints.get("idempotentHint") is True,
        "open_world": hints.get("openWorldHint") is not False,
    }


def _describe_change(pins: Pins, identity: str, remote: RemoteTool) -> str | None:
    change = pins.describe_change(identity, remote)
    return f"The server has changed the definition of this tool since it was last used:\n{change}" if change else None


def build_result(answer: types.CallToolResult, server: str, *, is_wrapped: bool = False) -> ToolResult:
    """
    Return the result for *answer*, which *server* sent; raise `UnusableAnswer` if some content cannot be read.

    If *is_wrapped*, the schema of the tool says that the structured content wraps the value. The answer may say so too.
    """
    parts = [read_block(block, server) for block in answer.content]
    text = "\n".join(part.text for part in parts if isinstance(part, TextPart))
    kept = parts if any(not isinstance(part, TextPart) for part in parts) else []
    if answer.is_error:
        kind, reason, advice = _read_failure(text or f"the server {server} gives no reason")
        return ToolResult.failure(kind, reason, parts=kept, advice=advice)
    has_value = "structured_content" in answer.model_fields_set and answer.structured_content is not None
    if has_value:
        value = mcp_format.unwrap_value(answer.structured_content, answer.meta, is_wrapped=is_wrapped)
        return ToolResult(text, value, parts=kept)
    # Without a text of its own, a result has the text of all its parts.
    return ToolResult("", None, parts=parts) if kept else ToolResult(text, text)


def _read_failure(text: str) -> tuple[_Failure, str, str | None]:
    """
    Return the kind, the reason and the advice of a failure, without the words that a server of ours puts around them.

    The advice is None for the usual one, and empty if *text* has one of its own.
    """
    for kind in get_args(_Failure):
        before, _, after = ToolResult.failure(kind, "\0").text.partition("\0")
        if text.startswith(before) and text.endswith(after):
            return kind, text.removeprefix(before).removesuffix(after), None
    if text.startswith(_ERROR):
        return "failed", text.removeprefix(_ERROR), ""
    return "failed", text, None


def read_block(block: Any, server: str) -> Part:
    """Return the content in *block*, an object of the SDK; raise `UnusableAnswer` if it cannot be read."""
    try:
        _check_labels(getattr(block, "resource", block))
        if isinstance(block, types.ResourceLink) and (block.title or block.name) != block.uri:
            return FilePart(block.uri, block.mime_type, clean_text(block.title or block.name, _MAX_TITLE_CHARS))
        return mcp_format.read_block(block)
    except ValueError as error:
        raise UnusableAnswer(f"the server {server} sent unusable content: {clean_text(str(error), 200)}") from None


def _check_labels(holder: Any) -> None:
    """Raise `ValueError` unless the URI and the media type of *holder* are clean. They are passed on as they are."""
    for label in (getattr(holder, "uri", None), getattr(holder, "mime_type", None)):
        if label is not None and (problem := explain_address(label)):
            raise ValueError(f"its address or its media type {problem}")


class NameBook:
    """
    Which tool of which server holds a name. Names are compared without case and separators.

    A name that a tool has had stays with that tool and its server for as long as the program runs. So no other server
    can take it later, when people and models know what it stands for.
    """

    def __init__(self) -> None:
        self._holders: dict[str, tuple[str, str]] = {}

    def claim(self, server: str, tool: str, *, prefix: str | None = None) -> tuple[str, str | None]:
        """
        Return the name for *tool* of *server*, and why it cannot have that name; None if it can.

        The name begins with *prefix*; by default with the name of the server.
        """
        if not tool.isascii() or not tool.isprintable() or not tool.strip():
            return repr(tool)[:100], "its name has characters that can be mistaken for others; use printable ASCII"
        name = make_legal_name(tool, f"{server}_" if prefix is None else prefix)
        reason = reason_against(name)
        if reason is None:
            holder = self._holders.setdefault(fold_name(name), (server, tool))
            if holder != (server, tool):
                reason = (
                    f"`{name}`, or a name that looks like it, belongs to `{holder[1][:80]}` of the server {holder[0]}"
                )
        return name, reason
