"""A client of the Model Context Protocol in the process of a test, connected to a server for a dispatcher."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

from ..dispatcher import Dispatcher
from ..mcp.sdk import check_sdk_installed

if TYPE_CHECKING:  # the extra `mcp` may be missing
    from mcp import Client

    from ..mcp.serving.tool_server import ServerOptions

__all__ = ["connect"]

FormAnswer: TypeAlias = "bool | Mapping[str, Any] | Callable[[str], Mapping[str, Any] | None] | None"
"""How a user answers: yes or no to approvals, the content of every form, or a function of the message."""


@contextlib.asynccontextmanager
async def connect(
    dispatcher: Dispatcher,
    *,
    answer: FormAnswer = None,
    sample: str | Callable[[str], str] | None = None,
    roots: Sequence[str] | None = None,
    revision: Literal["2026-07-28", "legacy"] = "2026-07-28",
    **options: Unpack[ServerOptions],
) -> AsyncIterator[Client]:
    """
    Yield a client of the official SDK that is connected to a server for *dispatcher*, without a process or a socket.

    Args:
        dispatcher: The dispatcher that is served.
        answer: How the user of the client answers: True or False to requests for approval, a dictionary as the content
            of every form, or a function from the message to a dictionary, or to None to decline. Without it, the client
            cannot ask.
        sample: What the model of the client writes, or a function of the last message. Without it, there is no model.
        roots: The folders that the client names, as absolute paths. Without them, it names none.
        revision: The revision of the protocol; "legacy" is that with a handshake.
        options: The options of the server; see `ServerOptions`.
    """
    check_sdk_installed()
    import mcp_types as types
    from mcp import Client
    from pydantic import FileUrl

    from ..mcp.serving.tool_server import build_server

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        content = answer(params.message) if callable(answer) else answer
        if content is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(
            action="accept", content={"approve": content} if isinstance(content, bool) else dict(content)
        )

    async def write(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        text = sample(getattr(params.messages[-1].content, "text", "")) if callable(sample) else str(sample)
        content = types.TextContent(type="text", text=text)
        return types.CreateMessageResult(role="assistant", content=content, model="test")

    async def list_roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(Path(root).as_uri())) for root in roots or ()])

    async with Client(
        build_server(dispatcher, **options),
        mode=revision,
        elicitation_callback=None if answer is None else elicit,
        sampling_callback=None if sample is None else write,
        list_roots_callback=None if roots is None else list_roots,
    ) as client:
        yield client
