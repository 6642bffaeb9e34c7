"""
Check whether tools keep the laws.

`check_tool` and `check_catalog` raise `LawsBroken` with all findings;
`broken_laws` returns the findings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from ...catalogs.views import CatalogView
from ...errors import CatalogError, DefinitionError
from ...spec import Tool
from .confusable_tools import CATALOG_LAWS
from .explanations import attach_explanations as with_explanations
from .findings import Finding, LawsBroken
from .folder_snapshots import WatchedFolder
from .run_laws import RunConditions, find_broken_run_laws, may_run
from .schema_laws import LAWS, SHAPE_LAWS, Effort

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
    Raise `LawsBroken`, with all findings, if *tool* breaks a law.

    A finding carries the smallest arguments that show the fault, if it takes arguments to show it. A finding that the
    author of the tool has explained does not count.

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
    spec = tool if isinstance(tool, Tool) else Tool.of(tool)
    names_to_run = (spec.name,) if run else ()
    conditions = _build_conditions(folder, state, resources, timeout_seconds)
    findings = _find_broken_laws(
        spec, names_to_run, Effort(examples=examples, seed=seed), None if run is False else conditions
    )
    _raise_if_any(_drop_explained(with_explanations(findings, [spec])))


def check_catalog(catalog: CatalogView, **options: Any) -> None:
    """Raise `LawsBroken`, with all findings, if the tools of *catalog* break a law. `broken_laws` has the options."""
    _raise_if_any(broken_laws(catalog, **options))


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
    explained: bool = False,
) -> list[Finding]:
    """
    Return every law that the tools of *catalog* break, in the order of the tools.

    The findings about several tools at once come last. `check_tool` describes the other options.

    Args:
        catalog: The tools to check.
        run: The names of tools to run in addition to those that `may_run` permits. A destructive tool is run only if
            it is named here. False runs no tool at all. True or a single string raises `TypeError`.
        explained: Whether the list includes the findings that the author of a tool has explained.
    """
    if isinstance(run, str) or run is True:
        raise TypeError("run wants the names of the tools, in a list; True would run the destructive ones too")
    names_to_run = () if run is False else tuple(run)
    if unknown := [name for name in names_to_run if catalog.get(name) is None]:
        raise CatalogError(f"run names {unknown[0]!r}, which is no tool of the catalog")
    conditions = None if run is False else _build_conditions(folder, state, resources, timeout_seconds)
    effort = Effort(examples=examples, seed=seed)
    tool_findings = [
        finding for tool in catalog for finding in _find_broken_laws(tool, names_to_run, effort, conditions)
    ]
    all_findings = [*with_explanations(tool_findings, catalog), *find_confusable_tools(catalog, explained=True)]
    return all_findings if explained else _drop_explained(all_findings)


def find_confusable_tools(catalog: CatalogView, *, explained: bool = False) -> list[Finding]:
    """Return the tools that a model could mistake for one another: the findings of the laws about several tools."""
    tools = list(catalog)
    findings = list(with_explanations((finding for law in CATALOG_LAWS for finding in law(tools)), tools))
    return findings if explained else _drop_explained(findings)


def _find_broken_laws(
    tool: Tool, names_to_run: Collection[str], effort: Effort, conditions: RunConditions | None
) -> Iterator[Finding]:
    try:
        _ = tool.schema
    except DefinitionError as error:  # an annotation names a type that is not defined yet
        yield Finding(
            tool=tool.name, rule="valid-schema", message=str(error), remedy="define the name, then call `finish`"
        )
        return
    shape_findings = [finding for law in SHAPE_LAWS for finding in law(tool, effort)]
    yield from shape_findings
    if shape_findings:
        return
    for law in LAWS:
        yield from law(tool, effort)
    if conditions is not None and (tool.name in names_to_run or may_run(tool)):
        yield from find_broken_run_laws(tool, effort, conditions)


def _build_conditions(
    folder: str | PathLike[str] | None,
    state: Callable[[], Any] | None,
    resources: Mapping[Any, Any] | None,
    timeout_seconds: float,
) -> RunConditions:
    watched = None if folder is None else WatchedFolder(folder)
    return RunConditions(folder=watched, state=state, resources=resources, timeout_seconds=timeout_seconds)


def _drop_explained(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if not finding.explanation]


def _raise_if_any(findings: Sequence[Finding]) -> None:
    if findings:
        raise LawsBroken(findings)
