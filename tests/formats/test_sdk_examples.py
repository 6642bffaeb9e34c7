"""The examples with the official SDKs: short, and the same program with a key and without."""

from __future__ import annotations

import ast
import asyncio
import os
import sys
import tomllib
from pathlib import Path

import pytest

from tests.providers.protocols import Turn
from tests.providers.stub import KEY, serving
from toolkit import ToolCall

EXAMPLES = Path(__file__).parents[2] / "examples"
CALL = ToolCall("weather--now", {"city": "Bergen", "unit": "F"}, "call_1")

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize(
        ("file", "provider", "path"),
        [("11_anthropic_sdk.py", "ANTHROPIC", ""), ("12_openai_sdk.py", "OPENAI", "/v1")],
        ids=["anthropic", "openai"],
    ),
]


async def run_example(file: str, **environment: str) -> str:
    """Return what the example says, with no key but that in *environment*."""
    variables = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    command = [sys.executable, "-W", "error", str(EXAMPLES / file)]
    run = await asyncio.create_subprocess_exec(
        *command, env={**variables, **environment}, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, wrong = await run.communicate()
    assert (run.returncode, wrong.decode()) == (0, "")
    return output.decode()


@pytest.mark.long
async def test_the_stand_in_answers_without_a_key(file, provider, path):
    """The stand-in calls the tool twice and reports the results."""
    assert await run_example(file) == "Sunny in Oslo, 21 degrees C. Sunny in Rome, 21 degrees C.\n"


@pytest.mark.long
async def test_the_provider_is_asked_if_there_is_a_key(file, provider, path):
    """The request goes to the address that is set, with the key that is set."""
    async with serving(Turn(calls=(CALL,)), Turn(text="Warm.")) as stub:
        output = await run_example(file, **{f"{provider}_API_KEY": KEY, f"{provider}_BASE_URL": f"{stub.url}{path}"})
    assert output == "Warm.\n"
    assert len(stub.heard) == 2
    assert "Sunny in Bergen, 21 degrees F." in str(stub.heard[1].body["messages"][-1])


async def test_an_example_has_at_most_22_lines(file, provider, path):
    """Docstrings and imports do not count."""
    source = (EXAMPLES / file).read_text(encoding="utf-8")
    prose_lines = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom)) or _is_docstring(node)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    code = [line for number, line in enumerate(source.splitlines(), 1) if line.strip() and number not in prose_lines]
    assert len(code) <= 22


async def test_an_example_uses_the_types_of_the_sdk(file, provider, path):
    """The examples do not hide it with `Any`, and mypy checks them: `files` in pyproject.toml names them."""
    names = {
        node.id
        for node in ast.walk(ast.parse((EXAMPLES / file).read_text(encoding="utf-8")))
        if isinstance(node, ast.Name)
    }
    assert {name for name in names if name.endswith("MessageParam")}
    assert "Any" not in names
    mypy = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert f"examples/{file}" in mypy["files"]
    assert mypy["strict"] is True


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
