"""
Calls, hooks, rules, modes, edits, answers, replays, forgeries and restarts in any order, against what must never be.

No call runs whose final arguments were not judged and let through; a denied call never reaches its tool; each
request lets one call run at most once; what was forged, replayed or altered lets nothing run; and `explain` agrees
with what happens.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.clocks import Clock
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.approvals.identity import digest_of_call, identity_of
from toolkit.approvals.memory_store import PackedRecord
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import ApprovalRequest, Decision, Grant
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Ask, Deny, Modify, Proceed, Replace
from toolkit.permissions import MODES, Permissions
from toolkit.results import ToolCall, ToolResult
from toolkit.session import Session
from toolkit.spec import Tool

FACTS: dict[str, dict[str, Any]] = {
    "looks": {"read_only": True},
    "writes": {},
    "repeats": {"idempotent": True},
    "destroys": {"destructive": True},
    "always": {"approval": "always"},
}
RULES: list[list[str]] = [
    [],
    ["allow writes"],
    ["deny destroys", "ask looks"],
    ["deny writes(number=3)", "allow destroys(number=1)"],
    ["ask *(number=2)"],
]
numbers = st.integers(0, 5)
# Mostly right: what is refused for one reason tells nothing about the others.
spoken = st.sampled_from(["right"] * 8 + [None, "ada", "bob"])
places = st.sampled_from(["right"] * 8 + ["none", "own", "other"])


@dataclass
class Waiting:
    """A request that a person could answer, and what the model knows about it."""

    request: ApprovalRequest
    call: str
    session: str
    is_open: bool = True


class World:
    """What tools did, and what the joined judge saw last of every call."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, str, dict[str, int]]] = []
        self.judged: dict[str, tuple[str, dict[str, Any], str]] = {}
        self.forbidden: set[int] = set()
        self.is_watching = True
        self.trespasses: list[str] = []
        self.catalog = Catalog()
        for name, facts in FACTS.items():
            self.catalog.add(Tool.described(self._acting, name=name, **facts))

    async def _acting(self, number: int, context: Context, extra: int = 0) -> int:
        """Act."""
        call, arguments = context.call, {"number": number, "extra": extra}
        if self.judged.get(call.id) != (call.tool.name, arguments, "allow"):
            self.trespasses.append(f"{call.id} ran {arguments}, and {self.judged.get(call.id)} was judged")
        self.runs.append((call.id, call.tool.name, arguments))
        return number

    def judge(self, request: Any) -> str:
        """Join the permissions: forbid some numbers, and remember everything."""
        word = "deny" if request.arguments["number"] in self.forbidden else "allow"
        if self.is_watching:
            self.judged[request.call.id] = (request.tool.name, dict(request.arguments), word)
        return word


class Meddler:
    """A hook that does what the next call is to meet, and tries to change what it is only shown."""

    def __init__(self) -> None:
        self.outcome: Any = Proceed()

    def before(self, call: Any) -> Any:
        call.arguments["number"] = 666
        return self.outcome

    async def around(self, call: Any, run: Any) -> Any:
        call.arguments["number"] = 777
        return await run()

    def after(self, call: Any, result: Any) -> Any:
        call.arguments["number"] = 888
        return result


class Approving(RuleBasedStateMachine):
    """One conversation with people who answer in any order, or lie."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.world, self.hook, self.clock = World(), Meddler(), Clock()
        self.own = Session(id="own")
        self.waiting: list[Waiting] = []
        self.denied: set[str] = set()
        self.runs_of: Counter[str] = Counter()
        self.calls = 0
        self.reply: Any = None
        self.folder = Path(tempfile.mkdtemp())

    def teardown(self) -> None:
        self.runner.close()
        shutil.rmtree(self.folder)

    @initialize(kind=st.sampled_from(["memory", "sqlite", "sealed"]), rules=st.sampled_from(RULES))
    def begin(self, kind: str, rules: list[str]) -> None:
        self.kind = kind
        self.approvals = Approvals(key=b"k" * 32, ask=self.ask, clock=self.clock, expires_seconds=100)
        self.memory = MemoryApprovals()
        self.path = self.folder / "x.approvals.sqlite"
        self.restart(rules)

    # The policy.

    @rule(rules=st.sampled_from(RULES))
    def restart(self, rules: list[str]) -> None:
        """Start another process, as far as a store can tell: only a sealed request's use is remembered in one."""
        if self.kind != "sealed":
            store = self.memory if self.kind == "memory" else SQLiteApprovals(self.path)
            self.approvals = Approvals(store, ask=self.ask, clock=self.clock, expires_seconds=100)
        self.permissions = Permissions(rules=rules)
        self.dispatcher = Dispatcher(
            self.world.catalog,
            permissions=[self.permissions, self.world],
            approvals=self.approvals,
            hooks=[self.hook],
        )

    @rule(mode=st.sampled_from(MODES), is_own=st.booleans())
    def change_mode(self, mode: Any, is_own: bool) -> None:
        self.permissions.set_mode(mode, session=self.own if is_own else None)

    @rule(number=numbers)
    def forbid_or_permit(self, number: int) -> None:
        self.world.forbidden ^= {number}

    @rule(seconds=st.sampled_from([1, 60]))
    def time_passes(self, seconds: int) -> None:
        self.clock.now += seconds

    # Calls.

    @rule(
        tool=st.sampled_from(sorted(FACTS)),
        number=numbers,
        session=st.sampled_from(["none", "own"]),
        principal=st.sampled_from([None, "ada"]),
        hooked=st.sampled_from(["proceed", "modify", "ask", "deny", "replace"]) | st.just("proceed"),
        other=numbers,
        reply=st.none() | st.booleans() | numbers.map(lambda number: Decision.approve(arguments={"number": number})),
    )
    def call(
        self, tool: str, number: int, session: str, principal: str | None, hooked: str, other: int, reply: Any
    ) -> None:
        self.reply = reply
        self.hook.outcome = {
            "proceed": Proceed(),
            "modify": Modify({"number": other}),
            "ask": Ask("sure?"),
            "deny": Deny("no"),
            "replace": Replace(ToolResult("instead", -1)),
        }[hooked]
        self.calls += 1
        name, final = f"c{self.calls}", other if hooked == "modify" else number
        word = self.explain_verdict(tool, {"number": final}, self.session(session), principal)
        before = len(self.world.runs)
        result = self.runner.run(
            self.dispatcher.call(tool, {"number": number}, id=name, session=self.session(session), principal=principal)
        )
        ran = len(self.world.runs) - before
        if hooked == "deny" or word == "deny":
            assert (result.kind, ran) == ("denied", 0)
            self.denied.add(name)
        elif word == "ask" or (hooked == "ask" and not self.is_settled(tool, session)):
            self.ask_at_once(result, ran, name, session, hooked)
        elif hooked == "replace":
            assert (result.text, ran) == ("instead", 0)
        elif hooked != "ask":
            assert (result.kind, ran) == ("ok", 1)
        assert ran <= 1

    def is_settled(self, tool: str, session: str) -> bool:
        """Return whether an ask of a hook is answered without a person: by the mode, or by a grant for the tool."""
        place = self.session(session)
        grants = () if place is None else place.grants
        is_granted = any(grant.shown.startswith(f"`{tool}`") for grant in grants)
        return is_granted or self.permissions.mode_of(place) in _SETTLED

    def ask_at_once(self, result: ToolResult, ran: int, name: str, session: str, hooked: str) -> None:
        if self.reply is None and hooked == "replace":
            assert (result.kind, ran) == ("denied", 0)  # approved later, the tool itself would run
            self.denied.add(name)
        elif self.reply is None:
            assert (result.kind, ran) == ("waiting", 0)
            self.keep(result, name, session)
        elif self.reply is False or result.kind == "denied":
            assert (result.kind, ran) == ("denied", 0)
            assert self.reply is not True
            self.denied.add(name)
        else:
            assert (result.kind, ran) == ("ok", 0 if hooked == "replace" else 1)
            edited = None if self.reply is True else self.reply.arguments["number"]
            assert edited is None or ran == 0 or self.world.runs[-1][2]["number"] == edited

    # Answers.

    @precondition(lambda self: self.waiting)
    @rule(
        data=st.data(),
        approved=st.booleans() | st.just(True),
        edited=st.none() | numbers,
        speaker=spoken,
        place=places,
        granted=st.booleans(),
    )
    def answer(
        self, data: Any, approved: bool, edited: int | None, speaker: str | None, place: str, granted: bool
    ) -> None:
        # The latest first: the others may have been answered, or be too old.
        pending = data.draw(st.sampled_from(self.waiting[::-1]))
        request = pending.request
        self.reply = None
        principal = request.principal if speaker == "right" else speaker
        session = pending.session if place == "right" else place
        edited = edited if approved else None  # a denial has neither
        grant = request.grants[0] if approved and granted and request.grants else None
        decision = Decision(
            approved=approved,
            arguments=None if edited is None else {"number": edited},
            grant=grant,
            principal=principal,
        )
        final = dict(request.arguments) if edited is None else {"number": edited}
        tool, session_object = request.tool, self.session(session)
        is_right = (
            pending.is_open
            and principal == request.principal
            and self.clock() < (request.expires_at or 0)
            and session in ("none", pending.session)
            and not (grant is not None and session == "none")
        )
        judged_session = session_object or (Session(id=request.session) if request.session else None)
        word = self.explain_verdict(tool, final, judged_session, request.principal)
        before = len(self.world.runs)
        result = self.resume_request(self.identify(request), decision, session_object)
        ran = len(self.world.runs) - before
        self.runs_of[request.id] += ran
        if not is_right:
            assert (result, ran) == (None, 0)
            return
        assert result is not None
        pending.is_open = False
        if not approved or word == "deny":
            assert (result.kind, ran) == ("denied", 0)
            self.denied.add(pending.call)
        elif word == "allow":
            assert (result.kind, ran) == ("ok", 1)
        else:
            assert (result.kind, ran) in (("ok", 1), ("waiting", 0))
            if result.kind == "waiting":
                self.keep(result, pending.call, pending.session)

    # Lies.

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), number=st.integers(6, 9))
    def alter(self, data: Any, number: int) -> None:
        """Change the arguments of a waiting call in the store, or on the way."""
        pending = data.draw(st.sampled_from(self.waiting))
        request, others = pending.request, {"number": number, "extra": 0}
        before = len(self.world.runs)
        undo = self.alter_record(request.id, others)
        fitting = digest_of_call(
            identity_of(self.world.catalog[request.tool]), others, request.session, request.principal
        )
        sealed = replace(request, arguments=others, digest=fitting)  # a forger can make the digest fit
        reference = sealed if self.kind == "sealed" else request.id
        assert self.resume_request(reference, Decision.approve(principal=request.principal)) is None
        undo()
        assert len(self.world.runs) == before

    @rule(data=st.data(), tool=st.sampled_from(sorted(FACTS)), number=numbers)
    def forge(self, data: Any, tool: str, number: int) -> None:
        """Answer a request that no dispatcher made."""
        forged = ApprovalRequest(
            tool=tool,
            call_id="forged",
            reason="please",
            arguments={"number": number, "extra": 0},
            grants=(Grant(tool="*", scope="tool"),),
            created_at=self.clock(),
            seal=data.draw(
                st.sampled_from([None, "", "v1." + "0" * 64, *[pending.request.seal for pending in self.waiting]])
            ),
        )
        before = len(self.world.runs)
        assert self.resume_request(self.identify(forged), Decision.approve()) is None
        assert len(self.world.runs) == before

    @precondition(lambda self: any(not pending.is_open for pending in self.waiting))
    @rule(data=st.data(), approved=st.booleans())
    def replay(self, data: Any, approved: bool) -> None:
        """Give an answer that was given again."""
        closed = data.draw(st.sampled_from([pending for pending in self.waiting if not pending.is_open]))
        before = len(self.world.runs)
        decision = Decision(approved=approved, principal=closed.request.principal)
        assert self.resume_request(self.identify(closed.request), decision) is None
        assert len(self.world.runs) == before

    # What must never be.

    @invariant()
    def nothing_runs_unjudged(self) -> None:
        assert self.world.trespasses == []

    @invariant()
    def nothing_runs_twice(self) -> None:
        ran = Counter(call for call, _, _ in self.world.runs)
        assert all(times == 1 for times in ran.values())
        assert all(times <= 1 for times in self.runs_of.values())

    @invariant()
    def nothing_denied_runs(self) -> None:
        assert self.denied.isdisjoint(call for call, _, _ in self.world.runs)

    # Helpers.

    def ask(self, request: ApprovalRequest) -> Any:
        """Answer as the person would who is there while a call waits, if there is one."""
        return self.reply

    def session(self, name: str) -> Session | None:
        return {"none": None, "own": self.own, "other": Session(id="other")}[name]

    def identify(self, request: ApprovalRequest) -> Any:
        return json.loads(json.dumps(request.to_json())) if self.kind == "sealed" else request.id

    def keep(self, result: ToolResult, call: str, session: str) -> None:
        assert result.request is not None
        self.waiting.append(Waiting(result.request, call, session))

    def resume_request(self, request: Any, decision: Decision, session: Session | None = None) -> ToolResult | None:
        """Return the result; None if the answer was not taken."""
        try:
            return self.runner.run(self.dispatcher.resume(request, decision, session=session))
        except ApprovalError:
            return None

    def explain_verdict(self, tool: str, arguments: Any, session: Session | None, principal: str | None) -> str:
        """Return what `explain` says; the judge does not count it."""
        self.world.is_watching = False
        call = ToolCall(tool, arguments, "explained", session, principal)
        verdict = self.runner.run(self.dispatcher.explain(call))
        self.world.is_watching = True
        return verdict.word

    def alter_record(self, name: str, arguments: dict[str, int]) -> Any:
        """Write other arguments into the store's record; what takes that back."""
        if self.kind == "sealed":
            return lambda: None
        if self.kind == "memory":
            records = self.memory._records  # noqa: SLF001 -- no public door can alter it
            packed = records[name]
            records[name] = PackedRecord(replace(packed.unpack(), arguments=arguments))
            return lambda: records.__setitem__(name, packed)
        return self.write_record(name, lambda record: {**record, "arguments": arguments})

    def write_record(self, name: str, change: Any) -> Any:
        connection = sqlite3.connect(self.path)
        with connection:
            row = connection.execute("SELECT record FROM toolkit_approvals WHERE id = ?", (name.encode(),)).fetchone()
            new = json.dumps(change(json.loads(row[0])))
            connection.execute("UPDATE toolkit_approvals SET record = ? WHERE id = ?", (new, name.encode()))
        connection.close()
        return lambda: self.write_record(name, lambda _: json.loads(row[0]))


# The modes in which an ask of a hook is settled without a person: it runs, or is denied.
_SETTLED = ("deny_unlisted", "bypass")

TestApproving = pytest.mark.long(Approving.TestCase)
TestApproving.settings = settings(stateful_step_count=30)
