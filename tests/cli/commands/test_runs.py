"""`toolkit runs`: durable runs are looked at and answered in their database, without their tools."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from dataclasses import replace

import pytest

from tests.cli.commands.kept_runs import DATABASE, add_waiting, run_until_it_waits
from tests.cli.kit import TOOLS
from toolkit import Agent, BadArgs, Catalog, Context, Dispatcher, Permissions, SQLiteApprovals, ToolCall
from toolkit.agent.saved.run_seal import dump_run
from toolkit.cli.run_decisions import read_answers
from toolkit.decisions import ApprovalRequest
from toolkit.providers import AssistantMessage, ScriptedProvider
from toolkit.providers.base import Reply
from toolkit.questions import DECLINED, Question
from toolkit.results import ToolResult
from toolkit.session import Session
from toolkit.steps.records import dump_call, dump_reply


def test_runs_are_listed_with_their_inputs_and_the_newest_first(shop, journal):
    order = {"number": 7, "notes": [], "customer": {"name": "Ada"}}
    journal.create("old", "flow:release", {"type": "Order", "value": order}, now=1.0)
    add_waiting(journal, "new")
    ran = shop.run("runs", "list", "--database", DATABASE)
    assert ran.code == 0, ran.err
    assert [(row["id"], row["kind"], row["status"]) for row in ran.json] == [
        ("new", "agent", "waiting"),
        ("old", "flow:release", "queued"),
    ]
    assert not any("secret" in row for row in ran.json)
    lines = shop.run("runs", "list", "--database", DATABASE, "-o", "text").out.splitlines()
    assert lines[2].split()[:3] == ["new", "agent", "waiting"]
    assert ' Order: number 7, customer {"name": "Ada"} ' in lines[3]
    report = shop.run("runs", "show", "old", "--database", DATABASE, "-o", "text").out
    assert '  started with: Order: number 7, customer {"name": "Ada"}\n' in report


def test_the_list_can_be_narrowed(shop, journal):
    """The options are status, kind and number, and a note says that there are more runs."""
    for number in range(3):
        journal.create(f"r{number}", "agent", {"prompt": "x"}, now=1.0)
    add_waiting(journal, "w")
    environment = {"TOOLKIT_DATABASE": DATABASE}
    assert [row["id"] for row in shop.run("runs", "list", "--status", "waiting", **environment).json] == ["w"]
    assert shop.run("runs", "list", "--kind", "flow:x", **environment).json == []
    assert "there are no such runs" in shop.run("runs", "list", "--kind", "f", "-o", "text", **environment).err
    few = shop.run("runs", "list", "--limit", "2", **environment)
    assert [row["id"] for row in few.json] == ["w", "r2"]
    assert "there are more runs; --limit 20 shows more" in few.err


def test_a_run_is_shown_step_by_step(shop, journal):
    """Calls that began and have no result are shown as well."""
    journal.create("fix", "agent", {"prompt": "Fix \x1b[31mit."}, now=1.0, deadline=2_000_000_000.0)
    epoch = journal.activate("fix", worker="w1", now=2.0, max_lives=3).epoch
    message = AssistantMessage(text="I look.", calls=(ToolCall("read", {}, "c1"), ToolCall("pay", {}, "c2")))
    journal.finish("fix", epoch, "fix/reply/1", dump_reply(Reply(message=message, stop="calls")), seconds=1.5, now=3.0)
    result = ToolResult("the text", tool="read", call_id="c1")
    journal.finish("fix", epoch, "fix/call/c1", dump_call(result, Session()), seconds=0.1, now=4.0)
    journal.begin("fix", epoch, "fix/call/c2", {"tool": "pay", "arguments": {"bill": "A-7\x07"}}, now=5.0)
    running = shop.run("runs", "show", "fix", "--database", DATABASE, "-o", "text").out
    assert "call c2  runs, or was cut off just now" in running
    journal.activate("fix", worker="w2", now=6.0, max_lives=3)
    journal.note("fix", 2, "remark", {"about": "x"}, now=7.0)
    ran = shop.run("runs", "show", "fix", "--database", DATABASE, "-o", "text")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines() == [
        "fix  running  agent, 2 activations, 1.6 s of work",
        "  prompt: Fix \\x1b[31mit.",
        "  has to end by: 2033-05-18 03:33:20 UTC",
        "  now: w2 works on it, since 1970-01-01 00:00:06 UTC",
        "  cut off: 1 time in a row",
        "  1970-01-01 00:00:01  started",
        "  1970-01-01 00:00:02  activation 1  w1",
        "  1970-01-01 00:00:03  reply 1  I look.; calls read, pay  1.5 s",
        "  1970-01-01 00:00:04  call c1  read ok: the text  100 ms",
        '  1970-01-01 00:00:05  call c2 begins  tool pay, arguments {"bill": "A-7\\u0007"}',
        "  1970-01-01 00:00:06  activation 2  w2",
        "  1970-01-01 00:00:07  remark  about x",
        "  call c2  began and has no result: it may or may not have happened",
    ]
    page = shop.run("runs", "show", "fix", "--database", DATABASE).json
    assert [(step["key"], step["state"]) for step in page["steps"]] == [
        ("fix/reply/1", "done"),
        ("fix/call/c1", "done"),
        ("fix/call/c2", "began"),
    ]
    assert [event["kind"] for event in page["events"]][:3] == ["created", "activated", "finished"]
    assert "secret" not in page


def test_a_waiting_run_shows_its_request(shop, journal):
    """It has the arguments, the preview and the id, as in a terminal."""
    (request,) = add_waiting(journal)
    ran = shop.run("runs", "show", "bills/may", "--database", DATABASE, "-o", "text")
    assert ran.code == 0, ran.err
    for words in ("`pay` asks for permission", '| {\n  |   "bill": "A-7"\n  | }', "| pay A-7", f"request {request.id}"):
        assert words in ran.out
    assert "on behalf of: ada" in ran.out
    (shown_request,) = shop.run("runs", "show", "bills/may", "--database", DATABASE).json["requests"]
    assert (shown_request["id"], shown_request["arguments"], shown_request["is_decided"]) == (
        request.id,
        {"bill": "A-7"},
        False,
    )


# Answers.


def count_jobs(folder):
    """Return how many activations wait for a worker."""
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite")) as connection:
        return connection.execute("SELECT count(*) FROM workflow_status WHERE status = 'ENQUEUED'").fetchone()[0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "decision"),
    [
        (["approve", "--by", "ada"], {"approved": True, "by": "ada"}),
        (["deny", "--by", "bob", "--reason", "too dear"], {"approved": False, "by": "bob", "reason": "too dear"}),
    ],
)
def test_an_answer_is_kept_and_enqueues_the_run(shop, journal, words, decision):
    """No worker lives; the next one goes on with the run."""
    (request,) = add_waiting(journal)
    ran = shop.run("runs", words[0], "bills/may", *words[1:], "--database", DATABASE)
    assert ran.code == 0, ran.err
    assert (ran.json["id"], ran.json["status"]) == ("bills/may", "waiting")
    stored = journal.get("bills/may").decisions[request.id]
    assert {name: stored[name] for name in decision} == decision
    assert count_jobs(shop.folder) == 1
    report = shop.run("runs", "show", "bills/may", "--database", DATABASE, "-o", "text").out
    assert f"request {request.id}, which is answered, and waits for a worker" in report


@pytest.mark.long
def test_one_of_several_requests_is_chosen_by_its_id(shop, journal):
    """The beginning of the id is enough. An option chooses all requests."""
    first, second = add_waiting(journal, "bills", "A-7", "A-8")
    environment = {"TOOLKIT_DATABASE": DATABASE}
    unclear = shop.run("runs", "approve", "bills", **environment)
    assert unclear.code == 2
    assert f"name the request, or give --all: {first.id} (pay), {second.id} (pay)" in unclear.err
    assert shop.run("runs", "approve", "bills", second.id[:8], **environment).code == 0
    assert list(journal.get("bills").decisions) == [second.id]
    assert shop.run("runs", "deny", "bills", "--all", **environment).code == 0
    assert {key: value["approved"] for key, value in journal.get("bills").decisions.items()} == {
        first.id: False,
        second.id: True,
    }
    again = shop.run("runs", "approve", "bills", **environment)
    assert (again.code, again.out) == (2, "")
    assert "all requests of the run 'bills' are decided" in again.err


@pytest.mark.long
def test_an_answer_that_cannot_count_is_refused(shop, journal):
    """The run is unknown or another one, the answer was given already, or it is not clear."""
    (request,) = add_waiting(journal, "bills-may")
    (other,) = add_waiting(journal, "bills-june")
    journal.create("new", "agent", {"prompt": "x"}, now=1.0)

    def refuse(*words, code=2):
        ran = shop.run("runs", *words, "--database", DATABASE)
        assert (ran.code, ran.out) == (code, "")
        return ran.err

    assert "there is no run 'bills-mai' in sqlite:///runs.sqlite; did you mean 'bills-may'" in refuse(
        "approve", "bills-mai", code=4
    )
    assert "'toolkit runs list' lists all runs" in refuse("cancel", "zzz", code=4)
    assert "belongs to the run 'bills-june', not to 'bills-may'" in refuse("approve", "bills-may", other.id)
    assert f"has no request 'ffff'; it waits for {request.id}" in refuse("approve", "bills-may", "ffff", code=4)
    assert "the run 'new' is queued, and waits for no answer" in refuse("deny", "new")
    assert "--all and ids of requests contradict each other" in refuse("approve", "bills-may", request.id, "--all")
    assert shop.run("runs", "approve", "bills-may", "--database", DATABASE).code == 0
    assert "has a decision already; the first one counts" in refuse("deny", "bills-may", request.id)
    assert "the run 'new' is queued; only a run that is over can be retried" in refuse("retry", "new")


def test_an_answer_that_comes_too_late_is_refused(shop, journal):
    """The request has expired, so the call does not run."""
    run = run_until_it_waits("A-7")
    (result,) = run.messages[-1].results
    result.request = replace(result.request, expires_at=100.0)
    journal.create("late", "agent", {"prompt": "x"}, now=1.0)
    row = journal.activate("late", worker="w", now=2.0, max_lives=3)
    journal.end("late", row.epoch, "waiting", dump_run(run), used_decisions=[], now=3.0)
    ran = shop.run("runs", "approve", "late", "--database", DATABASE)
    assert ran.code == 2
    assert "it is too late: the request" in ran.err
    assert "expired at 1970-01-01 00:01:40 UTC" in ran.err


@pytest.mark.long
def test_questions_of_a_tool_are_answered(shop, journal):
    """Each answer has to fit its question, and each question needs one."""
    catalog = Catalog()

    @catalog.tool
    async def order(context: Context) -> str:
        """Order a shirt."""
        return str(await context.ask("size", "Which size?", {"type": "integer"}))

    script = [[ToolCall("order", {}, "c1")]]
    agent = Agent(ScriptedProvider(script), Dispatcher(catalog, permissions=Permissions("auto")))
    run = asyncio.run(agent.run("Order."))
    journal.create("shirt", "agent", {"prompt": "Order."}, now=1.0)
    row = journal.activate("shirt", worker="w", now=2.0, max_lives=3)
    journal.end("shirt", row.epoch, "waiting", dump_run(run), used_decisions=[], now=3.0)
    environment = {"TOOLKIT_DATABASE": DATABASE}
    for words, message in (
        ([], "size: is not answered: Which size?; give --answer size=VALUE, or --decline size"),
        (["--answer", "size=XL"], "size: expected an integer"),
        (["--answer", "size=4", "--answer", "colour=red"], "colour: `order` asks no such question"),
    ):
        ran = shop.run("runs", "approve", "shirt", *words, **environment)
        assert (ran.code, ran.out) == (3, "")
        assert message in ran.err
    assert shop.run("runs", "approve", "shirt", "--answer", "size=4", **environment).code == 0
    (decision,) = journal.get("shirt").decisions.values()
    assert decision["answers"] == {"size": 4}


def test_a_question_can_be_declined():
    """A question that was not asked cannot be."""
    question = Question(key="size", message="Which size?", schema={"type": "integer"})
    request = ApprovalRequest(tool="order", call_id="c1", reason="it asks", questions=(question,))
    assert read_answers(request, [], ["size"]) == {"size": DECLINED}
    with pytest.raises(BadArgs, match="asks no such question"):
        read_answers(request, ["size=4"], ["colour"])


@pytest.mark.long
def test_a_run_is_started_cancelled_and_retried(shop, journal):
    """Any worker may take it. The same start again changes nothing."""
    environment = {"TOOLKIT_DATABASE": DATABASE}
    for _ in range(2):
        ran = shop.run("runs", "start", "fix-1", "-", "--principal", "ada", input="Fix it.", **environment)
        assert ran.code == 0, ran.err
        assert (ran.json["status"], ran.json["principal"]) == ("queued", "ada")
    assert count_jobs(shop.folder) == 1
    other = shop.run("runs", "start", "fix-1", "Break it.", "--principal", "ada", **environment)
    assert other.code == 2
    assert "fix-1" in other.err
    assert (
        shop.run("runs", "cancel", "fix-1", "--reason", "no longer needed", **environment).json["status"] == "cancelled"
    )
    assert count_jobs(shop.folder) == 0
    assert "because: no longer needed" in shop.run("runs", "show", "fix-1", "-o", "text", **environment).out
    retried = shop.run("runs", "retry", "fix-1", "-o", "text", **environment)
    assert "the run 'fix-1' is queued" in retried.err
    assert count_jobs(shop.folder) == 1
    assert "the prompt is empty" in shop.run("runs", "start", "fix-2", " ", **environment).err


def test_a_run_that_a_program_has_started_is_the_same_run(shop, journal):
    """A program also gives a session to the run, which the command line has not."""
    session = {"grants": [], "mode": "default"}
    journal.create("a", "agent", {"prompt": "Fix it.", "session": session}, principal="ada", now=time.time())
    journal.activate("a", worker="w", now=time.time(), max_lives=3)
    words = ["--principal", "ada", "--database", DATABASE]
    ran = shop.run("runs", "start", "a", "Fix it.", *words)
    assert (ran.code, ran.json["status"]) == (0, "running"), ran.err
    assert journal.get("a").input["session"] == session
    refused = shop.run("runs", "start", "a", "Break it.", *words)
    assert (
        "there is a run 'a' with another input (`prompt` and `session` differ) already; give another id" in refused.err
    )
    refused = shop.run("runs", "start", "a", "Fix it.", "--database", DATABASE)
    assert "of the principal 'ada', not None already; give that principal, or another id" in refused.err


# Databases.


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no database is named; give --database sqlite:///runs.sqlite, or set TOOLKIT_DATABASE"),
        (["--database", "runs.sqlite"], "--database: has to be the address of a database"),
        (["--database", "sqlite:///none.sqlite"], "none.sqlite; name the one that the workers have"),
        (["--database", "sqlite:///tools.py"], "tools.py"),
    ],
)
@pytest.mark.parametrize("command", [["list"], ["show", "x"], ["cancel", "x"]])
def test_a_database_that_cannot_be_used_is_an_error(shop, command, words, message):
    """No file is created or changed."""
    ran = shop.run("runs", *command, *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert [path.name for path in shop.folder.iterdir()] == ["tools.py"]
    assert (shop.folder / "tools.py").read_text() == TOOLS


def test_a_queue_that_no_worker_can_have_is_refused(shop, journal):
    """The run is not made, because no worker would ever find it."""
    ran = shop.run("runs", "start", "fix-1", "Fix it.", "--queue", "Billing", "--database", DATABASE)
    assert ran.code == 2
    assert "'Billing' cannot be the name of a queue" in ran.err
    assert journal.list() == []


@pytest.mark.parametrize("store", ["other.sqlite", "a.approvals.sqlite"])
def test_a_database_of_another_program_is_not_changed(shop, store):
    """Its name is in the message."""
    path = shop.folder / store
    if store.startswith("a."):
        SQLiteApprovals(path)
    else:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE shelf (wood TEXT)")
            connection.commit()
    before = path.read_bytes()
    ran = shop.run("runs", "list", "--database", f"sqlite:///{store}")
    assert (ran.code, ran.out) == (2, "")
    assert store in ran.err
    assert path.read_bytes() == before


@pytest.mark.parametrize(("kind", "outcome"), [("agent", {"run": {"version": 99}}), ("flow:x", {"requests": [1]})])
def test_a_run_of_another_version_is_an_error(shop, journal, kind, outcome):
    """Another run can be answered beside it."""
    journal.create("odd", kind, {"prompt": "x"}, now=1.0)
    row = journal.activate("odd", worker="w", now=2.0, max_lives=3)
    journal.end("odd", row.epoch, "waiting", outcome, used_decisions=[], now=3.0)
    ran = shop.run("runs", "show", "odd", "--database", DATABASE, "-o", "text")
    assert ran.code == 2
    assert "what the run 'odd' waits for cannot be read" in ran.err
    add_waiting(journal, "bills")
    assert "has no request 'ffff'" in shop.run("runs", "approve", "bills", "ffff", "--database", DATABASE).err


def test_ids_of_runs_are_completed_from_the_database(shop, journal):
    """An id that a shell would interpret is not offered."""
    for name in ("fix-1", "fix-2", "fix $(rm)", "other"):
        journal.create(name, "agent", {"prompt": "x"}, now=1.0)
    environment = {"COMP_CWORD": "3", "_TOOLKIT_COMPLETE": "bash_complete", "TOOLKIT_DATABASE": DATABASE}
    ran = shop.run(COMP_WORDS="toolkit runs show fix", **environment)
    assert sorted(line.partition(",")[2] for line in ran.out.splitlines()) == ["fix-1", "fix-2"]


@pytest.mark.parametrize("database", ["sqlite:///tools.py", "sqlite:///none.sqlite", ""])
def test_completion_of_ids_is_silent_without_a_database(shop, database):
    environment = {"COMP_CWORD": "3", "_TOOLKIT_COMPLETE": "bash_complete", "TOOLKIT_DATABASE": database}
    ran = shop.run(COMP_WORDS="toolkit runs show fix", **environment)
    assert (ran.code, ran.out.strip(), ran.err) == (0, "", "")


@pytest.mark.long
def test_the_commands_for_runs_work_with_postgresql(shop, postgres_url):
    environment = {"TOOLKIT_DATABASE": postgres_url}
    assert shop.run("runs", "start", "fix/1", "Fix it.", **environment).json["status"] == "queued"
    assert [row["id"] for row in shop.run("runs", "list", **environment).json] == ["fix/1"]
    assert shop.run("runs", "cancel", "fix/1", **environment).json["status"] == "cancelled"
    assert [event["kind"] for event in shop.run("runs", "show", "fix/1", **environment).json["events"]] == [
        "created",
        "cancelled",
    ]
    unknown = shop.run("runs", "show", "fix/2", **environment)
    assert unknown.code == 4
    assert "did you mean 'fix/1'?" in unknown.err
