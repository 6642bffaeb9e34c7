"""The options of shell hooks, and the mistakes in them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Deny, Proceed, ShellHook, ShellHooks
from toolkit.results import ToolCall, ToolResult

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"on": "befor"}, "on: 'befor' is not known; did you mean `before`?"),
        ({"on": []}, "on: has to be one or more of before, after, agent_start, call_started, "),
        ({"on": 3}, "on: has to be one or more of"),
        ({"tools": []}, "tools: has to be a name or a list"),
        ({"tools": ["a b"]}, "tools: 'a b' cannot be right"),
        ({"tools": [1]}, "tools: has to be a name or a list"),
        ({"command": " "}, "command: has to be a command"),
        ({"command": []}, "command: has to be a command"),
        ({"command": ["x", 1]}, "command: has to be a command"),
        ({"command": "a\0b"}, "command: cannot hold a NUL character"),
        ({"timeout_seconds": 0}, "timeout_seconds: has to be a number of seconds above 0"),
        ({"timeout_seconds": True}, "timeout_seconds: has to be"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds: has to be"),
        ({"timeout_seconds": float("inf")}, "timeout_seconds: has to be"),
        ({"timeout_seconds": "30"}, "timeout_seconds: has to be"),
        ({"on_failure": "blok"}, "on_failure: 'blok' is not known; did you mean `block`?"),
        ({"on_failure": ["block"]}, "on_failure: ['block'] is not known; write one of block, allow"),
        ({"env": ["A=b"]}, "env: 'A=b' is not the name of a variable"),
        ({"env": {"A": "b"}}, "env: has to be a list of names"),
    ],
)
def test_a_hook_that_cannot_be_right_is_refused(options, problem):
    """When it is made, with the remedy."""
    with pytest.raises(ValueError) as caught:
        ShellHook(**{"on": "before", "command": "true", **options})
    assert problem in str(caught.value)


def test_all_mistakes_are_reported_together():
    with pytest.raises(ValueError) as caught:
        ShellHook(on="x", command="", timeout_seconds=-1)
    assert str(caught.value).count("; ") >= 2
    assert all(name in str(caught.value) for name in ("on:", "command:", "timeout_seconds:"))


def test_shell_hooks_are_loaded_at_first_use():
    code = "import sys, toolkit.hooks; sys.exit('toolkit.hooks.shell.shell_hooks' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_dictionary_is_refused_as_a_shell_hook():
    with pytest.raises(TypeError, match="made of ShellHook"):
        ShellHooks([{"on": "before"}])


async def test_a_call_by_hand_is_shown_too(bench):
    """Outside a dispatcher the hook is an object like any other."""
    call = ToolCall("echo", {"text": "x"}, tool=bench.catalog["echo"])
    assert await ShellHooks([ShellHook(on="before", command="exit 2")]).before(call) == Deny(
        "a hook refused it, and gave no reason"
    )
    result = await ShellHooks([bench.noting(on="after")]).after(call, ToolResult("y"))
    assert (result.text, bench.read_event()[0]["arguments"]) == ("y", {"text": "x"})


@pytest.mark.parametrize(
    "command", ["exit 1", 'echo \'{"action": "replace", "result": 1}\''], ids=["fails", "replaces"]
)
async def test_a_hook_changes_a_copy_of_the_result(command):
    result = ToolResult("x", "x")
    returned = await ShellHooks([ShellHook(on="after", command=command)]).after(ToolCall("t"), result)
    assert returned is not result
    assert (result.text, result.value, result.metadata) == ("x", "x", None)


async def test_hooks_given_one_by_one_keep_their_numbers(bench):
    """A failure names the hook as it stands in the list."""
    hooks = ShellHooks([ShellHook(on="before", command="true"), ShellHook(on="before", command="exit 1")])
    result = await Dispatcher(bench.catalog, hooks=[*hooks]).call("echo", {})
    assert result.reason.startswith("shell hook 2 failed, so this was blocked: it exited with code 1")


async def test_a_call_that_is_not_json_is_blocked(bench):
    """A hook could not see it as it is."""
    call = ToolCall("echo", {"text": object()}, tool=bench.catalog["echo"])
    outcome = await ShellHooks([ShellHook(on="before", command="true")]).before(call)
    assert isinstance(outcome, Deny)
    assert "not plain JSON" in outcome.reason


async def test_a_name_that_is_not_text_is_shown_as_its_type(bench):
    """The caller gets a result, and the hook is shown the call."""
    result = await ShellHooks([bench.noting(on="after")]).after(ToolCall(7), ToolResult("y"))
    assert (result.metadata, bench.read_event()[0]["tool"]) == (None, "int")


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(codec="utf-8")),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_a_hook_receives_the_exact_arguments(value):
    """Any text passes through JSON and the pipe unchanged."""
    with tempfile.TemporaryDirectory() as folder:
        hooks = ShellHooks([ShellHook(on="before", command="cat >told", cwd=folder)])
        assert asyncio.run(hooks.before(ToolCall("t", {"value": value}))) == Proceed()
        assert json.loads(Path(folder, "told").read_text())["arguments"] == {"value": value}
