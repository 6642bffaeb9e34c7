"""`bash` as a model meets it."""

from __future__ import annotations

import asyncio
import os
import re

import pytest

from tests.clocks import block_until, wait_until
from toolkit import BadArgs, Catalog, Context, Dispatcher, Permissions, Session, ToolError
from toolkit.approvals.read_only_guard import read_only
from toolkit.builtin.commands.bash_tool import bash_for
from toolkit.builtin.commands.job_tools import job_output_for
from toolkit.builtin.commands.shell_state import (
    Shell,
    build_environment,
    end_shells,
    shell_of,
)
from toolkit.sandbox import Limits, Sandbox, best_sandbox
from toolkit.sandbox.launcher.launch import _make_cgroup
from toolkit.workspace import Workspace

from ...sandbox.levels import ALL, REAL, level, running

pytestmark = [pytest.mark.anyio, pytest.mark.first_cases(2)]


HOME = os.path.expanduser("~")
exists = os.path.exists


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


@pytest.fixture
def workspace(tmp_path):
    """One with a folder in it."""
    (tmp_path / "root" / "sub").mkdir(parents=True)
    return Workspace(tmp_path / "root")


@pytest.fixture
def bash(workspace, session):
    """Run a command, and give the text of the result; without a sandbox unless a level is named."""
    dispatchers = {}

    async def run(command, *, name="none", session=session, on_progress=None, **arguments):
        if name not in dispatchers:
            catalog = Catalog()
            catalog.add(
                bash_for(workspace, sandbox=level(workspace, name), keep=["KEPT", "OTHER"], env={"GIVEN": "yes"})
            )
            dispatchers[name] = Dispatcher(catalog, permissions=Permissions("bypass"))
        return (await dispatchers[name].call("bash", {"command": command, **arguments}, session=session)).text

    return run


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo hello", "hello"),
        ("echo out; echo err >&2", "out\nstderr: err"),
        ("echo err >&2; exit 3", "stderr: err\nexit code: 3"),
        ("true", "(no output)"),
        ("exit 1", "exit code: 1"),
        ("printf 'a\\n\\n  b\\n'", "a\n\n  b"),
        ("kill -9 $$", "exit code: 137 (killed)"),
        ("cat", "(no output)"),
        ("read line || echo nothing to read", "nothing to read"),
        ("printf '\\033[31mred\\033[0m\\a'", "red\\x07"),
        ("echo $0 $# $TERM", "bash 0 dumb"),
        ("echo one\necho two", "one\ntwo"),
        ("[[ -o noclobber ]] || echo bash", "bash"),
        ("echo $GIVEN", "yes"),
    ],
)
async def test_the_result_reads_like_a_terminal(bash, command, text):
    """Standard output, then standard error by name, then the exit code if it is not 0."""
    assert await bash(command) == text


@pytest.mark.parametrize(
    ("command", "kind", "text", "details"),
    [
        ("echo out; exit 3", "failed", "out\nexit code: 3", {"exit_code": 3}),
        ("echo words | grep nothing", "failed", "exit code: 1", {"exit_code": 1}),
        ("echo out; kill -9 $$", "failed", "out\nexit code: 137 (killed)", {"exit_code": 137}),
        (
            "echo out; sleep 61.19",
            "timeout",
            "out\ntimed out: it took longer than 1 s and was ended, with everything it started",
            {"stopped": "timeout"},
        ),
    ],
    ids=["fails", "finds nothing", "is killed", "takes too long"],
)
@pytest.mark.parametrize("name", ALL)
async def test_a_command_that_fails_is_an_error_with_its_output(workspace, name, command, kind, text, details):
    """Every exit code but 0 counts as a failure, and the text is what it would be without one."""
    catalog = Catalog(bash_for(workspace, sandbox=level(workspace, name)))
    dispatcher = Dispatcher(catalog, permissions=Permissions("bypass"))
    result = await dispatcher.call("bash", {"command": command, "timeout_seconds": 1 if kind == "timeout" else 60})
    assert (result.kind, result.is_error, result.text) == (kind, True, text)
    assert result.error.details == details
    assert text.endswith(result.error.message)
    with pytest.raises(ToolError, match=re.escape(result.error.message)):
        result.unwrap()


async def test_a_command_that_succeeds_is_not_an_error(workspace):
    """Output on standard error does not make it an error, and neither does a process that is left running."""
    dispatcher = Dispatcher(Catalog(bash_for(workspace, sandbox="none")), permissions=Permissions("bypass"))
    result = await dispatcher.call("bash", {"command": "false; echo error >&2; sleep 62.23 & true"})
    assert (result.kind, result.is_error) == ("ok", False)


@pytest.mark.parametrize("name", ALL)
async def test_the_working_folder_and_named_variables_are_kept(bash, name, workspace):
    """Other variables, functions and options are not kept."""
    assert await bash("cd sub; KEPT='a b\nc'; LOST=x; f() { :; }; set -f", name=name) == "(no output)"
    assert await bash('echo "$PWD|$KEPT|$LOST|$-"; type f', name=name) == (
        f"{workspace.root}/sub|a b\nc||hBc\nstderr: bash: line 1: type: f: not found\nexit code: 1"
    )
    assert await bash("unset KEPT; cd ..", name=name) == "(no output)"
    assert await bash('echo "$PWD|${KEPT-gone}"', name=name) == f"{workspace.root}|gone"


async def test_the_folder_is_kept_when_a_command_exits_or_fails(bash, workspace):
    assert await bash("cd sub; exit 4") == "exit code: 4"
    assert await bash("pwd") == f"{workspace.root}/sub"
    assert "syntax error" in await bash("cd ..; if")
    assert await bash("pwd") == f"{workspace.root}/sub"


async def test_a_folder_outside_is_not_kept(bash, workspace):
    """The next command starts at the root, and the result says so."""
    assert "the working folder is" in await bash("cd /usr")
    assert await bash("pwd") == workspace.root


async def test_a_working_folder_that_was_removed_is_replaced_by_the_root(bash, workspace):
    """The result says so once, if another process or the command itself removed it."""
    await bash("cd sub")
    os.rmdir(os.path.join(workspace.root, "sub"))
    root = workspace.root
    assert await bash("pwd") == f"{root}\nnote: the working folder was {root}: {root}/sub is gone"
    assert await bash("pwd") == root
    assert "is gone, or outside of the workspace" in await bash("mkdir own; cd own; rmdir ../own")


async def test_a_working_folder_that_became_a_link_outside_is_replaced_by_the_root(bash, workspace, tmp_path):
    """The folder has to be inside the workspace when the next command starts."""
    await bash("cd sub")
    os.rename(f"{workspace.root}/sub", f"{workspace.root}/other")
    os.symlink(tmp_path, f"{workspace.root}/sub")
    assert (await bash("pwd -P")).startswith(f"{workspace.root}\nnote: the working folder was")


async def test_conversations_do_not_see_each_other(bash, workspace):
    """Each has its own folder, variables and temporary files."""
    other = Session()
    await bash("cd sub; KEPT=mine; echo x > $TMPDIR/file; echo y > ~/file")
    for session in (other, None):
        assert await bash('pwd; echo "$KEPT"; ls -A $TMPDIR; ls -A ~', session=session) == f"{workspace.root}\n\nhome"
    assert await bash("cat $TMPDIR/file ~/file") == "x\ny"
    end_shells(other)


async def test_the_private_folder_is_removed_after_a_call_without_a_session(bash):
    private = await bash("echo $TMPDIR", session=None)
    assert not exists(private)


@pytest.mark.parametrize("name", ALL)
async def test_a_command_that_times_out_keeps_its_output(bash, name):
    """The result says that the time was up."""
    text = await bash("echo before; sleep 61.11", name=name, timeout_seconds=1)
    assert text == "before\ntimed out: it took longer than 1 s and was ended, with everything it started"
    assert running("61.11") == []


@pytest.mark.parametrize("name", ALL)
async def test_a_flood_is_bounded(bash, name):
    """The beginning, the end, and how much was between."""
    text = await bash("echo first; yes | head -c 5000000; echo last", name=name)
    assert text.startswith("first\ny\n")
    assert text.endswith("y\nlast")
    assert "[... 4,982,011 bytes left out ...]" in text
    assert len(text) < 19_000


@pytest.mark.long
async def test_an_endless_output_is_cut_and_ended_in_time(bash):
    text = await bash("yes", timeout_seconds=2)
    assert "bytes left out" in text
    assert "timed out" in text


async def test_a_process_left_running_is_ended_with_a_note(bash):
    """The note names the better way, `background`."""
    text = await bash("sleep 62.22 & echo done")
    assert text == "done\nnote: 1 process still ran and was ended with it; use `background` for servers and watchers"
    assert running("62.22") == []


async def test_several_processes_left_running_are_counted(bash):
    """All of them are ended."""
    text = await bash("sleep 62.33 & sleep 62.33 & echo done")
    assert "note: 2 processes still ran and were ended with it" in text
    assert running("62.33") == []


async def test_bash_counts_the_lines_of_the_command(bash):
    """The lines of the wrapper around it do not count."""
    assert "bash: line 3: nosuchcommand: command not found" in await bash("true\n\nnosuchcommand")


async def test_output_is_reported_before_the_command_has_ended(workspace):
    catalog, progress_came = Catalog(), asyncio.Event()
    catalog.add(bash_for(workspace, sandbox="none"))
    gate = os.path.join(workspace.root, "gate")
    os.mkfifo(gate)
    messages = []

    def listen(progress):
        messages.append(progress.message)
        progress_came.set()

    async with Dispatcher(catalog, on_progress=listen) as dispatcher:
        running_call = asyncio.ensure_future(dispatcher.call("bash", {"command": "echo early; read x < gate; echo $x"}))
        await progress_came.wait()
        write(gate, "late\n")
        assert (await running_call).text == "early\nlate"
    assert messages[0] == "early\n"
    assert messages[-1] == "late\n"


async def test_a_cancelled_call_leaves_no_process(workspace):
    """The process ends before the cancellation goes on."""
    catalog, progress_came = Catalog(), asyncio.Event()
    catalog.add(bash_for(workspace, sandbox="none"))
    async with Dispatcher(catalog, on_progress=lambda progress: progress_came.set()) as dispatcher:
        call = asyncio.ensure_future(dispatcher.call("bash", {"command": "echo x; sleep 63.33"}))
        await progress_came.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert running("63.33") == []


async def test_a_command_ends_at_the_time_limit_of_its_call(workspace):
    """The answer has the output so far."""
    catalog = Catalog()
    catalog.add(bash_for(workspace, sandbox="none"))
    async with Dispatcher(catalog) as dispatcher:
        result = await dispatcher.call("bash", {"command": "echo before; sleep 64.44"}, timeout_seconds=3)
    assert result.kind == "timeout"
    assert result.text.startswith("before\ntimed out")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"command": " \n"}, "command: is empty"),
        ({"command": "echo \0"}, "command: contains a NUL"),
        ({"command": "x" * 100_001}, "command: is too long"),
        ({"command": "true", "timeout_seconds": 0}, "timeout_seconds: has to be above 0"),
        ({"command": "true", "timeout_seconds": 601}, "at most 600"),
    ],
)
async def test_bad_arguments_are_refused(bash, workspace, arguments, problem):
    """The message has the place and the remedy, also when the function is called by hand."""
    assert problem in await bash(**arguments)
    tool = bash_for(workspace, sandbox="none")
    with pytest.raises(BadArgs, match=problem):
        await tool.function(**arguments, context=Context(facts=tool.facts))


async def test_a_command_of_99_000_characters_runs(bash):
    assert await bash(f"echo {'x' * 99_000} | wc -c") == "99001"


@pytest.mark.parametrize("name", ["landlock", "limits", "none"])
async def test_a_note_says_that_a_file_that_makes_programs_run_code_was_changed(bash, name, workspace):
    os.makedirs(f"{workspace.root}/.git/hooks")
    text = await bash("echo x > .git/hooks/pre-commit", name=name)
    assert text.startswith("note: it changed .git/hooks, .git/hooks/pre-commit, which can make other programs run code")


async def test_the_note_about_many_changed_files_names_a_few_and_counts_the_others(bash, workspace):
    os.makedirs(f"{workspace.root}/.git/hooks")
    assert "and 6 more, which" in await bash("cd .git/hooks; touch 0 1 2 3 4 5 6 7 8 9")


async def test_bubblewrap_prevents_a_change_of_a_protected_file(bash, workspace):
    """A new protected file is possible, and the result has a note about it."""
    os.makedirs(f"{workspace.root}/.git/hooks")
    assert "Read-only file system" in await bash("echo x > .git/hooks/pre-commit", name="bubblewrap")
    text = await bash("mkdir .vscode; echo x > .vscode/tasks.json", name="bubblewrap")
    assert text.startswith("note: it changed .vscode/tasks.json, which")


@pytest.mark.parametrize("name", REAL)
async def test_a_command_cannot_read_secrets(bash, name, workspace):
    """This holds in the workspace and in the home folder."""
    write(f"{workspace.root}/sub/.env", "TOKEN=sesame")
    text = await bash(f"cat sub/.env; ls {HOME}/.ssh; grep -rh TOKEN .", name=name)
    assert "sesame" not in text


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
async def test_a_fork_bomb_ends_and_is_reported(workspace, name):
    """Bounded by the number of processes; run only where all of it ends with its namespace or its group."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED HERE: an ordinary user's bomb is bounded by the system; see test_launcher")
    pen = _make_cgroup(50)
    if pen is None:
        pytest.skip("NOT TESTED HERE: no control group can be made, so the bomb would hurt the machine")
    os.rmdir(pen)
    sandbox = level(workspace, name, limits=Limits(processes=50))
    tool = bash_for(workspace, sandbox=sandbox)
    # By hand: a dispatcher's safety checks refuse it.
    result = await tool.function(":(){ :|:& };:; sleep 65.55", timeout_seconds=2, context=Context(facts=tool.facts))
    assert "fork: retry: Resource temporarily unavailable" in result.text
    assert result.kind == "timeout"
    block_until(lambda: not running("65.55"))


# Facts, and when a person is asked.


@pytest.mark.parametrize("name", ALL)
def test_the_facts_name_the_sandbox(workspace, name):
    """A command is destructive in any sandbox; the weak level asks for every command if it was not chosen by name."""
    tool = bash_for(workspace, sandbox=level(workspace, name))
    assert (tool.name, tool.facts.destructive, tool.facts.group) == ("bash", True, "shell")
    contained = name == "bubblewrap"
    assert tool.facts.metadata == {"sandbox": {"name": name, "network": name not in REAL, "contained": contained}}
    assert tool.facts.approval == ("always" if name == "limits" else "never")


def test_the_sandbox_none_has_to_be_chosen(workspace):
    """Then the tool does not ask by itself. Without a choice, the strongest sandbox is used."""
    assert bash_for(workspace, sandbox="none").facts.metadata["sandbox"]["name"] == "none"
    assert bash_for(workspace).facts.metadata["sandbox"]["name"] == best_sandbox(workspace).name


async def test_the_preview_shows_the_command_and_its_sandbox(workspace):
    tool = bash_for(workspace, sandbox="none")
    preview = tool.facts.preview({"command": "ls"}).text
    assert preview.startswith(f"$ ls\nin {workspace.root}\nsandbox: none, network on\n")
    assert tool.facts.summary({"command": "ls"}) == "$ ls"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"sandbox": "docker"}, TypeError),
        ({"sandbox": "none", "keep": "PATH"}, TypeError),
        ({"sandbox": "none", "keep": ["a b"]}, ValueError),
        ({"sandbox": "none", "env": {"A=B": "x"}}, ValueError),
        ({"sandbox": "none", "env": {"A": "x\0"}}, ValueError),
    ],
)
def test_an_invalid_option_is_refused(workspace, options, error):
    with pytest.raises(error):
        bash_for(workspace, **options)


def test_a_network_that_the_sandbox_does_not_have_is_refused(workspace):
    sandbox = Sandbox(name="landlock", network=False, does=(), does_not=(), plan=lambda argv, cwd, private: {})
    with pytest.raises(ValueError, match="network=True"):
        bash_for(workspace, sandbox=sandbox, network=True)


# What a command finds, and what it says at its end.


def test_a_shell_can_end_while_a_preview_is_made(workspace):
    """The garbage collector comes by when it likes; the folder goes, and the preview has written nothing."""
    shell = Shell(workspace.root)
    private = shell.private_folder
    with read_only() as tried:
        del shell
    assert tried == []
    assert not os.path.exists(private)


def test_a_command_gets_only_a_few_variables_of_our_environment(workspace, monkeypatch):
    """It gets a list of names, the readable folders of PATH, and the variables that the caller gave."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("PATH", "/usr/bin:relative:/nowhere/bin:/bin")
    shell = Shell(workspace.root)
    sandbox = Sandbox(
        name="none", network=True, does=(), does_not=(), plan=lambda argv, cwd, private: {}, shows=("/usr",)
    )
    environment = build_environment(sandbox, {"MINE": "1"}, shell.private_folder, {})
    assert set(environment) - {"LANG", "LANGUAGE", "TZ"} - {
        variable for variable in environment if variable.startswith("LC_")
    } == {
        "PATH",
        "TERM",
        "PAGER",
        "GIT_PAGER",
        "GIT_TERMINAL_PROMPT",
        "HOME",
        "TMPDIR",
        "MINE",
    }
    assert environment["LC_TIME"] == "C"
    assert environment["PATH"] in {"/usr/bin", "/usr/bin:/bin"}
    shell.close()


def test_a_path_without_readable_folders_is_the_systems(workspace, monkeypatch):
    """A command always finds the usual programs."""
    monkeypatch.setenv("PATH", "/nowhere")
    shell = Shell(workspace.root)
    sandbox = Sandbox(
        name="none", network=True, does=(), does_not=(), plan=lambda argv, cwd, private: {}, shows=("/usr",)
    )
    assert build_environment(sandbox, {}, shell.private_folder, {})["PATH"] == os.defpath
    shell.close()


async def test_a_command_does_not_run_without_bash(workspace, monkeypatch):
    """The checks read a command as bash does, and another shell would run `((id))`."""
    monkeypatch.setattr("toolkit.builtin.commands.bash_tool._BASH_FILES", ("/nowhere/bash",))
    dispatcher = Dispatcher(Catalog(bash_for(workspace)), permissions=Permissions(mode="bypass"))
    result = await dispatcher.call("bash", {"command": "((id))"})
    assert result.kind == "failed"
    assert "no bash at /nowhere/bash" in result.text


def test_a_forked_child_does_not_own_the_shell_of_its_parent(workspace):
    """Closing it in the child removes no folder of the parent."""
    shell = Shell(workspace.root)
    child = os.fork()
    if child == 0:
        shell.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert os.path.isdir(shell.private_folder)
    shell.close()
    assert not os.path.exists(shell.private_folder)


def test_a_shell_that_was_closed_is_replaced(workspace, session):
    """A conversation goes on after its shell was ended."""
    first = shell_of(session, workspace.root)
    assert shell_of(session, workspace.root) is first
    first.close()
    assert shell_of(session, workspace.root) is not first


@pytest.mark.parametrize("background", [False, True])
async def test_a_secret_saved_again_while_a_command_runs_is_not_shown(workspace, session, background):
    """The command is ended, and nothing of what it printed is told."""
    secret, ready = os.path.join(workspace.root, ".env"), os.path.join(workspace.root, "ready")
    write(secret, "old")
    dispatcher = Dispatcher(
        Catalog(bash_for(workspace, sandbox=level(workspace, "bubblewrap")), job_output_for(workspace)),
        permissions=Permissions("bypass"),
    )
    command = "touch ready; while :; do cat .env; done 2>/dev/null"
    call = dispatcher.call("bash", {"command": command, "background": background}, session=session)
    running = asyncio.ensure_future(call)
    await wait_until(lambda: exists(ready))
    write(secret + ".new", "hunter2")
    os.replace(secret + ".new", secret)
    text = (await running).text
    if background:
        shell = shell_of(session, workspace.root)
        await wait_until(lambda: shell.jobs.all()[0].is_over)
        text = (await dispatcher.call("job_output", {"job": "job_1"}, session=session)).text
    assert "stopped: a protected file was replaced or removed" in text
    assert "hunter2" not in text
