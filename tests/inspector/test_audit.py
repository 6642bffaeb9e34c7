"""The calls of an audit log: those before the inspector began, and those of other processes."""

from __future__ import annotations

import json

import pytest

from tests.inspector.kit import build_catalog, build_inspector, serving
from toolkit import Decision, Dispatcher, Permissions, Session
from toolkit.inspector.audit_history import AuditHistory
from toolkit.inspector.history import History
from toolkit.policies.audit import AuditLog

pytestmark = pytest.mark.anyio


def build_dispatcher(path):
    """Make a program that writes the log at *path*."""
    return Dispatcher(build_catalog(), permissions=Permissions(), audit=AuditLog(path))


async def work(dispatcher):
    """Make a call that runs, one that fails, and one that a person denies."""
    session = Session(id="talk")
    await dispatcher.call("sum", {"a": 1}, session=session)
    await dispatcher.call("nothing", {}, session=session)
    waiting = await dispatcher.call("write_note", {"text": "x"}, session=session)
    await dispatcher.resume(waiting, Decision.deny("no", by="ada"), session=session)


async def test_calls_before_the_start_are_in_the_history(tmp_path):
    await work(build_dispatcher(tmp_path / "calls.jsonl"))
    async with serving(build_inspector(audit=tmp_path / "calls.jsonl")) as browser:
        rows = (await browser.get("calls"))["calls"]
        assert [(row["tool"], row["kind"], row["source"]) for row in reversed(rows)] == [
            ("add", "ok", "audit"),
            ("nothing", "not_found", "audit"),
            ("write_note", "waiting", "audit"),
            ("write_note", "denied", "audit"),
        ]
        call = await browser.get("calls/1")
        assert (call["alias"], call["session"], call["arguments"]) == ("sum", "talk", {"a": 1})
        assert (call["result"], call["cut"]) == (None, ["result"])
        (decision,) = (await browser.get("approvals"))["decided"]
        assert (decision["tool"], decision["approved"], decision["by"], decision["reason"]) == (
            *("write_note", False, "ada"),
            "no",
        )
        numbers = {entry["tool"]: entry for entry in (await browser.get("numbers"))["tools"]}
        assert numbers["add"]["calls"] == 1
        assert numbers["(unknown)"]["failures"] == {"not_found": 1}
        assert (await browser.get("about"))["audit"].endswith("calls.jsonl")


async def test_lines_of_another_process_are_followed(tmp_path):
    dispatcher = build_dispatcher(tmp_path / "calls.jsonl")
    async with serving(build_inspector(audit=tmp_path / "calls.jsonl")) as browser:
        assert (await browser.get("calls"))["total"] == 0
        await dispatcher.call("add", {"a": 1})
        assert (await browser.get("calls"))["total"] == 1
        assert (await browser.get("calls"))["total"] == 1


async def test_calls_of_the_dispatcher_itself_are_not_counted_twice(tmp_path):
    dispatcher = build_dispatcher(tmp_path / "calls.jsonl")
    await dispatcher.call("add", {"a": 1})
    async with serving(build_inspector(dispatcher=dispatcher, audit=tmp_path / "calls.jsonl")) as browser:
        await browser.call("add", a=2)
        rows = (await browser.get("calls"))["calls"]
    assert [row["source"] for row in rows] == ["live", "audit"]


def read(path, history=None):
    """Read the log at *path* once."""
    reader = AuditHistory(path, history or History(), follows=True)
    reader.refresh()
    return reader


def test_an_incomplete_line_is_read_when_it_is_complete(tmp_path):
    path, history = tmp_path / "calls.jsonl", History()
    line = json.dumps({"version": 1, "at": 1.0, "event": "outcome", "call_id": "c1", "tool": "add", "kind": "ok"})
    path.write_text(line[:20])
    reader = read(path, history)
    assert history.read_call(1) is None
    path.write_text(f"{line}\n")
    reader.refresh()
    assert json.loads(history.read_call(1))["tool"] == "add"
    assert reader.problem is None


def test_lines_that_cannot_be_read_are_counted(tmp_path):
    path = tmp_path / "calls.jsonl"
    path.write_text('no json\n{"version": 99}\n[1]\n{"version": 1, "event": "verdict"}\n')
    assert read(path).problem == "3 lines of the audit log cannot be read, and are left out"


def test_odd_values_in_a_line_are_not_an_error(tmp_path):
    path, history = tmp_path / "calls.jsonl", History()
    entry = {"version": 1, "at": "x", "event": "outcome", "call_id": ["c"], "tool": 5, "kind": None}
    entry |= {"attempts": -1, "duration_seconds": "x", "chars": None, "session": 7, "cost": [1], "alias": 3}
    answered = {"version": 1, "event": "answered", "call_id": "c2", "request": None, "approved": "yes", "by": 5}
    question = {"version": 1, "event": "asked", "call_id": "c2", "request": 5, "reason": None}
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (entry, question, answered)))
    assert read(path, history).problem is None
    call = json.loads(history.read_call(1))
    assert (call["tool"], call["seconds"], call["session"]) == ("5", 0.0, "7")
    assert history.decisions[0]["approved"] is False


def test_a_missing_log_is_a_problem_and_a_replaced_log_is_read(tmp_path):
    path = tmp_path / "calls.jsonl"
    reader = read(path)
    assert "cannot be read" in reader.problem
    line = json.dumps({"version": 1, "event": "outcome", "call_id": "c1", "tool": "add", "kind": "ok"})
    path.write_text(f"{line}\n{line}\n")
    reader.refresh()
    assert reader.problem is None
    path.write_text(f"{line}\n")  # a rotation has put a new file there
    reader.refresh()
    assert reader._history.read_call(3) is not None


def test_only_the_end_of_a_large_log_is_read(tmp_path, monkeypatch):
    path, history = tmp_path / "calls.jsonl", History()
    lines = [
        json.dumps({"version": 1, "event": "outcome", "call_id": f"c{number}", "tool": "add", "kind": "ok"})
        for number in range(1_000)
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    monkeypatch.setattr("toolkit.inspector.audit_history._MAX_BYTES", 1_000)
    assert read(path, history).problem is None
    rows, _, total = history.list_calls(lambda row: True, before=None, limit=100)
    assert 5 < total < 20
    assert rows[0]["id"] == "c999"
