"""
Every configuration against a slow and obvious reference, which does literally what the order of the stages promises.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit import AuditLog, BadArgs, Catalog, Dispatcher, Permissions, RetryPolicy, ToolResult, Transient
from toolkit.hooks import Ask, Deny, Modify, Proceed, Replace
from toolkit.spec import Tool

BEFORE = {
    "proceeds": lambda: Proceed(),
    "modifies": lambda: Modify({"a": 7}),
    "modifies wrongly": lambda: Modify({"a": "seven"}),
    "denies": lambda: Deny("no"),
    "asks": lambda: Ask("sure?"),
    "replaces": lambda: Replace("instead"),
}
AROUND = ("runs", "skips", "replaces")
AFTER = ("keeps", "replaces")
FORBIDDEN = 13
"""The value that a rule denies."""


def say(result: ToolResult) -> str:
    """Return what both ways must agree on. The words of an error are the dispatcher's own."""
    return result.text if result.kind == "ok" else result.kind


@dataclass
class Hook:
    """
    Does one thing at one stage, in one way, and notes that it was called.

    Attributes:
        way: "sync", "async", "waits" (async, and waits for something), "blocking" or "limited" (with a time limit).
    """

    stage: str
    act: str
    way: str
    log: list[Any]

    def __post_init__(self) -> None:
        plain, later = getattr(self, f"_{self.stage}"), getattr(self, f"_{self.stage}_later")
        self.blocking = self.way == "blocking"
        self.timeout_seconds = 30 if self.way == "limited" else None
        setattr(
            self, self.stage, later if self.stage == "around" or self.way in ("async", "waits", "limited") else plain
        )

    def _before(self, call: Any) -> Any:
        self.log.append(("before", self.act, dict(call.arguments)))
        return BEFORE[self.act]()

    async def _before_later(self, call: Any) -> Any:
        if self.way == "waits":
            await asyncio.sleep(0)
        return self._before(call)

    async def _around_later(self, call: Any, run: Any) -> Any:
        self.log.append(("around", self.act, dict(call.arguments)))
        if self.act == "skips":
            return ToolResult("skipped")
        result = await run()
        return ToolResult(f"around {say(result)}") if self.act == "replaces" else result

    _around = _around_later

    def _after(self, call: Any, result: Any) -> Any:
        self.log.append(("after", self.act, result.kind, say(result)))
        return ToolResult(f"after {say(result)}") if self.act == "replaces" else result

    async def _after_later(self, call: Any, result: Any) -> Any:
        if self.way == "waits":
            await asyncio.sleep(0)
        return self._after(call, result)


@dataclass
class Outcome:
    """What the tool does: it fails so many times, and then returns a text; the log has what it was given."""

    failures: int
    log: list[Any]

    def act(self, a: int) -> str:
        self.log.append(("tool", a))
        if self.failures:
            self.failures -= 1
            raise Transient("not now", happened="no")
        return f"got {a}"


async def reference(tool: Tool, hooks: list[Hook], arguments: Any, outcome: Outcome, audit: list[str]) -> ToolResult:
    """Promise 6, literally, for a call that may be attempted twice."""
    replaced = has_question = modified = False
    result = None
    try:
        decoded = tool.check(arguments)
    except BadArgs:
        result = ToolResult.failure("bad_args", "")
    for hook in hooks if result is None else ():
        if hook.stage == "before":
            hook.log.append(("before", hook.act, dict(arguments)))
            if hook.act == "denies":
                result = ToolResult.failure("denied", "no")
            elif hook.act.startswith("modifies"):
                arguments, modified = BEFORE[hook.act]().arguments, True
            has_question = has_question or hook.act == "asks"
            replaced = hook.act == "replaces"
            if result is not None or replaced:
                break
    if result is None and modified:
        try:
            decoded = tool.check(arguments)
        except BadArgs:
            result = ToolResult.failure("internal", "")
    if result is None:
        audit.append("verdict")
        if decoded["a"] == FORBIDDEN:
            result = ToolResult.failure("denied", "a rule")
        elif has_question and not replaced:
            audit.append("asked")
            result = ToolResult("waiting", None, "waiting")
        elif has_question:
            audit.append("asked")
            result = ToolResult.failure("denied", "it cannot be agreed to later")
        elif replaced:
            result = ToolResult("instead")
    if result is None:
        audit.append("intent")
        result = reference_run([hook for hook in hooks if hook.stage == "around"], arguments, decoded, outcome)
    for hook in hooks:
        if hook.stage == "after":
            hook.log.append(("after", hook.act, result.kind, say(result)))
            result = ToolResult(f"after {say(result)}") if hook.act == "replaces" else result
    audit.append("outcome")
    return result


def reference_run(around: list[Hook], arguments: Any, decoded: Any, outcome: Outcome) -> ToolResult:
    """Run the around-hooks from the outside to the inside, and the attempts inside them."""
    if around:
        hook, *inner = around
        hook.log.append(("around", hook.act, dict(arguments)))
        if hook.act == "skips":
            return ToolResult("skipped")
        result = reference_run(inner, arguments, decoded, outcome)
        return ToolResult(f"around {say(result)}") if hook.act == "replaces" else result
    for _ in range(2):
        try:
            return ToolResult(outcome.act(decoded["a"]))
        except Transient as error:
            failure = error
    return ToolResult.failure("transient", str(failure))


def build_catalog(outcome: Outcome, style: str, limit: float | None) -> Catalog:
    """Return a catalog with the tool `do`, in one of the ways in which a function can be called."""

    async def at_once(a: int) -> str:
        return outcome.act(a)

    async def waiting(a: int) -> str:
        await asyncio.sleep(0)
        return outcome.act(a)

    def plain(a: int) -> str:
        return outcome.act(a)

    async def stream(a: int) -> Any:
        yield outcome.act(a)

    functions = {"at once": at_once, "waiting": waiting, "thread": plain, "loop": plain, "items": stream}
    catalog = Catalog()
    options: dict[str, Any] = {"timeout_seconds": limit} if limit else {}
    if style == "loop":
        options["thread"] = False
    catalog.tool(name="do", description="Do it.", read_only=True, **options)(functions[style])
    return catalog


hook_choices = st.lists(
    st.one_of(
        st.tuples(st.just("before"), st.sampled_from(sorted(BEFORE)) | st.just("proceeds")),
        st.tuples(st.just("around"), st.sampled_from(AROUND) | st.just("runs")),
        st.tuples(st.just("after"), st.sampled_from(AFTER)),
    ).flatmap(
        lambda choice: st.tuples(
            *map(st.just, choice), st.sampled_from(["sync", "async", "waits", "blocking", "limited"])
        )
    ),
    max_size=4,
)
configurations = st.fixed_dictionaries(
    {
        "validation": st.sampled_from(["fast", "jsonschema"]),
        "style": st.sampled_from(["at once", "waiting", "thread", "loop"]),
        "limit": st.sampled_from([None, 30.0]),
        "default_limit": st.sampled_from([None, 30.0]),
        "call_limit": st.sampled_from([None, 30.0]),
        "is_audited": st.booleans(),
        "is_ruled": st.booleans(),
    }
)


_numbers: Iterator[int] = itertools.count()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(
    configuration=configurations,
    choices=hook_choices,
    failures=st.sampled_from([0, 0, 1, 5]),
    sent=st.sampled_from([{"a": 1}, {"a": FORBIDDEN}, {"a": "x y"}, {}]),
)
def test_each_configuration_has_the_same_order_of_stages(
    tmp_path: Path, configuration: Any, choices: Any, failures: int, sent: Any
):
    """The result, the hooks with their order and arguments, and the audit lines are those of the reference."""

    async def run_reference() -> Any:
        log: list[Any] = []
        outcome, audit = Outcome(failures, log), []
        tool = build_catalog(outcome, "at once", None)["do"]
        forbidden = FORBIDDEN if configuration["is_ruled"] else object()
        with mock.patch(f"{__name__}.FORBIDDEN", forbidden):
            result = await reference(tool, [Hook(*choice, log) for choice in choices], sent, outcome, audit)
        return log, say(result), audit if configuration["is_audited"] else []

    async def run_dispatcher() -> Any:
        log: list[Any] = []
        path = tmp_path / f"audit-{next(_numbers)}.jsonl"
        rules = [f"deny do(a={FORBIDDEN})"] if configuration["is_ruled"] else []
        dispatcher = Dispatcher(
            build_catalog(Outcome(failures, log), configuration["style"], configuration["limit"]),
            hooks=[Hook(*choice, log) for choice in choices],
            permissions=Permissions("auto", rules) if rules else None,
            audit=AuditLog(path) if configuration["is_audited"] else None,
            validation=configuration["validation"],
            timeout_seconds=configuration["default_limit"],
            retry=RetryPolicy(attempts=2, wait_initial=0.0),
            sleep=lambda seconds: asyncio.sleep(0),
            repair=False,
        )
        async with dispatcher:
            result = await dispatcher.call("do", sent, timeout_seconds=configuration["call_limit"])
        lines = [line["event"] for line in AuditLog.read(path)] if configuration["is_audited"] else []
        return log, say(result), lines

    assert asyncio.run(run_dispatcher()) == asyncio.run(run_reference())


@pytest.mark.parametrize("hook_way", ["sync", "async", "waits", "blocking", "limited"])
@pytest.mark.parametrize("style", ["at once", "waiting", "thread", "loop"])
def test_each_way_to_run_is_seen_by_each_way_to_look(style: str, hook_way: str):
    """A tool and hooks of every kind together, without a choice by chance."""
    log: list[Any] = []
    choices = [("before", "modifies", hook_way), ("around", "replaces", hook_way), ("after", "replaces", hook_way)]

    async def run() -> ToolResult:
        catalog = build_catalog(Outcome(1, log), style, None)
        retry = RetryPolicy(attempts=2, wait_initial=0.0)
        async with Dispatcher(catalog, hooks=[Hook(*choice, log) for choice in choices], retry=retry) as dispatcher:
            return await dispatcher.call("do", {"a": 1})

    result = asyncio.run(run())
    assert (result.kind, result.text, result.attempts) == ("ok", "after around got 7", 2)
    assert [step[0] for step in log] == ["before", "around", "tool", "tool", "after"]
