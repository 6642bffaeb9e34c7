"""
The same call (id, digest, session) that asks twice is one request, and runs at most once.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.approvals.store import Settlement
from toolkit.catalog import Catalog
from toolkit.decisions import AuthNeeded, AuthRequest, Changed, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError
from toolkit.permissions import Permissions
from toolkit.policies.audit import AuditLog
from toolkit.results import ToolCall
from toolkit.session import Session

pytestmark = pytest.mark.anyio


class Shop:
    """A tool that sends something, and notes what it has sent."""

    def __init__(self, store: Any, **options: Any) -> None:
        self.sent: list[str] = []
        self.catalog = catalog = Catalog()
        self.now = 1000.0
        options = {"expires_seconds": 60.0, "clock": lambda: self.now, **options}
        self.approvals = Approvals(store, **options)

        @catalog.tool(destructive=True)
        async def send(item: str, count: int = 1) -> str:
            """Send something."""
            self.sent.append(item)
            return f"sent {item}"

        self.dispatcher = self.build()

    def build(self, **options: Any) -> Dispatcher:
        return Dispatcher(self.catalog, permissions=Permissions(), approvals=self.approvals, **options)

    async def ask(self, item: str = "tea", *, id: str | None = "t1", **options: Any) -> Any:
        return await self.dispatcher.call("send", {"item": item}, id=id, **options)

    async def why(self, request: Any, **options: Any) -> str:
        try:
            return (await self.dispatcher.resume(request, Decision.approve(), **options)).kind
        except ApprovalError as error:
            return error.why

    def pending(self) -> list[str]:
        return [request.id for request in self.approvals.store.pending(now=self.now)]


@pytest.fixture(params=["memory", "sqlite", "signed"])
def shop(request, tmp_path):
    """A shop with each of the stores."""
    if request.param == "memory":
        return Shop(MemoryApprovals())
    store = SQLiteApprovals(tmp_path / "x.approvals.sqlite")
    return Shop(store, **({"key": b"k" * 32} if request.param == "signed" else {}))


# While it waits.


async def test_the_same_call_asked_twice_is_one_request(shop):
    """One open request is left. Approving it twice runs the effect once."""
    session = Session(id="s")
    first, second = [await shop.ask(session=session, principal="ada") for _ in range(2)]
    assert (first.kind, second.kind) == ("waiting", "waiting")
    assert first.request == second.request
    assert shop.pending() == [first.request.id]
    answers = [await shop.why(result.request.id, session=session, principal="ada") for result in (first, second)]
    assert (answers, shop.sent) == (["ok", "answered"], ["tea"])


@pytest.mark.parametrize("arguments", ['{"item": "tea"}', {"count": 1, "item": "tea"}, {"item": "tea", "count": "1"}])
async def test_the_same_call_is_recognized_in_any_form(shop, arguments):
    """Defaults, order, text and repairs make no difference."""
    first = await shop.ask()
    second = await shop.dispatcher.call(ToolCall("send", arguments, "t1"))
    assert first.request.id == second.request.id


@pytest.mark.parametrize(
    ("item", "options"),
    [
        ("tea", {"id": "t2"}),
        ("milk", {}),
        ("tea", {"session": Session(id="other")}),
        ("tea", {"principal": "bob"}),
        ("tea", {"id": None}),
        ("tea", {"id": ""}),
    ],
    ids=["id", "arguments", "session", "principal", "no id", "an empty id"],
)
async def test_another_call_is_another_request(shop, item, options):
    """Both can be answered, and both run."""
    first, second = await shop.ask(), await shop.ask(item, **options)
    assert first.request.id != second.request.id
    assert len(shop.pending()) == 2


async def test_a_call_without_an_id_is_a_new_call_each_time(shop):
    """The library makes the same ids in every process and every dispatcher, so they say nothing."""
    session = Session(id="s")
    ids = [(await shop.ask(id=None, session=session)).request.id for _ in range(3)]
    for _ in range(3):
        shop.dispatcher = shop.build()  # its calls are numbered from 1 again
        ids.append((await shop.ask(id=None, session=session)).request.id)
    calls = [("send", {"item": "tea"})]
    ids += [(await shop.build().call_many(calls, session=session))[0].request.id for _ in range(2)]
    assert len(set(ids)) == 8


async def test_an_id_with_the_form_of_a_generated_one_counts_if_the_caller_gives_it(shop):
    """A call without an id is still another call."""
    first = await shop.ask(id=None)
    others = [await shop.ask(id=first.call_id) for _ in range(2)]
    assert others[0].request.id == others[1].request.id != first.request.id


async def test_two_calls_with_one_id_in_a_batch_are_two_and_sending_the_batch_again_finds_both(shop):
    """A server may give two calls of one turn the same id."""
    calls = [ToolCall("send", {"item": "tea"}, "t1")] * 2

    async def send():
        results = [(await shop.dispatcher.call_many(calls))[0]]
        await shop.dispatcher.resume(results[0].request.id, Decision.deny())
        return results[0].call_id

    assert await send() == "t1"
    waiting = (await shop.dispatcher.call_many(calls))[1]
    assert (waiting.kind, waiting.call_id, waiting.request.waits_for) == ("waiting", "t1~repeat-2", "t1")


async def test_many_tasks_that_ask_at_once_get_one_request(shop):
    results = await asyncio.gather(*(shop.ask() for _ in range(20)))
    assert len({result.request.id for result in results}) == 1
    answers = await asyncio.gather(*(shop.why(result.request.id) for result in results))
    assert (answers.count("ok"), len(shop.pending()), shop.sent) == (1, 0, ["tea"])
    assert {*answers} <= {"ok", "answered", "running"}


async def test_the_same_call_is_known_after_a_restart(tmp_path):
    """Another store object on the same file, with another dispatcher."""
    path = tmp_path / "x.approvals.sqlite"
    before, after = Shop(SQLiteApprovals(path)), Shop(SQLiteApprovals(path))
    first, second = await before.ask(), await after.ask()
    assert first.request == second.request
    assert await after.why(second.request.id) == "ok"
    repeated = await before.ask()
    assert (repeated.kind, before.sent, after.sent) == ("ok", [], ["tea"])


# After it was answered.


async def test_a_call_that_has_run_gives_its_recorded_result(shop):
    """Asking again runs nothing; the model and the program are told that the result is an earlier one."""
    first = await shop.ask()
    done = await shop.dispatcher.resume(first.request.id, Decision.approve())
    again = await shop.ask()
    assert (again.kind, again.value, again.attempts, again.call_id) == ("ok", "sent tea", 0, "t1")
    assert again.text == f"note: this call was approved and run before; this is its recorded result\n{done.text}"
    assert (again.metadata, done.metadata) == ({"repeats": first.request.id}, None)
    assert (shop.sent, shop.pending()) == (["tea"], [])


async def test_a_result_is_repeated_until_the_request_expires(shop):
    """After that, the same id is a new call, and a person decides."""
    first = await shop.ask()
    await shop.dispatcher.resume(first.request.id, Decision.approve())
    shop.now += 61
    again = await shop.ask()
    assert again.kind == "waiting"
    assert again.request.id != first.request.id


@pytest.mark.parametrize("ending", ["denied", "expired"])
async def test_a_call_that_was_denied_or_expired_is_asked_about_again(shop, ending):
    """It has not run, so a new request cannot run it twice."""
    first = await shop.ask()
    if ending == "denied":
        await shop.dispatcher.resume(first.request.id, Decision.deny("not now"))
    else:
        shop.now += 61
    again = await shop.ask()
    assert again.kind == "waiting"
    assert again.request.id != first.request.id
    assert shop.pending() == [again.request.id]
    assert (await shop.ask()).request.id == again.request.id
    assert (await shop.why(first.request.id), await shop.why(again.request.id)) == (
        "answered" if ending == "denied" else "expired",
        "ok",
    )
    assert shop.sent == ["tea"]


async def test_a_call_that_never_began_is_asked_about_again_and_one_that_failed_is_not(shop):
    """A call that has certainly not happened may be approved once more."""

    @shop.catalog.tool(destructive=True)
    async def fail() -> None:
        """Fail."""
        shop.sent.append("fail")
        raise ToolError("no luck")

    async def ask():
        return await shop.dispatcher.call("fail", id="f1")

    first = (await ask()).request
    assert await shop.why(first.id) == "failed"
    assert ((await ask()).kind, shop.sent) == ("failed", ["fail"])
    store, request = shop.approvals.store, (await shop.ask()).request
    assert store.settle(request.id, Settlement("claimed", by="ada", owner="me", now=shop.now))
    cut_short = {"kind": "cancelled", "error": {"message": "", "details": {"happened": "no"}}}
    assert store.finish(request.id, cut_short, owner="me")
    assert (await shop.ask()).kind == "waiting"


async def test_a_call_that_runs_is_not_started_a_second_time(shop):
    """The second caller is told; what happened is not known yet."""
    begun, release = asyncio.Event(), asyncio.Event()

    @shop.catalog.tool
    async def slow() -> str:
        """Take a while."""
        shop.sent.append("slow")
        begun.set()
        await release.wait()
        return "done"

    request = (await shop.dispatcher.call("slow", id="s1")).request
    running = asyncio.ensure_future(shop.dispatcher.resume(request.id, Decision.approve()))
    await begun.wait()
    second = await shop.dispatcher.call("slow", id="s1")
    assert (second.kind, second.error.details) == ("failed", {"happened": "maybe"})
    assert second.error.message == "the same call was approved before, and runs"
    release.set()
    assert (await running).text == "done"
    assert (await shop.dispatcher.call("slow", id="s1")).value == "done"
    assert shop.sent == ["slow"]


async def test_a_call_whose_process_died_is_not_run_again(shop):
    """It may or may not have happened, and the result says so."""
    request = (await shop.ask()).request
    dead = "0" * 16 + "/1/0/" + "0" * 16  # a process that this one cannot see
    assert shop.approvals.store.settle(request.id, Settlement("claimed", by=None, owner=dead, now=shop.now))
    assert "may run where this process cannot see it" in (await shop.ask()).text
    shop.now += 61
    lost = await shop.ask()
    assert "it may or may not have happened" in lost.text
    assert shop.sent == []


async def test_a_recorded_result_needs_no_preview():
    """Its target may be gone, because the call has run."""
    catalog, ran = Catalog(), []

    def preview(arguments):
        if ran:
            raise ToolError("there is nothing left")
        return "it goes away"

    @catalog.tool(destructive=True, preview=preview)
    async def remove() -> str:
        """Remove it."""
        ran.append(True)
        return "removed"

    dispatcher = Dispatcher(catalog, permissions=Permissions())
    request = (await dispatcher.call("remove", id="r")).request
    assert (await dispatcher.resume(request.id, Decision.approve())).kind == "ok"
    assert (await dispatcher.call("remove", id="r")).value == "removed"


async def test_a_new_policy_that_forbids_the_call_comes_first(shop):
    """A recorded result is not handed to a session that may not make the call."""
    session = Session(id="s")
    request = (await shop.ask(session=session)).request
    await shop.dispatcher.resume(request.id, Decision.approve(), session=session)
    Permissions().set_mode("plan", session=session)
    assert (await shop.ask(session=session)).kind == "denied"


# A request that takes the place of another.


async def test_a_call_that_is_asked_about_again_is_one_request(shop):
    """The tool reported a change, and the same call finds the new request."""
    rounds = []

    @shop.catalog.tool
    async def careful() -> str:
        """Act with care."""
        rounds.append(True)
        if len(rounds) == 1:
            raise Changed("it changed")
        return "done"

    async def ask():
        return await shop.dispatcher.call("careful", id="c1")

    first = (await ask()).request
    second = (await shop.dispatcher.resume(first.id, Decision.approve())).request
    assert (await ask()).request.id == second.id != first.id
    assert shop.pending() == [second.id]
    assert await shop.why(second.id) == "ok"
    assert ((await ask()).value, len(rounds)) == ("done", 2)


async def test_credentials_are_asked_for_once(shop):
    """The call is tried again, and finds the request that waits."""

    @shop.catalog.tool(read_only=True)
    async def issues() -> str:
        """List issues."""
        raise AuthNeeded(AuthRequest(provider="tracker"))

    ids = {(await shop.dispatcher.call("issues", id="i1")).request.id for _ in range(3)}
    assert len(ids) == 1
    assert shop.pending() == list(ids)


async def test_edited_arguments_that_ask_again_are_still_one_request(shop):
    """The person's arguments wait; the call as the model sent it does not open a second request beside them."""
    permissions = Permissions("default", ["ask send(item=milk)"])
    shop.dispatcher = Dispatcher(shop.catalog, permissions=permissions, approvals=shop.approvals)
    first = (await shop.ask()).request
    second = await shop.dispatcher.resume(first.id, Decision.approve(arguments={"item": "milk"}, by="ada"))
    assert (second.kind, second.request.arguments["item"]) == ("waiting", "milk")
    assert (await shop.ask()).request.id == second.request.id
    assert shop.pending() == [second.request.id]
    assert await shop.why(second.request.id) == "ok"
    again = await shop.ask()
    assert (again.value, shop.sent) == ("sent milk", ["milk"])


# With a person who is asked at once.


async def test_a_person_is_asked_once_about_a_call_that_two_tasks_make():
    """The second call waits with the same request, and finds the result when it is sent again."""
    questions, answer = asyncio.Queue(), asyncio.Event()

    async def ask(request):
        questions.put_nowait(request.id)
        await answer.wait()
        return True

    shop = Shop(MemoryApprovals(), ask=ask)
    first = asyncio.ensure_future(shop.ask())
    request_id = await questions.get()
    second = await shop.ask()
    assert (second.kind, second.request.id) == ("waiting", request_id)
    answer.set()
    assert (await first).kind == "ok"
    assert ((await shop.ask()).value, shop.sent, questions.qsize()) == ("sent tea", ["tea"], 0)


async def test_a_call_that_is_cancelled_leaves_the_request_to_another_call():
    """Only the last call that holds a request withdraws it."""
    questions, forever = asyncio.Queue(), asyncio.Event()

    async def ask(request):
        questions.put_nowait(request.id)
        await forever.wait()

    shop = Shop(MemoryApprovals(), ask=ask)
    first = asyncio.ensure_future(shop.ask())
    await questions.get()
    second = await shop.ask()
    first.cancel()
    await asyncio.wait({first})
    assert shop.pending() == [second.request.id]
    assert (await shop.why(second.request.id), shop.sent) == ("ok", ["tea"])
    third = asyncio.ensure_future(shop.ask(id="t3"))
    await questions.get()
    third.cancel()
    await asyncio.wait({third})
    assert shop.pending() == []


async def test_an_answer_that_another_process_gave_first_is_not_an_error(shop):
    """The person at this terminal agreed too late: the other one's result counts, and nothing runs twice."""
    other = Shop(shop.approvals.store)

    async def ask(request):
        await other.dispatcher.resume(request.id, Decision.approve(by="bob"))
        return True

    shop.approvals = Approvals(shop.approvals.store, ask=ask, clock=lambda: shop.now)
    shop.dispatcher = shop.build()
    result = await shop.ask()
    assert (result.kind, result.value, shop.sent, other.sent) == ("ok", "sent tea", [], ["tea"])


async def test_a_request_of_a_dead_process_is_put_to_the_current_person(tmp_path):
    """The call is sent again after a restart, and the person at the terminal is asked about the same request."""
    path = tmp_path / "x.approvals.sqlite"
    first = await Shop(SQLiteApprovals(path)).ask()
    requests = []
    shop = Shop(SQLiteApprovals(path), ask=lambda request: requests.append(request) or True)
    assert ((await shop.ask()).kind, shop.sent) == ("ok", ["tea"])
    assert requests == [first.request]


async def test_edited_arguments_are_not_approved_in_place_of_the_sent_ones(tmp_path):
    """The asker would see other arguments than those that run, so the request waits for `resume`."""
    store = SQLiteApprovals(tmp_path / "x.approvals.sqlite")
    shop, requests = Shop(store), []
    permissions = Permissions("default", ["ask send(item=milk)"])
    shop.dispatcher = Dispatcher(shop.catalog, permissions=permissions, approvals=shop.approvals)
    first = (await shop.ask()).request
    second = await shop.dispatcher.resume(first.id, Decision.approve(arguments={"item": "milk"}))
    approvals = Approvals(store, ask=lambda request: requests.append(request) or True, clock=lambda: shop.now)
    shop.dispatcher = Dispatcher(shop.catalog, permissions=permissions, approvals=approvals)
    again = await shop.ask()
    assert (again.kind, again.request.id, requests, shop.sent) == ("waiting", second.request.id, [], [])


# Sealed requests, and stores of one's own.


async def test_a_sealed_request_of_the_same_call_has_the_same_id():
    """Both copies are the same request, and one of them is used."""
    shop = Shop(None, key=b"k" * 32)
    first, second, other = await shop.ask(), await shop.ask(), await shop.ask(id="t2")
    assert first.request.id == second.request.id != other.request.id
    assert [await shop.why(result.request) for result in (first, second)] == ["ok", "answered"]
    again = await shop.ask()
    assert (again.value, shop.sent) == ("sent tea", ["tea"])
    await shop.dispatcher.resume(other.request, Decision.deny())
    third = await shop.ask(id="t2")
    assert third.request.id != other.request.id
    assert [await shop.why(result.request) for result in (other, third)] == ["answered", "ok"]
    assert len({(await shop.ask(id=None)).request.id for _ in range(3)}) == 3


class OwnStore:
    """A store that knows only what the protocol asks for."""

    blocking = False

    def __init__(self) -> None:
        self._store = MemoryApprovals()

    def __getattr__(self, name: str) -> Any:
        if name in ("add_call", "find_call", "sign_with", "is_signed"):
            raise AttributeError(name)
        return getattr(self._store, name)


async def test_a_users_store_is_searched_for_the_waiting_request():
    """Without the two methods that remember calls, only requests that wait are found."""
    shop = Shop(OwnStore())
    first, second = await shop.ask(), await shop.ask()
    assert first.request.id == second.request.id
    assert [await shop.why(result.request.id) for result in (first, second)] == ["ok", "answered"]
    assert shop.sent == ["tea"]


# The log.


async def test_the_audit_log_says_which_request_a_result_repeats(shop, tmp_path):
    """There was one request, and the second outcome had no intent."""
    shop.dispatcher = shop.build(audit=AuditLog(tmp_path / "audit.jsonl"))
    request = (await shop.ask()).request
    await shop.ask()
    await shop.dispatcher.resume(request.id, Decision.approve(by="ada"))
    await shop.ask()
    lines = list(AuditLog.read(tmp_path / "audit.jsonl"))
    assert [line["request"] for line in lines if line["event"] == "asked"] == [request.id] * 2
    assert sum(line["event"] == "intent" for line in lines) == 1
    outcomes = [line for line in lines if line["event"] == "outcome"]
    assert [(line["kind"], line["attempts"], line.get("repeats")) for line in outcomes] == [
        ("waiting", 0, None),
        ("waiting", 0, None),
        ("ok", 1, None),
        ("ok", 0, request.id),
    ]
