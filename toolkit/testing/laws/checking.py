"""
Check whether tools keep the laws.

`check_tool` and `check_catalog` raise `LawsBroken` with all violations. `broken_laws` returns the violations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from ...catalog import Catalog
from ...catalogs.views import CatalogView
from ...errors import CatalogError, DefinitionError, ToolkitWarning, find_nearest
from ...policies.classify import ClassifyRules
from ...spec import Tool
from .concurrent_calls import find_concurrency_faults
from .confusable_tools import CATALOG_LAWS
from .run_conditions import RunConditions, WatchedFolder
from .run_laws import RUN_LAWS, RUNNER_LAWS, find_broken_run_laws, may_run
from .schema_laws import LAWS, check_schemas
from .smallest_example import Effort
from .violations import Fault, LawsBroken, Violation, report_fault

__all__ = ["UNFIT_TO_MIX", "broken_laws", "broken_laws_between_tools", "check_catalog", "check_law_names", "check_tool"]

LAW_NAMES = (
    "valid-schema",
    *(name for names in LAWS.values() for name in names),
    *("told-apart", *RUN_LAWS, *RUNNER_LAWS, "concurrent"),
)
UNFIT_TO_MIX = ("valid-schema", "callable", "concurrent", *RUNNER_LAWS)
"""A tool that breaks one of these laws is not run beside others: it cannot be, or its fault would hide theirs."""


def _warn(note: str) -> None:
    warnings.warn(note, ToolkitWarning, stacklevel=4)


def check_tool(
    tool: Tool | Callable[..., Any],
    *,
    run: bool | None = None,
    folder: str | PathLike[str] | None = None,
    state: Callable[[], Any] | None = None,
    resources: Mapping[Any, Any] | None = None,
    classify: ClassifyRules = (),
    examples: int = 60,
    seed: int = 0,
    timeout_seconds: float = 3.0,
    on_note: Callable[[str], object] = _warn,
) -> None:
    """
    Raise `LawsBroken`, with all violations, if *tool* breaks a law.

    A violation carries the smallest arguments that show the fault, if it takes arguments to show it. A violation that
    the tool lists in `known_violations` does not count.

    Args:
        tool: The tool, or a function that can be one.
        run: Whether the tool is run. By default it is run only if its facts say that it is read-only, stays on this
            machine (`open_world` is false) and needs no approval.
        folder: A folder with files. A read-only tool must not change them. An idempotent tool that is not read-only
            must not change them further when it runs a second time.
        state: A function that returns the state which an idempotent tool leaves the same when it runs twice. Without
            it, the state is the files in *folder*.
        resources: The values for the tool's `Inject` parameters.
        classify: The exceptions that the tool may raise, by the rules of `Dispatcher`: `{LibraryError: ToolError}`.
        examples: How many calls each law tries.
        seed: The seed of the random draws. The same seed tries the same calls.
        timeout_seconds: How long one call may take.
        on_note: Called with a note if all calls of a tool failed or answered alike, so that its laws may be kept only
            because nothing was seen. It is a `ToolkitWarning` unless given.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test, not the lines of this function
    spec = tool if isinstance(tool, Tool) else Tool.of(tool)
    check_catalog(
        Catalog(spec),
        run=[spec.name] if run else False if run is False else (),
        folder=folder,
        state=state,
        resources=resources,
        classify=classify,
        examples=examples,
        seed=seed,
        timeout_seconds=timeout_seconds,
        on_note=on_note,
    )


def check_catalog(catalog: CatalogView, **options: Any) -> None:
    """Raise `LawsBroken`, with all violations, if tools of *catalog* break a law. `broken_laws` has the *options*."""
    __tracebackhide__ = True
    if violations := broken_laws(catalog, **{"on_note": _warn, **options}):
        raise LawsBroken(violations)


def broken_laws(
    catalog: CatalogView,
    *,
    run: Collection[str] | bool = (),
    folder: str | PathLike[str] | None = None,
    state: Callable[[], Any] | None = None,
    resources: Mapping[Any, Any] | None = None,
    classify: ClassifyRules = (),
    examples: int = 60,
    seed: int = 0,
    timeout_seconds: float = 3.0,
    include_known: bool = False,
    never_run: Collection[str] = (),
    laws: Collection[str] | None = None,
    on_note: Callable[[str], object] | None = None,
) -> list[Violation]:
    """
    Return every law that the tools of *catalog* break, in the order of the tools.

    The violations about several tools at once come last. `check_tool` describes the other options.

    Args:
        catalog: The tools to check.
        run: The names of tools to run in addition to those that `may_run` permits. A destructive tool is run only if
            it is named here. False runs no tool at all. True or a single string raises `TypeError`.
        include_known: Whether the list includes the violations that a tool lists in `known_violations`.
        never_run: The names of tools that are not run, although they are read-only.
        laws: The names of the laws to check, such as `["output"]`; all of them unless given.
        on_note: As for `check_tool`, but without it nothing is said.
    """
    if isinstance(run, str) or run is True:
        raise TypeError("run wants the names of the tools, in a list; True would run the destructive ones too")
    names_to_run = () if run is False else tuple(run)
    if unknown := [name for name in names_to_run if catalog.get(name) is None]:
        raise CatalogError(f"run names {unknown[0]!r}, which is no tool of the catalog")
    check_law_names(laws or ())
    effort = Effort(examples=examples, seed=seed, laws=laws)
    watched = None if folder is None else WatchedFolder(folder)
    conditions = RunConditions(
        folder=watched, state=state, resources=resources, classify=classify, timeout_seconds=timeout_seconds
    )
    violations, mixable = [], []
    for tool in catalog:
        is_run = run is not False and tool.name not in never_run and (tool.name in names_to_run or may_run(tool))
        faults = _find_broken_laws(tool, effort, conditions if is_run else None)
        violations += [report_fault(tool, fault) for fault in faults]
        if is_run and _may_mix(tool, faults):
            mixable.append(tool)
        note = conditions.answers.describe_poor_calls(tool)
        if note and on_note is not None and all(fault.arguments is None for fault in faults):
            on_note(note)
    violations += _find_faults_between_tools(catalog, mixable, effort, conditions)
    return violations if include_known else _drop_known(violations)


def broken_laws_between_tools(
    catalog: CatalogView,
    *,
    run: Collection[str] = (),
    examples: int = 60,
    seed: int = 0,
    never_run: Collection[str] = (),
    laws: Collection[str] | None = None,
) -> list[Violation]:
    """Return every law about several tools that the tools of *catalog* break. `broken_laws` describes the options."""
    runnable = [tool for tool in catalog if tool.name in run or may_run(tool)]
    mixable = [tool for tool in runnable if tool.name not in never_run and _may_mix(tool)]
    effort = Effort(examples=examples, seed=seed, laws=laws)
    return _drop_known(_find_faults_between_tools(catalog, mixable, effort, RunConditions()))


def check_law_names(names: Iterable[str]) -> None:
    """Raise `ValueError` if one of *names* is no law."""
    for name in names:
        if name not in LAW_NAMES:
            near = find_nearest(name, LAW_NAMES, max_items=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the laws are {', '.join(LAW_NAMES)}"
            raise ValueError(f"there is no law {name!r}; {hint}")


def _find_faults_between_tools(
    catalog: CatalogView, mixable: Sequence[Tool], effort: Effort, conditions: RunConditions
) -> list[Violation]:
    """Return the violations of the laws about several tools. The tools *mixable* are run beside each other."""
    tools = list(catalog)
    faults = [pair for law in CATALOG_LAWS for pair in law(tools) if effort.includes(pair[1].rule)]
    if len(mixable) > 1 and effort.includes("concurrent"):
        faults += find_concurrency_faults(mixable, effort, conditions)
    return [report_fault(tool, fault) for tool, fault in faults]


def _find_broken_laws(tool: Tool, effort: Effort, conditions: RunConditions | None) -> list[Fault]:
    """Return the faults of *tool*. The tool is run if there are *conditions*."""
    try:
        if schema_faults := list(check_schemas(tool)):
            return schema_faults
    except DefinitionError as error:  # an annotation names a type that is not defined yet
        return [Fault("valid-schema", str(error), "define the name, then call `finish`")]
    laws = [law for law, names in LAWS.items() if effort.includes(*names)]
    faults = [fault for law in laws for fault in law(tool, effort) if effort.includes(fault.rule)]
    if conditions is not None:
        faults += find_broken_run_laws(tool, effort, conditions)
        if _may_mix(tool, faults) and effort.includes("concurrent"):
            faults += [fault for _, fault in find_concurrency_faults([tool], effort, conditions)]
    return faults


def _may_mix(tool: Tool, faults: Iterable[Fault] = ()) -> bool:
    """Return whether *tool*, which has *faults*, may run beside other calls, at least with some arguments."""
    return tool.facts.concurrency_safe is not False and all(fault.rule not in UNFIT_TO_MIX for fault in faults)


def _drop_known(violations: Iterable[Violation]) -> list[Violation]:
    return [violation for violation in violations if not violation.explanation]
