"""Runs and flows: live, and from a database that may be written, locked, old or gone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import time
from dataclasses import dataclass
from typing import Annotated

import pytest

from tests.inspector.durable_runs import run_agent, run_order
from tests.inspector.kit import build_catalog, build_inspector, serving
from toolkit import Agent, Catalog, Dispatcher, Permissions, Secret, Session, ToolCall
from toolkit.agent.saved.run_seal import dump_run
from toolkit.content import ImagePart
from toolkit.durable.journal.run_journal import open_journal
from toolkit.durable.run_input import pack_prompt
from toolkit.flows import Flow
from toolkit.inspector import History, Inspector
from toolkit.providers import AssistantMessage, ScriptedProvider, UserMessage
from toolkit.providers.base import Reply
from toolkit.results import ToolResult
from toolkit.steps.records import dump_call, dump_reply

pytestmark = pytest.mark.anyio


@pytest.fixture
def database(tmp_path):
    """The address of a database that exists."""
    address = f"sqlite:///{tmp_path}/runs.sqlite"
    with contextlib.closing(open_journal(address)):
        pass
    return address


@pytest.fixture
def journal(database):
    """The journal in it."""
    with contextlib.closing(open_journal(database)) as journal:
        yield journal


def build_bills(**options):
    """Make an agent's dispatcher with a tool that asks."""
    catalog = Catalog()

    @catalog.tool(destructive=True)
    def pay(bill: str, key: Annotated[str, Secret()] = "") -> str:
        """Pay a bill."""
        return f"{bill} is paid"

    return Dispatcher(catalog, permissions=Permissions("default"), **options)


async def add_waiting(journal, run_id="bills/may"):
    """Add a run that waits for an answer, and return its request."""
    script = [[ToolCall("pay", {"bill": "A-7", "key": "s3cret-value"}, "c1")]]
    run = await Agent(ScriptedProvider(script), build_bills()).run("Pay what is open.")
    journal.create(run_id, "agent", {"prompt": "Pay what is open."}, now=time.time())
    row = journal.activate(run_id, worker="worker-1", now=time.time(), max_lives=3)
    journal.end(run_id, row.epoch, "waiting", dump_run(run), used_decisions=[], now=time.time())
    return run.requests[0]


def inspect(database, **options):
    """Return an inspector of the runs in *database*, which knows the tools of the agent."""
    return build_inspector(dispatcher=build_bills(), database=database, **options)


async def test_runs_are_listed_newest_first_and_by_page(database, journal):
    for number in range(5):
        journal.create(f"run {number}", "agent", {"prompt": f"Do {number}."}, now=1.0 + number)
    async with serving(inspect(database)) as browser:
        first = await browser.get("runs", limit=2)
        assert [(row["id"], row["about"], row["source"]) for row in first["runs"]] == [
            ("run 4", "Do 4.", "database"),
            ("run 3", "Do 3.", "database"),
        ]
        assert first["next"] == "run 3"
        rest = await browser.get("runs", limit=9, after=first["next"])
        assert [row["id"] for row in rest["runs"]] == ["run 2", "run 1", "run 0"]
        assert (await browser.get("runs", status="done"))["runs"] == []
        assert (await browser.get("runs", kind="flow:x"))["runs"] == []
        assert "has to be one of" in (await browser.get("runs", 400, status="lost"))["error"]


@pytest.mark.parametrize(
    ("kind", "begin", "about"),
    [
        ("flow:order", {"type": "Order", "value": {"number": 7, "notes": ""}}, "Order: number 7"),
        ("flow:order", {"type": "Order", "value": {}}, "Order"),
        ("flow:order", {"type": "str", "value": "tea"}, "tea"),
        ("flow:order", {"type": "list[int]", "value": [1, 2]}, "[1, 2]"),
        ("agent", pack_prompt(UserMessage.of("What is this?", ImagePart(b"x", "image/png"))), "What is this? [image]"),
        ("other", {"task": "parser.py"}, "task parser.py"),
    ],
)
async def test_a_run_is_listed_with_a_line_that_a_person_can_read(database, journal, kind, begin, about):
    journal.create("run", kind, begin, now=1.0)
    async with serving(inspect(database)) as browser:
        (row,) = (await browser.get("runs"))["runs"]
        assert row["about"] == about


async def test_a_waiting_run_is_shown_in_full(database, journal):
    request = await add_waiting(journal)
    async with serving(inspect(database)) as browser:
        run = await browser.get("run", id="bills/may")
        assert [message["role"] for message in run["messages"]] == ["user", "assistant", "tool"]
        assert run["messages"][1]["calls"][0]["tool"] == "pay"
        assert run["usage"]["result_tokens"].keys() <= {"pay"}
        assert run["requests"][0]["id"] == request.id
        assert request.id in run["waits"][0]
        assert run["events"][0]["text"] == "started"
        assert (run["flow"], run["can"], run["plan"]) == (None, ["cancel"], None)
        assert "s3cret-value" not in json.dumps([run, await browser.get("approvals")])


async def test_a_step_that_was_cut_off_is_marked(database, journal):
    journal.create("fix", "agent", {"prompt": "Fix it."}, now=1.0)
    epoch = journal.activate("fix", worker="w1", now=2.0, max_lives=3).epoch
    message = AssistantMessage(text="I look.", calls=(ToolCall("read", {}, "c1"), ToolCall("pay", {}, "c2")))
    journal.finish("fix", epoch, "fix/reply/1", dump_reply(Reply(message=message, stop="calls")), seconds=1.5, now=3.0)
    result = ToolResult("the text", tool="read", call_id="c1")
    journal.finish("fix", epoch, "fix/call/c1", dump_call(result, Session()), seconds=0.1, now=4.0)
    journal.begin("fix", epoch, "fix/call/c2", {"tool": "pay", "arguments": {"bill": "A-7"}}, now=5.0)
    async with serving(inspect(database)) as browser:
        under_way = await browser.get("run", id="fix")
        assert [step["uncertain"] for step in under_way["steps"]] == [False, False, False]
        assert [(message["role"], message["text"]) for message in under_way["messages"]] == [
            ("assistant", "I look."),
            ("tool", ""),
        ]
        journal.activate("fix", worker="w2", now=6.0, max_lives=3)
        cut = await browser.get("run", id="fix")
        assert [step["uncertain"] for step in cut["steps"]] == [False, False, True]
        assert "may or may not have happened" in cut["steps"][2]["what"]


@pytest.mark.parametrize("run_id", ["x", "../x", "a/b", "🦆", "a b%20c"])
async def test_a_run_that_is_not_there_is_not_found(database, journal, run_id):
    async with serving(inspect(database)) as browser:
        assert "there is no run" in (await browser.get("run", 404, id=run_id))["error"]
        journal.create(run_id, "agent", {"prompt": "x"}, now=1.0)
        assert (await browser.get("run", id=run_id))["id"] == run_id


async def test_a_request_of_a_run_is_answered_once_for_a_worker(database, journal):
    """Two people answer at once; the journal has one decision."""
    request = await add_waiting(journal)
    async with serving(inspect(database)) as first, serving(inspect(database)) as second:
        (listed,) = (await first.get("approvals"))["open"]
        assert (listed["id"], listed["run"]) == (request.id, "bills/may")
        bodies = [{"id": request.id, "action": "approve", "by": name} for name in ("ada", "bob")]
        pages = (first, second)
        responses = await asyncio.gather(
            *(page.send("POST", "approvals", json=body) for page, body in zip(pages, bodies, strict=True))
        )
        good = [response.json() for response in responses if response.status_code == 200]
        assert len(good) == 1, [response.text for response in responses]
        assert {response.status_code for response in responses} == {200, 409}
        assert (good[0]["result"], good[0]["run"]["id"]) == (None, "bills/may")
        assert (await second.get("approvals"))["open"] == []
        late = await second.post("approvals", bodies[0], 409)
        assert late["why"] == "answered"
        assert f"{good[0]['decided']['by']} has approved it" in late["error"]
        waits = (await first.get("run", id="bills/may"))["waits"]
        assert "needs a worker" in waits[-1]
    assert list(journal.get("bills/may").decisions) == [request.id]


async def test_a_run_is_cancelled_and_retried(database, journal):
    journal.create("fix", "agent", {"prompt": "Fix it."}, now=1.0)
    async with serving(inspect(database)) as browser:
        answer = await browser.post("run/cancel", {"id": "fix", "reason": "not needed"})
        assert (answer["run"]["status"], answer["run"]["reason"]) == ("cancelled", "not needed")
        assert (await browser.get("run", id="fix"))["can"] == ["retry"]
        assert (await browser.post("run/retry", {"id": "fix"}))["run"]["status"] == "queued"
        assert (await browser.post("run/retry", {"id": "fix"}, 409))["why"]
        assert (await browser.post("run/cancel", {"id": "x"}, 404))["why"] == "unknown"
        assert "id of a run" in (await browser.post("run/cancel", {}, 400))["error"]
        assert "above 0" in (await browser.post("run/retry", {"id": "fix", "deadline_seconds": "x"}, 400))["error"]


async def test_a_read_only_page_offers_no_actions(database, journal):
    journal.create("fix", "agent", {"prompt": "Fix it."}, now=1.0)
    async with serving(inspect(database, read_only=True)) as browser:
        assert (await browser.get("run", id="fix"))["can"] == []


async def test_cancelling_a_run_without_a_database_is_an_error():
    async with serving(build_inspector()) as browser:
        assert (await browser.get("runs"))["runs"] == []
        assert "--database" in (await browser.post("run/cancel", {"id": "x"}, 404))["error"]


async def check_problem(browser, words):
    """Check that whatever reads the database says why it cannot, and that everything else works."""
    for path in ("runs", "approvals"):
        assert words in (await browser.get(path))["problem"], path
    assert words in (await browser.get("run", 503, id="x"))["error"]
    assert (await browser.call("pay", bill="x"))["kind"] == "waiting"
    assert (await browser.post("run/cancel", {"id": "x"}, 503))["why"] == "store"


async def test_the_problem_of_a_missing_database_is_a_sentence(database, tmp_path):
    """The file is not created, and works again when it is back."""
    inspector = inspect(database)
    os.rename(tmp_path / "runs.sqlite", tmp_path / "away.sqlite")
    async with serving(inspector) as browser:
        await check_problem(browser, "there is no database")
        assert not (tmp_path / "runs.sqlite").exists()
        os.rename(tmp_path / "away.sqlite", tmp_path / "runs.sqlite")
        assert (await browser.get("runs"))["problem"] is None


async def test_a_database_of_another_program_is_a_sentence(tmp_path):
    path = tmp_path / "other.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE birds (name TEXT)")
        connection.commit()
    path.chmod(0o600)
    async with serving(inspect(f"sqlite:///{path}")) as browser:
        await check_problem(browser, "not one of runs, or one of an earlier version")


async def test_a_database_of_a_later_version_is_a_sentence(database, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "runs.sqlite")) as connection:
        key, value = [row[1] for row in connection.execute("PRAGMA table_info(toolkit_meta)")]
        connection.execute(f"UPDATE toolkit_meta SET {value} = '99' WHERE {key} = 'format'")
        connection.commit()
    async with serving(inspect(database)) as browser:
        await check_problem(browser, "has format 99")


async def test_a_database_that_is_written_can_be_read(database, journal):
    """Another process holds the lock for writing."""
    async with serving(inspect(database)) as browser:
        assert (await browser.get("runs"))["runs"] == []
        journal.create("fix", "agent", {"prompt": "Fix it."}, now=1.0)
        with contextlib.closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
            connection.execute("BEGIN IMMEDIATE")
            assert [row["id"] for row in (await browser.get("runs"))["runs"]] == ["fix"]
            assert (await browser.get("run", id="fix"))["prompt"] == "Fix it."


@pytest.mark.long
async def test_a_locked_database_holds_up_only_its_own_requests(database):
    """A thread waits for half a minute, and then the page has the error."""
    with contextlib.closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        async with serving(inspect(database)) as browser:
            asking = asyncio.create_task(browser.get("runs"))
            assert (await browser.call("pay", bill="x"))["kind"] == "waiting"
            assert not asking.done()
            assert "is busy" in (await asking)["problem"]


# Live runs.


async def test_a_live_run_is_shown_with_its_conversation():
    history = History()
    dispatcher = Dispatcher(build_catalog(), hooks=[history], redact=["hunter2"])
    script = [[ToolCall("add", {"a": 1, "b": 1}, "c1")], "It is 2, says hunter2."]
    run = await Agent(ScriptedProvider(script), dispatcher).run("Add 1 and 1.")
    async with serving(Inspector(dispatcher)) as browser:
        (row,) = (await browser.get("runs"))["runs"]
        assert (row["id"], row["kind"], row["status"], row["about"]) == (run.id, "agent", "done", "Add 1 and 1.")
        details = await browser.get("run", id=run.id)
        assert [(message["role"], message["text"]) for message in details["messages"]] == [
            ("user", "Add 1 and 1."),
            ("assistant", ""),
            ("tool", ""),
            ("assistant", "It is 2, says [redacted]."),
        ]
        assert details["messages"][1]["calls"] == [{"id": "c1", "tool": "add", "arguments": {"a": 1, "b": 1}}]
        assert details["messages"][2]["results"][0]["text"] == "2"
        assert details["usage"]["dollars"] is None
        assert details["can"] == []
        assert (await browser.get("runs", status="waiting"))["runs"] == []


@dataclass
class Order:
    item: str


@dataclass
class Parcel:
    item: str


def build_flow(dispatcher=None):
    """Make a flow of two steps, one with an undo."""
    flow = Flow("order", dispatcher=dispatcher)

    def unpack(parcel: Order) -> None:
        """Take the item back."""

    @flow.step(undo=unpack)
    def pack(order: Order) -> Parcel:
        """Pack an order."""
        return Parcel(order.item)

    return flow


async def test_a_flow_has_a_graph_and_its_run_a_row():
    history = History()
    dispatcher = Dispatcher(Catalog(), hooks=[history])
    flow = build_flow(dispatcher)
    await flow.run(Order("pen"))
    async with serving(Inspector(dispatcher, flows=[flow])) as browser:
        assert (await browser.get("about"))["flows"] == ["order"]
        ((graph,),) = (await browser.get("flows")).values()
        assert graph["mermaid"].startswith("flowchart")
        assert [(node["name"], node["undo"], node["start"]) for node in graph["nodes"]] == [("pack", "pack.undo", True)]
        assert [(edge["source"], edge["target"]) for edge in graph["edges"]] == [(None, "pack"), ("pack", None)]
        (row,) = (await browser.get("runs", kind="flow:order"))["runs"]
        assert row["status"] == "done"


@pytest.mark.parametrize(
    ("ending", "status", "states", "left"),
    [
        ("done", "done", {"pick": "done", "pack": "done", "charge": "done"}, ["pack", "charge"]),
        ("wait", "waiting", {"pick": "done", "pack": "done", "charge": "here"}, ["pack"]),
        ("fail", "failed", {"pick": "done", "pack": "done", "charge": "failed"}, ["pack", "charge"]),
        ("bad", "failed", {"pick": "done", "pack": "undone"}, []),
        (
            "kill",
            "failed",
            {"pick": "done", "pack": "done", "charge": "uncertain"},
            ["pack", "charge, which may or may not have happened"],
        ),
    ],
)
async def test_a_durable_run_of_a_flow_is_described(database, ending, status, states, left):
    """It has the state of each step, its check and its undo, and the steps that are left."""
    flow = await asyncio.to_thread(run_order, database, ending)
    async with serving(inspect(database, flows=[flow])) as browser:
        run = await browser.get("run", id="order-7")
    steps = run["flow"]["steps"]
    assert (run["kind"], run["status"], run["messages"]) == ("flow:order", status, [])
    assert {name: step["state"] for name, step in steps.items()} == states
    assert run["flow"]["left"] == left
    problem = "the check of pack found a problem: the parcel is wet"
    undone = problem, "the undo of pack was done"
    assert (steps["pack"]["check"], steps["pack"]["undo"]) == (
        undone if ending == "bad" else ("the check of pack passed", None)
    )


async def test_a_run_is_shown_with_the_messages_of_its_inner_runs(database):
    """One inner run is over, and one waits."""
    dispatcher = await asyncio.to_thread(run_agent, database, "Pay what is open.", run_id="bills")
    async with serving(Inspector(dispatcher, database)) as browser:
        run = await browser.get("run", id="bills")
    subs = {sub["id"]: (sub["status"], sub["messages"][-1]) for sub in run["subs"]}
    assert [message["role"] for message in run["messages"]] == ["user", "assistant", "tool", "assistant", "tool"]
    assert [*subs] == ["bills/call/1.c1", "bills/call/2.c2"]
    assert (subs["bills/call/1.c1"][0], subs["bills/call/1.c1"][1]["text"]) == ("done", "A-7 is open.")
    assert (subs["bills/call/2.c2"][0], subs["bills/call/2.c2"][1]["results"][0]["kind"]) == ("waiting", "waiting")
