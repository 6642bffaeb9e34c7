"""
The target of `toolkit worker`: an object that works on durable runs, or tools for an agent that does.

    module:agent       an `Agent`, a `Flow`, or a list of flows with at most one agent
    module:durable     a `DurableAgent` or a `DurableHost`, which have a database of their own
    module:build       a function without parameters that returns one of these
    flows.py           a module or a file with flows: all of them, with its agent if it has one
    tools.py, builtin  tools, as for `toolkit agent`; the agent is made by the settings
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

from ..agent import Agent
from ..catalogs.views import CatalogView
from ..dispatcher import Dispatcher
from ..settings.records import shown_value
from ..spec import Tool
from ..testing.load_target import catalog_of, load_object
from .call_policy import CallOptions, load_resources
from .failures import Failure
from .interruptible_loop import run_coroutine
from .output import Output
from .run_database import find_database
from .run_driver import open_agent
from .targets import is_code, list_module_values, split_targets

if TYPE_CHECKING:  # they load the engine
    from ..durable import DurableAgent, DurableHost
    from ..flows import Flow

__all__ = ["WorkerOptions", "Workload", "find_host", "open_workload"]

Workload: TypeAlias = "DurableAgent[Any] | DurableHost"
"""What works on runs. It has a method `work`, and is closed as an async context manager."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What the options of the command say; `calls` are those about the calls that the runs make."""

    database: str | None
    queue: str | None
    concurrency: int
    calls: CallOptions

    def find_database(self) -> str:
        """Return the address of the option or of the settings; raise `Failure` if there is none."""
        return find_database(self.database or self.calls.settings["database"])


@contextlib.contextmanager
def open_workload(target: str, options: WorkerOptions, output: Output) -> Iterator[Workload]:
    """Yield the object that works on runs, until the end of the block. The caller closes it."""
    from ..durable import DurableAgent, DurableHost
    from ..flows import Flow

    flows, has_more = _find_flows(target)
    value = _load_worker(target) if has_more else flows
    if isinstance(value, (DurableAgent, DurableHost)):
        with _close_if_refused(value):
            _refuse_model_options(options, "it has its own")
            _check_own_options(find_host(value), options)
        yield value
        return
    values: list[object] = list(value) if isinstance(value, (list, tuple)) else [value]
    parts = [part for part in values if isinstance(part, (Agent, Flow))]
    if parts and len(parts) == len(values):
        _refuse_model_options(options, "the target has its own")
        yield _make_durable(parts, options, resources=load_resources(options.calls.resource_names))
        return
    _refuse_data(target, value)
    with open_agent(target, options.calls, output) as (agent, _, resources):
        yield _make_durable([agent, *flows], options, resources=resources)


def find_host(workload: Workload) -> DurableHost:
    """Return the host of *workload*, which may be a host itself."""
    from ..durable import DurableAgent

    return workload.host if isinstance(workload, DurableAgent) else workload


def _load_worker(target: str) -> object:
    """Return the object that *target* names, if it can work on runs or is none of the usual targets; otherwise None."""
    if ":" not in target or not is_code(target):
        return None
    value = load_object(target)
    is_factory = isinstance(value, FunctionType) and not hasattr(value, "__tool__")
    if not is_factory:
        return value
    parameters = inspect.signature(value).parameters.values()
    if any(parameter.default is parameter.empty for parameter in parameters):
        raise Failure(
            f"{target} is a function with parameters; name an agent, or a function without parameters that returns one"
        )
    built = value()
    if inspect.iscoroutine(built):
        built.close()
        raise Failure(f"{target} is async; return the agent from a plain function")
    if isinstance(built, (CatalogView, Dispatcher, Tool)) or built is None:
        raise Failure(f"{target} returned {type(built).__name__}; return an Agent, a Flow or a DurableHost")
    return built


def _find_flows(target: str) -> tuple[Sequence[Agent[Any] | Flow[Any]], bool]:
    """
    Return the flows of the module that *target* names, and whether it also has tools, for which an agent is made.

    An agent that the module has works on its runs, with its flows. Then no agent is made.
    """
    from ..flows import Flow

    if ":" in target or not is_code(target) or len(split_targets(target)) > 1:
        return (), True
    values = list_module_values(target)
    flows = [value for value in values if isinstance(value, Flow)]
    agents = [value for value in values if isinstance(value, Agent)]
    if not flows or agents:
        return [*agents, *flows] if flows else (), not flows
    tools = catalog_of(target, on_refused=lambda function, error: None)
    steps = {tool.function for flow in flows for tool in flow.catalog}
    return flows, any(tool.function not in steps for tool in tools)


def _refuse_data(target: str, value: object) -> None:
    """Raise `Failure` if *value* is plain data or a list, in which there is something that cannot work on runs."""
    from ..flows import Flow

    if isinstance(value, (list, tuple)):
        others = [type(part).__name__ for part in value if not isinstance(part, (Agent, Flow))]
        shown = f"a list with an object of the type {others[0]} in it" if others else "an empty list"
    elif isinstance(value, (bool, int, float, str, bytes, dict, set)):
        shown = f"an object of the type {type(value).__name__}"
    else:
        return
    raise Failure(
        f"{target} is {shown}; name an Agent, a Flow, a list of flows with at most one agent, a DurableAgent, a "
        f"DurableHost, or tools"
    )


def _make_durable(
    parts: Sequence[Agent[Any] | Flow[Any]], options: WorkerOptions, *, resources: Mapping[Any, Any] | None
) -> Workload:
    """Return what works on the runs of an agent and of flows, each with *resources*, in the database of the options."""
    from ..durable import DurableAgent, DurableHost, RunLimits

    agents = [part for part in parts if isinstance(part, Agent)]
    if len(agents) > 1:
        raise Failure("the target has several agents; give each a worker, with a --queue of its own")
    limits = RunLimits(concurrency=options.concurrency)
    host = DurableHost(options.find_database(), limits=limits, name=options.queue or "toolkit")
    with _close_if_refused(host):
        for part in parts:
            if not isinstance(part, Agent):
                part.register(host, resources=resources)
        return DurableAgent(agents[0], host, resources=resources) if agents else host


@contextlib.contextmanager
def _close_if_refused(workload: Workload) -> Iterator[None]:
    """Close the connections of *workload* if the block raises."""
    try:
        yield
    except BaseException:
        run_coroutine(workload.close())
        raise


def _check_own_options(host: DurableHost, options: WorkerOptions) -> None:
    """Raise `Failure` if an option contradicts the target, which has a database and a queue of its own."""
    from ..durable.database_address import resolve_address

    if options.database is not None and resolve_address(options.database) != host.database:
        raise Failure(
            f"--database: the target has a database of its own, {shown_value(host.database)}; leave the option out"
        )
    for name, value in (("--queue", options.queue), ("--with", options.calls.resource_names)):
        if value:
            raise Failure(f"{name}: the target has its own; leave the option out")


def _refuse_model_options(options: WorkerOptions, why: str) -> None:
    """Raise `Failure` if an option of the command line is about an agent that the command would make."""
    parts = options.calls.settings.parts
    given = [part.place for part in parts if part.layer == "command line" and part.key != "database"]
    given += ["--audit"] * (options.calls.audit is not None)
    if given:
        raise Failure(f"{', '.join(dict.fromkeys(given))}: {why}; leave the option out, or name tools as the target")
