"""
Calls whose earlier attempt claimed an approval and never began, and the idempotency key of a call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals
from toolkit.approvals.store import Settlement
from toolkit.calls.resume import resume_call
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import Transient
from toolkit.hooks.base import Run, ShownCall
from toolkit.permissions import Permissions
from toolkit.policies.retry import RetryPolicy
from toolkit.results import ToolCall, ToolResult
from toolkit.session import Session
from toolkit.storage.process_owner import owner

pytestmark = pytest.mark.anyio


class Shop:
    """A tool that pays, and a store that survives the process."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, str]] = []
        self.store = MemoryApprovals()
        self.session = Session(id="s")

    def dispatcher(self, *rules: str, ask: Any = None, version: str = "1") -> Dispatcher:
        catalog = Catalog()

        @catalog.tool(destructive=True, version=version)
        async def pay(amount: int, context: Context) -> str:
            """Pay."""
            self.paid.append((amount, context.idempotency_key))
            return f"paid {amount}"

        return Dispatcher(catalog, permissions=Permissions("auto", rules), approvals=Approvals(self.store, ask=ask))

    def call(self, *, claim_mark: str = "step-mark") -> ToolCall:
        call = ToolCall("pay", {"amount": 5}, "t1", self.session, request_id="step-7", idempotency_key="k")
        call.claim_mark = claim_mark
        return call

    async def claim(self, arguments: Any = None, *, claimed_by: str = "") -> None:
        """Ask, and claim the approval as a process that is killed before the tool begins."""
        claimed_by = claimed_by or owner(mark="step-mark")
        waiting = await self.dispatcher().call(self.call())
        assert waiting.kind == "waiting"
        assert self.store.settle(
            "step-7", Settlement("claimed", by="ada", owner=claimed_by, now=1.0, arguments=arguments)
        )

    async def resume(self, dispatcher: Dispatcher, decision: Decision) -> ToolResult:
        return await resume_call(
            "step-7",
            decision,
            dispatcher.find_plan,
            dispatcher.settings,
            session=self.session,
            principal=None,
            resources={},
            timeout_seconds=None,
            idempotency_key="k",
            claim_mark="step-mark",
        )


@pytest.mark.parametrize("is_resumed", [True, False])
async def test_a_claim_that_never_began_is_taken_over(is_resumed: bool) -> None:
    """An approved call that never began runs once, also if its claim looks alive."""
    shop = Shop()
    await shop.claim()
    dispatcher = shop.dispatcher()
    result = await (shop.resume(dispatcher, Decision.approve()) if is_resumed else dispatcher.call(shop.call()))
    assert (result.kind, result.text) == ("ok", "paid 5")
    assert shop.paid == [(5, "k")]
    record = shop.store.get("step-7")
    assert record is not None
    assert record.state == "done"


async def test_a_claim_is_not_taken_over_by_any_other_call() -> None:
    """A call that is not the next attempt at a step does not run beside a claim."""
    shop = Shop()
    await shop.claim()
    result = await shop.dispatcher().call(shop.call(claim_mark=""))
    assert result.kind == "failed"
    assert "was approved before, and runs" in result.text
    assert shop.paid == []


@pytest.mark.parametrize("claimed_by", [owner(), owner(mark="other-mark")])
@pytest.mark.parametrize("is_resumed", [True, False])
async def test_a_claim_of_another_living_caller_is_not_taken_over(claimed_by: str, is_resumed: bool) -> None:
    """A step whose request another caller has claimed, and runs, does not run the tool a second time."""
    shop = Shop()
    await shop.claim(claimed_by=claimed_by)
    dispatcher = shop.dispatcher()
    if is_resumed:
        with pytest.raises(ApprovalError) as caught:
            await shop.resume(dispatcher, Decision.approve())
        assert caught.value.why == "running"
    else:
        result = await dispatcher.call(shop.call())
        assert result.kind == "failed"
        assert "was approved before, and runs" in result.text
    assert shop.paid == []
    record = shop.store.get("step-7")
    assert record is not None
    assert record.claim is not None
    assert record.claim.owner == claimed_by


@pytest.mark.parametrize("mark", ["", "#other-mark"])
@pytest.mark.parametrize("is_resumed", [True, False])
async def test_claim_of_another_dead_caller_may_have_happened(mark: str, is_resumed: bool) -> None:
    """If another caller has died while it ran the tool, the step does not run it again."""
    shop = Shop()
    machine, number, _, token = owner().split("/")
    await shop.claim(claimed_by=f"{machine}/{number}/1/{token}{mark}")
    dispatcher = shop.dispatcher()
    result = await (shop.resume(dispatcher, Decision.approve()) if is_resumed else dispatcher.call(shop.call()))
    assert result.kind == "failed"
    assert result.error is not None
    assert result.error.details == {"happened": "maybe"}
    assert shop.paid == []


@pytest.mark.parametrize("is_resumed", [True, False])
async def test_edited_arguments_stay_edited(is_resumed: bool) -> None:
    """A call whose arguments a person has changed runs with these, when its claim is taken over."""
    shop = Shop()
    await shop.claim({"amount": 3})
    decision = Decision.approve(arguments={"amount": 3})
    dispatcher = shop.dispatcher()
    result = await (shop.resume(dispatcher, decision) if is_resumed else dispatcher.call(shop.call()))
    assert result.kind == "ok"
    assert shop.paid == [(3, "k")]


@pytest.mark.parametrize("is_resumed", [True, False])
async def test_rules_of_today_deny_a_claim_that_never_began(is_resumed: bool) -> None:
    """If a new rule denies the call, the result says so, and not that it may have happened."""
    shop = Shop()
    await shop.claim()
    dispatcher = shop.dispatcher("deny pay")
    result = await (shop.resume(dispatcher, Decision.approve()) if is_resumed else dispatcher.call(shop.call()))
    assert result.kind == "denied"
    assert "may or may not" not in result.text
    assert shop.paid == []


async def test_a_changed_tool_is_asked_about_again() -> None:
    """If the tool has another version than when a step asked, the step asks with another request."""
    shop = Shop()
    waiting = await shop.dispatcher().call(shop.call())
    again = await shop.dispatcher(version="2").call(shop.call())
    assert waiting.request is not None
    assert again.request is not None
    assert again.kind == "waiting"
    assert again.request.id != waiting.request.id
    result = await shop.dispatcher(version="2").call(shop.call(claim_mark=""))
    assert result.kind == "failed"


# Steps that are cut off in good order.


class Gate:
    """A hook, or a person, that takes its time until it is cancelled."""

    def __init__(self) -> None:
        self.is_reached = asyncio.Event()
        self.is_open = False

    async def around(self, call: ShownCall, run: Run) -> ToolResult:
        """Wait before the tool."""
        await self.wait()
        return await run()

    async def wait(self) -> None:
        """Wait for ever, unless the gate is open."""
        self.is_reached.set()
        if not self.is_open:
            await asyncio.Event().wait()

    async def cancel_at(self, work: Coroutine[Any, Any, ToolResult]) -> None:
        """Cancel *work* when it has come here, and let the next one pass."""
        task = asyncio.ensure_future(work)
        await self.is_reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        self.is_open = True


@pytest.mark.parametrize("is_resumed", [True, False])
async def test_step_that_is_cancelled_before_its_tool_runs_keeps_its_approval(is_resumed: bool) -> None:
    """The next attempt runs the call, and the person is not asked a second time."""
    shop, gate, request_ids = Shop(), Gate(), list[str]()

    def ask(request: Any) -> Decision | None:
        request_ids.append(request.id)
        return None if is_resumed else Decision.approve(by="ada")

    dispatcher = shop.dispatcher(ask=ask).extended(hooks=[gate])
    if is_resumed:
        gate.is_open = True
        assert (await dispatcher.call(shop.call())).kind == "waiting"
        gate.is_open = False
        gate.is_reached.clear()

    def attempt() -> Coroutine[Any, Any, ToolResult]:
        return shop.resume(dispatcher, Decision.approve(by="ada")) if is_resumed else dispatcher.call(shop.call())

    await gate.cancel_at(attempt())
    record = shop.store.get("step-7")
    assert record is not None
    assert (record.state, shop.paid) == ("claimed", [])
    assert (await attempt()).text == "paid 5"
    assert (shop.paid, request_ids) == ([(5, "k")], ["step-7"])


async def test_a_step_that_is_cancelled_during_its_question_asks_again() -> None:
    """The request is not withdrawn, because the next attempt would mistake that for the answer of a person."""
    shop, gate = Shop(), Gate()

    async def ask(request: Any) -> Decision:
        await gate.wait()
        return Decision.approve(by="ada")

    dispatcher = shop.dispatcher(ask=ask)
    await gate.cancel_at(dispatcher.call(shop.call()))
    assert [request.id for request in shop.store.pending()] == ["step-7"]
    assert (await dispatcher.call(shop.call())).text == "paid 5"


async def test_a_call_that_is_not_a_step_is_withdrawn_by_its_cancellation() -> None:
    """The call is not made again, so a later answer must not let it run."""
    shop, gate = Shop(), Gate()

    async def ask(request: Any) -> Decision:
        await gate.wait()
        return Decision.approve(by="ada")

    await gate.cancel_at(shop.dispatcher(ask=ask).call(shop.call(claim_mark="")))
    assert list(shop.store.pending()) == []


# Idempotency keys.


async def test_key_is_the_same_for_all_attempts_and_for_no_other_call() -> None:
    """Each call has a key of its own, which its attempts share."""
    keys: list[str] = []
    catalog = Catalog()

    @catalog.tool(idempotent=True)
    def send(context: Context) -> str:
        """Send something."""
        keys.extend([context.idempotency_key, context.idempotency_key])
        if context.attempt == 1:
            raise Transient("busy")
        return "sent"

    async def sleep(seconds: float) -> None:
        return None

    dispatcher = Dispatcher(catalog, retry=RetryPolicy(attempts=2), sleep=sleep)
    for _ in range(2):
        assert (await dispatcher.call("send", {}, id="same")).attempts == 2
    assert keys[:4] == [keys[0]] * 4
    assert keys[4:] == [keys[4]] * 4
    assert keys[0] != keys[4]
    assert len(keys[0]) == 32


async def test_caller_chooses_the_key() -> None:
    """A `ToolCall` may bring the key; what is no text is refused."""
    shop = Shop()
    dispatcher = shop.dispatcher(ask=lambda request: Decision.approve())
    await dispatcher.call(ToolCall("pay", {"amount": 1}, idempotency_key="mine"))
    assert shop.paid == [(1, "mine")]
    with pytest.raises(TypeError, match="an idempotency key is a text, got int"):
        await dispatcher.call(ToolCall("pay", {"amount": 1}, idempotency_key=7))  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ValueError, match="cannot be an idempotency key"):
        await dispatcher.call(ToolCall("pay", {"amount": 1}, idempotency_key=""))


async def test_approved_call_has_the_key_of_its_request() -> None:
    """A call that is resumed has a key that depends on its request alone, so that another process has the same."""
    shop = Shop()
    waiting = await shop.dispatcher().call("pay", {"amount": 5}, session=shop.session)
    assert waiting.request is not None
    await shop.dispatcher().resume(waiting.request.id, Decision.approve(), session=shop.session)
    assert len(shop.paid[0][1]) == 64


def test_function_that_is_called_directly_has_a_key() -> None:
    """A `Context` that no dispatcher has made has a random key, and keeps it."""
    from toolkit.facts import Facts

    context = Context(facts=Facts())
    assert context.idempotency_key == context.idempotency_key
    assert context.idempotency_key != Context(facts=Facts()).idempotency_key
