"""
The public surface as users write it; checked by mypy and pyright, never run.

A decorated function keeps its exact type, whichever way it was decorated.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import Unpack, assert_type

from toolkit import (
    PER_CALL,
    BadArgs,
    Catalog,
    CatalogView,
    Change,
    Codec,
    Context,
    Decision,
    Definition,
    Dispatcher,
    Facts,
    Inject,
    Problem,
    Progress,
    RetryPolicy,
    Session,
    Tool,
    ToolCall,
    ToolResult,
    Transient,
    UnknownTool,
    default_catalog,
    register_codec,
    retrying,
    tool,
)
from toolkit.calls.settings import DispatcherOptions
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
from toolkit.providers import (
    Usage,
)


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
