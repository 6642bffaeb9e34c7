"""
Check whether tools keep the laws.

`check_tool` and `check_catalog` raise `LawsBroken` with all violations. `broken_laws` returns the violations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any

from ...catalog import Catalog
from ...catalogs.views import CatalogView
from ...errors import CatalogError, DefinitionError
from ...spec import Tool
from .confusable_tools import CATALOG_LAWS
from .run_laws import RunConditions, WatchedFolder, find_broken_run_laws, may_run
from .schema_laws import LAWS, check_schemas
from .smallest_example import Effort
from .violations import Fault, LawsBroken, Violation, report_fault

__all__ = ["broken_laws", "check_catalog", "check_tool", "find_confusable_tools"]


def check_tool(
    tool: Tool | Callable[..., Any],
    *,
    run: bool | None = None,
    folder: str | PathLike[str] | None = None,
    state: Callable[[], Any] | None = None,
    resources: Mapping[Any, Any] | None = None,
    examples: int = 60,
    seed: int = 0,
    timeout_seconds: float = 3.0,
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
        examples: How many calls each law tries.
        seed: The seed of the random draws. The same seed tries the same calls.
        timeout_seconds: How long one call may take.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test, not the lines of this function
    spec = tool if isinstance(tool, Tool) else Tool.of(tool)
    check_catalog(
        Catalog(spec),
        run=[spec.name] if run else False if run is False else (),
        folder=folder,
        state=state,
        resources=resources,
        examples=examples,
        seed=seed,
        timeout_seconds=timeout_seconds,
    )


def check_catalog(catalog: CatalogView, **options: Any) -> None:
    """Raise `LawsBroken`, with all violations, if the tools of *catalog* break a law. `broken_laws` has the options."""
    __tracebackhide__ = True
    if violations := broken_laws(catalog, **options):
        raise LawsBroken(violations)


def broken_laws(
    catalog: CatalogView,
    *,
    run: Collection[str] | bool = (),
    folder: str | PathLike[str] | None = None,
    state: Callable[[], Any] | None = None,
    resources: Mapping[Any, Any] | None = None,
    examples: int = 60,
    seed: int = 0,
    timeout_seconds: float = 3.0,
    include_known: bool = False,
    never_run: Collection[str] = (),
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
    """
    if isinstance(run, str) or run is True:
        raise TypeError("run wants the names of the tools, in a list; True would run the destructive ones too")
    names_to_run = () if run is False else tuple(run)
    if unknown := [name for name in names_to_run if catalog.get(name) is None]:
        raise CatalogError(f"run names {unknown[0]!r}, which is no tool of the catalog")
    watched = None if folder is None else WatchedFolder(folder)
    conditions = RunConditions(folder=watched, state=state, resources=resources, timeout_seconds=timeout_seconds)
    violations = []
    for tool in catalog:
        is_run = run is not False and tool.name not in never_run and (tool.name in names_to_run or may_run(tool))
        faults = _find_broken_laws(tool, Effort(examples=examples, seed=seed), conditions if is_run else None)
        violations += [report_fault(tool, fault) for fault in faults]
    violations += find_confusable_tools(catalog, include_known=True)
    return violations if include_known else _drop_known(violations)


def find_confusable_tools(catalog: CatalogView, *, include_known: bool = False) -> list[Violation]:
    """Return the tools that a model could mistake for one another: the violations of the laws about several tools."""
    tools = list(catalog)
    violations = [report_fault(tool, fault) for law in CATALOG_LAWS for tool, fault in law(tools)]
    return violations if include_known else _drop_known(violations)


def _find_broken_laws(tool: Tool, effort: Effort, conditions: RunConditions | None) -> Iterator[Fault]:
    """Yield the faults of *tool*. The tool is run if there are *conditions*."""
    try:
        schema_faults = list(check_schemas(tool))
    except DefinitionError as error:  # an annotation names a type that is not defined yet
        schema_faults = [Fault("valid-schema", str(error), "define the name, then call `finish`")]
    if schema_faults:
        yield from schema_faults
        return
    for law in LAWS:
        yield from law(tool, effort)
    if conditions is not None:
        yield from find_broken_run_laws(tool, effort, conditions)


def _drop_known(violations: Iterable[Violation]) -> list[Violation]:
    return [violation for violation in violations if not violation.explanation]
