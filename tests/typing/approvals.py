"""Rules, judges and requests for approval as users write them; checked by mypy and pyright, never run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typing_extensions import assert_type

from toolkit import (
    DECLINED,
    Access,
    ApprovalError,
    ApprovalRequest,
    Approvals,
    AuditLog,
    AuthNeeded,
    AuthRequest,
    Command,
    Context,
    Decision,
    Dispatcher,
    Facts,
    PermissionGate,
    Permissions,
    Question,
    Reads,
    Rule,
    SafetyChecks,
    Session,
    SQLiteApprovals,
    TerminalPrompt,
    ToolResult,
    Url,
    Verdict,
    Writes,
    default_catalog,
    tool,
)
from toolkit.approvals import (
    Callback,
    DenyAll,
    MemoryApprovals,
    PostgresApprovals,
    Preview,
    Record,
    combined,
    file_change,
    find_changed_paths,
)
from toolkit.decisions import Changed, Grant
from toolkit.permissions import MODES, Mode, PermissionRequest, read_rule
from toolkit.verdicts import Finding, Word


class Database:
    def rows(self) -> int:
        return 0


class Table(Access):
    kind = "table"


@tool(
    preflight=lambda arguments: [Writes(arguments["path"]), Reads("template.txt")],
    preview=lambda arguments: file_change(arguments["path"], arguments["text"]),
)
def write(path: Annotated[Path, Writes], text: str, context: Context) -> int:
    context.permissions.check(Table("audit"))
    if find_changed_paths(context.permissions.preconditions):
        raise Changed(f"{path} has changed")
    return len(text)


@tool(destructive=True, open_world=True)
def run(command: Annotated[str, Command], urls: list[Annotated[str, Url]], table: Annotated[str, Table]) -> str:
    raise AuthNeeded(AuthRequest(provider="github", scopes=("repo",), url="https://github.com/login/device"))


class Guests:
    def judge(self, request: PermissionRequest) -> Verdict | Word:
        assert_type(request.accesses, tuple[Access, ...])
        return "deny" if request.principal == "guest" else Verdict("allow", "Guests", "no guest")


class SlowJudge:
    async def judge(self, request: PermissionRequest) -> Word:
        return "ask" if request.tool.facts.destructive else "allow"


class NoTables:
    name = "tables"
    kinds = ("table",)

    def judge(self, access: Access) -> Finding | None:
        return Finding("deny", self.name, "no tables here") if access.target else None


async def permissions(session: Session) -> None:
    assert_type(write(Path("x"), "x", Context(facts=Facts())), int)
    modes: tuple[Mode, ...] = MODES
    policy = Permissions(modes[0], ["allow read", Rule("deny", "bash(git push:*)"), read_rule("ask write")])
    assert_type(policy.mode_of(session), Mode)
    policy.set_mode("plan", session=session)
    safety = SafetyChecks(
        [Path(), "src"], protected=["*.sqlite"], allowed_hosts=["localhost:80"], further=[NoTables()], without=["host"]
    )
    gate = PermissionGate(lambda call: call.principal == "ada")
    dispatcher = Dispatcher(default_catalog, permissions=[policy, gate, Guests(), SlowJudge()], safety=safety)
    verdict = await dispatcher.explain("write", {"path": "x", "text": "y"}, session=session)
    assert_type(verdict.warnings, tuple[str, ...])
    assert_type(verdict, Verdict)
    assert_type(verdict.word, Word)
    assert_type(verdict.findings, tuple[Finding, ...])
    Permissions("careful")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


class Asker:
    async def ask(self, request: ApprovalRequest) -> Decision | None:
        return None


async def approvals(session: Session) -> None:
    store = SQLiteApprovals(Path("shop.approvals.sqlite"))
    for policy in (
        Approvals(store, expires_seconds=None),
        Approvals(store, key=[b"new", "old"]),
        Approvals(PostgresApprovals("postgresql://host/name", timeout_seconds=5, lost_seconds=2.5), key=b"new"),
        Approvals(MemoryApprovals(), ask=TerminalPrompt(by="ada")),
        Approvals(key=[b"new", "old"]),
        Approvals(ask=Callback(lambda request: True, by="ada")),
        Approvals(ask=DenyAll("nobody is there")),
        Approvals(ask=Asker()),
        Approvals(ask=lambda request: len(request.arguments) < 3),
    ):
        dispatcher = Dispatcher(default_catalog, approvals=policy, audit=AuditLog("shop.audit.jsonl", redact=["x"]))
        waiting = await dispatcher.call("write", {"path": "x", "text": "y"}, session=session)
        request = waiting.request
        if request is None:
            continue
        assert_type(request, ApprovalRequest)
        assert_type(request.grants, tuple[Grant, ...])
        assert_type(request.auth, AuthRequest | None)
        assert_type(request.questions, tuple[Question, ...])
        assert_type(Decision.approve(answers={"size": 4, "name": DECLINED}), Decision)
        assert_type(request.to_json(), dict[str, Any])
        decisions = [
            Decision.approve(by="ada", grant=request.grants[0]),
            Decision.approve(arguments={"path": "y"}, principal="ada"),
            Decision.deny("not today"),
        ]
        try:
            assert_type(await dispatcher.resume(request.id, decisions[0], session=session), ToolResult)
            await dispatcher.resume(request.to_json(), decisions[1], resources={Database: Database()})
        except ApprovalError as error:
            assert_type(str(error.why), str)
    assert_type(store.pending(principal="ada"), list[ApprovalRequest])
    assert_type(store.get("x"), Record | None)
    assert_type(combined(file_change("a", "x"), file_change("b", None)), Preview)
    assert_type(list(AuditLog.read("shop.audit.jsonl")), list[dict[str, Any]])
    Permissions.grant(session, session.grants[0])
    Permissions.revoke(session)
