"""The built-in tools through the whole dispatcher: modes, rules, approvals, safety checks and batches."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit import ApprovalError, Decision, Dispatcher, Permissions
from toolkit.builtin import Workspace, builtin_catalog, web_fetch_for
from toolkit.permissions import MODES

from ..sandbox.levels import REAL
from .project_calls import APP, OUTSIDE, edit_call, write_call
from .web.hostile_server import answer, loopback_is_public, names, serving

pytestmark = pytest.mark.anyio
RULES = ["allow write(path=src/**)", "deny bash(git push:*)", "allow web_fetch(url=https://docs.python.org/**)"]
YES = Decision.approve(by="ada")


@pytest.mark.long
def test_the_example_writes_edits_greps_and_runs_a_command():
    """The demo shows the mistake, the diff that mends it, and no secret."""
    example = Path(__file__).parents[2] / "examples" / "10_builtin_tools.py"
    run = subprocess.run([sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=True)
    assert not run.stderr
    assert re.findall(r"total: -?\d+", run.stdout) == ["total: -6", "total: 6"]
    assert "bin/total.sh:3:     total=$((total - price))" in run.stdout
    assert "      | +    total=$((total + price))" in run.stdout
    assert run.stdout.count("safety check failed") == 2
    assert "TOKEN" not in run.stdout


# Modes.

CALLS = {
    "read": {"path": "notes.txt"},
    "glob": {"pattern": "**/*.py"},
    "grep": {"pattern": "return"},
    "job_output": {},
    "write": write_call()[1],
    "edit": edit_call()[1],
    "bash": {"command": "echo hi"},
}
READS = dict.fromkeys(MODES, "ok")
WRITES = {"plan": "denied", "default": "waiting", "auto": "ok", "deny_unlisted": "denied", "bypass": "ok"}
KINDS = {
    **dict.fromkeys(("read", "glob", "grep", "job_output"), READS),
    **dict.fromkeys(("write", "edit"), WRITES),
    "bash": {**WRITES, "auto": "waiting"},
}


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", list(CALLS))
async def test_a_mode_allows_or_asks_or_denies_by_the_facts_of_a_tool(dispatcher, session, name, mode):
    """In plan mode a model only reads. In auto mode it also works on files."""
    assert (await dispatcher(mode).call(name, CALLS[name], session=session)).kind == KINDS[name][mode]


@pytest.mark.parametrize("mode", MODES)
async def test_the_web_asks_in_every_mode_that_asks_a_person(dispatcher, mode):
    """It reads only, but an address can carry something out."""
    verdict = await dispatcher(mode).explain("web_fetch", {"url": "https://example.com/"})
    assert verdict.word == {"deny_unlisted": "deny", "bypass": "allow"}.get(mode, "ask")


@pytest.mark.parametrize("mode", ["plan", "default", "deny_unlisted"])
@pytest.mark.parametrize("call", [write_call(), edit_call(), ("bash", {"command": "echo > notes.txt"})])
async def test_a_denied_or_waiting_call_changes_no_file(dispatcher, root, mode, call):
    """This includes its preview."""
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert (await dispatcher(mode).call(*call)).kind in {"denied", "waiting"}
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


# Commands and sandboxes.


@pytest.mark.parametrize(
    ("sandbox", "network"), [("limits", False), ("limits", True), ("none", False), *((name, True) for name in REAL)]
)
async def test_a_command_that_could_send_data_asks_in_auto_mode(dispatcher, sandbox, network):
    """It runs without a sandbox, or with the network on."""
    result = await dispatcher("auto", sandbox=sandbox, network=network).call("bash", {"command": "echo hi"})
    assert result.kind == "waiting"


@pytest.mark.parametrize(("sandbox", "kind"), [("bubblewrap", "ok"), ("landlock", "waiting")])
async def test_a_contained_command_runs_in_auto_mode(dispatcher, sandbox, kind):
    """With the network off, the command cannot change or send anything outside. Landlock does not promise that."""
    result = await dispatcher("auto", sandbox=sandbox).call("bash", {"command": "echo hi"})
    assert result.kind == kind


@pytest.mark.parametrize("sandbox", REAL)
async def test_a_check_that_asks_also_asks_in_a_sandbox(dispatcher, sandbox):
    result = await dispatcher("auto", sandbox=sandbox).call("bash", {"command": "cat .env"})
    assert result.kind == "waiting"
    assert "`cat .env`" in result.text


@pytest.mark.parametrize(
    ("mode", "kind"), [("default", "waiting"), ("auto", "waiting"), ("deny_unlisted", "denied"), ("bypass", "ok")]
)
async def test_an_allow_rule_does_not_lift_the_question_without_a_sandbox(dispatcher, mode, kind):
    """The user did not choose to run commands without a sandbox."""
    result = await dispatcher(mode, ["allow bash(echo:*)"], sandbox="limits").call("bash", {"command": "echo hi"})
    assert result.kind == kind


@pytest.mark.parametrize("sandbox", ["none", *REAL])
async def test_a_rule_lets_a_command_run_without_a_question(dispatcher, sandbox):
    """The command runs in a sandbox, or the application wanted none."""
    allowed = dispatcher("deny_unlisted", ["allow bash(echo:*)"], sandbox=sandbox)
    assert (await allowed.call("bash", {"command": "echo hi"})).text == "hi"
    assert (await allowed.call("bash", {"command": "echo hi > notes.txt"})).kind == "denied"


async def test_a_person_is_shown_the_command_and_its_sandbox(dispatcher, root):
    """The preview says what the sandbox does not contain."""
    waiting = await dispatcher("default").call("bash", {"command": "make all"})
    assert waiting.request.preview.startswith(f"$ make all\nin {root}\nsandbox: none, network on\n")
    assert "- not contained: it may do what the user may, on the network too" in waiting.request.preview


async def test_output_of_an_approved_command_is_reported_before_its_end(dispatcher, root, session):
    os.mkfifo(root / "gate")
    early_came, messages = asyncio.Event(), []

    def listen(progress):
        messages.append((progress.tool, progress.message))
        early_came.set()

    async with dispatcher("default", on_progress=listen) as asking:
        waiting = await asking.call("bash", {"command": "echo early; read x < gate; echo $x"}, session=session)
        assert not messages
        resumed = asyncio.ensure_future(asking.resume(waiting.request.id, YES, session=session))
        await early_came.wait()
        (root / "gate").write_text("late\n")
        assert (await resumed).text == "early\nlate"
    assert (messages[0], messages[-1]) == (("bash", "early\n"), ("bash", "late\n"))


async def test_a_job_is_asked_for_once_read_freely_and_stopped_on_request(dispatcher, session):
    """Starting and stopping change something, reading does not."""
    by = dispatcher("default")
    waiting = await by.call("bash", {"command": "echo up; sleep 600", "background": True}, session=session)
    assert (await by.resume(waiting.request.id, YES, session=session)).text.startswith("started job_1;")
    assert "job_1: running" in (await by.call("job_output", {}, session=session)).text
    stop = await by.call("job_stop", {"job": "job_1"}, session=session)
    assert stop.kind == "waiting"
    assert "job_1: stopped" in (await by.resume(stop.request.id, YES, session=session)).text


# Approvals.


@pytest.mark.parametrize(
    ("call", "minus", "plus"),
    [(write_call(), [], ["+three"]), (edit_call(), ["-    return 1"], ["+    return 2"])],
    ids=["write", "edit"],
)
async def test_a_change_waits_with_its_difference(dispatcher, root, session, call, minus, plus):
    """The shown difference is the one that is written."""
    by, path = dispatcher("default"), root / call[1]["path"]
    waiting = await by.call(*call, session=session)
    lines = waiting.request.preview.splitlines()
    assert [line for line in lines if line.startswith("-") and not line.startswith("---")] == minus
    assert [line for line in lines if line.startswith("+") and not line.startswith("+++")] == plus

    done = await by.resume(waiting.request.id, YES, session=session)
    assert done.kind == "ok"
    assert waiting.request.preview.strip() in done.text
    assert all(line[1:] in path.read_text() for line in plus)


async def test_a_denied_change_is_not_made(dispatcher, root):
    """The model is told the reason."""
    by = dispatcher("default")
    waiting = await by.call(*write_call())
    denied = await by.resume(waiting.request.id, Decision.deny("not before the release"))
    assert denied.kind == "denied"
    assert "not before the release" in denied.text
    assert (root / "notes.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("call", [write_call("src/app.py", "pass\n"), edit_call()], ids=["write", "edit"])
async def test_a_write_or_an_edit_of_a_file_that_changed_is_asked_about_again(dispatcher, root, call):
    """The new request has the new difference, and the first answer does not count any more."""
    by = dispatcher("default")
    waiting = await by.call(*call)
    (root / "src" / "app.py").write_text(APP + "# new\n")

    again = await by.resume(waiting.request.id, YES)
    assert again.kind == "waiting"
    assert ("# new" in waiting.request.preview, "# new" in again.request.preview) == (False, True)
    assert (root / "src" / "app.py").read_text() == APP + "# new\n"
    with pytest.raises(ApprovalError):
        await by.resume(waiting.request.id, YES)

    assert (await by.resume(again.request.id, YES)).kind == "ok"
    assert (root / "src" / "app.py").read_text() != APP + "# new\n"


async def test_a_write_to_a_file_that_appeared_is_asked_about_again(dispatcher, root):
    """An approval of a new file is not one of a replacement."""
    by = dispatcher("default")
    waiting = await by.call(*write_call("new.txt", "mine\n"))
    (root / "new.txt").write_text("theirs\n")
    again = await by.resume(waiting.request.id, YES)
    assert again.kind == "waiting"
    assert "-theirs" in again.request.preview
    assert (root / "new.txt").read_text() == "theirs\n"


async def test_a_path_that_leads_outside_after_the_request_is_refused(dispatcher, root, tmp_path):
    """Another program may have put a link there before the approval."""
    by = dispatcher("default")
    waiting = await by.call(*write_call("src/out.txt", "mine\n"))
    (root / "src" / "out.txt").symlink_to(tmp_path / "outside.txt")
    assert (await by.resume(waiting.request.id, YES)).kind == "safety"
    assert (tmp_path / "outside.txt").read_text() == OUTSIDE


async def test_a_grant_for_a_folder_holds_for_that_tool_there(dispatcher, session):
    """It does not hold for another tool, and not elsewhere."""
    by = dispatcher("default")
    waiting = await by.call(*write_call("src/a.py", "a\n"), session=session)
    grant = next(offer for offer in waiting.request.grants if offer.scope == "folder")
    await by.resume(waiting.request.id, Decision.approve(by="ada", grant=grant), session=session)
    later = [write_call("src/b.py", "b\n"), write_call("b.py", "b\n"), edit_call()]
    assert [(await by.call(*call, session=session)).kind for call in later] == ["ok", "waiting", "waiting"]


# Rules.


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("write", "src/a.py", "allow"),
        ("write", "src/deep/er/a.py", "allow"),
        ("write", "./src//x/../a.py", "allow"),
        ("write", "a.py", "ask"),
        ("write", "src/../a.py", "ask"),
        ("write", "src-old/a.py", "ask"),
        ("write", "src/out/a.py", "ask"),
        ("write", "src/.git/hooks/pre-commit", "deny"),
        ("edit", "src/app.py", "ask"),
        ("bash", "git push", "deny"),
        ("bash", "git -C src push --force origin main", "deny"),
        ("bash", "echo $(git push)", "deny"),
        ("bash", "true && sh -c 'git push'", "deny"),
        ("bash", "git status", "ask"),
        ("web_fetch", "https://docs.python.org/3/library/os.html", "allow"),
        ("web_fetch", "http://docs.python.org/3/", "ask"),
        ("web_fetch", "https://docs.python.org.example.com/3/", "ask"),
        ("web_fetch", "https://docs.python.org@example.com/", "deny"),
        ("web_fetch", "http://169.254.169.254/latest/meta-data/", "deny"),
        ("web_fetch", "http://[::ffff:127.0.0.1]/", "deny"),
    ],
)
async def test_rules_are_about_the_targets_of_a_call(dispatcher, root, name, value, word):
    """A target is a resolved path, a simple command, or an address part by part. Checks come first."""
    (root / "else").mkdir()
    (root / "src" / "out").symlink_to(root / "else")
    further = {"write": {"content": "x"}, "edit": edit_call()[1]}
    arguments = {**further.get(name, {}), next(iter(dispatcher_schema(dispatcher, name))): value}
    assert (await dispatcher("default", RULES).explain(name, arguments)).word == word


def dispatcher_schema(dispatcher, name):
    return dispatcher().catalog[name].schema["properties"]


async def test_a_file_that_a_rule_allows_is_written_without_a_question(dispatcher, root):
    """Another file waits."""
    by = dispatcher("default", RULES)
    assert (await by.call(*write_call("src/new.py", "x\n"))).kind == "ok"
    assert (await by.call(*write_call("new.py", "x\n"))).kind == "waiting"
    assert ((root / "src" / "new.py").exists(), (root / "new.py").exists()) == (True, False)


@pytest.mark.parametrize("mode", MODES)
async def test_a_denied_command_never_runs(dispatcher, root, mode):
    """This holds in bypass mode, and with other commands around it."""
    by = dispatcher(mode, ["deny bash(touch:*)", "allow bash"])
    assert (await by.call("bash", {"command": "echo hi; touch here"})).kind == "denied"
    assert not (root / "here").exists()


async def test_a_group_rule_denies_all_tools_of_the_group(dispatcher):
    by = dispatcher("bypass", ["deny group:shell"])
    calls = [("bash", {"command": "ls"}), ("job_output", {}), ("job_stop", {"job": "job_1"})]
    assert [(await by.call(*call)).kind for call in calls] == ["denied", "denied", "denied"]


async def test_only_an_address_that_a_rule_names_is_fetched(root):
    async with serving() as server:
        server.pages["/docs/a"] = answer("all about a", type="text/plain")
        workspace = Workspace(root)
        catalog = builtin_catalog(workspace, sandbox="none")
        catalog.add(web_fetch_for(resolve=names(), judge_address=loopback_is_public), replace=True)
        permissions = Permissions("default", [f"allow web_fetch(url={server.url('/docs/**')})"])
        by = Dispatcher(catalog, permissions=permissions, safety=workspace.safety())
        page = await by.call("web_fetch", {"url": server.url("/docs/a")})
        other = await by.call("web_fetch", {"url": server.url("/else")})
        assert (page.kind, other.kind) == ("ok", "waiting")
        assert page.value.endswith("all about a")
        assert server.paths == ["/docs/a"]


# What one call leaves to the next.


async def test_an_edit_of_a_file_that_another_program_changed_is_refused(dispatcher, root, session):
    """It is allowed after the file was read again. Another conversation is not affected."""
    by = dispatcher("auto")
    await by.call("read", {"path": "src/app.py"}, session=session)
    (root / "src" / "app.py").write_text(APP + "# theirs\n")
    refused = await by.call(*edit_call(), session=session)
    assert refused.kind == "failed"
    assert "src/app.py has changed since it was last read here" in refused.text
    assert (root / "src" / "app.py").read_text() == APP + "# theirs\n"

    await by.call("read", {"path": "src/../src/app.py"}, session=session)
    assert (await by.call(*edit_call(), session=session)).kind == "ok"
    assert (root / "src" / "app.py").read_text() == APP.replace("1", "2") + "# theirs\n"


async def test_a_command_that_changes_a_file_counts_as_another_program(dispatcher, session):
    """The model has not seen what it made of it."""
    by = dispatcher("bypass")
    await by.call("read", {"path": "src/app.py"}, session=session)
    await by.call("bash", {"command": "echo >> src/app.py"}, session=session)
    assert (await by.call(*edit_call(), session=session)).kind == "failed"


async def test_edits_follow_each_other_without_reading_again(dispatcher, root, session):
    """A conversation knows the text that it wrote itself."""
    by = dispatcher("auto")
    await by.call("read", {"path": "src/app.py"}, session=session)
    for old, new in (("1", "2"), ("2", "3"), ("3", "4")):
        assert (await by.call(*edit_call(old=old, new=new), session=session)).kind == "ok"
    assert (root / "src" / "app.py").read_text() == APP.replace("1", "4")


# Many calls.


class Together:
    """Hold each call until all of them have come."""

    def __init__(self, count):
        self._barrier = asyncio.Barrier(count)

    async def around(self, call, run):
        async with asyncio.timeout(20):
            await self._barrier.wait()
        return await run()


async def test_reads_of_one_batch_run_together(dispatcher):
    """The results come in the order of the calls."""
    calls = [
        ("read", {"path": "notes.txt"}),
        ("glob", {"pattern": "src/*"}),
        ("grep", {"pattern": "def"}),
        ("read", {"path": "src/app.py"}),
    ]
    results = await dispatcher("plan", hooks=[Together(len(calls))]).call_many(calls)
    assert [result.text.splitlines()[0] for result in results] == [
        "1\tone",
        "src/app.py",
        "src/app.py:1: def main():",
        "1\tdef main():",
    ]


async def test_a_change_runs_between_the_reads_around_it(dispatcher, session):
    """The later read sees it, the earlier does not, and a failure in between loses nothing."""
    read = ("read", {"path": "notes.txt"})
    calls = [read, write_call(content="new\n"), ("read", {"path": "missing.txt"}), read]
    results = await dispatcher("auto").call_many(calls, session=session)
    assert [result.kind for result in results] == ["ok", "ok", "failed", "ok"]
    assert (results[0].text.split()[1], results[3].text.split()[1]) == ("one", "new")


async def test_only_reads_go_on_after_a_change_that_waits(dispatcher, root):
    calls = [write_call(), edit_call("notes.txt", "three", "four"), ("read", {"path": "notes.txt"})]
    results = await dispatcher("default").call_many(calls)
    assert [result.kind for result in results] == ["waiting", "waiting", "ok"]
    assert (root / "notes.txt").read_text() == "one\ntwo\n"


# Size.


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": "long.txt"}),
        ("grep", {"pattern": "line"}),
        ("bash", {"command": "cat long.txt"}),
        write_call("new.txt", "line\n" * 2000),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_long_result_is_cut_with_a_note(dispatcher, root, name, arguments):
    """The application's limit holds for every tool."""
    (root / "long.txt").write_text("a long line\n" * 2000)
    result = await dispatcher("bypass", max_chars=600).call(name, arguments)
    assert (result.kind, result.truncated) == ("ok", True)
    assert len(result.text) <= 600
    assert (root / "new.txt").exists() is (name == "write")


@pytest.mark.parametrize("name", ["read", "bash"])
async def test_the_output_of_a_tool_stays_below_the_limit_of_the_dispatcher(dispatcher, root, name):
    """Otherwise the sentence of the tool about what is missing would be cut off."""
    (root / "long.txt").write_text("a rather long line of text\n" * 100_000)
    arguments = {
        "read": {"path": "long.txt", "limit": 1_000_000},
        "bash": {"command": "cat long.txt; cat long.txt >&2"},
    }
    result = await dispatcher("bypass").call(name, arguments[name])
    assert (result.kind, result.truncated) == ("ok", False)
    assert {"read": "continue with offset=", "bash": "bytes"}[name] in result.text
