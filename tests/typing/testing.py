"""The kit for tests, the command line, logins and the inspector as users write them; checked by mypy and pyright, never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis.strategies import SearchStrategy
from starlette.applications import Starlette
from typing_extensions import assert_type

from toolkit import (
    Agent,
    Approvals,
    AuditLog,
    Catalog,
    CatalogView,
    Context,
    Dispatcher,
    TerminalPrompt,
    Tool,
    ToolCall,
    ToolResult,
    Verdict,
    tool,
)
from toolkit.agent import Run
from toolkit.cli.argument_values import arguments_of, parse_json_arguments
from toolkit.cli.commands.audit_summary import AuditSummary, ToolSummary, summarize_log
from toolkit.cli.commands.new_project import ProjectError, make_project, package_name
from toolkit.cli.display import AgentDisplay
from toolkit.cli.exit_codes import EXITS, RUN_EXITS, VERDICT_EXITS
from toolkit.cli.targets import Target, open_target
from toolkit.context import ClientRequest
from toolkit.inspector import History, Inspector
from toolkit.mcp import Auth, http_app
from toolkit.providers import (
    ScriptedProvider,
)
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


class Database:
    def rows(self) -> int:
        return 0


@tool
def bare(a: int, b: str = "") -> bool:
    return bool(a) and bool(b)


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
