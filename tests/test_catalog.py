"""A catalog holds tools by name, all or nothing, in order."""

import functools
import importlib
import threading

import pytest

from tests.catalog_kit import build_tool
from toolkit import (
    Catalog,
    CatalogError,
    DefinitionError,
    DuplicateTool,
    Tool,
    UnknownTool,
    default_catalog,
    tool,
)


def read(path: str):
    """Read."""


def write(path: str):
    """Write."""


# Adding and removing.


def test_adding_can_be_chained_and_keeps_the_order():
    catalog = Catalog(read).add(build_tool("tool")).add(Catalog(write), build_tool("last"))
    assert catalog.names() == ["read", "tool", "write", "last"]
    assert catalog["read"].function is read


@pytest.mark.parametrize(
    "sources",
    [
        [read, build_tool("new"), build_tool("taken")],
        [read, build_tool("new", aliases=["taken"])],
        [read, 5],
        [read, lambda: None],
        [build_tool("twin"), build_tool("twin")],
        [read, build_tool("other", aliases=["read"])],
    ],
)
@pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")
def test_adding_is_all_or_nothing(sources):
    """One of several sources is invalid, and none is added."""
    catalog = Catalog(build_tool("taken"))
    changes = []
    catalog.subscribe(changes.append)
    with pytest.raises((CatalogError, DefinitionError)):
        catalog.add(*sources)
    assert catalog.names() == ["taken"]
    assert "read" not in catalog
    assert changes == []


def test_adding_the_same_source_again_changes_nothing():
    """It may be a function, its tool, or an object with methods."""

    class Service:
        def find(self):
            """Find."""

    service = Service()
    catalog = Catalog(read, service.find)
    catalog.add(read, Tool.of(read), service.find, catalog)
    assert catalog.names() == ["read", "find"]


def test_a_tool_is_removed_with_its_aliases():
    """Any of its names is enough."""
    catalog = Catalog(build_tool("a", aliases=["b"]), build_tool("c")).alias("d", "a")
    removed = catalog.remove("b")
    assert removed.name == "a"
    assert catalog.names() == ["c"]
    assert not any(name in catalog for name in "abd")
    with pytest.raises(UnknownTool):
        catalog.remove("a")
    assert Catalog(catalog).add(build_tool("d")).names() == ["c", "d"]


def test_an_alias_is_another_name_for_a_tool():
    """This holds also for one given by an alias; never listed, and never someone else's name."""
    catalog = (
        Catalog(build_tool("a"), build_tool("x", aliases=["y"]))
        .alias("b", "a")
        .alias("c", "b")
        .alias("b", "a")
        .alias("a", "a")
    )
    assert catalog["c"] is catalog["b"] is catalog["a"]
    assert catalog.names() == ["a", "x"]
    with pytest.raises(DuplicateTool, match="`x` cannot be an alias of `a`"):
        catalog.alias("x", "a")
    with pytest.raises(DuplicateTool, match="`y` cannot be an alias of `a`"):
        catalog.alias("y", "a")
    with pytest.raises(UnknownTool):
        catalog.alias("z", "nothing")
    with pytest.raises(DefinitionError, match="cannot be a tool's name"):
        catalog.alias("not a name", "a")


# Names that are taken.


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (build_tool("a"), build_tool("a")),
        (build_tool("a"), build_tool("b", aliases=["a"])),
        (build_tool("a", aliases=["b"]), build_tool("b")),
        (build_tool("a", aliases=["x"]), build_tool("b", aliases=["x"])),
    ],
)
def test_a_taken_name_is_refused_with_both_places(first, second):
    """Names and aliases are one namespace."""
    with pytest.raises(DuplicateTool) as error:
        Catalog(first).add(second)
    line = build_tool.__code__.co_firstlineno + 3
    assert str(error.value).count(f"{build_tool.__code__.co_filename}:{line}") == 2
    assert "replace=True" in str(error.value)


def test_a_name_replaces_a_name_in_its_place():
    """The old tool's own aliases go; those given by the catalog stay with the name."""
    catalog = Catalog(build_tool("a", aliases=["old"]), build_tool("z")).alias("given", "a")
    newer = build_tool("a", aliases=["new"])
    catalog.add(newer, replace=True)
    assert catalog.names() == ["a", "z"]
    assert catalog["a"] is catalog["new"] is catalog["given"] is newer
    assert "old" not in catalog


def test_a_name_replaces_an_alias():
    """The tool that had it stays, under its own name."""
    catalog = Catalog(build_tool("a", aliases=["b", "c"]))
    newer = build_tool("b")
    catalog.add(newer, replace=True)
    assert catalog["b"] is newer
    assert catalog["c"].name == "a"
    assert catalog.names() == ["a", "b"]


def test_an_alias_replaces_a_name():
    """The tool of that name goes, with its aliases."""
    catalog = Catalog(build_tool("a", aliases=["x"]), build_tool("z"))
    newer = build_tool("b", aliases=["a"])
    catalog.add(newer, replace=True)
    assert catalog["a"] is newer
    assert catalog.names() == ["z", "b"]
    assert "x" not in catalog


def test_an_alias_replaces_an_alias():
    """Both tools stay."""
    catalog = Catalog(build_tool("a", aliases=["x", "y"]))
    newer = build_tool("b", aliases=["x"])
    catalog.add(newer, replace=True)
    assert catalog["x"] is newer
    assert catalog["y"].name == "a"
    assert catalog.names() == ["a", "b"]


def test_a_second_tool_for_the_same_function_is_renamed():
    """It has a place of its own in the list, and keeps its original name."""
    catalog = Catalog(read)
    catalog.add(catalog["read"].renamed("look"))
    assert catalog.names() == ["read", "look"]
    assert catalog["look"].original == "read"


def test_other_facts_about_the_same_function_are_refused():
    """The author stated the first ones; changing them takes `replace`."""
    catalog = Catalog(Tool.described(read, destructive=True))
    with pytest.raises(DuplicateTool):
        catalog.add(Tool.described(read, read_only=True))
    with pytest.raises(DuplicateTool):
        catalog.add(Tool.described(read, destructive=True, description="Harmless."))
    assert catalog["read"].facts.destructive
    catalog.add(Tool.described(read, destructive=True))
    assert catalog.add(Tool.described(read, read_only=True), replace=True)["read"].facts.read_only


STATING = """
catalog.add(Tool.described(read, schema={}, metadata={"a": [1]}, preview=lambda arguments: "x", approval="always"))
"""


def test_the_same_facts_about_the_same_function_are_welcome():
    """A line that is run twice makes its lambdas anew."""
    catalog = Catalog()
    for number in (1, 2):
        names = {"__name__": "__main__", "catalog": catalog, "Tool": Tool, "read": read}
        exec(compile(STATING, f"<cell {number}>", "exec"), names)
    assert catalog.names() == ["read"]


def test_two_objects_of_one_class_cannot_have_the_same_name():
    with pytest.raises(DuplicateTool):
        Catalog(Adder(1), Adder(2))
    with pytest.raises(DuplicateTool):
        Catalog(Adder(1).add, Adder(2).add)
    with pytest.raises(DuplicateTool):
        Catalog(functools.partial(read, "a"), functools.partial(read, "b"))
    with pytest.raises(DuplicateTool):
        Catalog(read, functools.wraps(read)(lambda path: None))


class Adder:
    """Add."""

    def __init__(self, n):
        self.n = n

    def __call__(self, a: int):
        return a + self.n

    def add(self, a: int):
        """Add."""


# Running the same source again.

SOURCE = """
    from toolkit import default_catalog, tool

    VERSION = {version}

    @tool(aliases=["reload_{version}"])
    def reloaded(a: int):
        "Version {version}."

    class Service:
        @tool
        def reloaded_method(self):
            "Version {version}."

    default_catalog.add(Service())
"""


def test_a_reloaded_module_replaces_its_tools_in_place(write_module):
    with default_catalog.isolated():
        module = importlib.import_module(write_module("reloaded_tools", SOURCE.format(version=1)))
        default_catalog.add(build_tool("after"))
        first = module.reloaded
        write_module("reloaded_tools", SOURCE.format(version=2))
        module = importlib.reload(module)
        assert default_catalog["reloaded"].function is module.reloaded is not first
        assert default_catalog["reloaded"].description == "Version 2."
        assert default_catalog["reloaded_method"].description == "Version 2."
        assert default_catalog.names()[-3:] == ["reloaded", "reloaded_method", "after"]
        assert "reload_2" in default_catalog
        assert "reload_1" not in default_catalog


CELL = """
from toolkit import tool
@tool
def from_cell(a: int):
    "Version {version}."
"""


def test_a_notebook_cell_that_is_run_again_replaces_its_tool():
    """Each run has a different file name."""
    with default_catalog.isolated():
        for number in (1, 2):
            exec(compile(CELL.format(version=number), f"<cell {number}>", "exec"), {"__name__": "__main__"})
        assert default_catalog["from_cell"].description == "Version 2."


def test_the_same_name_in_another_file_is_refused(write_module):
    """The message has both files."""
    source = "def same():\n    'Do.'\n"
    modules = [importlib.import_module(write_module(name, source)) for name in ("same_one", "same_two")]
    with pytest.raises(DuplicateTool, match=r"same_one\.same .*same_one\.py:1.* same_two\.same .*same_two\.py:1"):
        Catalog(*(module.same for module in modules))


def test_two_closures_of_one_function_are_refused():
    """They have one place in the source, and are still two functions."""

    def make():
        def closure():
            """Do."""

        closure.__qualname__ = "closure"
        return closure

    with pytest.raises(DuplicateTool):
        Catalog(make(), make())


# Isolation, and many at once.


def test_changes_in_an_isolated_block_are_undone():
    """They are additions, removals and aliases, and the block may end with an error."""
    catalog = Catalog(build_tool("a", aliases=["b"]), build_tool("c"))
    before = list(catalog)

    def disturb():
        with catalog.isolated() as inside:
            inside.remove("a")
            inside.add(build_tool("d"), build_tool("b")).alias("e", "c")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        disturb()
    assert list(catalog) == before
    assert catalog["b"].name == "a"
    assert "e" not in catalog


@pytest.mark.parametrize("every", [1, 7, 200, 1000])
def test_tools_added_one_by_one_are_there_at_once_and_in_order(every):
    """A catalog that is read now and then puts its tools together at other moments. No table changes afterwards."""
    catalog, tables = Catalog(), []
    names = [f"t{number}" for number in range(300)]
    for number, name in enumerate(names):
        catalog.add(build_tool(name, aliases=[f"a{number}"]))
        tables.append(catalog.table)
        assert catalog.table.find(name) is catalog.table.find(f"a{number}") is not None
        assert catalog.table.find("t0") is not None
        assert catalog.table.find(f"t{number + 1}") is catalog.table.find(number) is None
        if number % every == every - 1:
            assert catalog.names() == names[: number + 1]
    with pytest.raises(DuplicateTool):
        catalog.add(build_tool("a150"))
    assert catalog.names() == names
    for number, table in enumerate(tables, 1):
        assert list(table.tools) == names[:number]
        assert list(table.aliases) == [f"a{other}" for other in range(number)]


@pytest.mark.unmeasured
def test_adding_from_several_threads_loses_no_tool():
    """Each of eight threads adds fifty tools, and its own tools keep their order."""
    catalog = Catalog()
    start = threading.Barrier(8)
    changes = []
    catalog.subscribe(changes.append)
    tools = [[build_tool(f"t{thread}_{number}") for number in range(50)] for thread in range(8)]

    def add(mine):
        start.wait()
        for member in mine:
            catalog.add(member)

    threads = [threading.Thread(target=add, args=(mine,)) for mine in tools]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(catalog) == 400
    assert [name for name in catalog.names() if name.startswith("t3_")] == [f"t3_{number}" for number in range(50)]
    assert sum(len(change.added) for change in changes) == 400


def test_one_of_many_threads_gets_the_name():
    """The others are told that it is taken."""
    catalog = Catalog()
    start = threading.Barrier(8)
    refused = []

    def add():
        mine = build_tool("wanted")
        start.wait()
        try:
            catalog.add(mine)
        except DuplicateTool:
            refused.append(mine)

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 7
    assert catalog["wanted"] not in refused


@pytest.mark.parametrize("odd", [None, [], 3, {}])
def test_a_name_that_is_not_text_is_unknown(odd):
    """Names come from models; the answer to any name can be printed."""
    catalog = Catalog()
    assert catalog.get(odd) is None
    with pytest.raises(UnknownTool, match="unknown tool"):
        _ = catalog[odd]


def test_a_view_or_another_object_is_refused_as_a_catalog():
    def greet() -> None:
        """Greet."""

    with pytest.raises(DefinitionError, match="has to be a Catalog or None"):
        tool(greet, catalog=Catalog().sorted())
    with pytest.raises(CatalogError, match="merged wants catalogs"):
        Catalog().merged(None)
    with pytest.raises(CatalogError, match="load wants a module"):
        Catalog().load(5)
