"""A durable agent keeps its runs and its approvals, and continues them."""

from __future__ import annotations

import asyncio
import itertools
import stat
import time
from dataclasses import dataclass, replace

import pytest

from tests.clocks import wait_until
from tests.durable.kit import DurableShop, running, wait_for_status
from toolkit.agent import Agent
from toolkit.approvals import ApprovalError, Approvals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.durable import DurableAgent, DurableError
from toolkit.providers import ScriptedProvider
from toolkit.providers.messages import UserMessage
from toolkit.results import ToolCall

pytestmark = pytest.mark.anyio


async def approve_all(durable, run, **options):
    """Approve the requests of *run* one by one, and return the run that is over."""
    while run.status == "waiting":
        request = run.requests[0]
        run = await durable.resume(run.id, {request.id: Decision.approve(**options)})
    return run


async def test_a_decision_alone_answers_the_one_request_of_a_run(tmp_path):
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        await durable.run("pay", id="r1")
        assert (await durable.resume("r1", Decision.approve())).status == "waiting"
        assert (await durable.resume("r1", Decision.approve())).text == "done"
        with pytest.raises(DurableError, match="the run 'r1' is done, and takes no decision any more") as caught:
            await durable.resume("r1", Decision.approve())
    assert caught.value.why == "over"
    assert shop.paid == ["A", "B"]


async def test_arguments_that_are_no_json_are_refused_as_in_memory(tmp_path):
    """A provider of one's own may give NaN in an object. The model corrects the call, and the run goes on."""
    shop = DurableShop(tmp_path, script=[[ToolCall("pay", {"bill": float("nan")}, "a")], "done"])
    async with shop.open() as durable:
        run = await durable.run("pay", id="r1")
    plain_run = await shop.agent.run("pay")
    refusals = [(result.kind, result.text) for result in run.messages[2].results]
    assert refusals == [(result.kind, result.text) for result in plain_run.messages[2].results]
    assert [kind for kind, _ in refusals] == ["bad_args"]
    assert "bill: nan is not JSON; use a finite number or null" in refusals[0][1]


async def test_a_run_continues_after_approvals_in_other_processes(tmp_path):
    """Each bill is paid once, and the same id returns the answer."""
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        run = await durable.run("pay", id="may/1")
        assert (run.status, run.id, len(run.requests)) == ("waiting", "may/1", 1)
        assert (await durable.run("pay", id="may/1")).requests == run.requests
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        run = await approve_all(durable, run)
        assert (run.status, run.text, shop.paid) == ("done", "done", ["A", "B"])
        assert (await durable.run("pay", id="may/1")).text == "done"
        assert [row.id for row in await durable.list(status="done")] == ["may/1"]
        assert (await durable.events("may/1"))[-1].kind == "ended"
        assert await durable.purge(before=time.time() + 1) == 1


async def test_another_prompt_or_principal_under_the_same_id_is_refused(tmp_path):
    """An id belongs to one prompt of one principal."""
    async with DurableShop(tmp_path).open() as durable:
        await durable.run("pay", id="a", principal="ada")
        for prompt, principal in (("pay more", "ada"), ("pay", "bob"), (UserMessage.of("pay"), "ada")):
            with pytest.raises(DurableError) as caught:
                await durable.run(prompt, id="a", principal=principal)
            assert caught.value.why == "changed"
        with pytest.raises(TypeError, match="prompt"):
            await durable.run("", id="b")


async def test_approvals_are_kept_beside_the_runs(tmp_path):
    """The default store would end with the process, so it is replaced. The file is private."""
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        (request,) = (await durable.run("pay", id="a")).requests
        path = tmp_path / "runs.sqlite.approvals.sqlite"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert [pending.id for pending in SQLiteApprovals(path).pending()] == [request.id]


async def test_the_approval_store_of_the_user_is_used(tmp_path):
    """A dispatcher with a durable store keeps it."""
    shop = DurableShop(tmp_path, approvals=Approvals(SQLiteApprovals(tmp_path / "own.approvals.sqlite")))
    async with shop.open() as durable:
        await durable.run("pay", id="a")
        assert durable.agent is shop.agent
        assert not (tmp_path / "runs.sqlite.approvals.sqlite").exists()


async def test_a_call_that_another_caller_runs_is_not_run_again(tmp_path, caplog):
    """A request that was answered at the dispatcher belongs to that caller; the run waits for its result."""
    began, may_end, paid = asyncio.Event(), asyncio.Event(), []
    shop = DurableShop(tmp_path, approvals=Approvals(SQLiteApprovals(tmp_path / "approvals.sqlite")))

    @shop.catalog.tool(destructive=True)
    async def transfer(bill: str) -> str:
        """Pay a bill, slowly."""
        paid.append(bill)
        if len(paid) == 1:
            began.set()
            await may_end.wait()
        return f"{bill} is paid"

    shop.script = [[ToolCall("transfer", {"bill": "A"}, "a")], "done"]
    async with shop.open() as durable:
        (request,) = (await durable.run("Pay.", id="r")).requests
        async with running(shop.dispatcher.resume(request, Decision.approve(by="bob"))) as other:
            await began.wait()
            async with asyncio.TaskGroup() as group:
                own = group.create_task(durable.resume("r", {request.id: Decision.approve(by="ada")}))
                await wait_until(lambda: "was approved before, and runs" in caplog.text)
                may_end.set()
            assert (await other).text == "A is paid"
        run = own.result()
    assert (run.text, paid) == ("done", ["A"])


async def test_a_decision_that_is_not_accepted_can_be_corrected(tmp_path):
    """A person of another principal is refused, here and in a worker, and the right one is accepted after that."""
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        run = await durable.run("pay", id="a", principal="ada")
        (request,) = run.requests
        with pytest.raises(ApprovalError) as caught:
            await durable.resume("a", {request.id: Decision.approve(principal="bob")})
        assert caught.value.why == "principal"
        async with running(durable.work()):
            await durable.decide("a", {request.id: Decision.approve(principal="bob")})
            row = await durable.get("a")
            while row.decisions or row.status != "waiting":
                row = await wait_for_status(durable.host, "a", "waiting")
        assert shop.paid == []
        run = await approve_all(durable, durable.read_run(row), principal="ada")
    assert (run.status, shop.paid) == ("done", ["A", "B"])


def let_reads_fail(durable, times):
    """Let the store of approvals be busy for the next reads, and return the number of those that are left."""
    read, left = durable._store.get, [times]

    def get(*args):
        left[0] -= 1
        if left[0] >= 0:
            raise ApprovalError("the file is busy; try again", why="store")
        return read(*args)

    durable._store.get = get
    return left


@pytest.mark.parametrize("has_worker", [True, False])
async def test_a_decision_outlasts_a_busy_store(tmp_path, has_worker):
    """A store of approvals that is busy for a moment costs no decision, here and in a worker."""
    shop = DurableShop(tmp_path, script=[[ToolCall("pay", {"bill": "A"}, "a")], "done"])
    async with shop.open() as durable:
        (request,) = (await durable.run("pay", id="a")).requests
        left = let_reads_fail(durable, 2)
        if has_worker:
            async with running(durable.work()):
                await durable.decide("a", {request.id: Decision.approve(by="ada")})
                await wait_for_status(durable.host, "a", "done")
        else:
            await durable.resume("a", {request.id: Decision.approve(by="ada")})
        kinds = [event.kind for event in await durable.events("a")]
    assert (shop.paid, "refused" in kinds, left[0] < 0) == (["A"], False, True)


async def test_a_decision_is_kept_while_the_store_is_away(tmp_path, monkeypatch):
    """The caller gets the store's error, and the run goes on later with the decision that was given."""
    monkeypatch.setattr("toolkit.agent.resume.PATIENCE_SECONDS", (0.0,))
    shop = DurableShop(tmp_path, script=[[ToolCall("pay", {"bill": "A"}, "a")], "done"])
    async with shop.open() as durable:
        (request,) = (await durable.run("pay", id="a")).requests
        let_reads_fail(durable, 2)
        with pytest.raises(ApprovalError, match="busy"):
            await durable.resume("a", {request.id: Decision.approve(by="ada")})
        row = await durable.get("a")
        assert (row.status, list(row.decisions), shop.paid) == ("queued", [request.id], [])
        run = await durable.run("pay", id="a")
    assert (run.text, shop.paid) == ("done", ["A"])


@pytest.mark.parametrize("has_worker", [True, False])
async def test_a_refused_decision_does_not_stop_an_accepted_one(tmp_path, has_worker):
    """The refused decision takes no life of the run, and the accepted one is applied once."""
    shop = DurableShop(tmp_path, mode="auto")

    @shop.catalog.tool(read_only=True, approval="always")
    def look(bill: str) -> str:
        """Look at a bill."""
        shop.paid.append(bill)
        return f"{bill} is here"

    shop.script = [[ToolCall("look", {"bill": "A"}, "a"), ToolCall("look", {"bill": "B"}, "b")], "done"]
    async with shop.open(max_lives=1) as durable:
        run = await durable.run("look", id="a", principal="ada")
        first, second = run.requests
        decisions = {first.id: Decision.approve(by="ada"), second.id: Decision.approve(principal="bob")}
        if has_worker:
            async with running(durable.work()):
                row = await durable.decide("a", decisions)
                while row.decisions or row.status != "waiting":
                    row = await wait_for_status(durable.host, "a", "waiting")
        else:
            with pytest.raises(ApprovalError, match="was not made for"):
                await durable.resume("a", decisions)
        row = await durable.get("a")
        assert (row.status, row.lives, row.epoch) == ("waiting", 0, 2)
        run = await durable.resume("a", {second.id: Decision.approve(principal="ada")})
    assert (run.text, shop.paid) == ("done", ["A", "B"])


async def test_a_worker_does_the_whole_run(tmp_path):
    """A run that needs no approval is done by a worker, with the principal of its caller."""
    shop = DurableShop(tmp_path, mode="auto")
    async with shop.open() as durable:
        await durable.start("pay", id="a", principal="ada")
        async with running(durable.work()):
            run = durable.read_run(await wait_for_status(durable.host, "a", "done"))
    assert (run.text, run.session.principal, shop.paid) == ("done", "ada", ["A", "B"])


async def test_requests_that_expire_are_denied_and_the_run_goes_on(tmp_path):
    """The model reads that nothing was run."""
    shop = DurableShop(tmp_path, approvals=Approvals(expires_seconds=0.2))
    async with shop.open() as durable:
        await durable.start("pay", id="a")
        async with running(durable.work()):
            run = durable.read_run(await wait_for_status(durable.host, "a", "done"))
    assert (run.text, shop.paid) == ("done", [])
    assert [result.kind for result in run.messages[2].results] == ["denied", "denied"]


async def test_a_failed_run_is_retried_from_its_last_step(tmp_path):
    """Earlier steps are not repeated, and earlier decisions are not asked for again."""
    script = [[ToolCall("pay", {"bill": "A"}, "a")], RuntimeError("the model is away"), "never"]
    shop = DurableShop(tmp_path, script=script)
    async with shop.open() as durable:
        run = await durable.run("pay", id="a")
        with pytest.raises(RuntimeError, match="away"):
            await approve_all(durable, run)
        row = await durable.get("a")
        assert (row.status, durable.read_run(row).status) == ("failed", "failed")
        assert "the model is away" in row.problem
        shop.script[1] = "done"
        await durable.retry("a")
        async with running(durable.work()):
            run = durable.read_run(await wait_for_status(durable.host, "a", "done"))
    assert (run.text, shop.paid) == ("done", ["A"])


async def test_the_caller_gets_a_cancelled_run_with_the_reason(tmp_path):
    """The run is stopped and valid."""
    async with DurableShop(tmp_path).open() as durable:
        await durable.run("pay", id="a")
        await durable.cancel("a", "not needed any more")
        run = await durable.run("pay", id="a")
        assert (run.status, run.stop, run.reason) == ("stopped", "cancelled", "not needed any more")
        assert run.requests == ()
        assert type(run).from_json(run.to_json()).status == "stopped"
        with pytest.raises(DurableError) as caught:
            await durable.cancel("b")
        assert caught.value.why == "unknown"


async def test_a_deadline_ends_a_run_that_waits(tmp_path):
    """The outcome is a stopped run."""
    async with DurableShop(tmp_path).open() as durable:
        run = await durable.run("pay", id="a", deadline_seconds=0.3)
        assert run.status == "waiting"
        async with running(durable.work()):
            run = durable.read_run(await wait_for_status(durable.host, "a", "stopped"))
    assert (run.stop, run.reason) == ("seconds", "the deadline of the run has passed")


async def test_an_active_run_can_be_read(tmp_path):
    """Its row becomes a run with the prompt."""
    async with DurableShop(tmp_path).open() as durable:
        row = await durable.start(UserMessage.of("pay"), id="a")
        run = durable.read_run(row)
        assert (run.status, run.messages) == ("running", (UserMessage.of("pay"),))
        with pytest.raises(DurableError, match="kind"):
            durable.read_run(replace(row, kind="flow:x"))
        with pytest.raises(DurableError, match="cannot be read"):
            durable.read_run(replace(row, status="done", outcome={"version": 99}))


@dataclass
class Total:
    """A typed answer."""

    euros: int


async def test_a_typed_answer_is_typed_in_every_process(tmp_path):
    """A run that is read from the database has the same output."""
    shop = DurableShop(tmp_path, script=['{"euros": 5}'], output=Total, output_by="provider")
    shop.agent._options.provider.structured = True
    async with shop.open() as durable:
        for _ in range(2):
            assert (await durable.run("pay", id="a")).output == Total(5)


async def test_an_agent_opens_a_host_with_the_given_options(tmp_path):
    """Options beside an open host are refused."""
    shop = DurableShop(tmp_path, mode="auto")
    database = f"sqlite:///{tmp_path}/own.sqlite"
    durable = DurableAgent(shop.agent, database, concurrency=2, per_principal=1, rate=(5, 1.0), max_lives=2)
    assert durable.host.limits.concurrency == 2
    assert (await durable.run("pay", id="a")).text == "done"
    with pytest.raises(ValueError, match="DurableHost"):
        DurableAgent(shop.agent, durable.host, max_lives=2)
    await durable.close()


async def test_one_bad_decision_does_not_hold_up_the_others(tmp_path):
    """Two requests are decided at once, and the one that was refused can be decided again."""
    looks = []
    catalog = Catalog()

    @catalog.tool(read_only=True, approval="always")
    def look(what: str) -> str:
        """Look at something secret."""
        looks.append(what)
        return f"a {what}"

    calls = [ToolCall("look", {"what": "safe"}, "a"), ToolCall("look", {"what": "diary"}, "b")]
    shop = DurableShop(tmp_path, script=[calls, "done"])
    shop.agent = Agent(ScriptedProvider(itertools.repeat(shop._reply)), Dispatcher(catalog))
    async with shop.open() as durable:
        run = await durable.run("look", id="a", principal="ada")
        safe, diary = run.requests
        with pytest.raises(ApprovalError):
            await durable.resume(
                "a", {safe.id: Decision.approve(principal="bob"), diary.id: Decision.approve(principal="ada")}
            )
        assert looks == ["diary"]
        run = durable.read_run(await durable.get("a"))
        assert [request.id for request in run.requests] == [safe.id]
        run = await durable.resume("a", {safe.id: Decision.deny("no", principal="ada")})
    assert (run.text, looks) == ("done", ["diary"])


async def test_only_the_caller_with_the_refused_decision_gets_the_error(tmp_path, caplog):
    """The call of another caller runs meanwhile."""
    began, may_end = asyncio.Event(), asyncio.Event()
    calls = [ToolCall("look", {"what": "safe"}, "a"), ToolCall("look", {"what": "diary"}, "b")]
    shop = DurableShop(tmp_path, script=[calls, "done"])

    @shop.catalog.tool(read_only=True, approval="always")
    async def look(what: str) -> str:
        """Look at something secret, slowly."""
        began.set()
        await may_end.wait()
        return f"a {what}"

    async with shop.open() as durable, shop.open() as other:
        safe, diary = (await durable.run("look", id="a", principal="ada")).requests
        right = asyncio.ensure_future(durable.resume("a", {safe.id: Decision.approve(principal="ada")}))
        await began.wait()
        wrong = asyncio.ensure_future(other.resume("a", {diary.id: Decision.approve(principal="bob")}))
        while not (await durable.get("a")).decisions.keys() >= {diary.id}:  # noqa: ASYNC110 -- the journal sets no event
            await asyncio.sleep(0)
        may_end.set()
        assert [request.id for request in (await right).requests] == [diary.id]
        with pytest.raises(ApprovalError, match="was not made for") as caught:
            await wrong
        run = await other.resume("a", {diary.id: Decision.approve(principal="ada")})
    assert (caught.value.why, run.text) == ("principal", "done")
    assert f"the decision about the request {diary.id!r} was refused" in caplog.text


async def test_a_run_that_was_cut_off_too_often_fails_with_the_reason(tmp_path):
    async with DurableShop(tmp_path).open() as durable:
        await durable.start("pay", id="a")
        for _ in range(3):
            durable.host._journal.activate("a", worker="dead", now=1.0, max_lives=9)
        run = await durable.run("pay", id="a")
    assert run.status == "failed"
    assert "cut off 3 times" in run.reason
