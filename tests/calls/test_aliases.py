"""
The alias that a tool was called by, in its result and in what is written about the call.
"""

from __future__ import annotations

import json
import logging

import pytest

from toolkit.approvals import ApprovalError
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Halt, Log, Proceed
from toolkit.permissions import Permissions
from toolkit.policies.audit import AuditLog
from toolkit.results import ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog() -> Catalog:
    catalog = Catalog()

    @catalog.tool(read_only=True, aliases=["cat"])
    async def read(path: str) -> str:
        """Read a file."""
        return f"the text of {path}"

    @catalog.tool(aliases=["save"])
    def write(path: str) -> str:
        """Write a file."""
        return f"wrote {path}"

    @catalog.tool(read_only=True, name="disk.size", aliases=["du"])
    async def size() -> dict[str, int]:
        """Tell the size."""
        return {"size": 5}

    return catalog


@pytest.mark.parametrize(
    ("name", "tool", "alias"),
    [
        ("read", "read", None),
        ("cat", "read", "cat"),
        ("save", "write", "save"),
        ("du", "disk.size", "du"),
        ("disk--size", "disk.size", None),
        ("less", "less", None),
    ],
)
async def test_the_alias_that_was_used_is_in_the_result(catalog, name, tool, alias):
    """The form of a name in a provider's format is no alias, and nor is an unknown name."""
    result = await Dispatcher(catalog).call(name, {"path": "a"} if tool != "disk.size" else {})
    assert (result.tool, result.alias) == (tool, alias)
    assert ToolResult.from_json(json.loads(json.dumps(result.to_json()))).alias == alias
    assert ("alias" in result.to_json()) is (alias is not None)


async def test_the_result_of_a_call_by_an_alias_is_the_same_as_by_the_name(catalog):
    """Its value and text are the same."""
    by_name, by_alias = await Dispatcher(catalog).call("disk.size"), await Dispatcher(catalog).call("du")
    assert (by_alias.value, by_alias.text, by_alias.kind) == (by_name.value, by_name.text, by_name.kind)


async def test_a_call_that_is_refused_has_the_alias(catalog):
    """Wrong arguments, a denial, and a call of a batch that is never started."""

    class Stop:
        def before(self, call):
            return Halt("enough") if call.arguments == {"path": "stop"} else Proceed()

    dispatcher = Dispatcher(catalog, permissions=Permissions("auto", ["deny write"]), hooks=[Stop()])
    assert (await dispatcher.call("cat", {})).alias == "cat"
    assert (await dispatcher.call("save", {"path": "a"})).alias == "save"
    results = await dispatcher.call_many([("save", {"path": "stop"}), ("save", {"path": "a"})])
    assert [(result.kind, result.tool, result.alias) for result in results] == [("halted", "write", "save")] * 2


class LyingAfter:
    """Sets a wrong alias and a wrong cost on each result."""

    def after(self, call, result):
        result.alias, result.cost = "rm", 5.0
        return result


class LyingAround:
    """Returns a result with a wrong alias and a wrong cost."""

    async def around(self, call, run):
        await run()
        return ToolResult("other", alias="rm", cost=5.0)


@pytest.mark.parametrize(("name", "alias"), [("lie", None), ("cat", "cat"), ("read", None)])
@pytest.mark.parametrize("hooks", [[], [LyingAfter()], [LyingAround()]], ids=["no hook", "after", "around"])
async def test_a_tool_or_a_hook_cannot_set_the_alias_or_the_cost(catalog, hooks, name, alias):
    """The dispatcher sets both, whatever a tool or a hook returns."""

    @catalog.tool
    async def lie() -> ToolResult:
        """Lie."""
        return ToolResult("fine", alias="rm", cost=5.0)

    result = await Dispatcher(catalog, hooks=hooks).call(name, {} if name == "lie" else {"path": "a"})
    assert (result.alias, result.cost) == (alias, 0.0)


async def test_a_resumed_call_keeps_the_alias(catalog):
    """The request has it; if it belongs to another tool by then, the call goes on without it."""
    dispatcher = Dispatcher(catalog, permissions=Permissions("default"))
    waiting = await dispatcher.call("save", {"path": "a"})
    assert (waiting.alias, waiting.request.tool, waiting.request.alias) == ("save", "write", "save")
    result = await dispatcher.resume(waiting, Decision.approve())
    assert (result.text, result.tool, result.alias) == ("wrote a", "write", "save")
    waiting = await dispatcher.call("save", {"path": "b"})
    catalog.remove("write")

    @catalog.tool(name="other", aliases=["save"])
    def other(path: str) -> str:
        """Do something else."""
        return path

    with pytest.raises(ApprovalError, match="there is no tool `write`"):
        await dispatcher.resume(waiting, Decision.approve())


async def test_logs_have_the_alias_beside_the_tool(catalog, caplog, tmp_path):
    """Calls by the name of the tool have no alias."""
    log = AuditLog(tmp_path / "audit.jsonl")
    dispatcher = Dispatcher(catalog, hooks=[Log()], audit=log, permissions=Permissions("auto"))
    with caplog.at_level(logging.INFO, logger="toolkit.calls"):
        await dispatcher.call("cat", {"path": "a"}, session=Session(id="s"))
        await dispatcher.call("read", {"path": "a"})
    assert [record.toolkit.get("alias") for record in caplog.records] == ["cat", None]
    assert [record.toolkit["tool"] for record in caplog.records] == ["read", "read"]
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(line["event"], line.get("alias")) for line in lines] == [
        *[(event, "cat") for event in ("verdict", "intent", "outcome")],
        *[(event, None) for event in ("verdict", "intent", "outcome")],
    ]
