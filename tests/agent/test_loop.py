"""
The loop: what is asked, how a reply ends it, and what becomes of errors.
"""

from __future__ import annotations

import json
import logging
import sys

import pytest

from tests.agent.kit import Shed, call, results_of
from toolkit.agent import Agent, Budget, Run
from toolkit.catalog import Catalog
from toolkit.content import ImagePart
from toolkit.dispatcher import Dispatcher
from toolkit.errors import CatalogError, ProviderError, Transient
from toolkit.hooks import Deny, Halt, Proceed, RunEnded, ShellHook, ShellHooks
from toolkit.providers import AssistantMessage, Native, Reply, ScriptedProvider, ToolMessage, Usage, UserMessage
from toolkit.session import Session

pytestmark = pytest.mark.anyio


async def test_an_agent_made_of_a_list_of_functions_asks_about_changes():
    """An agent that was given no dispatcher makes one that asks."""
    done = []

    def cut(wood: str) -> str:
        """Cut wood."""
        done.append(wood)
        return "cut"

    run = await Agent(ScriptedProvider([[call("cut", wood="oak")]]), [cut]).run("go")
    assert (run.status, done) == ("waiting", [])
    run = await Agent(ScriptedProvider([[call("cut", wood="oak")], "Done."]), Catalog(cut), mode="auto").run("go")
    assert (run.status, done) == ("done", ["oak"])


@pytest.mark.parametrize("tools", ["read", 5, None])
def test_tools_of_a_wrong_type_are_refused(tools):
    """The message names the three types that are accepted."""
    with pytest.raises(TypeError, match="a Dispatcher, a catalog or a list of functions"):
        Agent(ScriptedProvider([]), tools)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("instructions", "the system prompt is `system`"),
        ("output_type", "that type is `output`"),
        ("model", "the model belongs to the first argument, `provider`"),
        ("temperature", "give it to the provider"),
        ("permissions", "give it to the `Dispatcher`"),
        ("deps", "`Dispatcher\\(resources=...\\)`"),
        ("handoffs", "are `hand_over_to`"),
        ("sub_agents", "`agent.as_tool\\(name, description\\)`"),
        ("usage_limits", "`budget=Budget"),
        ("middleware", "give `hooks` to the `Dispatcher`"),
        ("checkpointer", "`steps`"),
    ],
)
def test_the_error_for_an_option_of_another_library_names_ours(option, words):
    with pytest.raises(TypeError, match=f"there is no option '{option}'; .*{words}"):
        Agent(ScriptedProvider([]), [], **{option: "x"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_turns": 0}, "max_turns"),
        ({"compact_at": 5}, "compact_at"),
        ({"mode": "fast"}, "there is no mode 'fast'"),
    ],
)
def test_an_invalid_option_of_an_agent_is_refused_at_construction(options, words):
    with pytest.raises(ValueError, match=words):
        Agent(ScriptedProvider([]), [], **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"system": None}, "system cannot be None; give a text"),
        ({"max_turns": True}, "max_turns cannot be bool; give a whole number"),
        ({"max_turns": "9"}, "max_turns cannot be str; give a whole number"),
        ({"budget": None}, r"budget cannot be None; give Budget\(tokens="),
        ({"budget": Budget}, r"budget cannot be the class Budget; give Budget\(tokens="),
        ({"budget": 5000}, r"budget cannot be int; give Budget\(tokens="),
        ({"on_event": []}, "on_event cannot be list; give a function"),
        ({"plan_prompt": None}, "plan_prompt cannot be None; give a text"),
        ({"plan_tools": 5}, r"`plan_tools` is a list of names, got one: write \[5\]"),
        ({"frame_results": "yes"}, "frame_results cannot be str; give True or False"),
        ({"compact_at": "9000"}, "compact_at cannot be str; give a whole number"),
        ({"compact_at": float("nan")}, "compact_at cannot be float; give a whole number"),
        ({"session": "ada"}, r"session cannot be str; give Session\("),
        ({"clock": 0.0}, "clock cannot be float; give a function"),
    ],
)
def test_an_option_of_another_type_is_refused_with_the_right_type(options, words):
    """The library refuses it. Python would refuse it only at its first use."""
    with pytest.raises(TypeError, match=words):
        Agent(ScriptedProvider([]), [], **options)


@pytest.mark.parametrize(
    ("prompt", "error"), [("", ValueError), (" \n", ValueError), (5, TypeError), (None, ValueError)]
)
async def test_an_empty_prompt_is_refused(prompt, error):
    """Providers refuse an empty message, and then the conversation would be lost."""
    with pytest.raises(error):
        await Agent(ScriptedProvider([]), []).run(prompt)


async def test_a_prompt_may_be_a_picture_without_text():
    prompt = UserMessage((ImagePart(b"\x89PNG\r\n\x1a\n"),))
    run = await Agent(ScriptedProvider(["A dot."]), []).run(prompt)
    assert run.messages[0] is prompt


async def test_definitions_are_read_again_each_turn():
    """A tool that comes while the agent works can be called in the next turn; one that goes is gone."""
    shed = Shed("auto")

    @shed.catalog.tool
    def plant(tree: str) -> str:
        """Plant a tree."""

        @shed.catalog.tool(name=f"pick_{tree}")
        def pick() -> str:
            """Pick a fruit."""
            return f"a fruit of the {tree}"

        shed.catalog.remove("plant")
        return "planted"

    agent = shed.agent([[call("plant", tree="apple")], [call("pick_apple")], "Good."])
    run = await agent.run("go")
    assert results_of(run)[0].text == "a fruit of the apple"
    assert [set(request.tools) & {"plant", "pick_apple"} for request in agent.asked[:2]] == [{"plant"}, {"pick_apple"}]


async def test_deferred_tools_are_found_by_the_search_of_the_agent():
    """The search is offered while there are tools to find, and found tools are offered from then on."""
    shed = Shed("auto")
    agent = shed.agent(["Nothing.", [call("tool_search", query="sharpen a saw")], [call("sharpen")], "Sharp."])
    await agent.run("hello")
    assert "tool_search" not in agent.asked[0].tools

    @shed.catalog.tool(defer=True, read_only=True)
    def sharpen() -> str:
        """Sharpen a saw."""
        return "sharp"

    run = await agent.run("go")
    assert (run.status, results_of(run)[0].text) == ("done", "sharp")
    assert [("tool_search" in request.tools, "sharpen" in request.tools) for request in agent.asked[1:]] == [
        (True, False),
        (True, True),
        (True, True),
    ]
    assert Run.loads(run.dumps()).session.loaded == ("sharpen",)


async def test_a_tool_that_the_model_does_not_call_any_more_is_unloaded():
    """An alias counts as a call. A saved run goes on counting, and the tool can be found again."""
    shed = Shed("auto")

    @shed.catalog.tool(defer=True, read_only=True, aliases=["whet"])
    def sharpen() -> str:
        """Sharpen a saw."""
        return "sharp"

    look, search = [call("look", what="oak")], [call("tool_search", query="sharpen a saw")]
    agent = shed.agent([search, [call("whet")], look, "Good."], session=Session(unload_after=3))
    run = await agent.run("go")
    assert run.session.loaded == ("sharpen",)
    other_agent = shed.agent([look, look, search, "Sharp."])
    await other_agent.run("more", run=Run.loads(run.dumps()))
    assert [("sharpen" in request.tools) for request in agent.asked] == [False, True, True, True]
    assert [("sharpen" in request.tools) for request in other_agent.asked] == [True, False, False, True]


async def test_a_search_tool_of_the_catalog_replaces_that_of_the_agent():
    """There is only one tool of a name."""
    shed = Shed()

    @shed.catalog.tool(defer=True)
    def sharpen() -> str:
        """Sharpen a saw."""

    @shed.catalog.tool(read_only=True)
    def tool_search() -> str:
        """Find nothing."""
        return "mine"

    run = await shed.agent([[call("tool_search")], "Done."]).run("go")
    assert results_of(run)[0].text == "mine"


async def test_a_tool_that_a_rule_always_denies_is_not_offered_to_the_model():
    shed = Shed(rules=("deny burn",))
    agent = shed.agent(["Hello."])
    await agent.run("hello")
    assert agent.asked[0].tools == ("look", "cut", "fetch")


# How a reply ends the run.


def reply(stop, text="", calls=(), **fields):
    return Reply(message=AssistantMessage(text=text, calls=tuple(calls)), stop=stop, **fields)


@pytest.mark.parametrize(
    ("stop", "status", "why"),
    [
        ("answer", "done", None),
        ("calls", "done", None),
        ("length", "stopped", "length"),
        ("refusal", "stopped", "refusal"),
        ("other", "stopped", "other"),
    ],
)
async def test_a_reply_without_calls_ends_the_run(stop, status, why):
    """The stop reason of the reply decides the status."""
    run = await Agent(ScriptedProvider([reply(stop, "Well.")]), []).run("go")
    assert (run.status, run.stop, run.text, bool(run.reason)) == (status, why, "Well.", why is not None)


async def test_a_paused_reply_is_sent_back_and_goes_on():
    """Some providers want to be asked again in the middle."""
    provider = ScriptedProvider([reply("paused", "Thinking."), "Done."])
    run = await Agent(provider, []).run("go")
    assert (run.status, run.turns) == ("done", 2)
    assert provider.requests[1].messages[-1].text == "Thinking."


@pytest.mark.parametrize(("stop", "status"), [("length", "done"), ("refusal", "stopped")])
async def test_calls_of_a_reply_that_was_cut_off_are_not_run(stop, status):
    """Half of their arguments may be missing; the model is told, and may call again."""
    shed = Shed("auto")
    agent = shed.agent([reply(stop, calls=[call("cut", "c1", wood="oak")]), "Sorry."])
    run = await agent.run("go")
    assert (run.status, shed.done, results_of(run)[0].kind) == (status, [], "cancelled")
    assert "not run" in results_of(run)[0].text


@pytest.mark.parametrize("text", ["", " \n "])
async def test_an_empty_reply_is_not_kept(text):
    """Providers refuse to read it again."""
    agent = Agent(ScriptedProvider([text, "Hello."]), [])
    run = await agent.run("go")
    assert (run.status, run.text, len(run.messages)) == ("done", "", 1)
    assert (await agent.run("again", run=run)).text == "Hello."


async def test_the_native_form_of_a_reply_goes_back_to_the_provider_unchanged():
    """Thinking and signatures are examples of it."""
    native = Native("scripted", [{"type": "thinking", "signature": "x"}])
    shed = Shed()
    agent = shed.agent([AssistantMessage(text="Hm.", calls=(call("look", "c1", what="oak"),), native=native), "Done."])
    await agent.run("go")
    assert agent.asked[1].messages[1].native == native


# Errors.


@pytest.mark.parametrize("error", [ProviderError("no such model"), Transient("overloaded")])
async def test_a_run_that_failed_at_the_provider_can_be_continued(error):
    """The conversation up to the failure is kept."""
    shed = Shed()
    agent = shed.agent([[call("look", what="oak")], error, "Done."])
    run = await agent.run("go")
    assert (run.status, run.reason, run.error) == ("failed", str(error), error)
    assert isinstance(run.messages[-1], ToolMessage)
    run = await agent.run(run=Run.loads(run.dumps()))
    assert (run.status, run.error, shed.done) == ("done", None, ["look oak"])


@pytest.mark.parametrize("error", [RuntimeError("a bug"), CatalogError("two tools of one name")])
async def test_error_that_a_person_has_to_mend_is_raised(error):
    """The run is kept first, so no message is lost."""
    shed = Shed()
    agent = shed.agent([[call("look", what="oak")], error, "Done."])
    with pytest.raises(type(error)):
        await agent.run("go")
    assert (agent.last_run.status, agent.last_run.error) == ("failed", error)
    assert (await agent.run(run=agent.last_run)).status == "done"


async def test_a_bug_that_a_dispatcher_raises_leaves_a_valid_conversation():
    """Every call has a result, what had ended keeps its own."""
    shed = Shed("auto")

    @shed.catalog.tool
    async def trip() -> str:
        """Fall."""
        raise ZeroDivisionError

    agent = shed.agent(
        [[call("cut", wood="oak"), call("trip"), call("cut", wood="elm")]], dispatcher=shed.dispatcher(raise_bugs=True)
    )
    with pytest.raises(ZeroDivisionError):
        await agent.run("go")
    cut, tripped, skipped = results_of(agent.last_run)
    assert (cut.kind, tripped.kind, skipped.kind) == ("ok", "cancelled", "cancelled")
    assert "may or may not" in tripped.text
    assert "was not run" in skipped.text


async def test_an_answered_run_is_continued_with_a_prompt_only():
    """There is nothing to go on with otherwise."""
    agent = Agent(ScriptedProvider(["Hello.", "Again."]), [])
    run = await agent.run("hello")
    with pytest.raises(ValueError, match="give a prompt"):
        await agent.run(run=run)
    more = await agent.run("more", run=Run.loads(run.dumps()))
    assert (more.text, more.id, len(more.messages)) == ("Again.", run.id, 4)


async def test_usage_is_summed_over_the_conversation():
    """`run.spent` counts only from the last prompt."""
    replies = [reply("answer", "One.", usage=Usage(input_tokens=10, output_tokens=1)) for _ in range(2)]
    agent = Agent(ScriptedProvider(replies), [])
    run = await agent.run("more", run=await agent.run("go"))
    assert (run.usage.input_tokens, run.spent.usage.input_tokens, run.turns) == (20, 10, 1)


# Hooks.


async def test_a_halt_ends_the_run_and_says_why():
    """The rest of the batch is not run, and the model is not asked again."""
    shed = Shed("auto")

    class Fire:
        def before(self, call):
            return Halt("fire") if call.name == "burn" else Proceed()

    agent = shed.agent(
        [[call("cut", wood="oak"), call("burn", wood="oak"), call("cut", wood="elm")]],
        dispatcher=shed.dispatcher(hooks=[Fire()]),
    )
    run = await agent.run("go")
    assert (run.status, run.stop, run.reason, shed.done) == ("stopped", "halt", "fire", ["cut oak"])
    assert [result.kind for result in results_of(run)] == ["ok", "halted", "halted"]


async def test_hooks_are_called_once_when_an_agent_starts():
    """They receive the run, the verb, the provider, the model and the mode."""
    starts = []

    class Diary:
        def before(self, call):
            return Proceed()

        async def agent_started(self, session, *, details):
            starts.append((session.id, dict(details)))
            return Proceed()

    shed = Shed()
    session = Session()
    agent = shed.agent(
        [[call("look", what="oak")], "Done."], dispatcher=shed.dispatcher(hooks=[Diary()]), session=session
    )
    run = await agent.run("go")
    ((session_id, started),) = starts
    assert session_id == session.id
    assert started == {"run": run.id, "verb": "run", "provider": "scripted", "model": "scripted", "mode": "default"}


@pytest.mark.parametrize("outcome", [Halt("not on Sundays"), Deny("not on Sundays")])
async def test_a_hook_may_keep_an_agent_from_starting(outcome):
    """The model is not asked then."""

    class Sabbath:
        def before(self, call):
            return Proceed()

        def agent_started(self, session, *, details):
            return outcome

    agent = Shed().agent([], dispatcher=Shed().dispatcher(hooks=[Sabbath()]))
    run = await agent.run("go")
    assert (run.status, run.stop, run.reason, len(run.messages)) == ("stopped", "halt", "not on Sundays", 1)


async def test_a_hook_that_fails_at_the_start_fails_closed_and_a_listener_is_logged(caplog):
    """A check that did not take place was not passed."""

    class Broken:
        def before(self, call):
            return Proceed()

        def agent_started(self, session, *, details):
            raise ValueError("oops")

        async def on_event(self, event):
            if isinstance(event, RunEnded):
                raise OSError("oops")

    agent = Shed().agent([], dispatcher=Shed().dispatcher(hooks=[Broken()]))
    with caplog.at_level(logging.WARNING, "toolkit"):
        run = await agent.run("go")
    assert (run.status, "oops" in run.reason) == ("stopped", True)
    assert len(caplog.records) == 2


async def test_shell_hooks_run_at_the_start_and_the_end_of_an_agent(tmp_path):
    log = tmp_path / "log"
    hooks = ShellHooks([ShellHook(on=("agent_start", "run_ended"), command=f"cat >> {log}")])
    run = await Shed().agent(["Done."], dispatcher=Shed().dispatcher(hooks=[hooks])).run("go")
    assert run.status == "done"
    start, end = map(json.loads, log.read_text().splitlines())
    assert (start["event"], end["event"]) == ("agent_start", "run_ended")
    assert (end["details"]["status"], end["details"]["turns"], end["details"]["run"]["id"]) == ("done", 1, run.id)


async def test_a_shell_hook_that_exits_with_code_2_forbids_the_start():
    hooks = ShellHooks([ShellHook(on="agent_start", command="echo tired >&2; exit 2")])
    run = await Shed().agent([], dispatcher=Shed().dispatcher(hooks=[hooks])).run("go")
    assert (run.status, run.reason) == ("stopped", "tired")


async def test_an_agent_does_not_change_its_dispatcher():
    """The tools of the agent are not in its catalog, and its settings are its own."""
    shed, reports = Shed("auto"), []
    dispatcher = Dispatcher(shed.catalog, permissions=shed.permissions, on_progress=reports.append)
    agent = shed.agent([[call("burn", wood="oak")], "Done."], dispatcher=dispatcher, mode="bypass", plan_tools=["look"])
    await agent.run("go")
    assert "exit_plan" not in dispatcher.catalog
    assert [progress.message for progress in reports] == ["it smokes"]
    assert (await dispatcher.call("look", {"what": "x"})).kind == "ok"


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"frame_results": True}], ids=["plain", "framed"])
async def test_the_cost_of_a_turn_does_not_grow_with_the_conversation(options):
    """
    The measure is the number of Python calls, which no busy machine changes. Twice the turns are about twice the
    work.
    """

    async def calls_of(turns):
        agent = Shed().agent([[call("look", what="oak")]] * turns + ["Done."], max_turns=turns + 1, **options)
        count = 0

        def count_call(frame, event, argument):
            nonlocal count
            count += event == "call"

        before = sys.getprofile()
        sys.setprofile(count_call)
        try:
            await agent.run("go")
        finally:
            sys.setprofile(before)
        return count

    await calls_of(5)  # what is made once, and kept
    assert await calls_of(160) < 2.2 * await calls_of(80)
