"""The store of a durable flow's requests: what is withdrawn and deleted with a run, and decisions while the store is busy."""

from __future__ import annotations

import time

import pytest

from tests.flows.durable_kit import ReleaseFlow, open_host
from tests.flows.kit import Built, Part, Released, Task
from toolkit import (
    ApprovalError,
    Approvals,
    Catalog,
    Decision,
    Dispatcher,
    Inject,
    Permissions,
    SQLiteApprovals,
)
from toolkit.flows import Flow

pytestmark = pytest.mark.anyio


def open_store(database):
    """Return the store of approvals beside the runs."""
    return SQLiteApprovals(f"{database.removeprefix('sqlite:///')}.approvals.sqlite")


async def test_a_cancelled_run_has_no_open_request_and_a_retry_asks_again(database):
    """Finished steps are not repeated."""
    log = []
    async with open_host(database) as host:
        flow = ReleaseFlow(log).flow
        before = await flow.run(Task(), host, id="r")
        await flow.run(Task(), host, id="other")
        await host.cancel("r")
        assert [request.session for request in open_store(database).pending()] == ["flow:release:other"]
        await host.retry("r")
        again = await flow.run(Task(), host, id="r")
        assert [request.id for request in again.requests] != [request.id for request in before.requests]
        assert await flow.resume("r", {again.requests[0].id: Decision.approve()}, host) == Released("1")
    assert log == ["plan", "edit []", "plan", "edit []", "publish"]


async def test_requests_of_a_cancelled_flow_with_resources_per_run_are_withdrawn(database):
    """No step could run without the resources."""
    flow = Flow[Released]("own")

    @flow.step(destructive=True)
    def publish(task: Task, version: Inject[str]) -> Released:
        return Released(version)

    async with open_host(database) as host:
        await flow.run(Task(), host, id="r", resources={str: "1"})
        await host.cancel("r")
        assert open_store(database).pending() == []


async def test_a_purge_deletes_the_requests_of_a_flow(database):
    """Requests that no person has answered are included."""
    async with open_host(database) as host:
        flow = ReleaseFlow([]).flow
        waiting = await flow.run(Task(), host, id="r")
        await host.cancel("r")
        assert open_store(database).get(waiting.requests[0].id) is not None
        assert await host.purge(before=time.time() + 1) == 1
        assert open_store(database).get(waiting.requests[0].id) is None


def let_reads_fail(store, times):
    """Let the store of approvals be busy for the next reads."""
    read, left = store.get, [times]

    def get(request_id):
        left[0] -= 1
        if left[0] >= 0:
            raise ApprovalError("the file is busy; try again", why="store")
        return read(request_id)

    store.get = get
    return left


def build_shop_with_store(log, path):
    """Return a flow whose approvals are in a store of its own, and the store."""
    store = SQLiteApprovals(path / "own.approvals.sqlite")
    flow = Flow[list[Built]](
        "items", dispatcher=Dispatcher(Catalog(), permissions=Permissions("auto"), approvals=Approvals(store))
    )

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part]:
        return [Part(1), Part(2)]

    @flow.step(concurrency_safe=True, approval="always")
    def build(part: Part) -> Built:
        log.append(part.number)
        return Built(part.number)

    return flow, store


@pytest.mark.parametrize("is_durable", [True, False])
async def test_a_decision_outlasts_a_busy_store(database, tmp_path, is_durable):
    """A store of approvals that is busy for a moment costs no decision."""
    log = []
    flow, store = build_shop_with_store(log, tmp_path)
    async with open_host(database) as host:
        waiting = await flow.run(Task(), host if is_durable else None, id="r")
        left = let_reads_fail(store, 2)
        decisions = {request.id: Decision.approve() for request in waiting.requests}
        outcome = await flow.resume(waiting, decisions, host if is_durable else None)
        assert (outcome, sorted(log), left[0] < 0) == ([Built(1), Built(2)], [1, 2], True)
        if is_durable:
            assert "refused" not in [event.kind for event in await host.events("r")]


async def test_a_decision_is_kept_while_the_store_is_away(database, tmp_path, monkeypatch):
    """The caller gets the store's error. The run goes on later with the decisions, and the other items were done."""
    monkeypatch.setattr("toolkit.agent.resume.PATIENCE_SECONDS", ())
    log = []
    flow, store = build_shop_with_store(log, tmp_path)
    async with open_host(database) as host:
        waiting = await flow.run(Task(), host, id="r")
        read = store.get

        def get(request_id):
            if request_id == waiting.requests[0].id:
                raise ApprovalError("the file is busy; try again", why="store")
            return read(request_id)

        store.get = get
        decisions = {request.id: Decision.approve() for request in waiting.requests}
        with pytest.raises(ApprovalError, match="busy"):
            await flow.resume("r", decisions, host)
        row = await host.get("r")
        assert (row.status, set(row.decisions), log) == ("queued", set(decisions), [2])
        store.get = read
        assert await flow.run(Task(), host, id="r") == [Built(1), Built(2)]
    assert log == [2, 1]
