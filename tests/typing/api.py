"""
The public surface as users write it; checked by mypy and pyright, never run.

A decorated function keeps its exact type, whichever way it was decorated.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from hypothesis.strategies import SearchStrategy
from starlette.applications import Starlette
from typing_extensions import Unpack, assert_type

from toolkit import (
    DECLINED,
    PER_CALL,
    Access,
    Agent,
    ApprovalError,
    ApprovalRequest,
    Approvals,
    AuditLog,
    AuthNeeded,
    AuthRequest,
    BadArgs,
    Catalog,
    CatalogView,
    Change,
    Codec,
    Command,
    Context,
    Decision,
    Definition,
    Dispatcher,
    Facts,
    Inject,
    PermissionGate,
    Permissions,
    Problem,
    Progress,
    Question,
    Reads,
    RetryPolicy,
    Rule,
    SafetyChecks,
    SearchResult,
    SearchResults,
    Session,
    SQLiteApprovals,
    TerminalPrompt,
    Tool,
    ToolCall,
    ToolResult,
    Transient,
    UnknownTool,
    Url,
    Verdict,
    Writes,
    default_catalog,
    register_codec,
    retrying,
    tool,
)
from toolkit.agent import Budget, Done, Run, ToolFinished, sub_run
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
from toolkit.builtin import (
    MemoryFolder,
    MemoryNote,
    MemoryStore,
    Sandbox,
    Workspace,
    bash_for,
    best_sandbox,
    builtin_catalog,
    edit_for,
    glob_for,
    grep_for,
    job_output_for,
    job_stop_for,
    memory_tools,
    read_for,
    tool_search_for,
    web_fetch_for,
    write_for,
)
from toolkit.calls.settings import DispatcherOptions
from toolkit.cli.argument_values import arguments_of, parse_json_arguments
from toolkit.cli.commands.audit_summary import AuditSummary, ToolSummary, summarize_log
from toolkit.cli.commands.new_project import ProjectError, make_project, package_name
from toolkit.cli.display import AgentDisplay
from toolkit.cli.exit_codes import EXITS, RUN_EXITS, VERDICT_EXITS
from toolkit.cli.targets import Target, open_target
from toolkit.context import ClientRequest
from toolkit.decisions import Changed, Grant
from toolkit.formats import Definitions, anthropic
from toolkit.hooks import (
    Cache,
    CallEnded,
    Deny,
    Event,
    Log,
    LoopGuard,
    Outcome,
    Proceed,
    RateLimit,
    RunEnded,
    Stats,
    ToolStats,
)
from toolkit.inspector import History, Inspector
from toolkit.mcp import Auth, http_app
from toolkit.permissions import MODES, Mode, PermissionRequest, read_rule
from toolkit.providers import (
    AnthropicProvider,
    FallbackProvider,
    Reply,
    Request,
    ScriptedProvider,
    Usage,
    UserMessage,
    create_provider,
)
from toolkit.sandbox import LevelName, Limits, sandboxes
from toolkit.skills import Skills
from toolkit.testing import (
    FakeClock,
    LawsBroken,
    Mistake,
    Recorded,
    Recorder,
    Unsupported,
    Violation,
    arguments,
    assert_called,
    bad_arguments,
    batches,
    broken_laws,
    catalog_of,
    check_catalog,
    check_tool,
    lint,
    make_call,
    make_error,
    make_result,
    make_waiting,
    mistaken_arguments,
    values,
)
from toolkit.testing import calls as drawn_calls
from toolkit.verdicts import Finding, Word
from toolkit.workspace import Entry, WriteResult


class Database:
    def rows(self) -> int:
        return 0


@tool
def bare(a: int, b: str = "") -> bool:
    return bool(a) and bool(b)


@tool()
def called(a: int, /, *rest: str) -> list[str]:
    return [str(a), *rest]


@tool(
    read_only=True,
    aliases=["cat"],
    timeout_seconds=2.5,
    approval="always",
    cost=lambda arguments: 0.05 * len(arguments),
)
async def asynchronous(path: str, *, limit: int = 2000) -> str:
    return path[:limit]


@tool(destructive=True, catalog=None, validate=lambda arguments: None if arguments else "empty")
def generator(count: int) -> Iterator[int]:
    yield count


@default_catalog.tool
async def stream(count: int) -> AsyncIterator[int]:
    yield count


@default_catalog.tool(group="files", concurrency_safe=lambda arguments: "path" in arguments)
def with_resources(table: str, database: Inject[Database], context: Context) -> int:
    assert_type(database, Database)
    assert_type(context.facts, Facts)
    return database.rows()


class Notebook:
    @tool
    def write(self, text: str) -> int:
        return len(text)

    @tool(read_only=True)
    @classmethod
    def make(cls, text: str) -> Notebook:
        return cls()

    @staticmethod
    @tool
    def count(text: str) -> int:
        return len(text)


async def types_are_kept() -> None:
    assert_type(bare(1), bool)
    assert_type(bare(1, b="x"), bool)
    assert_type(called(1, "x"), list[str])
    assert_type(await asynchronous("x", limit=3), str)
    assert_type(generator(3), Iterator[int])
    assert_type(stream(3), AsyncIterator[int])
    assert_type(with_resources("t", Database(), Context(facts=Facts())), int)
    assert_type(Notebook().write("x"), int)
    assert_type(Notebook.count("x"), int)
    assert_type(tool(len)([1]), int)


def misuse_is_seen() -> None:
    bare("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    tool(thread="caller")
    tool(thread="main")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    tool(read_onyl=True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    tool(read_only="yes")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]


def catalogs(source: Any) -> None:
    catalog = Catalog(bare).add(called, source, replace=True)
    assert_type(catalog, Catalog)
    assert_type(catalog["bare"], Tool)
    assert_type(catalog.get("x"), Tool | None)
    assert_type([member.name for member in catalog], list[str])
    assert_type(catalog.names(), list[str])
    assert_type(catalog.filtered(lambda member: member.facts.read_only), CatalogView)
    assert_type(catalog.merged(Catalog()).prefixed("x_").sorted().provided({Database: Database()}), CatalogView)
    assert_type(catalog.definitions(), list[Definition])
    with catalog.isolated() as inner:
        assert_type(inner, Catalog)

    def listener(change: Change) -> None:
        assert_type(change.added, tuple[Tool, ...])

    catalog.subscribe(listener)()


def tools() -> None:
    spec = Tool.of(bare)
    assert_type(spec.description, str)
    assert_type(spec.schema, dict[str, Any])
    assert_type(spec.check({"a": 1}, validation="jsonschema"), dict[str, Any])
    assert_type(spec.check(b'{"a": 1}'), dict[str, Any])
    assert_type(spec.encode({"a": 1}), dict[str, Any])
    assert_type(spec.renamed("other").original, str | None)
    hand_made = Tool.from_schema("x", "X.", {"type": "object"}, lambda arguments: arguments["x"], read_only=True)
    assert_type(hand_made, Tool)

    def handle(arguments: dict[str, Any], context: Context, base: Inject[Path]) -> str:
        return f"{arguments}"

    assert_type(Tool.from_schema("y", "Y.", {"type": "object"}, handle, destructive=True), Tool)
    assert_type(Tool.described(handle, describe="full").description, str)


def errors(spec: Tool) -> None:
    try:
        spec.check({})
    except BadArgs as error:
        assert_type(error.problems, tuple[Problem, ...])
        assert_type(error.problems[0].path, tuple[str | int, ...])
    except UnknownTool as error:
        assert_type(error.suggestions, list[str])


@dataclass
class Color:
    name: str


class Painter:
    read_only = True

    def __call__(self, color: Color) -> int:
        return len(color.name)


def codecs() -> None:
    def decode(value: str) -> Color:
        return Color(value)

    def encode(color: Color) -> str:
        return color.name

    assert_type(register_codec(Color, schema={"type": "string"}, decode=decode, encode=encode), Codec)
    assert_type(register_codec(Color, encode=encode, subclasses=True), Codec)


def options(extra: Mapping[str, Any]) -> None:
    tool(bare, catalog=Catalog(), name="other", metadata=extra)
    tool(bare, catalog=None, hidden=["b"], inject={"a": Color})
    Catalog().tool(bare, hidden=("b",))

    @tool(flat=True)
    def paint(color: Color) -> int:
        return len(color.name)

    assert_type(paint(Color("red")), int)
    Catalog().add(Painter())
    Dispatcher([Painter()])


class Guard:
    def before(self, call: ToolCall) -> Outcome:
        return Deny("no") if call.name == "wipe" else Proceed()

    async def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        return result

    def on_event(self, event: Event) -> None:
        if isinstance(event, CallEnded):
            assert_type(event.result, ToolResult | None)
        if isinstance(event, RunEnded):
            assert_type(event.usage, Usage)


def with_options(**options: Unpack[DispatcherOptions]) -> Dispatcher:
    Dispatcher(default_catalog, retries=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Dispatcher(default_catalog, max_chars="500")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    return Dispatcher(default_catalog, **options)


async def calls(progress: list[Progress]) -> None:
    stats = Stats()
    async with Dispatcher(
        default_catalog,
        hooks=[Guard(), Cache(), RateLimit(5), Log(), LoopGuard(max_repeats=2), stats],
        retry=RetryPolicy(attempts=2),
        resources={Database: PER_CALL},
        classify={KeyError: Transient},
        redact=["secret"],
        on_progress=progress.append,
    ) as dispatcher:
        result = await dispatcher.call("bare", {"a": 1}, session=Session(), resources={Database: Database()})
        assert_type(result, ToolResult)
        assert_type(result.alias, str | None)
        assert_type(result.cost, float)
        assert_type(result.text, str)
        assert_type(await dispatcher.call_many([ToolCall("bare"), ("bare", {"a": 1})]), list[ToolResult])
        assert_type(dispatcher.abandoned_threads, int)
        assert_type(dispatcher.extended(default_catalog, hooks=[Guard()], on_progress=progress.append), Dispatcher)
        with_options(retry=RetryPolicy(attempts=2), max_chars=500, max_bytes=900)
        assert_type(dispatcher.call_sync("bare", '{"a": 1}', id="1", timeout_seconds=2), ToolResult)
        assert_type(dispatcher.call_many_sync([("bare", {"a": 1})], principal="ada"), list[ToolResult])
        assert_type(dispatcher.resume_sync("id", Decision.approve(), session=Session(unload_after=20)), ToolResult)
        assert_type(dispatcher.resume_sync(result, Decision.approve()), ToolResult)
        assert_type(dispatcher.call_typed_sync(bare, {"a": 1}), bool)
        assert_type(await dispatcher.call_typed(bare, {"a": 1}, timeout_seconds=2), bool)
        assert_type(await dispatcher.call_typed(asynchronous, {"path": "notes.txt"}), str)
        assert_type((result.reason, result.problems), tuple[str, tuple[Problem, ...]])
        dispatcher.call_sync("bare", {}, sesion=None)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        assert_type(ToolResult.failure("failed", "it broke"), ToolResult)
        if result.error is not None:
            assert_type(result.error.message, str)
    assert_type(stats.snapshot(), list[ToolStats])

    async def fetch() -> int:
        return 1

    assert_type(await retrying(fetch, RetryPolicy()), int)
    assert_type(dispatcher.wait_for(fetch), int)


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


def _as_store(store: MemoryStore) -> MemoryStore:
    return store


def builtin_tools(folder: Path) -> None:
    workspace = Workspace(
        folder, folders=["shared"], read_only=[Path("manuals")], protected=["*.sqlite"], max_write_bytes=1_000
    )
    assert_type(workspace.root, str)
    assert_type(workspace.safety(allowed_hosts=["localhost:80"]), SafetyChecks)
    sandbox = best_sandbox(workspace, network=True, level="landlock", limits=Limits(processes=10), readable=[folder])
    assert_type(sandbox, Sandbox)
    assert_type(sandbox.name, LevelName)
    assert_type(sandbox.describe(), str)
    assert_type(sandboxes(workspace, probe=False), dict[LevelName, Sandbox | str])
    for catalog in (
        builtin_catalog(workspace),
        builtin_catalog("."),
        builtin_catalog(folder, sandbox="none", env={"STAGE": "test"}, keep=["STAGE"]),
        builtin_catalog(workspace, sandbox=sandbox, network=True, allowed_hosts=["docs.python.org"], ports=[8080]),
    ):
        assert_type(catalog, Catalog)
        catalog.add(web_fetch_for(private_hosts=["localhost:8080"], ports=[8443], frame=False), replace=True)
    for spec in (read_for(workspace), write_for(workspace), edit_for(workspace), glob_for(workspace)):
        assert_type(spec, Tool)
    Catalog(grep_for(workspace, ripgrep=False), bash_for(workspace, max_output_bytes=1_000))
    Catalog(job_output_for(workspace), job_stop_for(workspace))
    Catalog(job_output_for(), job_stop_for(patience_seconds=1.0))
    store = MemoryFolder("notes", max_notes=10)
    assert_type(_as_store(store).notes("ada"), Sequence[MemoryNote])
    Catalog(*memory_tools(store), *memory_tools("notes", allow_secrets=True))
    memory_tools(MemoryNote(name="x", text="y"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    builtin_catalog(workspace, sandbox="bubblewrap")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    best_sandbox(workspace, level="strong")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def files(workspace: Workspace) -> None:
    assert_type(workspace.read("a.txt", max_bytes=10), bytes)
    assert_type(workspace.entries(), list[Entry])
    assert_type(workspace.walk("src", skip=lambda entry: entry.name == ".git"), Iterator[Entry])
    assert_type(workspace.stat("a.txt").size, int)
    written = workspace.write("a.txt", b"x", expected=None)
    assert_type(written, WriteResult)
    assert_type(written.old, bytes | None)
    with workspace, workspace.open("a.txt") as file:
        assert_type(file.read(), bytes)


def large_catalogs(catalog: Catalog, session: Session, dispatcher: Dispatcher) -> None:
    results = catalog.search("send a message", 3, group="mail", ranker=lambda query, names: {names[0]: len(query)})
    assert_type(results, SearchResults)
    assert_type(results[0], SearchResult)
    assert_type(results[0].tool, Tool)
    assert_type(results[0].words, tuple[str, ...])
    assert_type(results.tools, list[Tool])
    assert_type(results.advice, str)
    assert_type(catalog.summary(max_tokens=100), str)
    assert_type(catalog.offered(session), list[Tool])
    assert_type(catalog.definitions(session=session), list[Definition])
    assert_type(catalog.definitions("anthropic", session=session), list[dict[str, Any]])
    assert_type(dispatcher.permitted(session), CatalogView)
    assert_type(tool_search_for(catalog), Tool)
    session.load("send_email")
    assert_type(session.loaded, tuple[str, ...])
    assert_type(Session.from_json(session.to_json(), principal="ada"), Session)


@dataclass
class Bill:
    total: float


class KeptSteps:
    """Steps that keep nothing."""

    async def reply(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        return await ask()

    async def call(
        self,
        key: str,
        call: ToolCall,
        work: Callable[[Callable[[], Awaitable[None]]], Awaitable[ToolResult]],
        *,
        may_repeat: bool,
        session: Session,
    ) -> ToolResult:
        async def begin() -> None: ...

        return await work(begin)


async def helper(context: Context) -> float:
    assert_type(context.idempotency_key, str)
    assert_type(await sub_run("How?", context=context), str)
    assert_type(await sub_run("How?", context=context, provider="groq:a-model", budget=Budget(tokens=5)), str)
    return (await sub_run("How much?", context=context, output=Bill)).total


async def agents(dispatcher: Dispatcher, session: Session, catalog: Catalog) -> None:
    provider = ScriptedProvider(["hello", [ToolCall("add", {"a": 1})], lambda request: request.system])
    agent = Agent(provider, dispatcher, system="Be kind.", mode="plan", budget=Budget(tokens=1000), session=session)
    run = await agent.run("Do it.")
    assert_type(agent.run_sync("Do it."), Run)
    assert_type(agent.resume_sync(run, {"id": Decision.approve()}), Run)
    assert_type(agent.execute_sync(run, mode="auto"), Run)
    assert_type(run, Run)
    assert_type(run.text, str)
    assert_type(run.requests, tuple[ApprovalRequest, ...])
    run = await agent.resume(Run.loads(run.dumps()), {pending.id: Decision.approve() for pending in run.requests})
    assert_type(await agent.execute(run, mode="auto"), Run)
    async for event in agent.stream("More.", run=run):
        if isinstance(event, Done):
            assert_type(event.run, Run[Any])
        elif isinstance(event, ToolFinished):
            assert_type(event.result, ToolResult)
    async with AnthropicProvider("a-model", api_key="key", cache="1h", native_loading=True) as remote:
        reply = await remote.reply(Request(messages=(UserMessage.of("hi"),), catalog=catalog))
    assert_type(reply, Reply)
    assert_type(reply.usage.input_tokens, int)
    assert_type(reply.usage.result_tokens, Mapping[str, int])
    Agent(remote, [len], on_event=print, steps=KeptSteps())
    fallback = FallbackProvider("anthropic:a-model", remote, create_provider("groq:a-model", max_tokens=100))
    assert_type(Agent(fallback, [len]).run_sync("Do it."), Run)
    assert_type(Agent("groq:a-model", [len], output=Bill).run_sync("Do it."), Run[Bill])
    assert_type(run.unwrap(), str)
    assert_type(run.output, str)
    billing = Agent(remote, [len], name="billing", description="Pays bills.")
    assert_type(billing.as_tool("ask_billing", "Ask about bills.", read_only=True), Tool)
    assert_type(Agent(remote, [billing.as_tool()], hand_over_to=[billing]).run_sync("Pay it.").agent, str)
    billing.hand_over_to(agent)
    typed = Agent(remote, [len], output=Bill, output_retries=1, system="Be kind.")
    assert_type(typed, Agent[Bill])
    assert_type((await typed.run("How much?")).output, Bill)
    assert_type(await typed.run("How much?"), Run[Bill])
    assert_type((await typed.resume(Run.loads("", output=Bill), {})).unwrap(), Bill)
    assert_type(Run.loads("", output=Bill).output, Bill)
    assert_type(Agent(remote, [], output=list[int]), Agent[list[int]])
    choice: Agent[Literal["yes", "no"]] = Agent(remote, [], output=Literal["yes", "no"])
    assert_type((await choice.run("Well?")).output, Literal["yes", "no"])
    plain: Agent = Agent(remote, [])
    assert_type((await plain.run("Well?")).output, str)
    skills = Skills(catalog, "skills", project=".")
    assert_type(skills.expanded("/greet Ada"), str)
    assert_type(anthropic.definitions(catalog, session, strict=True), Definitions)
    assert_type(anthropic.calls({"content": []}), list[ToolCall])


def drawing(spec: Tool, catalog: Catalog) -> None:
    assert_type(arguments(bare), SearchStrategy[Any])
    assert_type(bad_arguments({"type": "object"}), SearchStrategy[Any])
    assert_type(values(spec), SearchStrategy[dict[str, Any]])
    assert_type(mistaken_arguments(spec), SearchStrategy[Mistake])
    assert_type(drawn_calls(catalog), SearchStrategy[ToolCall])
    assert_type(batches(catalog, max_calls=3), SearchStrategy[list[ToolCall]])


def laws(spec: Tool, folder: Path) -> None:
    catalog = catalog_of("shop.tools", undecorated=True)
    assert_type(catalog, CatalogView)
    try:
        check_tool(bare, run=True, folder=folder, state=lambda: 1, resources={Database: Database()}, examples=5)
        check_catalog(catalog, run=["order"])
    except LawsBroken as broken:
        assert_type(broken.violations, tuple[Violation, ...])
    except Unsupported as error:
        assert_type((error.keyword, error.place), tuple[str, str])
    assert_type(broken_laws(catalog, run=False, include_known=True), list[Violation])
    assert_type(lint([spec], include_known=True)[0].explanation, str)


def doubles(catalog: Catalog) -> None:
    recorder, clock = Recorder(), FakeClock(now=10)
    Dispatcher(catalog, hooks=[recorder], clock=clock, sleep=clock.sleep)
    assert_type(assert_called(recorder, "add", {"a": 1}, kind="ok"), Recorded | None)
    assert_type(recorder.of("add"), list[Recorded])
    assert_type(clock.slept, list[float])
    assert_type(make_call("add", {"a": 1}), ToolCall)
    assert_type(make_result(3, tool="add"), ToolResult)
    assert_type(make_error("timeout", "too slow"), ToolResult)
    assert_type(make_waiting("may it?", preview="+1"), ToolResult)


async def look_up(token: str) -> tuple[str, list[str]] | None:
    return None


def logins(dispatcher: Dispatcher, context: Context) -> None:
    scopes = {"read": "list_*", "write": ["write", "group:orders"]}
    auth = Auth.jwt(issuer="https://login.example", audience="https://tools.example/mcp", scopes=scopes)
    assert_type(auth, Auth)
    http_app(dispatcher, auth=auth, request_headers=["x-tenant"])
    http_app(dispatcher, auth=lambda token: token or None)
    http_app(dispatcher, auth=Auth(look_up, scopes=scopes))
    assert_type(context.request, ClientRequest | None)
    assert_type(ClientRequest(headers={}).scopes, frozenset[str])


def command_line(result: ToolResult, verdict: Verdict, run: Run, folder: Path) -> None:
    assert_type((EXITS[result.kind], VERDICT_EXITS[verdict.word], RUN_EXITS[run.status]), tuple[int, int, int])
    assert_type(arguments_of(["limit=5"], {"properties": {}}), dict[str, Any])
    assert_type(parse_json_arguments(b"{}"), dict[str, Any])
    with open_target("shop.tools:catalog") as target:
        assert_type(target, Target)
        assert_type(target.catalog, CatalogView)
    try:
        assert_type(make_project(folder, name=package_name("My shop")), list[Path])
    except ProjectError as error:
        assert_type(error.args, tuple[Any, ...])
    summary = summarize_log(AuditLog.read(folder / "calls.jsonl"))
    assert_type(summary, AuditSummary)
    assert_type(summary.tools, tuple[ToolSummary, ...])
    with AgentDisplay(requests=False) as display:
        Agent(ScriptedProvider([]), [bare], on_event=display.show)
        Approvals(ask=display.asking(TerminalPrompt()))


def inspect_in_a_browser(dispatcher: Dispatcher) -> None:
    inspector = Inspector(dispatcher, "sqlite:///runs.sqlite", read_only=True, name="shop")
    assert_type(inspector.app(hosts=["tools.example"]), Starlette)
    assert_type((inspector.token, inspector.dispatcher), tuple[str, Dispatcher])
    assert_type(inspector.history, History)
