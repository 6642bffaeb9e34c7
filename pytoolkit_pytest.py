"""
The pytest plugin of `toolkit.testing`: it offers fixtures, and the option `--toolkit-check`.

The plugin is a file beside the package `toolkit`, not inside it. Importing a file
inside the package would run the package, and a test run that does not use tools
should not pay for that. No part of `toolkit` is imported until a test or an option
needs it.
"""

from __future__ import annotations

import shlex
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
    from toolkit.testing import Recorder, ToolChange, Violation
    from toolkit.workspace import Workspace

_CATALOG = "toolkit.catalog"
_NOTE = "toolkit-note"
_DEFAULT_EXAMPLES = 60
_ID_PREFIX = "toolkit:"
"""What the ids of our tests begin with: `toolkit:shop.tools::refund`, and `toolkit:shop.tools::refund::output`."""


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


@pytest.fixture
def toolkit_snapshot(request: pytest.FixtureRequest) -> Callable[..., list[ToolChange]]:
    """
    Return a function that fails if tools differ from a file: `toolkit_snapshot(catalog)`.

    The file is beside the test, `test_shop.snapshot.json` for `test_shop.py`; a second argument names another one.
    `--toolkit-update-snapshots` writes it.
    """
    from toolkit.errors import CatalogError
    from toolkit.testing import check_snapshot

    update = request.config.getoption("toolkit_update_snapshots")

    def check(catalog: CatalogView, file: str | None = None) -> list[ToolChange]:
        __tracebackhide__ = True
        path = request.path.parent / (file or f"{request.path.stem}.snapshot.json")
        if not update and not path.exists():
            pytest.fail(f"there is no snapshot {path} yet; write it with --toolkit-update-snapshots", pytrace=False)
        problem, changes = "", []
        try:
            changes = check_snapshot(catalog, path, update=update)
        except CatalogError as error:
            problem = str(error)
        if problem:  # outside of the handler, so that pytest does not print the error twice
            pytest.fail(problem, pytrace=False)
        if changes and not update:
            lines = "\n".join(map(str, changes))
            pytest.fail(f"the tools differ from {path}; --toolkit-update-snapshots accepts it:\n{lines}", pytrace=False)
        return changes

    return check


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
        default=_DEFAULT_EXAMPLES,
        metavar="COUNT",
        help=f"how many calls each law tries ({_DEFAULT_EXAMPLES})",
    )
    group.addoption(
        "--toolkit-check-seed",
        type=int,
        default=0,
        metavar="NUMBER",
        help="the seed of the random calls; the same number tries the same calls (0)",
    )
    group.addoption(
        "--toolkit-update-snapshots",
        action="store_true",
        help="write the files of the fixture toolkit_snapshot anew, instead of comparing them",
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number of calls; give 1 or more")
    return int(text)


def _folder(text: str) -> str:
    if not Path(text).is_dir():
        raise ArgumentTypeError(f"{text!r} is no folder; give one whose files must not change")
    return text


def pytest_configure(config: pytest.Config) -> None:
    """Take the ids of our tests out of the arguments, because they name no file."""
    ids = [argument for argument in config.args if argument.startswith(_ID_PREFIX)]
    if ids:
        config.args[:] = [argument for argument in config.args if argument not in ids]
        config.option.toolkit_check_ids = ids
        config.option.toolkit_check_alone = not config.args


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    ids = getattr(config.option, "toolkit_check_ids", [])
    if getattr(config.option, "toolkit_check_alone", False):
        items.clear()  # a worker of pytest-xdist, which gets no arguments, collects everything
    unknown = set(config.getoption("toolkit_check_run"))
    for target in ids or config.getoption("toolkit_check"):
        checks = _items(session, *target.removeprefix(_ID_PREFIX).split("::"))
        unknown -= {check.tool_name for check in checks}
        items += checks
    if unknown:
        raise pytest.UsageError(f"--toolkit-check-run: no tool that is checked is called {min(unknown)!r}")


def _items(session: pytest.Session, target: str, name: str = "", law: str = "") -> list[ToolCheck]:
    """Return the tests of the tools of *target*: of one tool if *name* is given, and of one law if *law* is."""
    from toolkit.errors import ToolkitError, find_nearest
    from toolkit.testing import catalog_of
    from toolkit.testing.laws.checking import check_law_names

    try:
        catalog = catalog_of(target)
        laws = [law] if law else None
        check_law_names(laws or ())
    except (ToolkitError, ValueError) as error:
        raise pytest.UsageError(f"--toolkit-check: {error}") from None
    parent = _Target.from_parent(session, name=target, nodeid=f"{_ID_PREFIX}{target}")
    tools: dict[str, Tool | None] = {tool.name: tool for tool in catalog}
    tools["(catalog)"] = None
    if name and name not in tools:
        near = "".join(f"; did you mean {nearest!r}?" for nearest in find_nearest(name, tools, max_items=1))
        raise pytest.UsageError(f"--toolkit-check: {target} has no tool {name!r}{near}")
    suffix = f"::{law}" if law else ""
    return [
        ToolCheck.from_parent(
            parent, name=f"{tool_name}{suffix}", catalog=catalog, tool=tool, laws=laws, unfit_tools=parent.unfit_tools
        )
        for tool_name, tool in tools.items()
        if name in ("", tool_name)
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the laws say about tools that passed."""
    for report in terminalreporter.stats.get("passed", ()):
        for name, note in report.user_properties:
            if name == _NOTE:
                terminalreporter.write_line(f"note: {note}", yellow=True)


class _Target(pytest.Collector):
    """
    The module or catalog that `--toolkit-check` names, as the parent of its tests.

    Attributes:
        unfit_tools: The tools whose own tests failed, so that they are not run beside others.
    """

    def __init__(self, **about: Any) -> None:
        super().__init__(**about)
        self.unfit_tools: set[str] = set()

    def collect(self) -> list[pytest.Item]:
        return []


class ToolCheck(pytest.Item):
    """A test that one tool keeps the laws. Without a tool, it checks the catalog by the laws about several tools."""

    def __init__(
        self, *, catalog: CatalogView, tool: Tool | None, laws: list[str] | None, unfit_tools: set[str], **about: Any
    ) -> None:
        super().__init__(**about)
        self._unfit_tools = unfit_tools
        self._catalog = catalog
        self._tool = tool
        self._laws = laws

    @property
    def tool_name(self) -> str:
        return self.name.partition("::")[0]

    def runtest(self) -> None:
        from toolkit.testing import LawsBroken
        from toolkit.testing.laws.checking import UNFIT_TO_MIX

        __tracebackhide__ = True
        violations = self._violations()
        if any(violation.rule in UNFIT_TO_MIX for violation in violations):
            self._unfit_tools.add(self.tool_name)
        if violations:
            raise LawsBroken(violations)

    def _violations(self) -> list[Violation]:
        from toolkit.testing.laws.checking import broken_laws, broken_laws_between_tools

        tool, option = self._tool, self.config.getoption
        if tool is None:
            return broken_laws_between_tools(
                self._catalog,
                run=[name for name in option("toolkit_check_run") if name in self._catalog],
                examples=option("toolkit_check_examples"),
                seed=option("toolkit_check_seed"),
                never_run=self._unfit_tools,
                laws=self._laws,
            )
        return broken_laws(
            self._catalog.filtered(lambda each: each is tool),
            run=[name for name in option("toolkit_check_run") if name == tool.name],
            folder=option("toolkit_check_folder"),
            examples=option("toolkit_check_examples"),
            seed=option("toolkit_check_seed"),
            laws=self._laws,
            on_note=lambda note: self.user_properties.append((_NOTE, note)),
        )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from toolkit.testing import LawsBroken

        if isinstance(excinfo.value, LawsBroken):
            rules = dict.fromkeys(violation.rule for violation in excinfo.value.violations)
            return "\n".join([str(excinfo.value), *(f"run it alone: {self._write_command(rule)}" for rule in rules)])
        return super().repr_failure(excinfo, style)

    def _write_command(self, rule: str) -> str:
        """Return the command that checks the law *rule* again, with the same calls."""
        option = self.config.getoption
        words = ["pytest", f"{self.nodeid.removesuffix(f'::{rule}')}::{rule}"]
        words += ["--toolkit-check-seed", str(option("toolkit_check_seed"))]
        if option("toolkit_check_examples") != _DEFAULT_EXAMPLES:
            words += ["--toolkit-check-examples", str(option("toolkit_check_examples"))]
        if option("toolkit_check_folder") is not None:
            words += ["--toolkit-check-folder", option("toolkit_check_folder")]
        if self.tool_name in option("toolkit_check_run"):
            words += ["--toolkit-check-run", self.tool_name]
        return shlex.join(words)

    def reportinfo(self) -> tuple[Path | str, int | None, str]:
        from toolkit.functions.callables import find_source_location

        if self._tool is None:
            return self.path, None, self.nodeid
        file, line = find_source_location(self._tool.function)
        return file, line - 1, self.nodeid
