"""A command that a person agreed to runs where they saw it would run, and is judged from there."""

from __future__ import annotations

import asyncio
import os

import pytest

from toolkit import Catalog, Context, Decision, Dispatcher, Permissions, ToolCall
from toolkit.builtin.commands.bash_tool import bash_for
from toolkit.builtin.commands.shell_state import end_shells, shell_of
from toolkit.builtin.commands.start_state import StartState, StartStates, start_state_of
from toolkit.decisions import Changed, Precondition
from toolkit.policies.redaction import MASK
from toolkit.workspace import Workspace

pytestmark = pytest.mark.anyio

YES = Decision.approve(by="ada")


@pytest.fixture
def workspace(tmp_path):
    """A project with the same names in two folders."""
    for folder in ("build", "sub/build", ".git"):
        (tmp_path / "root" / folder).mkdir(parents=True)
    return Workspace(tmp_path / "root")


@pytest.fixture
def dispatcher(workspace):
    """Makes dispatchers with `bash` alone, in a mode."""
    catalog = Catalog(bash_for(workspace, sandbox="none", keep=["NAME", "API_TOKEN"]))

    def make(mode="default", rules=()):
        return Dispatcher(catalog, permissions=Permissions(mode, rules), safety=workspace.safety())

    return make


@pytest.fixture
def move(dispatcher, session):
    """Run a command unasked."""
    free = dispatcher("bypass")

    async def run(command):
        return (await free.call("bash", {"command": command}, session=session)).text

    return run


async def test_the_folder_and_the_kept_variables_are_shown(dispatcher, workspace, session, move):
    """Values that look secret are masked."""
    await move("cd sub; NAME='a b'; API_TOKEN=hunter2")
    waiting = await dispatcher().call("bash", {"command": "rm -r build"}, session=session)
    lines = waiting.request.preview.splitlines()
    assert lines[:4] == ["$ rm -r build", f"in {workspace.root}/sub", "kept: NAME=a b", f"kept: API_TOKEN={MASK}"]
    assert "hunter2" not in repr(waiting.request.to_json())


async def test_an_approved_command_runs_in_the_folder_that_the_user_saw(dispatcher, workspace, session, move):
    """The shell has not moved, so the user is not asked twice."""
    await move("cd sub")
    asking = dispatcher()
    waiting = await asking.call("bash", {"command": "pwd"}, session=session)
    result = await asking.resume(waiting.request.id, YES, session=session)
    assert (result.kind, result.text) == ("ok", f"{workspace.root}/sub")


@pytest.mark.parametrize("command", ["cd sub", "NAME=other", "cd sub; NAME=other"])
async def test_a_command_is_asked_about_again_after_its_conversation_has_moved(
    dispatcher, workspace, session, move, command
):
    """The new request shows what would happen now, and after that approval the command runs."""
    asking = dispatcher()
    waiting = await asking.call("bash", {"command": "rm -r build; pwd"}, session=session)
    await move(command)
    again = await asking.resume(waiting.request.id, YES, session=session)
    assert again.kind == "waiting"
    assert "not in the state that a person agreed to" in again.request.reason
    assert again.request.preview != waiting.request.preview
    result = await asking.resume(again.request.id, YES, session=session)
    assert result.kind == "ok"
    assert result.text == shell_of(session, workspace.root).cwd


async def test_a_job_is_bound_as_well(dispatcher, session, move):
    """It starts in the same folder as a command."""
    asking = dispatcher()
    waiting = await asking.call("bash", {"command": "true", "background": True}, session=session)
    await move("cd sub")
    assert (await asking.resume(waiting.request.id, YES, session=session)).kind == "waiting"


async def test_another_process_asks_again_unless_the_folder_is_the_root(dispatcher, session, move):
    """The conversation has no folder there, so only an approval for the root holds."""
    asking = dispatcher()
    at_root = await asking.call("bash", {"command": "true"}, session=session)
    await move("cd sub")
    below = await asking.call("bash", {"command": "true"}, session=session)
    assert (await asking.resume(at_root.request.id, YES)).kind == "ok"
    assert (await asking.resume(below.request.id, YES)).kind == "waiting"


@pytest.mark.parametrize(
    ("rules", "kinds"),
    [
        (["allow bash(rm -r build)"], ("ok", "waiting")),
        (["allow bash(rm -r build)", "allow bash(cd:*)"], ("ok", "ok")),
        (["deny bash(rm -r sub/build)"], ("waiting", "waiting")),
    ],
)
async def test_rules_judge_a_command_as_written_from_the_root(dispatcher, session, move, rules, kinds):
    """An allow for a command says nothing about folders that the conversation went to, unless `cd` is allowed, too."""
    ruled = dispatcher("default", rules)
    first = await ruled.call("bash", {"command": "rm -r build"}, session=session)
    await move("cd sub")
    second = await ruled.call("bash", {"command": "rm -r build"}, session=session)
    assert (first.kind, second.kind) == kinds


class Moving:
    """A hook that has the conversation move on after a call was judged, and before it runs."""

    def __init__(self, move, command):
        self._move, self._command = move, command

    async def around(self, call, run):
        await self._move(self._command)
        return await run()


@pytest.fixture
def moving(workspace, move):
    """Makes a dispatcher with rules for the root alone, whose calls are overtaken by a command."""
    catalog = Catalog(bash_for(workspace, sandbox="none", keep=["NAME"]))

    def make(command, mode="default"):
        permissions = Permissions(mode, ["allow bash(printenv:*)", "allow bash(pwd)"])
        return Dispatcher(catalog, permissions=permissions, hooks=[Moving(move, command)], safety=workspace.safety())

    return make


async def test_a_command_runs_where_it_was_judged(moving, workspace, session):
    """This holds also if another call has moved the conversation meanwhile."""
    overtaken = moving("cd sub; NAME=other")
    result = await overtaken.call("bash", {"command": "printenv PWD NAME"}, session=session)
    assert (result.kind, result.text) == ("failed", f"{workspace.root}\nexit code: 1")  # for the name that is not set


async def test_a_job_runs_in_the_folder_that_was_judged(moving, workspace, session):
    await moving("cd sub").call("bash", {"command": "pwd", "background": True}, session=session)
    job = shell_of(session, workspace.root).jobs.all()[0]
    assert job.wait(20)
    assert job.read().strip() == workspace.root


@pytest.mark.long
async def test_simultaneous_calls_never_run_where_they_were_not_judged(dispatcher, workspace, session):
    """A call that is judged in another folder, where no rule allows it, waits."""
    ruled = dispatcher("default", ["allow bash(cd sub)", "allow bash(pwd)"])
    for _ in range(3):
        calls = [ruled.call("bash", {"command": command}, session=session) for command in ("cd sub", "pwd", "pwd")]
        _, *results = await asyncio.gather(*calls)
        assert {(result.kind, result.text) for result in results if result.kind != "waiting"} <= {
            ("ok", workspace.root)
        }
        end_shells(session)


async def test_the_result_describes_the_folder_in_which_the_command_was_judged(workspace, session, move):
    """The newest folder of the session may be gone by then, which does not concern a command that started in an older one."""

    async def move_and_remove(command):
        await move(command)
        os.rmdir(f"{workspace.root}/gone")

    await move("cd sub")
    catalog = Catalog(bash_for(workspace, sandbox="none"))
    hooks = [Moving(move_and_remove, "mkdir ../gone; cd ../gone")]
    overtaken = Dispatcher(catalog, permissions=Permissions("bypass"), hooks=hooks)
    result = await overtaken.call("bash", {"command": "pwd"}, session=session)
    assert result.text == f"{workspace.root}/sub"


async def test_a_command_does_not_run_if_its_folder_is_gone(moving, workspace, session, move):
    """Another folder was not judged for it."""
    await move("mkdir gone; cd gone")
    result = await moving("cd ..; rmdir gone", "bypass").call("bash", {"command": "pwd"}, session=session)
    assert (
        result.error.message
        == f"it was to start in {workspace.root}/gone, which is not a folder any more; call it again"
    )


class Asked:
    """What a call has for permissions: it hears what is to be judged again."""

    preconditions = ()

    def __init__(self):
        self.heard = []

    def check(self, access):
        self.heard.append(access.target)


def find_start_folder(workspace, session, judged, *, most=1000):
    """Find where the call "one" runs after those in *judged*, each in a folder; and what is judged again for it."""
    start_states, shell, permissions = (
        StartStates(workspace, max_calls=most),
        shell_of(session, workspace.root),
        Asked(),
    )
    for name, folder in judged:
        shell.cwd = f"{workspace.root}{folder}"
        start_states.preflight({"command": "ls"}, ToolCall("bash", {}, name, session))
    facts = bash_for(workspace, sandbox="none").facts
    context = Context(facts=facts, call=ToolCall("bash", {}, "one", session), permissions=permissions)
    return start_states.start_state_for(context, "ls").folder.removeprefix(workspace.root), permissions.heard


@pytest.mark.parametrize(
    ("judged", "folder", "again"),
    [
        ([("one", ""), ("two", "/sub")], "", False),
        ([("one", "/sub"), ("one", "/sub"), ("two", "")], "/sub", False),
        ([("one", ""), ("one", "/sub")], "/sub", True),
        ([("one", "/sub"), ("one", ""), ("one", "/build"), ("one", "/sub")], "/sub", True),
        ([("one", ""), *((f"{number}", "") for number in range(3)), ("two", "/sub")], "/sub", True),
    ],
    ids=["once", "twice in one place", "in two places", "in three places", "forgotten"],
)
def test_a_call_whose_start_folder_is_not_known_is_judged_again(workspace, session, judged, folder, again):
    """Ids may be equal, and not every call is remembered. No call runs unjudged because of that."""
    commands = [f"cd {workspace.root}/sub\nls"] if again else []
    assert find_start_folder(workspace, session, judged, most=3) == (folder, commands)


def test_a_call_that_is_judged_again_and_again_is_remembered_once(workspace, session):
    """A program that gives all calls one id, and runs none of them, fills nothing."""
    start_states, shell = StartStates(workspace), shell_of(session, workspace.root)
    for number in range(100):
        shell.cwd = f"{workspace.root}{('', '/sub', '/build')[number % 3]}"
        start_states.preflight({"command": "ls"}, ToolCall("bash", {}, "one", session))
    assert [len(states) for states in start_states._states_by_call.values()] == [2]


class Listening:
    """A check that has nothing to say."""

    name = "listening"
    kinds = ("command",)

    def __init__(self):
        self.heard = []

    def judge(self, access):
        self.heard.append(access.target)


async def test_checks_see_the_folder(workspace, session, move):
    """`> hooks/x` is harmless at the root, and makes git run code in `.git`."""
    listening = Listening()
    asking = Dispatcher(Catalog(bash_for(workspace, sandbox="none")), safety=workspace.safety(further=[listening]))
    command = "echo x > hooks/pre-commit"
    await asking.explain("bash", {"command": command}, session=session)
    assert listening.heard == [command]
    await move("cd .git")
    await asking.explain("bash", {"command": command}, session=session)
    assert listening.heard[1:] == [command, f"cd {workspace.root}/.git\n{command}"]


async def test_a_call_by_hand_has_no_approval_to_keep_to(workspace, session):
    tool = bash_for(workspace, sandbox="none")
    assert await tool.function("pwd", context=Context(facts=tool.facts)) == workspace.root


def test_a_session_without_commands_starts_at_the_root(workspace, session):
    """Reading the state does not change the session."""
    assert (
        start_state_of(session, workspace)
        == start_state_of(None, workspace)
        == StartState(root=workspace.root, folder=workspace.root)
    )
    assert session.state == {}


@pytest.mark.parametrize(
    ("name", "value", "described_value"),
    [
        ("NAME", "plain", "plain"),
        ("NAME", "two\nlines\x1b[31m", "two\\nlines"),
        ("NAME", "x " * 100, "x " * 40 + "..."),
        ("api_key", "x", MASK),
        ("DB_PASSWORD", "x", MASK),
        ("NAME", "ghp_abc", MASK),
        ("NAME", "postgres://me:pw@host/db", MASK),
        ("NAME", "0123456789abcdef0123456789abcdef", MASK),
    ],
)
def test_values_are_shown_on_one_line_unless_they_look_secret(name, value, described_value):
    """A value is secret by its name or by itself."""
    start_state = StartState(root="/r", folder="/r", variables={name: value})
    assert start_state.describe() == f"in /r\nkept: {name}={described_value}"


def test_every_difference_counts():
    """The folder, a name, a value; their order does not."""
    variants = [
        StartState(root="/r", folder="/r"),
        StartState(root="/r", folder="/r/a"),
        StartState(root="/r", folder="/r", variables={"A": "1"}),
        StartState(root="/r", folder="/r", variables={"A": "2"}),
        StartState(root="/r", folder="/r", variables={"B": "1"}),
        StartState(root="/r", folder="/r", variables={"A": "1", "B": "\udcff"}),
    ]
    assert len({variant.precondition() for variant in variants}) == len(variants)
    turned = StartState(root="/r", folder="/r", variables={"B": "\udcff", "A": "1"})
    assert turned.precondition() == variants[-1].precondition()


def test_an_approval_of_another_start_state_does_not_count():
    """This holds for a file as well; without any agreement, the user was not asked."""
    start_state = StartState(root="/r", folder="/r")
    start_state.check(())
    start_state.check((start_state.precondition(),))
    with pytest.raises(Changed, match="it would start in /r, and not in the state that a person agreed to"):
        start_state.check((Precondition(path="/r", sha256=None),))
