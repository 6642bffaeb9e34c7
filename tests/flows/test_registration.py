"""A flow and the hosts of its durable runs: resources, steps that are added later, and hosts that are dropped."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from tests.durable.kit import LocalEngine
from tests.flows.kit import Plan, Released, Task
from toolkit import Decision, DefinitionError, Inject
from toolkit.durable import DurableHost
from toolkit.flows import Flow, Waiting

pytestmark = pytest.mark.anyio


@pytest.fixture
def database(tmp_path):
    """The address of a database of its own."""
    return f"sqlite:///{tmp_path}/runs.sqlite"


def build_flow(**facts):
    """Return a flow whose only step needs a text."""
    flow = Flow[Released]("release")

    @flow.step(**facts)
    def publish(plan: Plan, version: Inject[str]) -> Released:
        return Released(version)

    return flow


async def test_the_resources_of_a_run_are_for_that_run_only(database):
    """The next run has none, although it is in the same host."""
    flow = build_flow()
    async with DurableHost(database, engine=LocalEngine) as host:
        assert await flow.run(Plan(), host, id="1", resources={str: "ada"}) == Released("ada")
        with pytest.raises(DefinitionError, match="`publish` wants str"):
            await flow.run(Plan(), host, id="2")


async def test_a_run_is_not_resumed_without_its_resources(database):
    """The run still waits, and the answer can be given again."""
    flow = build_flow(approval="always")
    async with DurableHost(database, engine=LocalEngine) as host:
        waiting = await flow.run(Plan(), host, id="1", resources={str: "ada"})
        assert isinstance(waiting, Waiting)
        decisions = {waiting.requests[0].id: Decision.approve()}
        with pytest.raises(DefinitionError, match="`publish` wants str"):
            await flow.resume("1", decisions, host)
        assert await flow.resume("1", decisions, host, resources={str: "ada"}) == Released("ada")


async def test_a_flow_can_be_registered_after_a_run_was_started(database):
    """The resources of the last registration count; another flow of the same name is refused."""
    flow = build_flow()
    async with DurableHost(database, engine=LocalEngine) as host:
        await flow.start(Plan(), host, id="1")
        flow.register(host, resources={str: "first"})
        flow.register(host, resources={str: "second"})
        assert await flow.run(Plan(), host, id="1") == Released("second")
        with pytest.raises(ValueError, match="flow:release"):
            build_flow().register(host)


async def test_a_step_that_is_added_later_is_part_of_durable_runs(database):
    """A step that is defined again, as in a notebook, is one as well."""
    flow = Flow("grows")

    @flow.step
    def plan(task: Task) -> Plan:
        return Plan()

    async with DurableHost(database, engine=LocalEngine) as host:
        assert await flow.run(Task(), host, id="1") == Plan()

        @flow.step
        def publish(plan: Plan) -> Released:
            return Released("1")

        assert await flow.run(Task(), host, id="2") == Released("1")


def test_a_flow_keeps_no_host(database):
    """A service that opens a host for each request does not grow."""
    flow = Flow("small")

    @flow.step
    def plan(task: Task) -> Plan:
        return Plan()

    async def run_once():
        async with DurableHost(database, engine=LocalEngine) as host:
            await flow.run(Task(), host, id="1")
            return weakref.ref(host), flow._durable_runs[host]

    host, runs = asyncio.run(run_once())
    gc.collect()
    assert host() is None
    with pytest.raises(Exception, match="the host of these runs is gone"):
        _ = runs.host
