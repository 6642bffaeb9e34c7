"""A run goes on with the version of its agent or flow that it began with, unless a person says otherwise."""

from __future__ import annotations

import pytest

from tests.clocks import wait_until
from tests.durable.kit import DurableShop, LocalEngine, Toys, running, wait_for_status
from toolkit import Agent, Catalog
from toolkit.approvals.identity import digest_tools
from toolkit.decisions import Decision
from toolkit.durable import DurableAgent
from toolkit.durable.host import DurableHost
from toolkit.providers import ScriptedProvider

pytestmark = pytest.mark.anyio


@pytest.fixture
def quick_passing(monkeypatch):
    """Let a run that was left to another worker come back at once."""
    monkeypatch.setattr("toolkit.durable.takeover._PASS_ON_SECONDS", 0.01)


def open_versioned(toys, path, engine, version):
    """Return a host with toys of one version."""
    host = DurableHost(f"sqlite:///{path}/runs.sqlite", engine=lambda: engine, takeover_seconds=0.2)
    host.register("toy", toys.activate, find_requests=toys.find_requests, find_version=lambda: version)
    return host


async def test_a_worker_with_another_version_leaves_a_run_to_a_fitting_one(tmp_path, quick_passing, caplog):
    """The run waits in version 1, is answered, and is done by version 1, although version 2 gets its job first."""
    toys, engine = Toys(), LocalEngine()
    async with open_versioned(toys, tmp_path, engine, "1") as old, open_versioned(toys, tmp_path, engine, "2") as new:
        assert (await old.run("toy", "a", {"ask": True})).version == "1"
        async with running(new.work()):
            await new.decide("a", {"ask-a": Decision.approve()})
            await wait_until(lambda: engine.order.count("a") >= 3)
            assert (await new.get("a")).status == "waiting"
            assert "because this one has no 'toy' of version 1" in caplog.text
        async with running(old.work()):
            assert (await wait_for_status(old, "a", "done")).version == "1"


async def test_a_person_can_let_a_run_go_on_with_any_version(tmp_path, quick_passing):
    """There may be no worker of the old version any more."""
    toys, engine = Toys(), LocalEngine()
    async with open_versioned(toys, tmp_path, engine, "1") as old:
        await old.run("toy", "a", {"ask": True})
    async with open_versioned(toys, tmp_path, engine, "2") as new:
        await new.decide("a", {"ask-a": Decision.approve()})
        assert (await new.retry("a", any_version=True)).status == "waiting"
        async with running(new.work()):
            assert (await wait_for_status(new, "a", "done")).version == "2"


async def test_a_run_that_is_retried_may_go_on_with_the_program_that_was_mended(tmp_path):
    """A person retries it because the program has changed."""
    toys, engine = Toys(), LocalEngine()
    async with open_versioned(toys, tmp_path, engine, "1") as old:
        with pytest.raises(RuntimeError, match="a bug"):
            await old.run("toy", "a", {"fail": "a bug"})
    async with open_versioned(toys, tmp_path, engine, "2") as new, running(new.work()):
        await new.retry("a")
        assert (await wait_for_status(new, "a", "failed")).version == "2"


async def test_a_call_here_and_now_goes_on_with_a_run_of_another_version(tmp_path):
    """The caller has chosen the program."""
    toys, engine = Toys(), LocalEngine()
    async with open_versioned(toys, tmp_path, engine, "1") as old:
        await old.run("toy", "a", {"ask": True})
    async with open_versioned(toys, tmp_path, engine, "2") as new:
        assert (await new.resume("a", {"ask-a": Decision.approve()})).version == "2"


async def test_an_agent_with_another_tool_has_another_version(tmp_path):
    """Its runs store the version that they began with."""
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        await durable.run("pay", id="a")
        first = (await durable.get("a")).version

        @shop.catalog.tool
        def refund(bill: str) -> str:
            """Give the money back."""
            return bill

        await durable.run("pay", id="b")
        assert first
        assert (await durable.get("b")).version not in ("", first)


@pytest.mark.parametrize("way", ["a tool", "a hand-over"])
async def test_the_tools_of_agents_inside_an_agent_belong_to_its_version(tmp_path, way):
    """A worker whose inner agent has other tools leaves the run to a fitting one."""

    async def find_version(*tools):
        payer = Agent(ScriptedProvider([]), Catalog(*tools), name="payer", description="Pays bills.")
        payer.hand_over_to(front := Agent(ScriptedProvider([]), Catalog(), name="front", description="Asks."))
        if way == "a hand-over":
            front.hand_over_to(payer)
        else:
            front = Agent(ScriptedProvider([]), Catalog(payer.as_tool("pay", "Pay a bill.")))
        async with DurableAgent(front, f"sqlite:///{tmp_path}/runs.sqlite") as durable:
            return durable.host._kinds.list_versions()["agent"]

    assert await find_version(pay) == await find_version(pay) != await find_version(pay_without_note)


def pay(bill: str, note: str = "") -> str:
    """Pay a bill."""
    return bill


def pay_without_note(bill: str) -> str:
    """Pay a bill."""
    return bill


@pytest.mark.parametrize(
    ("function", "options", "is_same"),
    [
        (pay, {"description": "Pay what is open."}, True),
        (pay, {"name": "transfer"}, False),
        (pay_without_note, {}, False),
    ],
    ids=["description", "name", "parameter"],
)
async def test_names_and_schemas_make_the_version_and_descriptions_do_not(function, options, is_same):
    """A better docstring is no other program."""

    def digest(function, **options):
        catalog = Catalog()
        catalog.tool(**{"name": "pay", **options})(function)
        return digest_tools(catalog)

    assert (digest(function, **options) == digest(pay)) is is_same
