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
    """Return what the scripted model says in the demo, as a server says it."""
    spec = importlib.util.spec_from_file_location("the_demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    return [Turn(text=turn.text, calls=turn.calls) for turn in demo.SCRIPT]


async def run_demo(typed: str = "", **environment: str) -> tuple[int | None, str, str]:
    """Return the exit code of the demo, what it says and what it complains of; *typed* are the answers of a person."""
    environ = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    demo = await asyncio.create_subprocess_exec(
        *[sys.executable, "-W", "error", str(DEMO)],
        env={**environ, **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # without a terminal, people are asked on the standard streams
    )
    output, wrong = await demo.communicate(typed.encode())
    return demo.returncode, output.decode(), wrong.decode()


@pytest.mark.parametrize("name", NAMES)
async def test_the_demo_runs_with_a_provider(name):
    """It plans, gets a yes, edits, tests and takes a note. Every turn is a stream over HTTP."""
    turns = script()
    async with serving(*turns) as stub:
        path = "/v1" if name.startswith("openai") else ""
        server = {"PROVIDER": name, "MODEL": "test-model", "BASE_URL": f"{stub.url}{path}", "API_KEY": KEY}
        code, output, wrong = await run_demo("yes\nyes\n", **server)
    assert (code, wrong) == (0, "")
    assert "done after 6 turns since the plan" in output
    assert output.rstrip().endswith("- A discount makes things cheaper, not dearer.")
    assert output.count("May it run?") == 2
    assert stub.script == []
    bodies = [str(request.body) for request in stub.heard]
    assert len(bodies) == len(turns)
    assert ["You are planning" in body for body in bodies] == [True] * 3 + [False] * 6
    assert "Ran 2 tests" in bodies[6]
    assert all("stream" in request.path or request.body["stream"] for request in stub.heard)
    assert all("test-model" in f"{request.path} {request.body.get('model')}" for request in stub.heard)


async def test_the_model_learns_of_the_refusal_of_the_user():
    """A user who types no, or nothing, changes nothing."""
    turns = [*script()[:5], Turn(text="Then not.")]
    async with serving(*turns) as stub:
        code, output, _ = await run_demo(PROVIDER="anthropic", BASE_URL=stub.url, API_KEY=KEY)
    assert code == 0
    assert "no answer came" in str(stub.heard[-1].body)
    assert output.rstrip().endswith("- The shop opens.")


async def test_without_a_key_the_demo_names_the_variables():
    """It does not claim that it worked."""
    code, _, wrong = await run_demo(PROVIDER="gemini")
    assert code == 1
    assert "set GEMINI_API_KEY or GOOGLE_API_KEY" in wrong


async def test_a_provider_that_refuses_the_key_ends_the_demo():
    """The message says that the model could not be asked, and does not show the key."""
    async with serving(Answer(401, {"error": {"message": "no such key"}})) as stub:
        code, output, wrong = await run_demo(PROVIDER="openai", BASE_URL=f"{stub.url}/v1", API_KEY=KEY)
    assert code == 1
    assert "the model could not be asked" in wrong
    assert KEY not in output + wrong


async def test_the_demo_names_the_providers_if_the_given_one_is_unknown():
    code, _, wrong = await run_demo(PROVIDER="antropic")
    assert code == 1
    assert "PROVIDER=antropic: there are scripted, anthropic, openai, openai_responses, gemini" in wrong
