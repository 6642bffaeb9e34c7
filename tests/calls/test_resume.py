"""
Going on with a call that waits: which answers are taken, what they let run, and what they never do.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
from dataclasses import fields, replace
from typing import Annotated, Any

import pytest

from tests.approvals.processes import running
from tests.clocks import Clock, until
from toolkit.access import Writes
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals, file_change
from toolkit.approvals.store import Settlement
from toolkit.catalog import Catalog
from toolkit.context import Context, Secret
from toolkit.decisions import ApprovalRequest, ArgumentEdit, Decision, Grant
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError, Transient
from toolkit.hooks import Ask, Deny, Modify, Proceed, Replace
from toolkit.permissions import Permissions
from toolkit.results import ToolResult
from toolkit.session import Session
from toolkit.verdicts import Verdict

pytestmark = pytest.mark.anyio

KEY = b"k" * 32


class Shed:
    """Tools that count, and a dispatcher as often as it is wanted."""

    def __init__(self, **facts: Any) -> None:
        self.ran: list[Any] = []
        self.permissions = Permissions(rules=["deny cut(wood=oak)", "ask cut(wood=elm)"])
        self.catalog = catalog = Catalog()
        facts.setdefault("destructive", True)

        @catalog.tool(**facts)
        async def cut(wood: str, pieces: int = 1) -> str:
            """Cut wood."""
            self.ran.append((wood, pieces))
            return f"cut {wood}"

        @catalog.tool(destructive=True)
        async def lock(code: Annotated[str, Secret]) -> str:
            """Lock the door."""
            self.ran.append(code)
            return "locked"

    def dispatcher(self, approvals: Approvals | None = None, **options: Any) -> Dispatcher:
        return Dispatcher(self.catalog, permissions=self.permissions, approvals=approvals, **options)


async def waiting(dispatcher: Dispatcher, wood: str = "pine", **options: Any) -> ApprovalRequest:
    """The request of a call that waits."""
    result = await dispatcher.call("cut", {"wood": wood}, **options)
    assert result.request is not None
    return result.request


async def refusal(dispatcher: Dispatcher, request: Any, decision: Decision | None = None, **options: Any) -> str:
    """Why an answer is not taken."""
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(request, decision or Decision.approve(), **options)
    assert str(caught.value)
    return caught.value.why


@pytest.fixture
def shed():
    """A shed in which nothing has been cut yet."""
    return Shed()


# Answers that are taken.


@pytest.mark.parametrize("store", ["memory", "sqlite", "sealed", "sealed JSON"])
async def test_an_approved_call_runs_exactly_as_it_was_asked(shed, store, tmp_path):
    """By another dispatcher, wherever the request was meanwhile."""
    kept = {
        "memory": lambda: Approvals(shared),
        "sqlite": lambda: Approvals(SQLiteApprovals(tmp_path / "x.approvals.sqlite")),
    }
    shared = MemoryApprovals()
    make = kept.get(store, lambda: Approvals(key=KEY))
    request = await waiting(shed.dispatcher(make()), id="c7", principal="ada", session=Session(id="s"))
    given = {"sealed": request, "sealed JSON": json.loads(json.dumps(request.to_json()))}.get(store, request.id)
    result = await shed.dispatcher(make()).resume(given, Decision.approve(by="ada", principal="ada"))
    assert (result.kind, result.text, result.call_id, result.tool) == ("ok", "cut pine", "c7", "cut")
    assert shed.ran == [("pine", 1)]


async def test_the_outcome_is_kept(shed):
    """For whoever asks later."""
    approvals = Approvals()
    dispatcher = shed.dispatcher(approvals)
    request = await waiting(dispatcher)
    await dispatcher.resume(request, Decision.approve(by="ada"))
    record = approvals.store.get(request.id)
    assert (record.state, record.decided_by) == ("done", "ada")
    assert ToolResult.from_json(record.outcome).text == "cut pine"


async def test_a_denied_call_never_runs_and_the_model_reads_why(shed):
    """The reason is the person's own."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    result = await dispatcher.resume(request.id, Decision.deny("that tree is a monument"))
    assert result.kind == "denied"
    assert "that tree is a monument" in result.text
    assert shed.ran == []
    assert await refusal(dispatcher, request.id) == "answered"


async def test_a_denial_without_a_reason_says_who_refused(shed):
    """The model has to read something."""
    dispatcher = shed.dispatcher()
    result = await dispatcher.resume(await waiting(dispatcher), Decision.deny())
    assert "the user said no" in result.text


# Answers that are not taken.


async def test_an_answer_counts_once(shed):
    """The second is told what came of the first."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    await dispatcher.resume(request.id, Decision.approve())
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(request.id, Decision.approve())
    assert (caught.value.why, caught.value.outcome["text"]) == ("answered", "cut pine")
    assert await refusal(dispatcher, request.id, Decision.deny()) == "answered"
    assert shed.ran == [("pine", 1)]


@pytest.mark.parametrize(("seconds", "kind"), [(59, "ok"), (60, "expired"), (1000, "expired")])
async def test_an_answer_can_come_too_late(shed, seconds, kind):
    """By the clock of the approvals."""
    clock = Clock()
    dispatcher = shed.dispatcher(Approvals(clock=clock, expires_seconds=60))
    request = await waiting(dispatcher)
    clock.now += seconds
    if kind == "ok":
        assert (await dispatcher.resume(request.id, Decision.approve())).kind == "ok"
    else:
        assert await refusal(dispatcher, request.id) == kind
        assert shed.ran == []


@pytest.mark.parametrize(
    ("made_for", "decision", "options"),
    [
        ("ada", Decision.approve(), {}),
        ("ada", Decision.approve(principal="bob"), {}),
        ("ada", Decision.approve(), {"principal": "bob"}),
        ("ada", Decision.approve(principal="ada"), {"principal": "bob"}),
        ("ada", Decision.approve(principal="bob"), {"principal": "ada"}),
        ("ada", Decision.deny(principal="bob"), {}),
        (None, Decision.approve(principal="bob"), {}),
        ("ada", Decision.approve(principal=""), {}),
    ],
)
async def test_only_the_principal_it_was_made_for_may_answer(shed, made_for, decision, options):
    """Whoever is named in two places has to be the same."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher, principal=made_for)
    assert await refusal(dispatcher, request.id, decision, **options) == "principal"
    assert shed.ran == []
    good = Decision.approve(principal=made_for)
    assert (await dispatcher.resume(request.id, good)).kind == "ok"


async def test_a_session_s_principal_speaks_for_it(shed):
    """As it does for a call."""
    dispatcher = shed.dispatcher()
    session = Session(principal="ada")
    request = await waiting(dispatcher, session=session)
    assert (await dispatcher.resume(request.id, Decision.approve(), session=session)).kind == "ok"


@pytest.mark.parametrize("made_in", [None, Session(id="one")])
async def test_an_answer_from_another_session_is_refused(shed, made_in):
    """Also for a request that belongs to none."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher, session=made_in)
    assert await refusal(dispatcher, request.id, session=Session(id="two")) == "principal"
    assert shed.ran == []


def another(**facts: Any) -> Catalog:
    """A catalog with another tool under the same name."""
    catalog = Catalog()

    @catalog.tool(**{"destructive": True, **facts})
    async def cut(wood: str, pieces: int = 1) -> str:
        """Cut wood."""
        raise AssertionError("it must not run")

    return catalog


def with_another_schema() -> Catalog:
    catalog = Catalog()

    @catalog.tool(destructive=True)
    async def cut(wood: str, pieces: int = 1, deep: bool = False) -> str:
        """Cut wood."""
        raise AssertionError("it must not run")

    return catalog


@pytest.mark.parametrize(
    "make",
    [
        with_another_schema,
        lambda: another(version="2"),
        lambda: another(idempotent=True),
        lambda: another(destructive=False),
        another,
        Catalog,
    ],
    ids=["schema", "version", "facts", "less dangerous", "origin", "gone"],
)
@pytest.mark.parametrize("sealed", [False, True])
async def test_an_approval_is_for_one_tool_as_it_was(shed, make, sealed):
    """Whatever changed about it, people have to see it again."""
    shared = MemoryApprovals()
    approvals = [Approvals(key=KEY) if sealed else Approvals(shared) for _ in range(2)]
    request = await waiting(shed.dispatcher(approvals[0]))
    other = Dispatcher(make(), approvals=approvals[1])
    assert await refusal(other, request) == ("forged" if sealed and "cut" in other.catalog else "changed")
    assert shed.ran == []


@pytest.mark.parametrize("name", ["0" * 32, "", "x" * 5000, "../etc", "\ud800", "' OR 1=1 --"])
@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_an_unknown_id_is_refused(shed, name, store, tmp_path):
    """Whatever it looks like."""
    kept = MemoryApprovals() if store == "memory" else SQLiteApprovals(tmp_path / "x.approvals.sqlite")
    dispatcher = shed.dispatcher(Approvals(kept))
    await waiting(dispatcher)
    assert await refusal(dispatcher, name) == "unknown"


@pytest.mark.parametrize(
    ("given", "decision"),
    [(5, Decision.approve()), ({"id": "x"}, Decision.approve()), ("x", True), ("x", None)],
)
async def test_what_is_no_request_or_no_decision_is_a_mistake_in_the_program(shed, given, decision):
    """And says what is wanted."""
    with pytest.raises(TypeError, match=r"resume wants|a decision is"):
        await shed.dispatcher().resume(given, decision)


@pytest.mark.parametrize("field", ["arguments", "identity", "session", "principal", "digest"])
async def test_a_record_that_was_altered_in_the_store_is_refused(shed, field, tmp_path):
    """The digest holds what was asked together."""
    path = tmp_path / "x.approvals.sqlite"
    dispatcher = shed.dispatcher(Approvals(SQLiteApprovals(path)))
    request = await waiting(dispatcher)
    with sqlite3.connect(path) as connection:
        record = json.loads(connection.execute("SELECT record FROM toolkit_approvals").fetchone()[0])
        part = record if field in ("arguments", "identity") else record["request"]
        part[field] = {"wood": "yew", "pieces": 99} if field == "arguments" else "0" * 64
        connection.execute("UPDATE toolkit_approvals SET record = ?", (json.dumps(record),))
    connection.close()
    principal = "0" * 64 if field == "principal" else None
    why = await refusal(dispatcher, request.id, Decision.approve(principal=principal))
    assert why == ("changed" if field == "identity" else "forged")
    assert shed.ran == []


# Edited arguments.


async def test_edited_arguments_are_what_runs(shed):
    """Exactly these, with defaults filled in; the store says so."""
    approvals = Approvals()
    dispatcher = shed.dispatcher(approvals)
    request = await waiting(dispatcher)
    result = await dispatcher.resume(request.id, Decision.approve(arguments={"wood": "fir"}))
    assert (result.value, shed.ran) == ("cut fir", [("fir", 1)])
    assert approvals.store.get(request.id).arguments == {"wood": "fir", "pieces": 1}
    assert await refusal(dispatcher, request.id) == "answered"


@pytest.mark.parametrize("arguments", [{}, {"wood": 5}, {"wood": "fir", "pieces": "2"}, {"wood": "fir", "more": 1}])
async def test_edited_arguments_that_do_not_fit_are_refused_and_can_be_corrected(shed, arguments):
    """A person's words are not mended behind their back, and the request stays open."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    assert await refusal(dispatcher, request.id, Decision.approve(arguments=arguments)) == "arguments"
    assert shed.ran == []
    assert (await dispatcher.resume(request.id, Decision.approve(arguments={"wood": "fir"}))).kind == "ok"


async def test_edited_arguments_that_a_rule_denies_do_not_run(shed):
    """The judgement is a new one, and the request is closed."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    result = await dispatcher.resume(request.id, Decision.approve(arguments={"wood": "oak"}))
    assert (result.kind, shed.ran) == ("denied", [])
    assert await refusal(dispatcher, request.id) == "answered"


async def test_edited_arguments_that_something_new_asks_about_are_asked_about(shed):
    """With a request for what would run now."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    result = await dispatcher.resume(request.id, Decision.approve(arguments={"wood": "elm", "pieces": 3}))
    assert (result.kind, shed.ran) == ("waiting", [])
    assert result.request.arguments == {"wood": "elm", "pieces": 3}
    assert any("elm" in each for each in result.request.asked_by)
    assert await refusal(dispatcher, request.id) == "answered"
    assert (await dispatcher.resume(result.request.id, Decision.approve())).kind == "ok"
    assert shed.ran == [("elm", 3)]


async def test_edited_secrets_run_and_are_masked(shed):
    """In the result and in the store's outcome."""
    approvals = Approvals()
    dispatcher = shed.dispatcher(approvals)
    request = (await dispatcher.call("lock", {"code": "first-code"})).request
    result = await dispatcher.resume(request.id, Decision.approve(arguments={"code": "second-code"}))
    assert shed.ran == ["second-code"]
    assert "-code" not in json.dumps([result.to_json(), approvals.store.get(request.id).outcome])


# Grants.


async def test_a_grant_holds_for_the_next_call_of_the_session(shed):
    """And for no other session."""
    dispatcher = shed.dispatcher()
    session = Session()
    request = await waiting(dispatcher, session=session)
    await dispatcher.resume(request.id, Decision.approve(grant=request.grants[0]), session=session)
    assert (await dispatcher.call("cut", {"wood": "fir"}, session=session)).kind == "ok"
    assert (await dispatcher.call("cut", {"wood": "fir"}, session=Session())).kind == "waiting"
    assert (await dispatcher.call("cut", {"wood": "oak"}, session=session)).kind == "denied"


async def test_only_what_was_offered_can_be_granted(shed):
    """The request stays open."""
    dispatcher = shed.dispatcher()
    session = Session()
    request = await waiting(dispatcher, session=session)
    wide = Grant(tool="*", scope="tool")
    assert await refusal(dispatcher, request.id, Decision.approve(grant=wide), session=session) == "grant"
    assert (shed.ran, session.grants) == ([], ())
    assert (await dispatcher.resume(request.id, Decision.approve(), session=session)).kind == "ok"


@pytest.mark.parametrize("made_in", [None, Session(id="s")])
async def test_a_grant_without_the_session_is_refused(shed, made_in):
    """It would be given to nobody, and nobody would know."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher, session=made_in)
    grant = request.grants[0] if request.grants else Grant(tool="x", scope="tool")
    assert await refusal(dispatcher, request.id, Decision.approve(grant=grant)) == "grant"
    assert shed.ran == []


# Today's policy.


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("plan", "denied"), ("deny_unlisted", "denied"), ("auto", "ok"), ("bypass", "ok"), ("default", "ok")],
)
async def test_an_answer_is_judged_under_the_policy_of_its_moment(shed, mode, kind):
    """What became stricter holds; what a person agreed to under one mode, they agreed to under another."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    shed.permissions.set_mode(mode)
    assert (await dispatcher.resume(request.id, Decision.approve())).kind == kind
    assert len(shed.ran) == (kind == "ok")


async def test_a_new_rule_counts_for_what_waits(shed):
    """It was asked about under the old ones."""
    approvals = Approvals()
    request = await waiting(shed.dispatcher(approvals))
    stricter = Dispatcher(shed.catalog, permissions=Permissions(rules=["deny cut"]), approvals=approvals)
    assert (await stricter.resume(request.id, Decision.approve())).kind == "denied"
    assert shed.ran == []


async def test_the_session_s_own_mode_counts(shed):
    """If the session is given."""
    dispatcher = shed.dispatcher()
    session = Session()
    request = await waiting(dispatcher, session=session)
    shed.permissions.set_mode("plan", session=session)
    assert (await dispatcher.resume(request.id, Decision.approve(), session=session)).kind == "denied"


# Hooks.


class Recorder:
    """Notes which of its methods were called."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def before(self, call):
        self.seen.append("before")
        return Modify({"wood": "larch"}) if call.arguments["wood"] == "pine" else Ask("sure?")

    async def around(self, call, run):
        self.seen.append(f"around {call.arguments['wood']}")
        return await run()

    def after(self, call, result):
        self.seen.append(f"after {result.kind}")
        return result


async def test_hooks_before_are_not_run_again_the_others_are(shed):
    """What a hook made of the arguments is what was asked about, and what runs."""
    hook = Recorder()
    dispatcher = shed.dispatcher(hooks=[hook])
    request = await waiting(dispatcher)
    assert request.arguments["wood"] == "larch"
    assert hook.seen == ["before", "after waiting"]
    await dispatcher.resume(request.id, Decision.approve())
    assert hook.seen[2:] == ["around larch", "after ok"]
    assert shed.ran == [("larch", 1)]


async def test_a_hook_s_question_is_answered_by_a_person(shed):
    """It is not asked again on resume; what else asks is."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def look(wood: str) -> str:
        """Look."""
        return wood

    dispatcher = Dispatcher(catalog, permissions=Permissions(), hooks=[Recorder()])
    request = (await dispatcher.call("look", {"wood": "fir"})).request
    assert request.asked_by == ("a hook",)
    assert (await dispatcher.resume(request.id, Decision.approve())).text == "fir"


async def test_the_result_that_waits_can_be_given_in_place_of_its_request(shed):
    """A result that does not wait is refused, and says what it is."""
    dispatcher = shed.dispatcher()
    done = await dispatcher.resume(await dispatcher.call("cut", {"wood": "elm"}), Decision.approve())
    assert done.text == "cut elm"
    with pytest.raises(ValueError, match="the result of `cut` is 'ok', and waits for no answer"):
        await dispatcher.resume(done, Decision.approve())


async def test_a_denied_resume_is_seen_by_the_hooks_after(shed):
    """They see every result."""
    hook = Recorder()
    dispatcher = shed.dispatcher(hooks=[hook])
    await dispatcher.resume(await waiting(dispatcher), Decision.deny())
    assert hook.seen[-1] == "after denied"


async def test_a_hook_that_refuses_before_leaves_nothing_to_answer(shed):
    """No request is made for a call that may not run."""

    class Guard:
        def before(self, call):
            return Deny("no") if call.arguments["wood"] == "ash" else Proceed()

    approvals = Approvals()
    result = await shed.dispatcher(approvals, hooks=[Guard()]).call("cut", {"wood": "ash"})
    assert (result.kind, approvals.store.pending()) == ("denied", [])


# Several at once, cancellation, and claims without an outcome.


@pytest.mark.parametrize("store", ["memory", "sqlite", "sealed"])
@pytest.mark.parametrize("facts", [{"destructive": True}, {"destructive": False, "idempotent": True}])
async def test_of_many_resumers_one_runs(store, facts, tmp_path):
    """Through two dispatchers of one process."""
    shed = Shed(**facts)
    path = tmp_path / "x.approvals.sqlite"
    shared = Approvals(key=KEY) if store == "sealed" else Approvals(MemoryApprovals())
    made = [Approvals(SQLiteApprovals(path)) if store == "sqlite" else shared for _ in range(2)]
    dispatchers = [shed.dispatcher(each) for each in made]
    request = await waiting(dispatchers[0])
    given = request if store == "sealed" else request.id
    results = await asyncio.gather(
        *(dispatchers[number % 2].resume(given, Decision.approve()) for number in range(8)), return_exceptions=True
    )
    good = [each for each in results if isinstance(each, ToolResult)]
    assert [each.kind for each in good] == ["ok"]
    assert {each.why for each in results if each not in good} <= {"answered", "running"}
    assert shed.ran == [("pine", 1)]


async def slow_shed(store: Any) -> tuple[Any, Any, list[str], asyncio.Event]:
    """A dispatcher whose tool waits, and what it did."""
    catalog, did, go = Catalog(), [], asyncio.Event()

    @catalog.tool(destructive=True)
    async def cut(wood: str) -> str:
        """Cut slowly."""
        did.append("began")
        await go.wait()
        did.append("ended")
        return "cut"

    approvals = Approvals(store)
    return Dispatcher(catalog, permissions=Permissions(), approvals=approvals), approvals, did, go


async def test_a_cancelled_resume_leaves_an_outcome():
    """Nobody waits for a call that was given up."""
    dispatcher, approvals, did, _ = await slow_shed(None)
    request = await waiting(dispatcher)
    task = asyncio.ensure_future(dispatcher.resume(request.id, Decision.approve()))
    await until(lambda: did)
    assert await refusal(dispatcher, request.id) == "running"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    record = approvals.store.get(request.id)
    assert (record.state, record.outcome["kind"]) == ("done", "cancelled")
    assert "may or may not have happened" in record.outcome["text"]
    assert await refusal(dispatcher, request.id) == "answered"


class Blocking(MemoryApprovals):
    """A store whose methods can be held."""

    blocking = True

    def __init__(self, held: str) -> None:
        super().__init__()
        import threading

        self.held, self.entered, self.go = held, threading.Event(), threading.Event()

    def settle(self, *args, **options):
        return self._hold("settle") or super().settle(*args, **options)

    def finish(self, *args, **options):
        return self._hold("finish") or super().finish(*args, **options)

    def _hold(self, name):
        if name == self.held and not self.entered.is_set():
            self.entered.set()
            self.go.wait()


async def test_a_resume_cancelled_while_it_claims_leaves_no_claim_without_an_outcome():
    """The claim is awaited, and closed: it had not started."""
    store = Blocking("settle")
    dispatcher, _, did, _ = await slow_shed(store)
    request = await waiting(dispatcher)
    task = asyncio.ensure_future(dispatcher.resume(request.id, Decision.approve()))
    await until(store.entered.is_set)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    store.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    record = store.get(request.id)
    assert (record.state, record.outcome["kind"], did) == ("done", "cancelled", [])
    assert "before it started" in record.outcome["text"]


async def test_a_resume_cancelled_while_it_ends_keeps_its_outcome():
    """It has happened, and the store says so."""
    store = Blocking("finish")
    dispatcher, _, did, go = await slow_shed(store)
    go.set()
    request = await waiting(dispatcher)
    task = asyncio.ensure_future(dispatcher.resume(request.id, Decision.approve()))
    await until(store.entered.is_set)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    store.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    record = store.get(request.id)
    assert (record.state, record.outcome["kind"], did) == ("done", "ok", ["began", "ended"])


class Failing(MemoryApprovals):
    """A store that cannot keep outcomes, for a while."""

    is_broken = True

    def finish(self, *args, **options):
        if self.is_broken:
            raise ApprovalError("the disk is full", why="store")
        return super().finish(*args, **options)


async def test_an_outcome_that_cannot_be_kept_does_not_lose_the_result(shed, caplog):
    """It is logged; whoever answers again is told that nobody knows, once."""
    store = Failing()
    dispatcher = shed.dispatcher(Approvals(store))
    request = await waiting(dispatcher)
    assert (await dispatcher.resume(request.id, Decision.approve())).text == "cut pine"
    assert "could not be kept" in caplog.text
    store.is_broken = False
    lost = await dispatcher.resume(request.id, Decision.approve())
    assert "may or may not have happened" in lost.text
    assert "the store could not keep its outcome" in lost.text
    assert "process ended" not in lost.text  # it runs this very test
    assert await refusal(dispatcher, request.id) == "answered"
    assert shed.ran == [("pine", 1)]


class Unwilling(MemoryApprovals):
    """A store that will not settle: broken, or somebody was quicker."""

    def __init__(self, *, broken: bool) -> None:
        super().__init__()
        self.broken = broken

    def settle(self, *args, **options):
        if self.broken:
            raise ApprovalError("the disk is full", why="store")
        return False


@pytest.mark.parametrize(("broken", "why"), [(True, "store"), (False, "answered")])
@pytest.mark.parametrize("decision", [Decision.approve(), Decision.deny()])
async def test_an_answer_that_the_store_does_not_take_lets_nothing_run(shed, broken, why, decision):
    """Whether it is broken, or somebody else was quicker."""
    dispatcher = shed.dispatcher(Approvals(Unwilling(broken=broken)))
    request = await waiting(dispatcher)
    assert await refusal(dispatcher, request.id, decision) == why
    assert shed.ran == []


async def claimed_by_the_dead(store: Any, request: ApprovalRequest, arguments: Any = None) -> None:
    """Claim *request* in the name of a process that is gone."""
    with running("live") as process:
        theirs = process.stdout.readline().strip()
        process.kill()
        process.wait()
    assert store.settle(
        request.id, Settlement("claimed", by="ada", owner=theirs, now=request.created_at + 1, arguments=arguments)
    )


@pytest.mark.parametrize(
    ("facts", "runs"),
    [
        ({"destructive": True}, 0),
        ({"destructive": True, "idempotent": True}, 0),
        ({"destructive": False}, 0),
        ({"destructive": False, "idempotent": True}, 1),
    ],
    ids=["destructive", "destructive and idempotent", "write", "idempotent"],
)
async def test_a_claim_without_an_outcome_is_reported_or_repeated_if_that_is_harmless(facts, runs):
    """Once; the next is told that it was answered."""
    shed, store = Shed(**facts), MemoryApprovals()
    dispatcher = shed.dispatcher(Approvals(store))
    request = await waiting(dispatcher)
    await claimed_by_the_dead(store, request)
    result = await dispatcher.resume(request.id, Decision.approve())
    assert (result.kind, len(shed.ran)) == (("ok", 1) if runs else ("failed", 0))
    if not runs:
        assert "its process ended before the outcome was kept: it may or may not have happened" in result.text
        assert result.error.details == {"happened": "maybe"}
    assert await refusal(dispatcher, request.id) == "answered"
    assert len(shed.ran) == runs


@pytest.mark.parametrize(
    "decision", [Decision.deny("no"), Decision.approve(arguments={"wood": "fir"})], ids=["deny", "edit"]
)
async def test_a_call_that_was_started_can_be_neither_denied_nor_edited(decision):
    """It may have happened; only whether it did can still be told."""
    shed, store = Shed(destructive=False, idempotent=True), MemoryApprovals()
    dispatcher = shed.dispatcher(Approvals(store))
    request = await waiting(dispatcher)
    await claimed_by_the_dead(store, request)
    assert await refusal(dispatcher, request.id, decision) == "answered"
    assert shed.ran == []


@pytest.mark.parametrize("change", ["mode", "tool", "edited", "rule"])
async def test_a_lost_call_is_reported_whatever_has_changed_since(change):
    """It is not run again, and never merely refused: somebody has to learn that it may have happened."""
    shed, store = Shed(destructive=False, idempotent=True), MemoryApprovals()
    request = await waiting(shed.dispatcher(Approvals(store)))
    await claimed_by_the_dead(store, request, {"wood": "fir", "pieces": 2} if change == "edited" else None)
    catalog, permissions = shed.catalog, shed.permissions
    if change == "mode":
        permissions.set_mode("plan")
    if change == "rule":
        permissions = Permissions(rules=["ask cut"])
    if change == "tool":
        catalog = with_another_schema()
    dispatcher = Dispatcher(catalog, permissions=permissions, approvals=Approvals(store))
    result = await dispatcher.resume(request.id, Decision.approve())
    assert "may or may not have happened" in result.text
    assert (store.get(request.id).state, shed.ran) == ("done", [])


async def test_a_lost_change_is_reported_though_the_file_has_changed(tmp_path):
    """It is what the lost call did to it, most likely."""
    path, catalog, store = tmp_path / "a.txt", Catalog(), MemoryApprovals()
    ran = []

    @catalog.tool(idempotent=True, preview=lambda a: file_change(path, a["text"]))
    async def write(text: str) -> None:
        """Write it."""
        ran.append(text)

    dispatcher = Dispatcher(catalog, permissions=Permissions(), approvals=Approvals(store))
    request = (await dispatcher.call("write", {"text": "x"})).request
    await claimed_by_the_dead(store, request)
    path.write_text("x")
    result = await dispatcher.resume(request.id, Decision.approve())
    assert "may or may not have happened" in result.text
    assert ran == []


async def test_two_who_find_a_lost_call_do_not_both_take_it(tmp_path):
    """One reports it or repeats it."""
    shed = Shed(destructive=False, idempotent=True)
    store = SQLiteApprovals(tmp_path / "x.approvals.sqlite")
    dispatcher = shed.dispatcher(Approvals(store))
    request = await waiting(dispatcher)
    await claimed_by_the_dead(store, request)
    answers = [dispatcher.resume(request.id, Decision.approve()) for _ in range(4)]
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert [each.kind for each in results if isinstance(each, ToolResult)] == ["ok"]
    assert len(shed.ran) == 1


async def test_a_call_that_a_living_process_runs_is_left_alone(shed):
    """Its owner will keep the outcome."""
    store = MemoryApprovals()
    dispatcher = shed.dispatcher(Approvals(store))
    request = await waiting(dispatcher)
    with running("live") as process:
        theirs = process.stdout.readline().strip()
        store.settle(request.id, Settlement("claimed", by="ada", owner=theirs, now=request.created_at))
        assert await refusal(dispatcher, request.id) == "running"
        assert await refusal(dispatcher, request.id, Decision.deny()) == "answered"
    assert shed.ran == []


# Sealed requests.

OTHERS: dict[str, Any] = {
    "arguments": {"wood": "yew", "pieces": 1},
    "grants": (Grant(tool="x", scope="tool"),),
    "asked_by": ("nobody",),
    "repairs": ("mended",),
    "edits": (ArgumentEdit(by="ada", before={}, after={}),),
    "preconditions": (),
    "is_cut": True,
    "auth": None,
    "created_at": 5.0,
    "expires_at": None,
}


@pytest.mark.parametrize("name", [each.name for each in fields(ApprovalRequest)])
async def test_a_sealed_request_with_any_field_altered_is_refused(shed, name):
    """Every field is under the seal, and the seal itself."""
    dispatcher = shed.dispatcher(Approvals(key=KEY))
    request = await waiting(dispatcher)
    altered = replace(request, **{name: OTHERS.get(name, "other")})
    if altered == request:
        altered = replace(request, **{name: {"preconditions": ("x",), "auth": {"provider": "x"}}[name]})
    why = await refusal(dispatcher, altered)
    assert why == ("changed" if name == "tool" else "forged")
    assert shed.ran == []
    assert (await dispatcher.resume(request, Decision.approve())).kind == "ok"


@pytest.mark.parametrize(
    "forge",
    [
        lambda request: {},
        lambda request: {**request.to_json(), "version": 2},
        lambda request: {**request.to_json(), "more": 1},
        lambda request: {**request.to_json(), "seal": None},
        lambda request: replace(request, seal=None),
        lambda request: replace(request, seal=""),
        lambda request: ApprovalRequest(tool="cut", call_id="c", reason="r", arguments={"wood": "yew"}),
    ],
)
async def test_what_was_never_sealed_is_refused(shed, forge):
    """In whatever form it comes."""
    dispatcher = shed.dispatcher(Approvals(key=KEY))
    assert await refusal(dispatcher, forge(await waiting(dispatcher))) == "forged"
    assert shed.ran == []


async def test_a_seal_of_another_key_is_refused(shed):
    """Unless that key is one of those that are still taken."""
    old, new = secrets.token_bytes(32), secrets.token_bytes(32)
    request = await waiting(shed.dispatcher(Approvals(key=old)))
    assert await refusal(shed.dispatcher(Approvals(key=new)), request) == "forged"
    assert (await shed.dispatcher(Approvals(key=[new, old])).resume(request, Decision.approve())).kind == "ok"


@pytest.mark.parametrize("decision", [Decision.approve(), Decision.deny()])
async def test_a_sealed_request_is_used_once(shed, decision):
    """Within one process; also if the first answer was a no."""
    dispatcher = shed.dispatcher(Approvals(key=KEY))
    request = await waiting(dispatcher)
    await dispatcher.resume(request, decision)
    ran = list(shed.ran)
    assert await refusal(dispatcher, request) == "answered"
    assert await refusal(dispatcher, request.to_json()) == "answered"
    assert shed.ran == ran


async def test_a_sealed_request_expires(shed):
    """As any other."""
    clock = Clock()
    dispatcher = shed.dispatcher(Approvals(key=KEY, clock=clock, expires_seconds=10))
    request = await waiting(dispatcher)
    clock.now += 10
    assert await refusal(dispatcher, request) == "expired"


async def test_an_id_does_not_do_where_requests_are_sealed(shed):
    """Nobody here knows it."""
    dispatcher = shed.dispatcher(Approvals(key=KEY))
    request = await waiting(dispatcher)
    with pytest.raises(TypeError, match="sealed request"):
        await dispatcher.resume(request.id, Decision.approve())


async def test_a_call_with_secrets_cannot_be_sealed(shed):
    """They would travel in the open; the result says what to do."""
    result = await shed.dispatcher(Approvals(key=KEY)).call("lock", {"code": "1234"})
    assert (result.kind, shed.ran) == ("internal", [])
    assert "give Approvals a store" in result.text
    assert "1234" not in json.dumps(result.to_json())


# What else a resume brings.


async def test_a_resume_has_a_time_limit_of_its_own(shed):
    """What is over before it starts is not claimed."""
    approvals = Approvals()
    clock = Clock()
    dispatcher = shed.dispatcher(approvals, clock=clock)
    request = await waiting(dispatcher)
    result = await dispatcher.resume(request.id, Decision.approve(), timeout_seconds=-1)
    assert (result.kind, shed.ran) == ("timeout", [])


async def test_arguments_that_the_author_refuses_by_now_do_not_run():
    """Validation is done again."""
    catalog, ran, closed = Catalog(), [], []

    @catalog.tool(validate=lambda a: "closed" if closed else None)
    async def enter(door: str) -> None:
        """Enter."""
        ran.append(door)

    dispatcher = Dispatcher(catalog, permissions=Permissions())
    request = (await dispatcher.call("enter", {"door": "a"})).request
    closed.append(True)
    result = await dispatcher.resume(request.id, Decision.approve())
    assert (result.kind, ran) == ("bad_args", [])


async def test_a_tool_finds_its_call_as_it_was(shed):
    """The id, the session and the principal of the call that was asked about."""
    catalog, seen = Catalog(), []

    @catalog.tool
    async def act(context: Context) -> None:
        """Act."""
        seen.append((context.call.id, context.session.id, context.call.principal))

    approvals = Approvals()
    dispatcher = Dispatcher(catalog, permissions=Permissions(), approvals=approvals)
    request = (await dispatcher.call("act", id="c1", session=Session(id="s"), principal="ada")).request
    await dispatcher.resume(request.id, Decision.approve(principal="ada"))
    assert seen == [("c1", "s", "ada")]


# What was masked, and what fails before anybody is asked.


async def test_a_secret_left_masked_in_an_edit_is_the_one_that_was_sent(shed):
    """A person edits what they see, and the secret is not shown to them."""
    dispatcher = shed.dispatcher()
    request = (await dispatcher.call("lock", {"code": "4711"})).request
    assert request.arguments == {"code": "[redacted]"}
    await dispatcher.resume(request, Decision.approve(arguments=dict(request.arguments)))
    assert shed.ran == ["4711"]


async def test_another_mask_in_an_edit_is_refused(shed):
    """Nobody knows what stood there, and the mask itself must not run."""
    dispatcher = shed.dispatcher(redact=["pine"])
    request = await waiting(dispatcher)
    assert request.arguments["wood"] == "[redacted]"
    assert await refusal(dispatcher, request, Decision.approve(arguments=dict(request.arguments))) == "arguments"
    assert shed.ran == []


async def test_a_stranger_learns_nothing_of_what_came_of_a_call(shed):
    """Neither the outcome nor whose it was."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher, principal="ada")
    await dispatcher.resume(request, Decision.approve(principal="ada"))
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(request, Decision.approve(principal="bob"))
    assert caught.value.why == "principal"
    assert caught.value.outcome is None
    assert "ada" not in str(caught.value).replace(request.id, "the id")  # the random id may hold these letters


async def test_a_preview_that_knows_the_call_will_fail_is_the_answer():
    """Nobody is asked about what cannot be done; the model corrects it."""
    catalog = Catalog()

    def preview(arguments: Any) -> str:
        raise ToolError(f"there is no {arguments['name']}; make it first")

    @catalog.tool(preview=preview)
    async def rename(name: str) -> None:
        """Rename something."""

    result = await Dispatcher(catalog, permissions=Permissions()).call("rename", {"name": "tea.txt"})
    assert result.kind == "failed"
    assert "there is no tea.txt; make it first" in result.text
    assert result.request is None


# What a review found.


@pytest.mark.parametrize("approved", ["no", 1, None])
def test_only_true_approves(approved):
    """A text that happens to be true was meant as something else."""
    with pytest.raises(TypeError, match="approved is True or False"):
        Decision(approved=approved)


async def test_a_claim_out_of_sight_is_not_taken_over(shed):
    """Another machine may run it; once nobody could have answered it any more, it is reported as lost."""
    now = [1000.0]
    store = MemoryApprovals()
    dispatcher = shed.dispatcher(Approvals(store, expires_seconds=60, clock=lambda: now[0]))
    request = await waiting(dispatcher)
    elsewhere = f"{'0' * 16}/1/1/{'0' * 16}"
    assert store.settle(request.id, Settlement("claimed", by=None, owner=elsewhere, now=now[0]))
    assert await refusal(dispatcher, request) == "running"
    now[0] += 61
    lost = (await dispatcher.resume(request, Decision.approve())).text
    assert "where this process cannot see it, and no outcome was kept: it may or may not have happened" in lost
    assert shed.ran == []


async def test_an_asker_cannot_answer_for_somebody_else(shed):
    """The call is ada's."""
    approvals = Approvals(ask=lambda request: Decision.approve(principal="mallory"))
    result = await shed.dispatcher(approvals).call("cut", {"wood": "pine"}, principal="ada")
    assert (result.kind, shed.ran) == ("internal", [])


async def test_a_slip_in_an_edit_is_asked_about_again(shed):
    """Whoever edits is told what does not fit."""
    reasons = []

    def ask(request: ApprovalRequest) -> Decision:
        reasons.append(request.reason)
        return Decision.approve(arguments={"wod" if len(reasons) == 1 else "wood": "birch"})

    result = await shed.dispatcher(Approvals(ask=ask)).call("cut", {"wood": "pine"})
    assert (result.kind, shed.ran) == ("ok", [("birch", 1)])
    assert "the edited arguments do not fit" in reasons[1]


@pytest.mark.parametrize("edited", [{"wod": "birch"}, {"wood": "birch"}], ids=["does not fit", "fits"])
async def test_a_mistaken_answer_changes_nothing(shed, edited):
    """After a mistake, a plain approval runs the arguments that the request shows."""
    answers = [Decision.approve(arguments=edited, grant=Grant(tool="*", scope="tool")), Decision.approve()]
    approvals = Approvals(ask=lambda request: answers.pop(0))
    result = await shed.dispatcher(approvals).call("cut", {"wood": "pine"}, session=Session())
    assert (result.kind, shed.ran, answers) == ("ok", [("pine", 1)], [])


async def test_what_a_hook_replaced_cannot_wait(shed):
    """Approved later, the tool itself would run."""

    class DryRun:
        def before(self, call: Any) -> Any:
            return Replace("nothing was done")

    store = MemoryApprovals()
    result = await shed.dispatcher(Approvals(store), hooks=[DryRun()]).call("cut", {"wood": "pine"})
    assert (result.kind, store.pending(), shed.ran) == ("denied", [], [])


async def test_a_request_whose_result_got_lost_is_withdrawn(shed):
    """An after-hook fails: nobody was told of the request, so nobody may let it run later."""

    class Breaks:
        def after(self, call: Any, result: ToolResult) -> ToolResult:
            raise RuntimeError("no")

    store = MemoryApprovals()
    result = await shed.dispatcher(Approvals(store), hooks=[Breaks()]).call("cut", {"wood": "pine"})
    assert (result.kind, store.pending()) == ("internal", [])


async def test_what_judges_and_options_change_is_their_own():
    """All the way down: what was judged is what runs."""
    catalog, ran = Catalog(), []

    def meddle(arguments: Any) -> Any:
        arguments["to"].append("mallory")
        return True

    class Judge:
        def judge(self, request: Any) -> str:
            meddle(request.arguments)
            meddle(request.call.arguments)
            return "allow"

    @catalog.tool(concurrency_safe=meddle, preflight=lambda arguments: meddle(arguments) and [], approval=meddle)
    async def mail(to: list[str], free: Any = None) -> None:
        """Send a mail."""
        ran.append((to, free))

    dispatcher = Dispatcher(catalog, permissions=Judge(), approvals=Approvals(ask=lambda request: True))
    await dispatcher.call_many([("mail", {"to": ["ada"], "free": {"a": [1]}})])
    assert ran == [(["ada"], {"a": [1]})]


async def test_an_argument_that_may_be_anything_is_decoded_anew_for_a_retry():
    """What the first attempt did to it is not seen by the second."""
    catalog, seen = Catalog(), []

    @catalog.tool(idempotent=True)
    async def gather(free: Any) -> None:
        """Gather."""
        seen.append(list(free))
        free.append("more")
        if len(seen) == 1:
            raise Transient("again")

    clock = Clock()
    await Dispatcher(catalog, sleep=clock.sleep).call("gather", {"free": ["one"]})
    assert seen == [["one"], ["one"]]


async def test_a_judge_that_wraps_permissions_is_asked():
    """What it passes on for another is not its own word."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def look() -> str:
        """Look."""
        return "seen"

    class Guests:
        def __init__(self, inner: Permissions) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

        def judge(self, request: Any) -> str:
            return "deny"

    assert (await Dispatcher(catalog, permissions=Guests(Permissions())).call("look", {})).kind == "denied"


async def test_a_read_only_tool_that_states_a_write_does_not_run():
    """One of the two is wrong, and plan mode would let it pass."""
    catalog, ran = Catalog(), []

    @catalog.tool(read_only=True, preflight=lambda arguments: Writes("notes.txt"))
    async def look() -> None:
        """Look."""
        ran.append(1)

    assert (await Dispatcher(catalog, permissions=Permissions("bypass")).call("look", {})).kind == "denied"
    assert ran == []


async def test_another_question_of_the_same_judge_was_not_answered(shed):
    """Whoever agreed to one reason has not read the other."""

    class Bank:
        question = "over 100: somebody has to agree"

        def judge(self, request: Any) -> Verdict:
            return Verdict("ask", "Bank", self.question)

    bank = Bank()
    dispatcher = Dispatcher(shed.catalog, permissions=bank)
    request = await waiting(dispatcher)
    bank.question = "the account was reported stolen: call first"
    again = await dispatcher.resume(request, Decision.approve())
    assert (again.kind, shed.ran) == ("waiting", [])
    assert "reported stolen" in again.request.reason
    assert (await dispatcher.resume(again.request, Decision.approve())).kind == "ok"


async def test_a_principal_that_is_no_text_is_told_before_a_request_is_made(shed):
    """A request with it could not be read back, so its answer would be lost."""
    approvals = Approvals()
    result = await shed.dispatcher(approvals).call("cut", {"wood": "pine"}, principal=42)
    assert (result.kind, "the principal of a call is a text, or None, got int" in result.text) == ("internal", True)
    assert approvals.store.pending() == []


async def test_the_id_of_a_session_is_no_session(shed):
    """The mistake is told before the answer is used."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher, session=Session(id="s"))
    with pytest.raises(TypeError, match="session cannot be str; write session=Session.id="):
        await dispatcher.resume(request.id, Decision.approve(), session="s")
    assert (await dispatcher.resume(request.id, Decision.approve())).kind == "ok"
