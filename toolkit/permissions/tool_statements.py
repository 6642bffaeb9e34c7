"""
Statements of a tool about a call: what it is about to touch, what it costs, and whether a person has to approve it.

A tool states this by the markers of its parameters, by `preflight`, `cost` and `approval`. All of them work on decoded
arguments. A call is denied if its tool cannot tell what it touches or costs, and a person is asked if the tool cannot
tell whether the call needs approval. The markers alone allow a quick check, because they need no function of the tool.
"""

from __future__ import annotations

import copy
import functools
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..access import Access, Command, Reads, Url, Writes, accesses_in
from ..errors import Safety, ToolError
from ..facts import bind_call, has_parameter, is_amount
from ..results import ToolCall
from ..session import Session
from ..spec import Tool
from ..values.rendering import copy_arguments, describe_value
from ..verdicts import Finding
from .judge import CallGate
from .rule_values import kind_of, kind_of_name, list_parameters

if TYPE_CHECKING:  # because most calls touch nothing, and the checks take long to load
    from ..safety import SafetyChecks

__all__ = [
    "Statements",
    "build_access_gate",
    "can_check_twice",
    "list_marked_accesses",
    "parameters_naming",
    "read_cost",
    "read_statements",
]

_log = logging.getLogger("toolkit")

_BUILT_IN_ACCESSES = frozenset({Reads, Writes, Command, Url})


@dataclass(frozen=True, slots=True)
class Statements:
    """
    What a tool states about one call.

    Attributes:
        accesses: What the call is about to touch.
        cost: What it costs in US dollars; None if the tool does not say.
        denials: Why the call is denied, because some statements are not known.
        findings: Why a person has to approve the call, and why the statements contradict each other.
    """

    accesses: tuple[Access, ...]
    cost: float | None
    denials: list[Finding]
    findings: list[Finding]


async def read_statements(
    tool: Tool,
    markers: Mapping[str, type[Access]],
    decoded: Mapping[str, Any],
    call: ToolCall,
    make_permissions: Callable[[], Any],
) -> Statements:
    """
    Return what *tool*, whose parameters have *markers*, states about a call with *decoded* arguments.

    If `preflight` has a parameter `permissions`, it gets the value that *make_permissions* returns.
    """
    accesses: tuple[Access, ...] = ()
    cost, denials = read_cost(tool), list[Finding]()
    try:
        listed = list_marked_accesses(markers, decoded)
        if tool.facts.preflight is not None:
            listed += await _run_preflight(tool.facts.preflight, decoded, call, make_permissions)
        accesses = tuple(dict.fromkeys(listed))
    except Exception as error:  # noqa: BLE001 -- if the tool cannot tell what it touches, the call is denied
        denials.append(_deny_failed_fact(tool, "preflight", "what it is about to touch", error))
    if callable(tool.facts.cost):
        try:
            cost = await _compute_cost(tool.facts.cost, decoded)
        except Exception as error:  # noqa: BLE001 -- likewise
            denials.append(_deny_failed_fact(tool, "cost", "what it costs", error))
    findings = await _find_asks(tool, decoded)
    if tool.facts.read_only and any(access.kind == Writes.kind for access in accesses):
        reason = f"`{tool.name}` is declared read-only, but says that it is about to write"
        findings.append(Finding("deny", f"fact `read_only` of `{tool.name}`", reason, "judge"))
    return Statements(accesses, cost, denials, findings)


async def _run_preflight(
    preflight: Callable[..., Any], decoded: Mapping[str, Any], call: ToolCall, make_permissions: Callable[[], Any]
) -> list[Access]:
    function = bind_call(preflight, copy.copy(call))
    if has_parameter(preflight, "permissions"):
        function = functools.partial(function, permissions=make_permissions())
    stated: Any = function(copy_arguments(decoded))
    if inspect.isawaitable(stated):
        stated = await stated
    listed = [stated] if isinstance(stated, Access) else list(stated or ())
    invalid = [item for item in listed if not isinstance(item, Access)]
    if invalid:
        raise TypeError(f"preflight has to return accesses, such as Writes(path); got {describe_value(invalid[0])}")
    return listed


def read_cost(tool: Tool) -> float | None:
    """Return what every call of *tool* costs; None if that is not stated, or depends on the arguments."""
    cost = tool.facts.cost
    return None if cost is None or callable(cost) else float(cost)


def list_marked_accesses(markers: Mapping[str, type[Access]], decoded: Mapping[str, Any]) -> list[Access]:
    """Return what a call is about to touch by the *markers* of its parameters."""
    return [access for name, kind in markers.items() if name in decoded for access in accesses_in(decoded[name], kind)]


def parameters_naming(tool: Tool, access: Access) -> Iterator[str]:
    """Yield the names of the parameters that hold a target of the same kind as *access*."""
    kind = kind_of(type(access))
    for name in list_parameters(tool):
        marked = tool.signature.accesses.get(name)
        if marked is None:
            is_same_kind = kind_of_name(name) == kind
        else:
            is_same_kind = kind_of(marked) == kind and (kind != "text" or marked.kind == access.kind)
        if is_same_kind:
            yield name


def _deny_failed_fact(tool: Tool, fact: str, unknown: str, error: Exception) -> Finding:
    """Return the denial for a call whose *fact* raised *error*, so that what *unknown* says is not known."""
    by = f"fact `{fact}` of `{tool.name}`"
    if isinstance(error, ToolError):
        return Finding("deny", by, str(error), "check" if isinstance(error, Safety) else "judge")
    _log.warning("the %s of `%s` failed", fact, tool.name, exc_info=error)
    return Finding("deny", by, f"`{tool.name}` could not tell {unknown}: {describe_value(error)}", "judge")


async def _compute_cost(function: Callable[..., Any], decoded: Mapping[str, Any]) -> float:
    """Return what a call costs in US dollars, by *function*, the fact `cost` of its tool."""
    cost: Any = function(copy_arguments(decoded))
    cost = await cost if inspect.isawaitable(cost) else cost
    if not is_amount(cost):
        raise TypeError(f"cost has to return a number of US dollars, 0 or more; got {describe_value(cost)}")
    return float(cost)


async def _find_asks(tool: Tool, decoded: Mapping[str, Any]) -> list[Finding]:
    """Return a finding that asks for approval if the fact `approval` of the tool requires it."""
    approval = tool.facts.approval
    if approval == "never":
        return []
    by = f"fact `approval` of `{tool.name}`"
    if approval == "always":
        return [Finding("ask", by, f"`{tool.name}` needs approval every time", "approval")]
    try:
        answer: Any = approval(copy_arguments(decoded))
        needed = await answer if inspect.isawaitable(answer) else answer
    except Exception as error:  # noqa: BLE001 -- a tool that cannot tell whether to ask has to ask
        reason = f"`{tool.name}` could not tell whether it needs approval ({type(error).__name__})"
        return [Finding("ask", by, reason, "approval")]
    if not needed:
        return []
    why = f": {needed}" if isinstance(needed, str) else " for these arguments"
    return [Finding("ask", by, f"`{tool.name}` needs approval{why}", "approval")]


def can_check_twice(safety: SafetyChecks | None, tool: Tool) -> bool:
    """
    Return whether the accesses that the markers of *tool* state can be checked twice.

    A call that does not pass the gate is judged, so it is checked again. A check or an access class of the application
    might answer otherwise the second time: it may ask only once. *safety* is None for the default checks.
    """
    if safety is not None:
        from ..safety import SafetyChecks

        if type(safety) is not SafetyChecks or safety.has_further_checks:
            return False
    return _BUILT_IN_ACCESSES.issuperset(tool.signature.accesses.values())


def build_access_gate(
    tool: Tool,
    gate: CallGate,
    find_objections: Callable[[Sequence[Access]], list[Finding]],
) -> CallGate:
    """
    Return the gate of a tool whose markers state what a call touches.

    Args:
        tool: The tool, which has no `preflight`.
        gate: The gate of the permissions.
        find_objections: The safety checks.
    """
    markers = tool.signature.accesses
    # Such a tool contradicts itself, and the judgement denies each call that writes.
    writes_by_read_only = tool.facts.read_only and Writes in markers.values()

    def may_run(session: Session | None, arguments: Mapping[str, Any] | None) -> bool:
        if arguments is None or writes_by_read_only:
            return False
        try:
            accesses = list_marked_accesses(markers, arguments)
        except Exception:  # noqa: BLE001 -- an argument may raise any error when it is read; then the call is judged
            return False
        return gate(session, arguments) and not find_objections(accesses)

    return may_run
