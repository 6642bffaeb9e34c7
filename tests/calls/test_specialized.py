"""Every form of the pipeline gives the same; and a catalog that changes is seen by the next call."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.calls import pipeline
from toolkit.calls.specialized import specialize
from toolkit.catalog import Catalog
from toolkit.context import Secret
from toolkit.dispatcher import Dispatcher
from toolkit.errors import Safety, ToolError, Transient
from toolkit.hooks import Ask, Deny, Halt, Modify, Proceed, Replace
from toolkit.permissions import Permissions
from toolkit.policies.retry import RetryPolicy
from toolkit.results import ToolCall, ToolResult
from toolkit.session import Session
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio

# What a tool does: its return annotation, and what comes of it.
DEEDS: dict[str, tuple[Any, Any]] = {
    "text": (str, "plain"),
    "long text": (str, "0123456789" * 20),
    "text with a secret": (str, "the word is hunter2, or 271828"),
    "foreign text": (str, "naïve\ud800"),
    "number for text": (str, 5),
    "number": (int, 42),
    "secret number": (int, 271828),
    "large number": (int, 10**80),
    "truth for a number": (int, True),
    "text for a number": (int, "many"),
    "nothing": (None, None),
    "list": (list[int], [1, 2]),
    "path": (Path, Path("a/b")),
    "unannotated": (Any, {"a": {1, 2}}),
    "result": (str, ToolResult("mine", 1, call_id="theirs", tool="theirs", attempts=9)),
    "failed result": (str, ToolResult.failure("failed", "hunter2 failed")),
    "error": (str, ValueError("no, hunter2")),
    "tool error": (str, ToolError("no")),
    "safety": (str, Safety("no")),
    "transient": (str, Transient("later")),
    "exit": (str, SystemExit(1)),
}

# What only a sync function does: it returns something that has to be awaited or iterated over, and does not say so.
SYNC_DEEDS: dict[str, tuple[Any, Any]] = {
    "generator": (Any, lambda: (number for number in range(3))),
    "failing generator": (Any, lambda: (1 // number for number in (1, 0))),
    "awaitable": (str, lambda: slowly("hunter2, later")),
    "failing awaitable": (str, lambda: slowly_failing()),
    "stream": (Any, lambda: stream()),
    "stop": (str, StopIteration("no more")),
}


async def stream() -> Any:
    """Yield two numbers."""
    for number in (1, 2):
        yield number


async def slowly(said: Any) -> Any:
    await asyncio.sleep(0)
    return said


def spoil(call: Any, said: Any) -> Any:
    """Change everything that one is shown, to no effect."""
    call.arguments["a"] = 999
    call.arguments["items"].append(999) if isinstance(call.arguments.get("items"), list) else None
    return said


def fail(error: BaseException) -> Any:
    raise error


# What a hook does before: everything it may say, and some that it may not.
BEFORE: dict[str, Any] = {
    "proceeds": lambda call: Proceed(),
    "proceeds slowly": lambda call: slowly(Proceed()),
    "spoils": lambda call: spoil(call, Proceed()),
    "modifies": lambda call: Modify({**call.arguments, "a": 7}),
    "modifies wrongly": lambda call: Modify({"a": "seven"}),
    "denies": lambda call: Deny("hunter2 says no"),
    "asks": lambda call: Ask("sure?"),
    "halts": lambda call: Halt("enough"),
    "replaces": lambda call: Replace("0123456789 instead " * 10),
    "fails": lambda call: fail(RuntimeError("no idea")),
    "fails slowly": lambda call: slowly_failing(),
    "says nothing": lambda call: None,
    "says nonsense": lambda call: "proceed",
}
AFTER: dict[str, Any] = {
    "keeps": lambda call, result: result,
    "keeps slowly": lambda call, result: slowly(result),
    "spoils": lambda call, result: spoil(call, result),
    "replaces": lambda call, result: ToolResult(f"hunter2 and {result.text}"),
    "writes": lambda call, result: [setattr(result, "text", f"{result.text}!"), result][1],
    "forges": lambda call, result: forged(result),
    "fails": lambda call, result: fail(RuntimeError("no idea")),
    "says nothing": lambda call, result: None,
}


async def slowly_failing() -> Any:
    raise RuntimeError("no idea")


def forged(result: ToolResult) -> ToolResult:
    """What only the dispatcher may write."""
    result.call_id, result.tool, result.attempts, result.duration_seconds = "forged", "forged", 99, -1.0
    result.repairs, result.retries = ["forged"], ["forged"]
    return result


@dataclass
class Hook:
    """Does one thing before or after, and keeps what it was shown."""

    stage: str
    act: str
    log: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        setattr(self, self.stage, self._before if self.stage == "before" else self._after)

    def _seen(self, call: ToolCall) -> Any:
        session = None if call.session is None else call.session.id
        return call.name, call.id, call.arguments, session, call.principal, call.metadata, call.turn, call.tool.name

    def _before(self, call: ToolCall) -> Any:
        self.log.append(("before", str(self._seen(call))))
        return BEFORE[self.act](call)

    def _after(self, call: ToolCall, result: ToolResult) -> Any:
        known = (result.kind, result.text, str(result.value), result.call_id, result.tool, result.attempts)
        self.log.append(("after", str(self._seen(call)), known))
        return AFTER[self.act](call, result)


def told(result: ToolResult) -> tuple[Any, ...]:
    """Everything in a result but how long it took, and random ids."""
    assert result.duration_seconds >= 0
    assert result.call_id == result.call_id  # made anew each time
    return (
        result.kind,
        result.text,
        str(result.value),
        result.call_id,
        result.tool,
        result.attempts,
        tuple(result.repairs),
        tuple(result.retries),
        result.truncated,
        None if result.error is None else (result.error.message, str(result.error.details)),
        None if result.request is None else (result.request.reason, str(result.request.arguments)),
    )


hooks = st.lists(
    st.one_of(
        st.tuples(st.just("before"), st.sampled_from(sorted(BEFORE)) | st.just("proceeds")),
        st.tuples(st.just("after"), st.sampled_from(sorted(AFTER)) | st.just("keeps")),
    ),
    max_size=4,
)
arguments = st.one_of(
    st.fixed_dictionaries({"a": st.integers()}, optional={"items": st.lists(st.integers(), max_size=2)}),
    st.fixed_dictionaries({"a": st.just(271828)}, optional={"key": st.just("hunter2")}),
    st.sampled_from([{}, {"a": "5"}, {"a": None}, '{"a": 1}', "nothing", None, {"a": 1, "z": 2}]),
)
callers = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["", "mine"]),
        "session": st.sampled_from([Session(id="s1"), Session(id="s2", principal="ada")]),
        "principal": st.sampled_from(["", "bob"]),
    },
)


def made(deed: str, given: Any, style: str = "async", **options: Any) -> tuple[Dispatcher, list[Any], list[Any]]:
    """A dispatcher with one tool and some hooks, what the tool was given, and what the hooks saw."""
    catalog, ran, log = Catalog(), [], []
    hint, outcome = (DEEDS | SYNC_DEEDS)[deed]

    def act(a, key="", items=None):
        ran.append((a, key, list(items or ())))
        if items is not None:
            items.append(5)
        if isinstance(outcome, BaseException):
            raise type(outcome)(*outcome.args)  # a new one: each remembers where it was raised
        return outcome() if deed in SYNC_DEEDS else outcome

    async def act_async(a, key="", items=None):
        return act(a, key, items)

    do = act_async if style == "async" else act
    do.__annotations__ = {"a": int, "key": Annotated[str, Secret], "items": list[int] | None, "return": hint}
    catalog.add(
        Tool.described(do, name="do", description="Do it.", read_only=True, aliases=["alias"], thread=style != "loop")
    )
    chain = [Hook(stage, act, log) for stage, act in given]
    dispatcher = Dispatcher(
        catalog,
        hooks=chain,
        redact=["hunter2"],
        max_chars=60,
        retry=RetryPolicy(attempts=2),
        sleep=lambda seconds: asyncio.sleep(0),
        chance=lambda: 0.5,
        **options,
    )
    return dispatcher, ran, log


def keep_all_stages(function, *_):
    """Return the pipeline as it is, with the stages that are not configured."""
    return function


@given(
    st.tuples(st.sampled_from(sorted(DEEDS)), st.sampled_from(["async", "thread", "loop"]))
    | st.tuples(st.sampled_from(sorted(SYNC_DEEDS)), st.sampled_from(["thread", "loop"])),
    hooks,
    arguments,
    callers,
    st.sampled_from(["do", "alias"]),
    st.sampled_from([None, "auto", "plan"]),
    st.booleans(),
)
def test_every_form_of_the_pipeline_agrees(deed_and_style, given, sent, caller, name, mode, as_call):
    """On the result, on what the tool is given, and on what every hook sees, call after call."""

    deed, style = deed_and_style

    async def both():
        found = []
        for validation, form in (("fast", specialize), ("fast", keep_all_stages), ("jsonschema", specialize)):
            monkeypatch.setattr(pipeline, "specialize", form)
            permissions = None if mode is None else Permissions(mode, ["deny other", "allow do"])
            dispatcher, ran, log = made(deed, given, style, validation=validation, permissions=permissions)
            results = []
            for turn in range(3):
                if as_call:
                    metadata = None if turn else {"from": "test"}
                    call = ToolCall(name, sent, caller.get("id", ""), turn=turn, metadata=metadata)
                    further = {key: value for key, value in caller.items() if key != "id"}
                    results.append(told(await dispatcher.call(call, **further)))
                else:
                    results.append(told(await dispatcher.call(name, sent, **caller)))
            found.append((results, ran, log))
        return found

    with pytest.MonkeyPatch.context() as monkeypatch:
        specialized, whole, always_judged = asyncio.run(both())
    assert specialized == whole == always_judged


@pytest.mark.parametrize("name", ["session", "principal", "tool", "name", "id"])
async def test_what_a_hook_writes_on_its_call_is_not_what_runs(name):
    """When the next hook makes it a longer walk, that starts from the call itself."""
    other = Session(id="other", principal="root")
    changes = {"session": other, "principal": "root", "tool": None, "name": "other", "id": "other"}

    class Sly:
        def before(self, call):
            setattr(call, name, changes[name])
            return Proceed()

    class Asking:
        def before(self, call):
            return Ask("sure?")

    dispatcher = Dispatcher(made("text", [])[0].catalog, hooks=[Sly(), Asking()])
    for number in (1, 2):
        result = await dispatcher.call("do", {"a": 1}, session=Session(id="s1", principal="ada"))
        request = result.request
        assert (result.call_id, result.tool) == (f"call_{number}", "do")
        assert (request.session, request.principal, request.tool) == ("s1", "ada", "do")


@pytest.mark.parametrize(
    "validation", ["fast", "jsonschema"], ids=["checked by generated code", "checked by jsonschema"]
)
async def test_what_only_the_dispatcher_knows_cannot_be_forged(validation):
    """Whatever a hook writes on the result it is shown."""
    dispatcher, _, _ = made("text", [("after", "forges"), ("after", "keeps")], validation=validation)
    for number in (1, 2):
        result = await dispatcher.call("do", {"a": 1})
        assert (result.call_id, result.tool, result.attempts) == (f"call_{number}", "do", 1)
        assert (list(result.repairs), list(result.retries)) == ([], [])
        assert result.duration_seconds >= 0


@pytest.mark.parametrize(
    "validation", ["fast", "jsonschema"], ids=["checked by generated code", "checked by jsonschema"]
)
async def test_a_secret_is_masked_in_every_form_it_had(validation):
    """As it was sent, and as the tool got it."""
    catalog = Catalog()

    @catalog.tool
    async def tell(key: Annotated[Path, Secret]) -> str:
        """Tell it."""
        return "it was secret//place, or secret/place"

    dispatcher = Dispatcher(catalog, validation=validation)
    texts = [(await dispatcher.call("tell", {"key": "secret//place"})).text for _ in range(2)]
    assert texts == ["it was [redacted], or [redacted]"] * 2


async def test_a_hook_that_changes_its_arguments_affects_nobody():
    """Neither the next hook, nor the tool, nor the caller."""
    dispatcher, ran, log = made("text", [("before", "spoils"), ("before", "spoils"), ("after", "spoils")])
    sent = {"a": 1, "items": [1]}
    for _ in range(2):
        assert (await dispatcher.call("do", sent)).kind == "ok"
    assert ran == [(1, "", [1])] * 2
    assert all("{'a': 1, 'items': [1]}" in each[1] for each in log)
    assert sent == {"a": 1, "items": [1]}


async def test_ids_are_unique_and_stable():
    """Whoever reads one twice reads the same, and no two calls share one, whichever way they went."""
    dispatcher, _, _ = made("text", [("after", "keeps")])
    results = [await dispatcher.call("do", {"a": each}) for each in (1, 2, "3", None, 4)]
    results += await dispatcher.call_many([("do", {"a": 1}), ("nothing", {}), ToolCall("do", {"a": 1})])
    results.append(await dispatcher.call("do", {"a": 1}, id=""))
    ids = [result.call_id for result in results]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert [result.call_id for result in results] == ids
    assert (await dispatcher.call("do", {"a": 1}, id="mine")).call_id == "mine"


# What has to pass, passes once.


@pytest.mark.parametrize("stage", ["before", "after", "tool"])
@pytest.mark.parametrize("number", [1, 2], ids=["first call", "second call"])
async def test_an_interrupt_passes_and_nothing_runs_twice(stage, number):
    """Ctrl-C is not a result."""
    catalog, ran, asked = Catalog(), [], []

    def interrupt(at):
        if at == stage and len(asked) == number:
            raise KeyboardInterrupt

    @catalog.tool(read_only=True)
    async def do() -> str:
        """Do it."""
        ran.append(True)
        interrupt("tool")
        return "done"

    class Interrupted:
        def before(self, call):
            asked.append(True)
            interrupt("before")
            return Proceed()

        def after(self, call, result):
            interrupt("after")
            return result

    dispatcher = Dispatcher(catalog, hooks=[Interrupted()])
    for _ in range(number - 1):
        assert (await dispatcher.call("do", {})).kind == "ok"
    with pytest.raises(KeyboardInterrupt):
        await dispatcher.call("do", {})
    assert len(asked) == number
    assert len(ran) == (number - 1 if stage == "before" else number)


@pytest.mark.parametrize("retries", [1, 3])
async def test_a_cancellation_passes_and_the_tool_ran_once(retries):
    """Somebody asked for it, so nobody tries again."""
    catalog, started, ended = Catalog(), asyncio.Event(), []

    @catalog.tool(read_only=True)
    async def wait() -> str:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        return "done"

    dispatcher = Dispatcher(catalog, retry=RetryPolicy(attempts=retries))
    task = asyncio.ensure_future(dispatcher.call("wait", {}))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_a_cancellation_nobody_asked_for_is_a_result():
    """The tool cancelled itself; it is not started again."""
    catalog, ran = Catalog(), []

    @catalog.tool(read_only=True)
    async def cancel() -> str:
        """Give up."""
        ran.append(True)
        raise asyncio.CancelledError

    dispatcher = Dispatcher(catalog)
    assert [(await dispatcher.call("cancel", {})).kind for _ in range(2)] == ["cancelled"] * 2
    assert ran == [True, True]


async def test_a_bug_is_raised_where_bugs_are_raised():
    """Once; and the tool ran once."""
    dispatcher, ran, _ = made("error", [("before", "proceeds")], raise_bugs=True)
    for number in (1, 2):
        with pytest.raises(ValueError, match="no, hunter2"):
            await dispatcher.call("do", {"a": 1})
        assert len(ran) == number


# A catalog that changes.


def tool_saying(said: str, name: str = "do") -> Tool:
    async def do() -> str:
        return said

    return Tool.described(do, name=name, description="Do it.", read_only=True)


VIEWS = {
    "itself": (lambda catalog: catalog, "do"),
    "filtered": (lambda catalog: catalog.filtered(lambda tool: tool.name != "hidden"), "do"),
    "prefixed": (lambda catalog: catalog.prefixed("x_"), "x_do"),
    "merged": (lambda catalog: Catalog().merged(catalog), "do"),
    "sorted": (lambda catalog: catalog.sorted(), "do"),
    "provided": (lambda catalog: catalog.provided({int: 5}), "do"),
    "all of it": (
        lambda catalog: catalog.filtered(lambda tool: True).prefixed("x_").merged(Catalog()).sorted(),
        "x_do",
    ),
}


@pytest.mark.parametrize(("view", "name"), VIEWS.values(), ids=VIEWS)
async def test_the_next_call_sees_the_catalog_as_it_is(view, name):
    """Added, replaced, aliased and removed, through whatever view."""
    catalog = Catalog()
    dispatcher = Dispatcher(view(catalog))
    alias = name.replace("do", "also")

    async def said(called):
        result = await dispatcher.call(called, {})
        return result.text if result.kind == "ok" else result.kind

    assert await said(name) == "not_found"
    catalog.add(tool_saying("one"))
    assert [await said(name), await said(alias)] == ["one", "not_found"]
    catalog.alias("also", "do")
    assert [await said(name), await said(alias)] == ["one", "one"]
    catalog.add(tool_saying("two"), replace=True)
    assert await said(name) == "two"
    with catalog.isolated():
        catalog.add(tool_saying("three"), replace=True)
        assert await said(name) == "three"
    assert await said(name) == "two"
    catalog.remove("do")
    assert [await said(name), await said(alias)] == ["not_found", "not_found"]


async def test_a_filter_that_changes_its_mind_with_the_catalog_is_followed():
    """What is filtered out is not called any more, though it was a moment ago."""
    catalog = Catalog(tool_saying("one"))
    dispatcher = Dispatcher(catalog.filtered(lambda tool: tool.facts.version != "2"))
    assert (await dispatcher.call("do", {})).kind == "ok"

    async def do() -> str:
        return "two"

    catalog.add(Tool.described(do, description="Do it.", version="2"), replace=True)
    assert (await dispatcher.call("do", {})).kind == "not_found"


async def test_facts_that_change_are_judged_anew():
    """A tool that was read-only and is not any more asks."""
    catalog = Catalog(tool_saying("one"))
    dispatcher = Dispatcher(catalog, permissions=Permissions())
    assert (await dispatcher.call("do", {})).kind == "ok"

    async def do() -> str:
        return "two"

    catalog.add(Tool.described(do, description="Do it.", destructive=True), replace=True)
    assert (await dispatcher.call("do", {})).kind == "waiting"


async def test_a_watcher_that_ended_is_not_told():
    """Neither by the catalog nor by a view of several."""
    one, two, told_of = Catalog(), Catalog(), []
    end = one.merged(two).watch(lambda: told_of.append(True))
    one.add(tool_saying("a", "a"))
    two.alias("c", two.add(tool_saying("b", "b")).names()[0])
    assert len(told_of) == 3
    end()
    end()
    one.remove("a")
    assert len(told_of) == 3


async def test_a_text_that_is_too_deep_is_refused():
    """The fast path reads the text; the check says that it is too deep."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def keep(value: Any) -> str:
        """Keep anything."""
        return "kept"

    deep = '{"value": ' + "[" * 200 + "]" * 200 + "}"
    result = await Dispatcher(catalog).call("keep", deep)
    assert (result.kind, "nested too deeply" in result.text) == ("bad_args", True)


# The function that leaves stages out.


def choose(on, first, second):
    """Do what the choices say: a function for `specialize` to work on."""
    if on.kind == "a":
        found = [first]
    elif on.kind in ("b", "c"):
        found = [second]
    else:
        found = []
    if not on.is_long or (on.is_long and first):
        found.append("end" if on.is_long else "short")
    for item in found:
        if on.kind != "a" and item is None:
            raise LookupError("nothing")
    return found


@dataclass(frozen=True)
class On:
    kind: str
    is_long: bool


@pytest.mark.parametrize("kind", ["a", "b", "c", "d"])
@pytest.mark.parametrize("is_long", [True, False])
def test_a_specialized_function_does_the_same_without_the_other_branches(kind, is_long):
    """It asks no question whose answer is known."""
    on = On(kind, is_long)
    specialized = specialize(choose, "on", (("kind", kind), ("is_long", is_long)))
    for first, second in ((1, 2), (0, 3), ("", "x")):
        assert specialized(on, first, second) == choose(on, first, second)
    assert "kind" not in specialized.__code__.co_names
    assert "is_long" not in specialized.__code__.co_names


def test_a_traceback_shows_the_lines_of_the_original():
    """So a debugger stops where the reader looks."""
    specialized = specialize(choose, "on", (("kind", "b"), ("is_long", False)))
    with pytest.raises(LookupError) as caught:
        specialized(On("b", False), 1, None)
    last = caught.traceback[-1]
    assert Path(last.path).name == Path(__file__).name
    assert 'raise LookupError("nothing")' in str(last.statement)


def test_without_its_source_a_function_is_used_as_it_is():
    """Some programs are shipped without source."""
    names = {}
    exec("def f(on): return on.a", names)
    assert specialize(names["f"], "on", (("a", 1),)) is names["f"]
