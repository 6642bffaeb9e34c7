"""Requests of a client of the newer revision, for the tests of approvals."""

from __future__ import annotations

import mcp_types as types
import pytest
from mcp import MCPError

from tests.mcp.serving.kit import (
    MODES,
    NEW,
    call_once,
    text_of,
)

__all__ = ["KEY", "ask", "both_revisions", "refusal_of"]

KEY = b"k" * 32
both_revisions = pytest.mark.parametrize("mode", MODES)


async def refusal_of(client, name, arguments, mode="form"):
    """Return the text of a refusal: a result in the older revision, an error that names the capability in the newer."""
    if client.protocol_version != NEW:
        result = await client.call_tool(name, arguments)
        assert result.is_error
        return text_of(result)
    with pytest.raises(MCPError) as caught:
        await client.call_tool(name, arguments)
    assert (caught.value.code, caught.value.data) == (-32021, {"requiredCapabilities": {"elicitation": {mode: {}}}})
    return caught.value.message


async def ask(client, amount=5):
    """Call, and return the state of the question."""
    result = await call_once(client, "pay", {"amount": amount})
    assert isinstance(result, types.InputRequiredResult)
    return result.request_state
