"""
Runs as values: JSON and back, and what is refused as a run.
"""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.kit import Shed, call
from toolkit.agent import Agent, Run, SubRun
from toolkit.decisions import Decision, Grant
from toolkit.permissions import Permissions
from toolkit.providers import AssistantMessage, ScriptedProvider, ToolMessage, UserMessage
from toolkit.results import ToolCall, ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio


async def waiting_run() -> Run:
    return await Shed().agent([[call("look", what="oak"), call("cut", wood="oak")]]).run("go")


async def test_a_run_goes_to_json_and_back():
    """Everything but authority and the exception."""
    run = await waiting_run()
    loaded = Run.loads(run.dumps())
    assert loaded == run
    assert loaded.to_json() == run.to_json()
    assert loaded.requests == run.requests
    assert loaded.session.id == run.session.id


async def test_a_saved_run_has_no_authority():
    """Mode, grants, principal and read stamps stay behind."""
    session = Session(principal="ada", state={"toolkit.read_stamps": {"/x": "abc"}})
    Permissions().set_mode("bypass", session=session)
    Permissions.grant(session, Grant(tool="0" * 64, scope="tool"))
    run = await Agent(ScriptedProvider(["Hello."]), [], session=session).run("hello")
    loaded = Run.loads(run.dumps()).session
    assert (loaded.id, loaded.mode, loaded.grants, loaded.principal, loaded.state) == (session.id, None, (), None, {})
    assert "bypass" not in run.dumps()


async def test_a_grant_lasts_as_long_as_the_session_and_is_not_loaded():
    """In the same process a person is asked once. A run from JSON asks again."""
    shed = Shed()
    agent = shed.agent(
        [[call("cut", wood="oak")], "Done.", [call("cut", wood="elm")], "Done.", [call("cut", wood="ash")]]
    )
    run = await agent.run("go")
    run = await agent.resume(run, {run.requests[0].id: Decision.approve(grant=run.requests[0].grants[-1])})
    run = await agent.run("more", run=run)
    assert (run.status, shed.done) == ("done", ["cut oak", "cut elm"])
    assert (await agent.run("more", run=Run.loads(run.dumps()))).status == "waiting"


async def test_a_given_session_is_that_of_every_run():
    """This holds also for a loaded run with the same session id, because the host knows whose it is."""
    session = Session(principal="ada")
    agent = Shed().agent(["One.", "Two."], session=session)
    run = await agent.run("go")
    assert run.session is session
    assert (await agent.run("more", run=Run.loads(run.dumps()))).session is session


async def test_run_of_another_principal_is_refused():
    """An agent acts on behalf of one principal."""
    run = await Shed().agent(["One."], session=Session(principal="ada")).run("go")
    bob = Shed().agent(["Two."], session=Session(principal="bob"))
    with pytest.raises(ValueError, match="another principal"):
        await bob.run("more", run=run)


def change_value(data, *path, to):
    """Return a copy of *data* with another value at *path*."""
    data = json.loads(json.dumps(data))
    place = data
    for key in path[:-1]:
        place = place[key]
    if to is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return data


@pytest.mark.parametrize(
    ("path", "to", "words"),
    [
        (("version",), 2, "version 2 cannot be read"),
        (("version",), True, "version True"),
        (("id",), "", "`id`"),
        (("status",), "dreaming", "`status`"),
        (("status",), [], "`status`"),
        (("status",), "done", "contradict"),
        (("reason",), None, "`reason`"),
        (("stop",), "whim", "`stop`"),
        (("messages",), {}, "`messages`"),
        (("messages", 0), "hello", r"messages\[0\]"),
        (("messages", 2, "results"), [], r"messages\[2\]: the results do not answer"),
        (("messages", 2, "results", 0, "call_id"), "other", r"messages\[2\]"),
        (("messages", 1, "calls", 1, "id"), "call_1", r"messages\[1\]"),
        (("messages", 1, "calls"), [], r"messages\[1\]: it is empty"),
        (("messages", 2), KeyError, "its calls have no results"),
        (("spent",), {}, "spent"),
        (("usage",), {"input_tokens": -1}, "input_tokens"),
        (("plan",), 5, "`plan`"),
        (("subs",), [{}], r"subs\[0\]: not a sub-run"),
        (("subs",), [{"call_id": 1, "system": "", "tools": None, "run": {}}], "not a sub-run"),
        (("session",), {"version": 1}, "saved session"),
        (("session",), KeyError, "`session`"),
        (("mode",), "bypass", "unknown 'mode'"),
    ],
)
async def test_a_malformed_run_is_refused_with_the_place_of_the_fault(path, to, words):
    data = change_value((await waiting_run()).to_json(), *path, to=to)
    with pytest.raises(ValueError, match=words):
        Run.from_json(data)


@pytest.mark.parametrize("text", ["", "null", "[]", "{", "[" * 100_000, '{"version": 1, "version": 2}'])
def test_text_that_is_not_a_run_is_refused(text):
    with pytest.raises(ValueError):
        Run.loads(text)


@pytest.mark.parametrize("verb", ["run", "execute", "resume"])
@pytest.mark.parametrize("saved", [Run.dumps, Run.to_json], ids=["text", "JSON"])
async def test_a_saved_run_has_to_be_read_first(verb, saved):
    """The error says how to read it."""
    run = saved(await waiting_run())
    agent = Shed().agent([])
    verbs = {
        "run": lambda: agent.run("go", run=run),
        "execute": lambda: agent.execute(run),
        "resume": lambda: agent.resume(run, {}),
    }
    with pytest.raises(TypeError, match=r"got (str|dict); read a saved one with Run\.loads"):
        await verbs[verb]()


async def test_a_sub_run_without_a_parent_call_is_refused():
    """A saved run cannot hide one."""
    run = await waiting_run()
    data = run.to_json()
    sub = SubRun(call_id="elsewhere", run=run, tools=("cut",)).to_json()
    with pytest.raises(ValueError, match="belongs to no call that waits"):
        Run.from_json({**data, "subs": [sub]})
    with pytest.raises(ValueError, match="not a sub-run"):
        Run.from_json({**data, "subs": [{**sub, "version": 5}]})
    nested = data
    for _ in range(40):
        nested = {**data, "subs": [{**sub, "run": nested}]}
    with pytest.raises(ValueError, match="nested deeper than 32"):
        Run.from_json(nested)


def test_the_text_of_a_run_is_its_last_message():
    """It is empty if there is no message."""
    message = AssistantMessage(text="One.", calls=(ToolCall("look", {}, "c1"),))
    results = ToolMessage((ToolResult("x", call_id="c1"),))
    assert Run(status="stopped", messages=(UserMessage.of("go"), message, results)).text == "One."
    assert Run(status="stopped").text == ""
    assert Run(status="stopped").requests == ()


def test_the_repr_of_a_run_is_one_line():
    """The whole conversation may be long and private."""
    run = Run(id="r1", status="done", messages=(UserMessage.of("my secret"), AssistantMessage(text="Hello." * 50)))
    assert repr(run).startswith("<Run r1 done, 2 messages: 'Hello.Hello.")
    assert len(repr(run)) < 120
    assert "secret" not in repr(run)


VALID = asyncio.run(waiting_run()).to_json()


def places(value, path=()):
    """Yield every place in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from([path for path in places(VALID) if path]), JSON)
def test_a_run_with_anything_in_any_place_is_a_run_or_refused(path, to):
    """No other error is raised, and a run that was read can be written and continued."""
    try:
        run = Run.from_json(change_value(VALID, *path, to=to))
    except ValueError:
        return
    assert Run.loads(run.dumps()).to_json() == run.to_json() or "NaN" in run.dumps()
    assert isinstance(run.text, str)
    assert all(isinstance(request.id, str) for request in run.requests)


async def test_an_empty_answer_is_empty():
    """Text beside calls and the answer to an earlier prompt are not shown as the answer."""
    message = AssistantMessage(text="I look.", calls=(call("look", "1", what="oak"),))
    agent = Shed().agent([message, "", "Yes.", "", message])
    run = await agent.run("is it done?")
    assert (run.status, run.text) == ("done", "")
    run = await agent.run("is it?", run=run)
    assert run.text == "Yes."
    run = await agent.run("really?", run=run)
    assert (run.status, run.text) == ("done", "")
    assert Run.loads(run.dumps()).text == ""


@pytest.mark.parametrize("text", ["I cut.", ""])
async def test_the_text_of_an_unfinished_run_is_its_last_message(text):
    """It may stand beside calls that wait, and is not the answer to an earlier prompt."""
    waits = AssistantMessage(text=text, calls=(call("cut", "1", wood="oak"),))
    agent = Shed().agent(["Hello.", waits])
    run = await agent.run("cut", run=await agent.run("hello"))
    assert (run.status, run.text) == ("waiting", text)


async def test_a_run_that_failed_at_once_has_no_text():
    """The last answer belongs to the prompt before."""
    agent = Shed().agent(["Hello."])
    run = await agent.run("cut", run=await agent.run("hello"))
    assert (run.status, run.text) == ("failed", "")


async def test_mixing_up_loads_and_from_json_raises_an_error_that_names_the_right_one():
    run = await Shed().agent(["Hello."]).run("hi")
    with pytest.raises(TypeError, match=r"Run\.from_json\(data\)"):
        Run.loads(run.to_json())
    with pytest.raises(ValueError, match=r"Run\.loads\(text\)"):
        Run.from_json(run.dumps())
