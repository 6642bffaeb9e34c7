"""
Random rules, modes, facts, grants, hooks and arguments: what runs was judged, and what is denied never runs.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.access import Access, Reads, Writes
from toolkit.approvals.identity import identity_of
from toolkit.catalog import Catalog
from toolkit.decisions import Grant
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Ask, Deny, Modify, Proceed, Replace
from toolkit.permissions import MODES, PermissionRequest, Permissions
from toolkit.permissions.judgement import CallJudges
from toolkit.results import ToolCall
from toolkit.safety import SafetyChecks
from toolkit.session import Session
from toolkit.spec import Tool
from toolkit.verdicts import Finding

# A rule may be about a parameter that this tool does not have.
pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")

ORDER = ["allow", "ask", "deny"]
KINDS = {"ok": "allow", "waiting": "ask", "denied": "deny", "safety": "deny"}
PATHS = ["src/a", "src/../b", "docs/b", "b", "/etc/passwd", ".env", "src/deep/c"]


class Odd(Access):
    """A kind of the application's own."""

    kind = "odd"


class Wary:
    """A check that asks about some, and refuses others."""

    name = "wary"
    kinds = ("odd",)

    def judge(self, access: Access) -> Finding | None:
        words = {"b": "ask", "docs/b": "deny"}
        return Finding(words[access.target], "wary", "it is odd") if access.target in words else None  # type: ignore[arg-type]


@dataclass(frozen=True)
class Made:
    """What a tool's author stated."""

    facts: str
    open_world: bool
    approval: str
    touches: str
    alias: bool
    prefixed: bool

    def tool(self, ran: list[Any]) -> Tool:
        async def do(path, text="x"):
            ran.append({"path": path, "text": text})
            return "done"

        do.__annotations__ = {"path": str, "text": str, "return": str}
        stated: dict[str, Any] = {"writes": {}, "reads": {"read_only": True}, "destroys": {"destructive": True}}[
            self.facts
        ]
        touches = {"reads": Reads, "writes": Writes, "odd": Odd}.get(self.touches)
        if touches is not None:
            stated["preflight"] = lambda arguments: [touches(arguments["path"])]
        approvals = {"always": "always", "some": lambda arguments: arguments["text"] == "x", "never": "never"}
        return Tool.described(
            do,
            description="Do it.",
            open_world=self.open_world,
            approval=approvals[self.approval],
            aliases=["did"] if self.alias else [],
            **stated,
        )

    def name(self) -> str:
        return "my_do" if self.prefixed else "do"


tools = st.builds(
    Made,
    facts=st.sampled_from(["reads", "writes", "destroys"]),
    open_world=st.booleans(),
    approval=st.sampled_from(["never", "never", "some", "always"]),
    touches=st.sampled_from(["nothing", "nothing", "reads", "writes", "odd"]),
    alias=st.booleans(),
    prefixed=st.booleans(),
)
subjects = st.sampled_from(
    [
        *("do", "my_do", "did", "d*", "*", "other", "python/*", "mcp:x/do", "group:all"),
        *(
            "do(path=src/**)",
            "my_do(path=src/*)",
            "do(src/**)",
            "do(text=x)",
            "*(text=y)",
            "my_do(odd=b)",
            "do(path=b)",
            "do(text~=X)",
        ),
        *("access:write", "access:write(src/**)", "access:read(src/**)", "access:path(src/*)", "access:url"),
    ]
)
words = st.sampled_from(ORDER)
rules = st.lists(st.builds("{} {}".format, words, subjects), max_size=4)
modes = st.sampled_from(MODES)
arguments = st.fixed_dictionaries({"path": st.sampled_from(PATHS)}, optional={"text": st.sampled_from(["x", "y", "z"])})
hooks = st.lists(
    st.one_of(
        st.just(Proceed()),
        st.builds(Modify, arguments),
        st.builds(Ask, st.just("sure?")),
        st.builds(Deny, st.just("no")),
        st.builds(Replace, st.just("instead")),
    ),
    max_size=3,
)
grants = st.lists(
    st.tuples(st.sampled_from(["tool", "folder"]), st.sampled_from(["/", "src", "elsewhere"]), st.booleans()),
    max_size=2,
)


class Recorder:
    """A judge that has nothing against anything, and keeps what it saw."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def judge(self, request: PermissionRequest) -> str:
        self.seen.append(dict(request.arguments))
        return "allow"


@dataclass
class Hook:
    outcome: Any

    def before(self, call: ToolCall) -> Any:
        return self.outcome


@dataclass
class Case:
    """One tool, one policy, one conversation."""

    tool_facts: Made
    mode: Any
    rules: list[str]
    grants: list[tuple[str, str, bool]]
    own_mode: Any = None
    hooks: list[Any] = field(default_factory=list)
    recorder: Recorder | None = None

    def __post_init__(self) -> None:
        self.ran: list[dict[str, Any]] = []
        self.session = Session()
        catalog: Any = Catalog(self.tool_facts.tool(self.ran))
        if self.tool_facts.prefixed:
            catalog = catalog.prefixed("my_")
        self.tool = catalog[self.tool_facts.name()]
        self.names = catalog.table.names_of(self.tool)
        self.permissions = Permissions(self.mode, self.rules)
        self.permissions.set_mode(self.own_mode, session=self.session)
        judges = [self.permissions, self.recorder] if self.recorder else self.permissions
        self.safety = SafetyChecks(further=[Wary()])
        for scope, folder, is_ours in self.grants:
            target = "" if scope == "tool" else f"{self.safety.root}/{folder}".replace("//", "/").rstrip("/")
            identity = identity_of(self.tool) if is_ours else "0" * 64
            self.permissions.grant(self.session, Grant(tool=identity, scope=scope, target=target))  # type: ignore[arg-type]
        chain = [Hook(outcome) for outcome in self.hooks]
        self.dispatcher = Dispatcher(catalog, permissions=judges, safety=self.safety, hooks=chain)

    async def word(self, sent: dict[str, Any]) -> str:
        verdict = await self.dispatcher.explain(self.tool_facts.name(), sent, session=self.session)
        return verdict.word

    async def call(self, sent: dict[str, Any]) -> str:
        result = await self.dispatcher.call(self.tool_facts.name(), sent, session=self.session)
        assert result.kind in KINDS, result.text
        return KINDS[result.kind]


own_modes = st.none() | modes
cases = st.builds(Case, tools, modes, rules, grants, own_modes)
hooked = st.builds(Case, tools, modes, rules, grants, own_modes, hooks, st.builds(Recorder))


@given(hooked, arguments)
def test_a_tool_runs_exactly_with_the_arguments_that_were_allowed(case, sent):
    """Without an allowing verdict the tool does not run."""
    word = asyncio.run(case.call(sent))
    is_replaced = any(isinstance(outcome, Replace) for outcome in case.hooks)
    if word == "allow":
        assert len(case.recorder.seen) == 1
        assert case.ran == ([] if is_replaced else case.recorder.seen)
    else:
        assert case.ran == []


@given(hooked, arguments)
def test_the_verdict_is_that_of_the_arguments_after_the_hooks(case, sent):
    """A plain call with the arguments that the hooks left has the same verdict."""
    final = sent
    for outcome in case.hooks:
        if isinstance(outcome, (Deny, Replace)):
            break
        if isinstance(outcome, Modify):
            final = dict(outcome.arguments)
    plain = Case(case.tool_facts, case.mode, case.rules, case.grants, case.own_mode)
    expected = asyncio.run(plain.word(final))
    word = asyncio.run(case.call(sent))
    assert ORDER.index(word) >= ORDER.index(expected)
    if not any(isinstance(outcome, (Deny, Ask)) for outcome in case.hooks):
        # What a hook replaced cannot wait for a person: approved later, the tool itself would run.
        is_replaced = any(isinstance(outcome, Replace) for outcome in case.hooks)
        assert word == ("deny" if is_replaced and expected == "ask" else expected)


@given(cases, arguments)
def test_explain_agrees_with_repeated_calls(case, sent):
    """Explaining runs no tool."""

    async def both():
        words = [await case.word(sent)]
        assert case.ran == []
        words += [await case.call(sent), await case.call(sent), await case.word(sent)]
        return words

    explained, first, second, again = asyncio.run(both())
    assert explained == first == second == again
    assert len(case.ran) == (2 if explained == "allow" else 0)


@given(cases, arguments, subjects, st.integers(0, 4))
def test_another_deny_rule_never_lets_more_run(case, sent, subject, at):
    """It may stand anywhere among the rules."""
    stricter = [*case.rules[:at], f"deny {subject}", *case.rules[at:]]
    other = Case(case.tool_facts, case.mode, stricter, case.grants, case.own_mode)
    before, after = asyncio.run(case.call(sent)), asyncio.run(other.call(sent))
    assert ORDER.index(after) >= ORDER.index(before)
    assert after in (before, "deny")


@given(cases, arguments, subjects, st.integers(0, 4))
def test_another_ask_rule_never_lets_more_run(case, sent, subject, at):
    """A call may only be asked about in addition, or be denied if the mode does not ask."""
    stricter = [*case.rules[:at], f"ask {subject}", *case.rules[at:]]
    other = Case(case.tool_facts, case.mode, stricter, case.grants, case.own_mode)
    before, after = asyncio.run(case.call(sent)), asyncio.run(other.call(sent))
    assert ORDER.index(after) >= ORDER.index(before)


@given(cases, arguments, subjects, st.integers(0, 4))
def test_an_allow_more_never_changes_a_deny(case, sent, subject, at):
    """The exception is a mode that does not ask; and it never makes anything stricter."""
    looser = [*case.rules[:at], f"allow {subject}", *case.rules[at:]]
    other = Case(case.tool_facts, case.mode, looser, case.grants, case.own_mode)
    before, after = asyncio.run(case.call(sent)), asyncio.run(other.call(sent))
    assert ORDER.index(after) <= ORDER.index(before)
    mode = case.own_mode or case.mode
    if before == "deny" and mode != "deny_unlisted":
        assert after == "deny"


@given(cases, arguments, st.tuples(st.sampled_from(["tool", "folder"]), st.just("/"), st.just(True)))
def test_a_grant_more_never_changes_a_deny(case, sent, grant):
    """The exception is a deny in place of an ask, in a mode that does not ask."""
    other = Case(case.tool_facts, case.mode, case.rules, [*case.grants, grant], case.own_mode)
    before, after = asyncio.run(case.call(sent)), asyncio.run(other.call(sent))
    assert ORDER.index(after) <= ORDER.index(before)
    if before == "deny" and (case.own_mode or case.mode) != "deny_unlisted":
        assert after == "deny"


STRICTER = {
    "facts": {"reads": ["writes", "destroys"], "writes": ["destroys"], "destroys": []},
    "open_world": {False: [True], True: []},
    "approval": {"never": ["some", "always"], "some": ["always"], "always": []},
}


@given(cases, arguments, st.sampled_from(sorted(STRICTER)), st.data())
def test_stricter_facts_never_loosen(case, sent, fact, data):
    """
    A tool that states more against itself is let through no more easily.

    One exception: a tool that is declared read-only, and says that it is about to write, contradicts itself and is
    denied in every mode. Stating that it writes takes the contradiction away, and the deny with it.
    """
    if case.tool_facts.facts == "reads" and case.tool_facts.touches == "writes":
        assert asyncio.run(case.call(sent)) == "deny"
        if fact == "facts":
            return
    choices = STRICTER[fact][getattr(case.tool_facts, fact)]
    stated = (
        {**case.tool_facts.__dict__, fact: data.draw(st.sampled_from(choices))} if choices else case.tool_facts.__dict__
    )
    other = Case(Made(**stated), case.mode, case.rules, case.grants, case.own_mode)
    before, after = asyncio.run(case.call(sent)), asyncio.run(other.call(sent))
    assert ORDER.index(after) >= ORDER.index(before)


@given(cases, arguments)
def test_the_quick_gate_and_the_judgement_agree(case, sent):
    """
    If the gate lets a call through, the judgement does, too. The reverse holds unless a grant, an allow rule or
    the mode answers an ask rule.
    """
    judges = CallJudges(case.safety, case.permissions)
    gate = judges.gate(case.tool, case.names)
    if gate is None:
        return
    call, decoded = ToolCall(case.tool.name, sent, session=case.session), case.tool.check(sent)
    judgement = asyncio.run(judges.judge(case.tool, case.names, call, decoded))
    if gate(case.session, decoded):
        assert judgement.verdict.word == "allow"
    elif (
        not case.grants and (case.own_mode or case.mode) != "bypass" and not any("allow" in rule for rule in case.rules)
    ):
        assert judgement.verdict.word != "allow"
    alone = asyncio.run(judges.judge(case.tool, case.names, ToolCall(case.tool.name, sent), decoded))
    assert gate(None, decoded) <= (alone.verdict.word == "allow")
