"""
The plan of a tool: what a dispatcher computes once for each of its tools.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

from ..catalogs.snapshot import Table
from ..catalogs.views import CatalogView
from ..errors import ToolError
from ..functions.callables import is_coroutine_function, may_suspend
from ..hooks.base import ShownCall, Step
from ..policies.redaction import Redaction
from ..session import Session
from ..spec import Tool
from ..values.arrays import Shape
from ..values.codecs.code_writer import UNSURE
from ..values.rendering import copy_arguments
from ..values.schemas.vocabulary import stated_types
from ..verdicts import allow_any_call
from .propagation import must_propagate
from .settings import Settings

__all__ = ["CallPlan", "DirectCall", "SelfCancelled", "may_run_concurrently"]


class SelfCancelled(ToolError):  # noqa: N818 -- the name says what happened
    """Raised if the tool was cancelled although no caller requested it."""


class CallPlan:
    """
    How one dispatcher calls one tool.

    Attributes:
        catalog: The tools of the dispatcher, if the plan was made for one.
        check_and_convert: The generated check. If jsonschema validates every call, a check that always answers
            `UNSURE`.
        encode_quickly: The generated function that encodes a return value. If it returns `UNSURE`, the codec encodes.
        direct_call: How the function can be called with the decoded arguments as they are. "await": it is awaited and
            never waits for anything. "wait": it is awaited and may wait, so that it can be cancelled. "thread": it is
            called in a thread. "loop": it is called on the event loop. None: it needs an argument that is not in the
            decoded arguments, it yields, or it runs in the thread of its caller.
        gate: A quick check whether a call may run. If it returns False, the call is judged. If it is None, every call
            is judged.
        limit: How long the text of a result may be.
        markers: What the parameters are marked with, by their names, such as `Writes`.
        names: Every name that the tool has or had.
        needs_redaction: Whether a value has to be masked.
        secrets: The names of the parameters that are marked `Secret`.
        settings: The policies by which its calls run. A tool that may run in the background has settings of its own.
        called_name: The name by which the tool is called: its own, or an alias.
        alias: The same if it is an alias, and otherwise None.
        has_cost: Whether the tool states what a call costs. Such a call is made in attempts.
        show_call: Makes the call as hooks see it.
        sure_chars: The number of characters up to which no text is too long.
        before_hooks: The before-hooks: the step, the function that calls it, and whether that has to be awaited.
        after_hooks: The after-hooks, likewise.
        has_around_hooks: Whether there are around-hooks.
        has_listeners: Whether there are hooks that are told about events.
        tells_starts: Whether one of them is told where calls start; likewise `tells_attempts`.
        tells_calls: Whether one of them is told where calls start or end, or about attempts.
        is_listening: Returns whether one of them wants to be told about a call that starts now.
        is_direct: Whether the function is called directly, as `direct_call` says. Otherwise the call is made in
            attempts.
        is_recorded: Whether there is an audit log.
        may_be_judged: Whether the rules or a hook may want a verdict on a call.
        may_detach: Whether a call may go on in the background.
        defers_text: Whether no stage reads the text of a result, so that it can be written when a program reads it. The
            tool was called by its own name. A listener may read the text.
    """

    def __init__(
        self,
        tool: Tool,
        settings: Settings,
        table: Table,
        catalog: CatalogView | None = None,
        called_name: str | None = None,
    ) -> None:
        facts, signature, chain = tool.facts, tool.signature, settings.chain
        output = signature.returns
        self.tool = tool
        self.catalog = catalog
        self.name = tool.name
        self.function = tool.function
        self.checker = tool.about.checker
        self.check_and_convert: Callable[[Any, int], Any] = (
            self.checker.compile_check() if settings.validation == "fast" else lambda arguments, depth: UNSURE
        )
        self.encode = None if output.codec is None else output.codec.encode
        self.checks_output = settings.check_output
        # With an exact codec, everything that can be encoded fits the output schema, and needs no further check.
        self.output_is_exact = output.is_exact
        self.output_has_metadata = output.has_metadata
        self.output_shape = _find_output_shape(output.schema)
        self.output_validator: Any = None
        self.encode_quickly: Callable[[Any, int], Any] = tool.about.encode_output
        self.timeout_seconds = settings.timeout_seconds if facts.timeout_seconds is None else facts.timeout_seconds
        self.limit = settings.limit_text(facts.max_chars, facts.max_bytes)
        self.sure_chars = self.limit.sure_chars
        self.names = table.names_of(tool)
        self.is_recorded = settings.audit is not None
        self.gate = settings.build_gate(tool, self.names)
        self.validate = facts.validate
        self.may_detach = bool(facts.background)
        self.clock, self.call_numbers, self.abandoned = settings.clock, settings.call_numbers, settings.abandoned
        self.secrets, self.markers = signature.secrets, signature.accesses
        self.settings = settings
        self.needs_redaction = bool(settings.redaction) or bool(self.secrets)
        self.called_name = called_name or tool.name
        self.alias = called_name if called_name in table.aliases else None
        self.has_cost = facts.cost is not None
        self.show_call: Callable[..., ShownCall] = partial(ShownCall, self.called_name, tool)
        self.before_hooks = [_prepare_hook(step, settings) for step in chain.before]
        self.after_hooks = [_prepare_hook(step, settings) for step in chain.after]
        self.has_around_hooks = bool(chain.around)
        self.has_listeners = bool(chain.listeners)
        self.tells_starts = chain.has_listener("CallStarted")
        self.tells_attempts = chain.has_listener("AttemptStarted")
        self.tells_calls = self.tells_starts or self.tells_attempts or chain.has_listener("CallEnded")
        self.is_listening = chain.prepare_listening()
        self.defers_text = not (self.after_hooks or self.has_around_hooks or self.needs_redaction or self.alias)
        self.direct_call = _choose_direct_call(tool)
        has_limit = self.timeout_seconds is not None and self.direct_call in ("thread", "loop")
        self.is_direct = self.direct_call is not None and not (self.is_recorded or has_limit or self.has_cost)
        self.may_be_judged = self.is_recorded or bool(self.before_hooks) or self.gate is not allow_any_call

    def may_run(self, session: Session | None) -> bool:
        """Return whether a call may run with any arguments. Otherwise it has to be judged."""
        return self.gate is not None and self.gate(session, None)

    def could_be_allowed(self, session: Session | None) -> bool:
        """Return whether any call could ever run in *session*. If not, the model is not told about the parameters."""
        return self.settings.judges.visibility.could_allow(self.tool, self.names, session)

    @property
    def audit_fields(self) -> dict[str, str]:
        """The fields of an audit line about where the tool comes from, if not from this program, and its alias."""
        origin = {} if self.tool.origin == "python" else {"origin": self.tool.origin}
        return origin if self.alias is None else {"alias": self.alias, **origin}

    def redaction(self, *arguments: Any) -> Redaction:
        """
        Return the redaction for the output of a call with these arguments.

        *arguments* are the arguments of the call in all their forms, such as decoded and as they were sent.
        """
        secrets = [secret for mapping in arguments for secret in _read_values(mapping, self.secrets)]
        return self.settings.redaction.with_secrets(secrets)


def _prepare_hook(step: Step, settings: Settings) -> tuple[Step, Callable[..., Any], bool]:
    """Return *step*, the function that calls its hook, and whether what that returns has to be awaited."""
    runner = settings.hook_runner
    if not step.is_plain:
        return step, partial(step.run, runner, None), True
    if not step.is_async or not step.may_suspend:
        return step, step.function, step.is_async
    return step, lambda *shown: runner.await_hook(step.function(*shown), step), True


DirectCall: TypeAlias = Literal["await", "wait", "thread", "loop"]


def _choose_direct_call(tool: Tool) -> DirectCall | None:
    signature, function = tool.signature, tool.function
    if not signature.by_keyword or signature.injected or tool.facts.thread == "caller":
        return None
    if signature.style == "sync":
        return "thread" if tool.facts.thread else "loop"
    # A wrapper may be sync although the function that it wraps is async.
    if signature.style == "async" and is_coroutine_function(function):
        return "wait" if may_suspend(function) else "await"
    return None


def _read_values(arguments: Any, names: frozenset[str]) -> list[Any]:
    """Return the values of *names* in *arguments*, or none if the caller's own mapping raises."""
    if not isinstance(arguments, Mapping):
        return []
    try:
        return [arguments[name] for name in names & arguments.keys()]
    except BaseException as error:
        if must_propagate(error):
            raise
        return []


async def may_run_concurrently(tool: Tool, decoded: Mapping[str, Any]) -> bool:
    """Return whether a call of *tool* may run beside others. If that cannot be determined, return False."""
    fact = tool.facts.concurrency_safe
    if isinstance(fact, bool):
        return fact
    try:
        answer: Any = fact(copy_arguments(decoded))
        return (await answer if inspect.isawaitable(answer) else answer) is True
    except BaseException as error:
        if must_propagate(error):
            raise
        return False  # the safe answer: the call runs alone


def _find_output_shape(schema: Mapping[str, Any] | None) -> Shape | None:
    """Return whether a table has to become an array or an object, if the output schema says that."""
    types = stated_types(schema or {})
    if "array" in types:
        return None if "object" in types else "array"
    return "object" if "object" in types else None
