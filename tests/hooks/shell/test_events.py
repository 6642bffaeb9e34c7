"""What a command is told about a call."""

from __future__ import annotations

import base64
from typing import Annotated

from toolkit import AudioPart, ResourcePart, Tool, ToolCall, ToolResult
from toolkit.context import Secret
from toolkit.hooks.shell.events import describe_call


def login(key: Annotated[str, Secret]) -> None:
    """Log in."""


def test_a_secret_in_the_bytes_of_a_resource_is_masked():
    """Base64 would hide it from a rule, and not from the command."""
    parts = [ResourcePart("memo:1", b"my hunter2!"), AudioPart(b"abc", "audio/wav")]
    result = ToolResult("done", parts=parts)
    call = ToolCall("login", {"key": "hunter2!"}, "call_1")
    call.tool = Tool.of(login)
    resource, sound = describe_call(call, {"key": "hunter2!"}, "after", result)["result"]["parts"]
    assert base64.b64decode(resource["blob"]) == b"my [redacted]"
    assert sound == parts[1].to_json()
    assert list(result.parts) == parts
