"""`make demo PROVIDER=...`: the whole demo with the real providers, against a model on loopback."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from pathlib import Path

import pytest

from .making import NAMES
from .protocols import Turn
from .stub import KEY, Answer, serving

pytestmark = [pytest.mark.anyio, pytest.mark.long]

DEMO = Path(__file__).parents[2] / "examples" / "15_agent_at_work.py"


def script() -> list[Turn]:
    """What the scripted model says in the demo, as a server says it."""
    spec = importlib.util.spec_from_file_location("the_demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    return [Turn(text=said.text, calls=said.calls) for said in demo.SCRIPT]


async def shown(typed: str = "", **environment: str) -> tuple[int | None, str, str]:
    """The exit code of the demo, what it says and what it complains of; *typed* are the answers of a person."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    demo = await asyncio.create_subprocess_exec(
        *[sys.executable, "-W", "error", str(DEMO)],
        env={**kept, **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # without a terminal, people are asked on the standard streams
    )
    said, wrong = await demo.communicate(typed.encode())
    return demo.returncode, said.decode(), wrong.decode()


@pytest.mark.parametrize("name", NAMES)
async def test_the_demo_runs_with_a_provider(name):
    """It plans, is agreed to, edits, tests and notes, and every turn went over HTTP, as a stream."""
    turns = script()
    async with serving(*turns) as stub:
        path = "/v1" if name.startswith("openai") else ""
        server = {"PROVIDER": name, "MODEL": "test-model", "BASE_URL": f"{stub.url}{path}", "API_KEY": KEY}
        code, said, wrong = await shown("yes\nyes\n", **server)
    assert (code, wrong) == (0, "")
    assert "done after 6 turns since the plan" in said
    assert said.rstrip().endswith("- A discount makes things cheaper, not dearer.")
    assert said.count("May it run?") == 2
    assert stub.script == []
    asked = [str(heard.body) for heard in stub.heard]
    assert len(asked) == len(turns)
    assert ["You are planning" in body for body in asked] == [True] * 3 + [False] * 6
    assert "Ran 2 tests" in asked[6]
    assert all("stream" in heard.path or heard.body["stream"] for heard in stub.heard)
    assert all("test-model" in f"{heard.path} {heard.body.get('model')}" for heard in stub.heard)


async def test_a_no_is_told_to_the_model():
    """Whoever types no, or nothing, changes nothing."""
    turns = [*script()[:5], Turn(text="Then not.")]
    async with serving(*turns) as stub:
        code, said, _ = await shown(PROVIDER="anthropic", BASE_URL=stub.url, API_KEY=KEY)
    assert code == 0
    assert "no answer came" in str(stub.heard[-1].body)
    assert said.rstrip().endswith("- The shop opens.")


async def test_without_a_key_the_variables_are_named():
    """And nothing claims to have worked."""
    code, _, wrong = await shown(PROVIDER="gemini")
    assert code == 1
    assert "set GEMINI_API_KEY or GOOGLE_API_KEY" in wrong


async def test_a_provider_that_refuses_the_key_ends_the_demo():
    """With its reason, and without the key."""
    async with serving(Answer(401, {"error": {"message": "no such key"}})) as stub:
        code, said, wrong = await shown(PROVIDER="openai", BASE_URL=f"{stub.url}/v1", API_KEY=KEY)
    assert code == 1
    assert "the model could not be asked" in wrong
    assert KEY not in said + wrong


async def test_an_unknown_provider_is_told_which_there_are():
    """By name."""
    code, _, wrong = await shown(PROVIDER="antropic")
    assert code == 1
    assert "PROVIDER=antropic: there are scripted, anthropic, openai, openai_responses, gemini" in wrong
