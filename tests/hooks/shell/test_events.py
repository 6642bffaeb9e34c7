"""What a command is told about a call."""

from __future__ import annotations

import base64
from typing import Annotated

import pytest

from toolkit import AudioPart, ResourcePart, Tool, ToolCall, ToolResult
from toolkit.context import Secret
from toolkit.hooks.shell.events import describe_call, mask_secrets, restore_secrets


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


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"key": "hunter2"}, {"key": "[redacted]"}),
        ({"passwd": "hunter2"}, {"passwd": "[redacted]"}),
        ({"args": {"key": "hunter2"}}, {"args": "[redacted]"}),
        ('{"key": "hunter2"', "[redacted]"),
    ],
)
def test_a_secret_under_a_wrong_name_is_masked(arguments, shown):
    call = ToolCall("login", arguments)
    call.tool = Tool.of(login)
    assert mask_secrets(call, arguments) == shown
    assert "hunter2" not in repr(call)


def test_secrets_that_a_command_left_masked_are_restored():
    call = ToolCall("login", {"key": "hunter2", "odd": "x"})
    call.tool = Tool.of(login)
    masked = mask_secrets(call, call.arguments)
    assert restore_secrets(masked, call.arguments, call) == call.arguments
