"""
What a tool from outside may be called, and what the program's own may.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, CatalogError, Dispatcher, DuplicateTool, Tool
from toolkit.catalogs.foreign_names import RESERVED_NAMES, fold_name

RESERVED = ["functions.read", "Functions.read", "functions--read", "multi_tool_use.parallel", "browser.open"]
RESERVED += ["computer", "web_search", "Web-Search", "webSearch", "tool_search", "exit_plan"]


def make_tool(name, origin="mcp:shop", **facts):
    return replace(
        Tool.from_schema(name, "Do it.", {"type": "object"}, lambda arguments: "done", **facts), origin=origin
    )


@pytest.mark.parametrize("name", [*RESERVED, *sorted(RESERVED_NAMES)])
def test_a_tool_from_outside_has_no_reserved_name(name):
    """The error names the tool, the name and the remedy, and nothing is added."""
    catalog = Catalog(make_tool("fine"))
    with pytest.raises(CatalogError, match=rf"from mcp:shop cannot be called `{name}`.*prefixed\("):
        catalog.add(make_tool("other"), make_tool(name))
    assert catalog.names() == ["fine"]


@pytest.mark.parametrize(
    "name", ["read", "bash", "functions_of_x", "function", "computers", "web_search_exa", "browser_click"]
)
def test_other_names_are_free(name):
    """Plain words that many servers use, and names that only begin like a reserved one."""
    assert Catalog(make_tool(name)).names() == [name]


@pytest.mark.parametrize("name", RESERVED)
def test_tools_of_the_program_may_have_any_name(name):
    """Their author sees all of them."""
    assert Catalog(make_tool(name, "python")).names() == [name]


@pytest.mark.parametrize("name", RESERVED)
def test_a_prefix_is_the_remedy(name):
    """Under a prefix, or another name, the tool can be had."""
    tool = make_tool(name)
    renamed = tool.renamed("shop_it")
    assert Catalog(renamed).names() == ["shop_it"]
    assert Catalog(renamed).prefixed("shop_").names() == ["shop_shop_it"]


def test_a_reserved_alias_is_refused_like_a_name():
    """Stated by the tool, or given by the catalog."""
    with pytest.raises(CatalogError, match="cannot be called `web_search`"):
        Catalog(make_tool("find", aliases=["web_search"]))
    catalog = Catalog(make_tool("find"))
    with pytest.raises(CatalogError, match="cannot be called `computer`"):
        catalog.alias("computer", "find")
    assert "computer" not in catalog


def test_a_reserved_prefix_is_refused():
    """A view cannot give what a catalog refuses."""
    with pytest.raises(CatalogError, match=r"cannot be called `functions\.find`"):
        Catalog(make_tool("find")).prefixed("functions.")


TWINS = [("read_file", "Read_File"), ("read_file", "read-file"), ("read_file", "readFile"), ("a.b", "ab")]


@pytest.mark.parametrize(("first", "second"), TWINS)
@pytest.mark.parametrize("origins", [("mcp:shop", "python"), ("python", "mcp:shop"), ("mcp:shop", "mcp:bank")])
def test_a_tool_from_outside_does_not_differ_from_another_only_in_case(first, second, origins):
    """The order does not matter, and the error has both names and the remedy."""
    catalog = Catalog(make_tool(first, origins[0]))
    with pytest.raises(DuplicateTool, match=rf"`{first}` and `{second}` differ only in case or separators.*prefixed\("):
        catalog.add(make_tool(second, origins[1]))
    assert catalog.names() == [first]
    with pytest.raises(DuplicateTool, match="differ only in case or separators"):
        Catalog(make_tool(first, origins[0])).merged(Catalog(make_tool(second, origins[1])))
    merged = catalog.merged(Catalog(make_tool(second, origins[1])).prefixed("b_"))
    assert merged.names() == [first, f"b_{second}"]


@pytest.mark.parametrize(("first", "second"), TWINS)
def test_two_tools_of_the_program_may_differ_only_in_case(first, second):
    """They are looked up by the exact name."""
    catalog = Catalog(make_tool(first, "python"), make_tool(second, "python"))
    assert [catalog[first].name, catalog[second].name] == [first, second]


def test_a_tool_of_the_program_does_not_hide_a_similar_foreign_one():
    """Every pair of three similar names counts."""
    catalog = Catalog(make_tool("read", "python"), make_tool("Read", "python"))
    with pytest.raises(DuplicateTool, match="`read` and `READ`"):
        catalog.add(make_tool("READ"))


def test_an_alias_that_looks_like_another_tool_is_refused():
    """Names and aliases are one namespace."""
    with pytest.raises(DuplicateTool, match="`read` and `Read`"):
        Catalog(make_tool("read", "python"), make_tool("fetch", aliases=["Read"]))


def test_a_tool_may_have_an_alias_that_resembles_its_name():
    assert Catalog(make_tool("read_file", aliases=["readFile"]))["readFile"].name == "read_file"


def test_a_tool_from_outside_can_replace_itself():
    """A server may describe its tools again."""
    catalog = Catalog(make_tool("find"))
    newer = make_tool("find")
    assert catalog.add(newer, replace=True)["find"] is newer


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,20}", fullmatch=True))
def test_folding_drops_only_case_and_separators(name):
    """The letters and digits stay."""
    assert fold_name(name) == fold_name(name.upper()) == fold_name(name.replace("_", "-"))
    assert fold_name(name) == "".join(letter for letter in name.lower() if letter.isalnum())


@pytest.mark.parametrize("name", ["readFile", "read_file"])
def test_a_server_that_adds_a_tool_later_does_not_take_the_others_away(name, caplog):
    """The tool that misleads is left out of the merged catalog and logged; calls of the others go on."""
    own, server = Catalog(make_tool("read_file", "python", aliases=["cat"])), Catalog(make_tool("find"))
    both = own.merged(server)
    dispatcher = Dispatcher(both)
    server.add(make_tool(name), make_tool("list"))
    assert dispatcher.call_sync("read_file", {}).kind == "ok"
    assert both.names() == ["read_file", "find", "list"]
    assert both["cat"].origin == "python"
    assert f"`{name}` is left out" in caplog.text
    server.remove(name)
    assert both.names() == ["read_file", "find", "list"]


@pytest.mark.parametrize("name", ["fetch", "f" * 62])
def test_a_prefix_may_make_a_later_name_impossible(name):
    """Reserved, or too long: the tool is left out, and the others stay."""
    server = Catalog(make_tool("find"))
    view = server.prefixed("web_")
    server.add(make_tool(name), make_tool("list"))
    assert view.names() == ["web_find", "web_list"]


def test_the_first_of_two_servers_with_the_same_tool_name_keeps_the_name():
    """A server that comes later cannot take a tool away, and tools of the program always stay."""
    first, second, own = Catalog(make_tool("a")), Catalog(make_tool("b", "mcp:bank")), Catalog()
    both = first.merged(second, own)
    second.add(make_tool("get_item", "mcp:bank"))
    first.add(make_tool("getItem"))
    assert [(tool.name, tool.origin) for tool in both] == [
        ("a", "mcp:shop"),
        ("getItem", "mcp:shop"),
        ("b", "mcp:bank"),
    ]
    own.add(make_tool("A", "python"))
    assert both.names() == ["getItem", "b", "A"]


def test_tools_of_the_program_that_clash_later_are_an_error():
    """The author of both can tell them apart."""
    first, second = Catalog(make_tool("a", "python")), Catalog()
    both = first.merged(second)
    second.add(make_tool("a", "python"))
    with pytest.raises(DuplicateTool, match="is in both catalogs"):
        both.names()
