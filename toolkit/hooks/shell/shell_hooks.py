"""
Hooks that run the user's own commands around calls, where an agent starts, and at the events that they name.

    ShellHooks([ShellHook(on="before", tools="bash", command="./check.sh")])

A command gets the event as JSON on its standard input, and HOOK_EVENT and HOOK_TOOL_NAME in its environment. Before a
call, the command may stop the call, change it or ask for a person. If the command fails, the call is blocked, unless
its hook says otherwise. After a call, a failure of the command is reported, and the result stays as it is. At an
event, a command is told what happens, and decides nothing. A command never sees the values of `Secret` parameters.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from typing import Any

from ...catalogs.snapshot import names_of
from ...results import Kind, ToolCall, ToolResult
from ...session import Session
from ...spec import Tool
from ...values.rendering import as_text
from ...values.visible import make_visible
from ..base import Ask, Deny, Halt, Modify, Outcome, Proceed, Replace
from ..events import EVENTS, Event
from .answers import HookFailed, read_answer
from .events import (
    EVENT_NAMES,
    arguments_of,
    describe_agent,
    describe_call,
    describe_event,
    encode_event,
    restore_secrets,
    tool_name_of,
)
from .process import HookCommand, NotRun, build_environment, run_command
from .records import POINTS, ShellHook

__all__ = ["ShellHook", "ShellHooks", "name_hooks_before"]

_log = logging.getLogger("toolkit.hooks")

_MAX_NAME_CHARS = 200
_ENDING_SECONDS = 5.0
"""How long it may take to end a command after its time."""


class ShellHooks:
    """
    A hook that runs several shell hooks in order; each one gets the arguments as the earlier ones have changed them.

    Give it to a dispatcher as one hook, `hooks=[shell_hooks]`. Give them one by one, `hooks=[*shell_hooks]`, if one of
    them changes arguments and another asks for a person, because a single hook of a dispatcher can return only one of
    these outcomes.
    """

    def __init__(self, hooks: Iterable[ShellHook]) -> None:
        self.hooks = tuple(hooks)
        for hook in self.hooks:
            if not isinstance(hook, ShellHook):
                raise TypeError(f"shell hooks are made of ShellHook(on=..., command=...), got {type(hook).__name__}")
        self._labels = {
            id(hook): make_visible(hook.source, keep_lines=False) or f"shell hook {number}"
            for number, hook in enumerate(self.hooks, 1)
        }
        self._hooks_by_point: dict[str, list[ShellHook]] = {
            point: [hook for hook in self.hooks if point in hook.on] for point in POINTS
        }
        self.listens_to = tuple(kind for name, kind in EVENTS.items() if self._hooks_by_point[name])
        # Each command has a time limit of its own, so a dispatcher waits for all of them.
        self.event_seconds = sum(hook.timeout_seconds + _ENDING_SECONDS for hook in self.hooks)

    def __iter__(self) -> Iterator[ShellHooks]:
        """Yield the same hooks, each in a `ShellHooks` object of its own."""
        for hook in self.hooks:
            single = ShellHooks([hook])
            single._labels = self._labels
            yield single

    # These methods are not async, so that a call for which no hook is meant does not have to wait.

    def before(self, call: ToolCall) -> Outcome | Coroutine[Any, Any, Outcome]:
        hooks = self._select_hooks("before", call)
        return self._before(hooks, call) if hooks else Proceed()

    def after(self, call: ToolCall, result: ToolResult) -> ToolResult | Coroutine[Any, Any, ToolResult]:
        hooks = self._select_hooks("after", call)
        return self._after(hooks, call, result) if hooks else result

    async def _before(self, hooks: list[ShellHook], call: ToolCall) -> Outcome:
        arguments, changed_by = call.arguments, ""
        asks: list[tuple[str, str]] = []
        for hook in hooks:
            label = self._labels[id(hook)]
            try:
                outcome = await _run_hook(hook, "before", tool_name_of(call), describe_call(call, arguments, "before"))
            except HookFailed as failure:
                if self._may_continue(hook, failure):
                    continue
                return Deny(_explain_block(label, failure))
            match outcome:
                case Modify(given):
                    arguments, changed_by = restore_secrets(given, arguments, call), label
                case Ask(reason):
                    asks.append((label, reason))
                case Deny() | Halt():
                    return outcome
                case Replace():
                    return Deny(_explain_conflict(label, asks[0][0])) if asks else outcome
        if asks and changed_by:
            return Deny(_explain_conflict(changed_by, asks[0][0]))
        if asks:
            return Ask("; ".join(reason for _, reason in asks))
        return Modify(arguments) if changed_by else Proceed()

    async def _after(self, hooks: list[ShellHook], call: ToolCall, result: ToolResult) -> ToolResult:
        for hook in hooks:
            try:
                event_data = describe_call(call, arguments_of(call), "after", result)
                result = _apply_outcome(result, await _run_hook(hook, "after", tool_name_of(call), event_data))
            except HookFailed as failure:
                self._report(hook, failure)
                result = _add_note(result, {"event": "after", "hook": self._labels[id(hook)], "problem": str(failure)})
        return result

    def on_event(self, event: Event) -> Coroutine[Any, Any, None] | None:
        """Tell the hooks about *event*."""
        point, call = EVENT_NAMES[type(event)], getattr(event, "call", None)
        hooks = self._hooks_by_point[point] if call is None else self._select_hooks(point, call)
        return self._tell(hooks, point, event) if hooks else None

    async def _tell(self, hooks: list[ShellHook], point: str, event: Event) -> None:
        call = getattr(event, "call", None)
        for hook in hooks:
            try:
                await _run_hook(hook, point, "" if call is None else tool_name_of(call), describe_event(event))
            except HookFailed as failure:
                self._report(hook, failure)

    async def agent_started(
        self,
        session: Session | None = None,
        *,
        principal: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Proceed | Halt:
        """Tell the hooks that an agent is about to start; return a `Halt` with the reason if it must not start."""
        for hook in self._hooks_by_point["agent_start"]:
            try:
                outcome = await _run_hook(
                    hook, "agent_start", "", describe_agent("agent_start", session, principal, details)
                )
            except HookFailed as failure:
                if not self._may_continue(hook, failure):
                    return Halt(_explain_block(self._labels[id(hook)], failure))
                continue
            if isinstance(outcome, (Deny, Halt)):
                return Halt(outcome.reason)
        return Proceed()

    def _select_hooks(self, point: str, call: ToolCall) -> list[ShellHook]:
        hooks, tool = self._hooks_by_point[point], call.tool
        if not hooks:
            return hooks
        if tool is None:
            return [hook for hook in hooks if hook.is_about(frozenset({tool_name_of(call)}), None, "")]
        names = names_of(tool) | {call.name}
        return [hook for hook in hooks if hook.is_about(names, tool.facts.group, tool.origin)]

    def _may_continue(self, hook: ShellHook, failure: HookFailed) -> bool:
        self._report(hook, failure)
        return hook.on_failure == "allow"

    def _report(self, hook: ShellHook, failure: HookFailed) -> None:
        # The output of the command is left out, because it may contain the arguments, and this log masks nothing.
        _log.warning("%s failed: %s", self._labels[id(hook)], make_visible(failure.problem, keep_lines=False))


async def _run_hook(hook: ShellHook, point: str, tool: str, event_data: Mapping[str, Any]) -> Outcome:
    """Run the command of *hook* and return its answer; raise `HookFailed` if it fails."""
    # A model can invent a tool name with NUL characters or of any length; an environment variable takes neither.
    name = make_visible(tool, keep_lines=False)[:_MAX_NAME_CHARS]
    command = HookCommand(
        argv=hook.argv,
        stdin=encode_event(event_data),
        env=build_environment(hook.env, {"HOOK_EVENT": point, "HOOK_TOOL_NAME": name}),
        cwd=hook.cwd,
        timeout_seconds=hook.timeout_seconds,
        prepare=hook.prepare,
    )
    try:
        return read_answer(await run_command(command), point)
    except NotRun as error:
        raise HookFailed(str(error)) from error


def _explain_block(label: str, failure: HookFailed) -> str:
    return f'{label} failed, so this was blocked: {failure}. The user can mend it, or set on_failure = "allow"'


def _explain_conflict(label: str, asker: str) -> str:
    return (
        f"{label} changed or answered the call and {asker} asked for a person, and one hook of a dispatcher cannot "
        "say both; the user can give them one by one: hooks=[*shell_hooks]"
    )


def _apply_outcome(result: ToolResult, outcome: Outcome) -> ToolResult:
    """Return *result* as the *outcome* of a hook changes it."""
    if isinstance(outcome, (Proceed, Modify, Ask)):  # The last two are not possible after a call.
        return result
    if result.kind == "waiting":
        raise HookFailed("a result that waits for a person can be neither replaced nor withheld; proceed")
    if isinstance(outcome, Replace):
        changed = copy.copy(result)
        changed.text, changed.value, changed.parts = as_text(outcome.result), outcome.result, ()
        return changed
    ran, notes = result.attempts > 0, (result.metadata or {}).get("hooks")
    kind: Kind = "halted" if isinstance(outcome, Halt) else "denied"
    effect = "stopped the run" if isinstance(outcome, Halt) else "withheld its result"
    return ToolResult.failure(
        kind,
        f"the tool ran, but a hook {effect}: {outcome.reason}" if ran else outcome.reason,
        details={"ran": ran},
        metadata=None if notes is None else {"hooks": notes},
    )


def _add_note(result: ToolResult, note: dict[str, Any]) -> ToolResult:
    """Return a copy of *result* with *note* in its metadata. It is a copy, since other code may hold *result*."""
    copied = copy.copy(result)
    earlier_notes = (result.metadata or {}).get("hooks")
    copied.metadata = {
        **(result.metadata or {}),
        "hooks": [*(earlier_notes if isinstance(earlier_notes, list) else []), note],
    }
    return copied


def name_hooks_before(hooks: Iterable[Any], tool: Tool) -> Iterator[str]:
    """Yield the name of each of *hooks* that runs before a call of *tool*, and may block or change the call."""
    names = names_of(tool)
    for hook in hooks:
        if not isinstance(hook, ShellHooks):
            if hasattr(hook, "before"):
                yield f"the hook {type(hook).__name__}"
            continue
        for shell_hook in hook.hooks:
            if "before" in shell_hook.on and shell_hook.is_about(names, tool.facts.group, tool.origin):
                yield shell_hook.source or "a shell hook"
