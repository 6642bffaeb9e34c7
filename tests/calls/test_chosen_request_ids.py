"""
The caller chooses the id of a request: one step that is run again makes one request.
"""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.results import ToolCall
from toolkit.session import Session

pytestmark = pytest.mark.anyio

KEY = b"k" * 32


class BasicStore:
    """A store with the methods of the protocol alone."""

    blocking = False

    def __init__(self) -> None:
        store = MemoryApprovals()
        for name in ("add", "get", "settle", "reclaim", "finish", "pending", "purge"):
            setattr(self, name, getattr(store, name))


class Shop:
    """A tool that needs approval, and one that asks."""

    def __init__(self, approvals: Approvals) -> None:
        self.done: list[Any] = []
        self.catalog = catalog = Catalog()

        @catalog.tool(destructive=True)
        async def send(item: str) -> str:
            """Send something."""
            self.done.append(item)
            return f"sent {item}"

        @catalog.tool(destructive=True)
        async def wrap(context: Context) -> str:
            """Wrap something."""
            answers = [await context.ask(key, f"{key}?") for key in "ab"]
            self.done.append(answers)
            return f"wrapped {answers}"

        self.dispatcher = Dispatcher(catalog, permissions=Permissions(), approvals=approvals)

    async def send(self, item: str = "tea", **options: Any) -> Any:
        return await self.dispatcher.call("send", {"item": item}, request_id="step-1", **options)

    async def wrap(self) -> Any:
        return await self.dispatcher.call("wrap", {}, request_id="step-2")


@pytest.fixture(params=["memory", "file", "signed", "basic", "sealed"])
def shop(request, tmp_path):
    """A shop for each kind of store."""
    stores = {"memory": MemoryApprovals, "basic": BasicStore, "sealed": lambda: None}
    store: Any = stores.get(request.param, lambda: SQLiteApprovals(tmp_path / "x.approvals.sqlite"))()
    return Shop(Approvals(store, key=KEY if request.param in ("signed", "sealed") else None))


async def test_the_same_call_with_the_same_id_is_one_request(shop):
    """Again while it waits, and after it has run: it runs once."""
    requests = [(await shop.send()).request for _ in range(3)]
    assert {request.id for request in requests} == {"step-1"}
    assert (await shop.dispatcher.resume(requests[2], Decision.approve())).text == "sent tea"
    again = await shop.send()
    assert (again.kind, again.value) == ("ok", "sent tea")
    assert shop.done == ["tea"]


@pytest.mark.parametrize(
    "options",
    [{"item": "jam"}, {"session": Session(id="s")}, {"principal": "eve"}],
    ids=["arguments", "session", "principal"],
)
async def test_a_request_id_that_belongs_to_another_call_is_an_error_of_the_caller(shop, caplog, options):
    """No person is asked, the tool does not run, and there is no warning in the log."""
    request = (await shop.send()).request
    result = await shop.send(**options)
    assert (result.kind, result.error.details) == ("failed", {"happened": "no"})
    assert "the request id 'step-1' belongs to another call" in result.text
    assert result.text.endswith("The program that makes the call has to choose another request_id.")
    with pytest.raises(ApprovalError) as caught:
        result.unwrap()
    assert caught.value.why == "changed"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    other = await shop.dispatcher.call("wrap", {}, request_id="step-1")
    assert "belongs to another call" in other.text
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert (await shop.dispatcher.resume(request, Decision.approve())).text == "sent tea"
    assert (await shop.send("jam")).kind == "failed"


async def test_the_id_of_another_call_is_raised_with_raise_bugs():
    """Every other mistake of a program is raised, too."""
    shop = Shop(Approvals())
    await shop.send()
    dispatcher = Dispatcher(
        shop.catalog, permissions=Permissions(), approvals=shop.dispatcher.approvals, raise_bugs=True
    )
    with pytest.raises(ApprovalError, match="belongs to another call"):
        await dispatcher.call("send", {"item": "jam"}, request_id="step-1")


async def test_two_sealed_requests_with_one_id_are_not_mistaken_for_each_other():
    """If two processes made them, the second one is refused when it comes back."""
    shop, other = Shop(Approvals(key=KEY)), Shop(Approvals(key=KEY))
    tea, jam = (await shop.send("tea")).request, (await other.send("jam")).request
    with pytest.raises(ApprovalError):
        await shop.dispatcher.resume(tea, Decision.approve(answers={"x": 1}))
    with pytest.raises(ApprovalError, match="belongs to another call as well"):
        await shop.dispatcher.resume(jam, Decision.approve())
    assert (await shop.dispatcher.resume(tea, Decision.approve())).text == "sent tea"
    assert (shop.done, other.done) == (["tea"], [])


@pytest.mark.parametrize("options", [{"id": "c1"}, {"request_id": "r1"}], ids=["id", "request id"])
async def test_a_call_that_a_person_has_changed_gets_its_outcome_again(shop, options):
    """The arguments in its record are those that the person wrote."""
    if options == {"id": "c1"} and isinstance(shop.dispatcher.approvals.store, BasicStore):
        return  # such a store does not find a call that was answered
    request = (await shop.dispatcher.call("send", {"item": "tea"}, **options)).request
    ran = await shop.dispatcher.resume(request, Decision.approve(arguments={"item": "jam"}, by="ada"))
    again = await shop.dispatcher.call("send", {"item": "tea"}, **options)
    assert (ran.value, again.kind, again.value) == ("sent jam", "ok", "sent jam")
    assert again.text.count("ada changed the arguments: `item` is") == 1
    assert "was approved and run before" in again.text
    assert again.metadata["edits"] == ran.metadata["edits"]
    assert shop.done == ["jam"]


async def test_a_denial_stays_a_denial(shop):
    """A person who has said no is not asked again."""
    request = (await shop.send()).request
    await shop.dispatcher.resume(request, Decision.deny("no", by="ada"))
    again = await shop.send()
    assert again.kind == "denied"
    assert again.error.message == "no"


async def test_a_call_that_waits_for_an_answer_is_not_reported_as_run(shop):
    """It was approved, and asks its user a question."""
    question = await shop.dispatcher.resume((await shop.wrap()).request, Decision.approve())
    again = await shop.wrap()
    assert (again.kind, again.text, again.request.id) == ("waiting", question.text, question.request.id)
    assert "run before" not in again.text


async def test_a_new_request_replaces_one_that_expired():
    """The old id is taken, so the new request has another one."""
    now = [1000.0]
    shop = Shop(Approvals(expires_seconds=10.0, clock=lambda: now[0]))
    await shop.send()
    now[0] += 20
    first, second = (await shop.send()).request, (await shop.send()).request
    assert first.id == second.id != "step-1"
    assert (await shop.dispatcher.resume(first.id, Decision.approve())).kind == "ok"
    assert (await shop.send()).value == "sent tea"


async def test_a_new_request_replaces_one_that_was_withdrawn():
    """A call that was cancelled while a person was asked is no answer."""
    is_asked: asyncio.Event = asyncio.Event()

    async def ask(request: Any) -> Decision | None:
        is_asked.set()
        if len(asks) == 0:
            asks.append(request.id)
            await asyncio.Event().wait()
        return None

    asks: list[str] = []
    shop = Shop(Approvals(ask=ask))
    task = asyncio.ensure_future(shop.send())
    await is_asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await shop.send()).kind == "waiting"


async def test_all_requests_of_the_step_are_found_again(shop):
    """An approval, and the questions after it: the step that is run again gets the newest."""
    result = await shop.wrap()
    assert result.request.id == "step-2"
    for decision in (Decision.approve(), *(Decision.approve(answers={key: key.upper()}) for key in "ab")):
        assert (await shop.wrap()).request.id == result.request.id
        result = await shop.dispatcher.resume(result.request, decision)
    assert result.text == "wrapped ['A', 'B']"
    assert (await shop.wrap()).value == "wrapped ['A', 'B']"
    assert shop.done == [["A", "B"]]


async def test_two_steps_at_once_make_one_request():
    """This holds also if both ask at the same moment, for the same call; for another call one of them fails."""
    shop = Shop(Approvals(MemoryApprovals()))
    results = await asyncio.gather(*[shop.send() for _ in range(5)])
    assert {result.request.id for result in results} == {"step-1"}


async def test_a_call_of_a_batch_may_have_a_request_id(shop):
    """`ToolCall.request_id` counts in `call` and in `call_many`."""
    calls = [ToolCall("send", {"item": "tea"}, request_id="a"), ToolCall("send", {"item": "jam"}, request_id="b")]
    first = await shop.dispatcher.call_many(calls)
    assert first[0].request.id == "a"
    assert first[1].request.waits_for is not None  # it is held back, and makes no request yet
    await shop.dispatcher.resume(first[0].request, Decision.approve())
    assert (await shop.dispatcher.call(calls[0])).value == "sent tea"
    assert (await shop.dispatcher.call_many([calls[1]]))[0].request.id == "b"


@pytest.mark.parametrize(
    ("request_id", "error", "words"),
    [
        (5, TypeError, "the id of a request is a text, got int"),
        ("a\nb", ValueError, "cannot be the id of a request; give 1 to 200 printable characters"),
        ("", ValueError, "1 to 200 printable characters"),
        ("a" * 201, ValueError, "1 to 200 printable characters"),
    ],
)
async def test_an_id_that_cannot_be_used_is_refused(request_id, error, words):
    """It is a mistake of the program."""
    shop = Shop(Approvals())
    with pytest.raises(error, match=words):
        await shop.dispatcher.call("send", {"item": "tea"}, request_id=request_id)


class Blinking:
    """A store that does not see a request once, as if another process added it at the same moment."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.is_blind = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def get(self, request_id: str) -> Any:
        if self.is_blind:
            self.is_blind = False
            return None
        return self._store.get(request_id)


@pytest.mark.parametrize("make_store", [MemoryApprovals, BasicStore])
async def test_two_processes_at_the_same_moment_make_one_request(make_store):
    """The one that comes second gets the request of the first, and an error if its call is another one."""
    store = Blinking(make_store())
    shop = Shop(Approvals(store))
    await shop.send()
    store.is_blind = True
    assert (await shop.send()).request.id == "step-1"
    store.is_blind = True
    assert "belongs to another call" in (await shop.send("jam")).text
    assert len(store.pending()) == 1


async def test_a_sealed_request_whose_answer_was_refused_is_the_same_request():
    """The store has seen it, and it can still be answered."""
    shop = Shop(Approvals(key=KEY))
    request = (await shop.send()).request
    with pytest.raises(ApprovalError):
        await shop.dispatcher.resume(request, Decision.approve(answers={"x": 1}))
    again = (await shop.send()).request
    assert again.id == "step-1"
    assert (await shop.dispatcher.resume(again, Decision.approve())).text == "sent tea"
