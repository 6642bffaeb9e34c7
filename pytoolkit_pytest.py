"""
The pytest plugin of `toolkit.testing`: it offers fixtures, and the option `--toolkit-check`.

The plugin is a file beside the package `toolkit`, not inside it. Importing a file
inside the package would run the package, and a test run that does not use tools
should not pay for that. No part of `toolkit` is imported until a test or an option
needs it.
"""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from toolkit import Catalog, CatalogView, Dispatcher, Tool
    from toolkit.providers.scripted import ScriptedProvider
    from toolkit.testing import Recorder, Violation
    from toolkit.workspace import Workspace

_CATALOG = "toolkit.catalog"


# The fixtures that tests can use.


@pytest.fixture
def toolkit_catalog() -> Catalog:
    """Return an empty catalog."""
    from toolkit import Catalog

    return Catalog()


@pytest.fixture
def toolkit_recorder() -> Recorder:
    """Return a hook that records every call of `toolkit_dispatcher`."""
    from toolkit.testing import Recorder

    return Recorder()


@pytest.fixture
def toolkit_dispatcher(toolkit_catalog: Catalog, toolkit_recorder: Recorder) -> Iterator[Dispatcher]:
    """Yield a dispatcher for `toolkit_catalog` that records its calls, and raises an exception that is a tool's bug."""
    from toolkit import Dispatcher

    dispatcher = Dispatcher(toolkit_catalog, hooks=[toolkit_recorder], raise_bugs=True)
    yield dispatcher
    dispatcher.close()


@pytest.fixture
def toolkit_provider() -> Callable[..., ScriptedProvider]:
    """Return a function that makes a scripted provider: `toolkit_provider("Hello", [make_call("read")])`."""
    from toolkit.providers.scripted import ScriptedProvider

    def scripted(*replies: Any, model: str = "scripted") -> ScriptedProvider:
        return ScriptedProvider(replies, model=model)

    return scripted


@pytest.fixture
def toolkit_workspace(tmp_path: Path) -> Workspace:
    """Return a workspace in a temporary folder of its own, `tmp_path`."""
    from toolkit.workspace import Workspace

    return Workspace(tmp_path)


# After each test, the shared catalog is as it was before, plus the tools of modules that the test imported first.


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    modules = frozenset(sys.modules)
    with ExitStack() as stack:
        if _CATALOG in modules:
            stack.enter_context(sys.modules[_CATALOG].default_catalog.isolated())
        result = yield
        kept = _imported_meanwhile(modules)
    if _CATALOG in sys.modules:
        default_catalog = sys.modules[_CATALOG].default_catalog
        if _CATALOG not in modules:
            for tool in [tool for tool in default_catalog if tool not in kept]:
                default_catalog.remove(tool.name)
        from toolkit.errors import DuplicateTool

        for tool in kept:
            with suppress(DuplicateTool):  # a tool that was there before the test has precedence
                default_catalog.add(tool)
    return result


def _imported_meanwhile(modules: frozenset[str]) -> list[Tool]:
    """
    Return the shared tools of modules that the test was the first to import.

    These tools have to be kept. Their modules stay imported, so they will not define them again.
    """
    if _CATALOG not in sys.modules:
        return []
    from toolkit.functions.callables import get_qualname, unwrap_function

    functions = [(tool, unwrap_function(tool.function)) for tool in sys.modules[_CATALOG].default_catalog]
    return [
        tool
        for tool, function in functions
        if getattr(function, "__module__", None) not in modules and "<locals>" not in get_qualname(function)
    ]


# The tests that `--toolkit-check` makes of tools.


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("toolkit", "tools for language models")
    group.addoption(
        "--toolkit-check",
        action="append",
        default=[],
        metavar="MODULE[:CATALOG]",
        help="make a test of each tool that a module or a catalog in it offers; may be given several times",
    )
    group.addoption(
        "--toolkit-check-run",
        action="append",
        default=[],
        metavar="TOOL",
        help="run this tool too, although it is not read-only; may be given several times",
    )
    group.addoption(
        "--toolkit-check-folder",
        type=_folder,
        metavar="FOLDER",
        help="the files that read-only tools must not change",
    )
    group.addoption(
        "--toolkit-check-examples",
        type=_count,
        default=60,
        metavar="COUNT",
        help="how many calls each law tries (60)",
    )
    group.addoption(
        "--toolkit-check-seed",
        type=int,
        default=0,
        metavar="NUMBER",
        help="the seed of the random calls; the same number tries the same calls (0)",
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number of calls; give 1 or more")
    return int(text)


def _folder(text: str) -> str:
    if not Path(text).is_dir():
        raise ArgumentTypeError(f"{text!r} is no folder; give one whose files must not change")
    return text


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    unknown = set(config.getoption("toolkit_check_run"))
    for target in config.getoption("toolkit_check"):
        found = _items(session, target)
        unknown -= {item.name for item in found}
        items += found
    if unknown:
        raise pytest.UsageError(f"--toolkit-check-run: no tool that is checked is called {min(unknown)!r}")


def _items(session: pytest.Session, target: str) -> list[ToolCheck]:
    from toolkit.errors import ToolkitError
    from toolkit.testing import catalog_of

    try:
        catalog = catalog_of(target)
    except ToolkitError as error:
        raise pytest.UsageError(f"--toolkit-check: {error}") from None
    parent = _Target.from_parent(session, name=target, nodeid=target)
    found = [ToolCheck.from_parent(parent, name=tool.name, catalog=catalog, tool=tool) for tool in catalog]
    return [*found, ToolCheck.from_parent(parent, name="(catalog)", catalog=catalog, tool=None)]


class _Target(pytest.Collector):
    """The module or catalog that `--toolkit-check` names, as the parent of its tests."""

    def collect(self) -> list[pytest.Item]:
        return []


class ToolCheck(pytest.Item):
    """A test that one tool keeps the laws. Without a tool, it checks the catalog by the laws about several tools."""

    def __init__(self, *, catalog: CatalogView, tool: Tool | None, **about: Any) -> None:
        super().__init__(**about)
        self._catalog = catalog
        self._tool = tool

    def runtest(self) -> None:
        from toolkit.testing import LawsBroken

        __tracebackhide__ = True
        violations = self._violations()
        if violations:
            raise LawsBroken(violations)

    def _violations(self) -> list[Violation]:
        from toolkit.testing.laws.checking import broken_laws, find_confusable_tools

        tool, option = self._tool, self.config.getoption
        if tool is None:
            return find_confusable_tools(self._catalog)
        return broken_laws(
            self._catalog.filtered(lambda each: each is tool),
            run=[name for name in option("toolkit_check_run") if name == tool.name],
            folder=option("toolkit_check_folder"),
            examples=option("toolkit_check_examples"),
            seed=option("toolkit_check_seed"),
        )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from toolkit.testing import LawsBroken

        if isinstance(excinfo.value, LawsBroken):
            return (
                f"{excinfo.value}\nthe same again: --toolkit-check-seed {self.config.getoption('toolkit_check_seed')}"
            )
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path | str, int | None, str]:
        from toolkit.functions.callables import find_source_location

        if self._tool is None:
            return self.path, None, self.nodeid
        file, line = find_source_location(self._tool.function)
        return file, line - 1, self.nodeid
