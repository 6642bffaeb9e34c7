"""Views hold nothing of their own and follow their source."""

import logging
import threading

import pytest

from toolkit import Catalog, CatalogError, DefinitionError, DuplicateTool, Tool, UnknownTool


def build_tool(name, **options):
    """Make a tool of this name."""

    def function(a: int = 1) -> int:
        return a

    return Tool.described(function, name=name, description=f"Do {name}.", **options)


@pytest.fixture
def catalog():
    return Catalog(
        build_tool("read", read_only=True, aliases=["cat"]), build_tool("write"), build_tool("append", defer=True)
    )


VIEWS = {
    "filtered": lambda source: source.filtered(lambda tool: tool.facts.read_only),
    "merged": lambda source: source.merged(Catalog(build_tool("other"))),
    "prefixed": lambda source: source.prefixed("fs."),
    "sorted": lambda source: source.sorted(),
    "provided": lambda source: source.provided({int: 5}),
}


@pytest.fixture(params=VIEWS)
def view(request, catalog):
    return VIEWS[request.param](catalog)


# Looking up.


def test_a_tool_is_found_by_name_and_alias(catalog):
    """An alias is callable and never listed."""
    assert catalog["cat"] is catalog["read"]
    assert catalog.get("cat") is catalog.get("read")
    assert catalog.get("nothing") is None
    assert catalog.names() == ["read", "write", "append"]
    assert [tool.name for tool in catalog] == catalog.names()
    assert len(catalog) == 3


def test_the_error_for_an_unknown_tool_has_the_nearest_names_and_aliases(catalog):
    with pytest.raises(UnknownTool, match="unknown tool `raed`; did you mean `read`") as error:
        catalog["raed"]
    assert isinstance(error.value, KeyError)
    with pytest.raises(UnknownTool, match="`cat`"):
        catalog["cats"]


def test_names_aliases_tools_and_functions_can_be_in_a_catalog(catalog):
    """This includes a bound method, which Python builds again at each access."""

    class Service:
        def find(self):
            """Find."""

    service = Service()
    catalog.add(service.find)
    assert "read" in catalog
    assert "cat" in catalog
    assert catalog["read"] in catalog
    assert catalog["read"].function in catalog
    assert service.find in catalog
    assert Service().find not in catalog
    assert "nothing" not in catalog
    assert 5 not in catalog


def test_an_empty_catalog_is_false():
    """Its repr says that it is empty."""
    assert not Catalog()
    assert Catalog(build_tool("a"))
    assert repr(Catalog()) == "<Catalog: empty>"
    assert repr(Catalog(build_tool("a"), build_tool("b"))) == "<Catalog: a, b>"
    assert repr(Catalog(*[build_tool(f"t{n}") for n in range(9)])).endswith("t7, ...>")


# Definitions.


def test_deferred_tools_are_left_out_of_the_definitions_by_default(catalog):
    assert [definition["name"] for definition in catalog.definitions()] == ["read", "write"]
    assert [definition["name"] for definition in catalog.definitions(deferred=True)] == ["read", "write", "append"]
    assert [definition["name"] for definition in catalog.definitions()] == ["read", "write"]


def test_definitions_follow_the_catalog(catalog):
    """They are cached until a change."""
    first = catalog.definitions()
    first.clear()
    assert len(catalog.definitions()) == 2
    catalog.remove("read")
    assert [definition["name"] for definition in catalog.definitions()] == ["write"]


# Views.


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("filtered", ["read"]),
        ("merged", ["read", "write", "append", "other"]),
        ("prefixed", ["fs.read", "fs.write", "fs.append"]),
        ("sorted", ["append", "read", "write"]),
        ("provided", ["read", "write", "append"]),
    ],
)
def test_a_view_shows_the_changed_tools_and_follows_its_source(name, names, catalog):
    view = VIEWS[name](catalog)
    assert view.names() == names
    added = build_tool("look", read_only=True)
    catalog.add(added)
    assert len(view) == len(names) + 1
    catalog.remove("look")
    assert view.names() == names


@pytest.mark.parametrize(
    ("name", "alias"),
    [("filtered", "cat"), ("merged", "cat"), ("prefixed", "fs.cat"), ("sorted", "cat"), ("provided", "cat")],
)
def test_a_view_keeps_aliases(name, alias, catalog):
    """An alias leads to the tool of the view."""
    view = VIEWS[name](catalog)
    assert view[alias] is next(tool for tool in view if tool.name.endswith("read"))
    assert ("cat" in view) is (alias == "cat")
    catalog.alias("more", "read")
    assert alias.replace("cat", "more") in view


def test_a_filter_drops_the_aliases_of_hidden_tools(catalog):
    view = catalog.filtered(lambda tool: not tool.facts.read_only)
    assert "cat" not in view
    assert view.get("cat") is None


def test_views_chain(catalog):
    """A view of a view is a view."""
    view = catalog.filtered(lambda tool: not tool.facts.defer).prefixed("a_").sorted(lambda tool: -len(tool.name))
    assert view.names() == ["a_write", "a_read"]
    assert view["a_cat"].original == "read"
    assert view.prefixed("b_")["b_a_cat"].original == "read"
    catalog.add(build_tool("longest"))
    assert view.names()[0] == "a_longest"


def test_a_view_has_the_methods_of_a_catalog(view):
    view.finish()
    assert view
    assert len(view.definitions(deferred=True)) == len(view) == len(list(view))
    assert repr(view).startswith("<CatalogView: ")
    assert view.table is view.table


def test_a_prefixed_tool_states_its_new_aliases(catalog):
    """So the aliases still work in another catalog."""
    assert catalog.prefixed("fs.")["fs.read"].facts.aliases == ("fs.cat",)


@pytest.mark.parametrize("prefix", ["9", "a b", "x" * 64, 5, "."])
def test_an_illegal_prefix_is_refused_at_once(prefix):
    """This holds also while there is no tool yet to carry it."""
    with pytest.raises(DefinitionError, match="prefix"):
        Catalog().prefixed(prefix)


def test_a_prefix_that_makes_a_name_too_long_is_refused(catalog):
    """The name is in the message."""
    catalog.add(build_tool("n" * 60))
    with pytest.raises(DefinitionError, match="cannot be a tool's name"):
        catalog.prefixed("prefix_")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ([build_tool("read")], "`read` is in both"),
        ([build_tool("cat")], "`cat` is in both"),
        ([build_tool("new", aliases=["read"])], "`read` is in both"),
        ([build_tool("new", aliases=["cat"])], "`cat` is in both"),
    ],
)
def test_merging_two_of_one_name_is_refused(other, words, catalog):
    """Names and aliases are one namespace; a prefix helps."""
    with pytest.raises(DuplicateTool, match=words):
        catalog.merged(Catalog(*other))
    assert len(catalog.merged(Catalog(*other).prefixed("other."))) == 4


def test_merging_the_same_tool_twice_keeps_one(catalog):
    assert catalog.merged(catalog, Catalog(catalog["read"])).names() == catalog.names()


def test_a_clash_that_comes_later_shows_when_someone_looks(catalog):
    """The view follows its sources, also into trouble and out of it."""
    other = Catalog()
    view = catalog.merged(other)
    other.add(build_tool("read"))
    with pytest.raises(DuplicateTool):
        view.names()
    other.remove("read")
    assert view.names() == catalog.names()


def test_provided_resources_are_on_the_tools(catalog):
    """Later ones win; the source does not change."""
    view = catalog.provided({int: 1, str: "a"}).provided({int: 2})
    assert view["read"].resources == {int: 2, str: "a"}
    assert catalog["read"].resources == {}
    with pytest.raises(CatalogError, match="'int' is not a type"):
        catalog.provided({"int": 1})


# Listening.


def test_a_listener_receives_added_and_removed_tools(catalog):
    """A replaced tool is removed and added."""
    changes = []
    end = catalog.subscribe(changes.append)
    new = build_tool("new")
    catalog.add(new)
    assert (changes[-1].added, changes[-1].removed) == ((new,), ())
    catalog.remove("new")
    assert (changes[-1].added, changes[-1].removed) == ((), (new,))
    old, newer = catalog["read"], build_tool("read")
    catalog.add(newer, replace=True)
    assert (changes[-1].added, changes[-1].removed) == ((newer,), (old,))
    end()
    end()
    catalog.remove("read")
    assert len(changes) == 3


def test_a_listener_is_not_called_if_no_list_changed(catalog):
    """Adding a tool again, or an alias, changes no list."""
    changes = []
    catalog.subscribe(changes.append)
    catalog.add(catalog["read"]).alias("other", "read")
    assert changes == []


def test_a_listener_may_be_subscribed_twice(catalog):
    """Ending one subscription leaves the other."""
    changes = []
    end = catalog.subscribe(changes.append)
    catalog.subscribe(changes.append)
    end()
    end()
    catalog.add(build_tool("new"))
    assert len(changes) == 1


def test_a_listener_that_raises_does_not_stop_the_others(catalog, caplog):
    """The change has happened, the others are told, and the log knows."""
    changes = []

    def broken(change):
        raise RuntimeError("broken listener")

    catalog.subscribe(broken)
    catalog.subscribe(changes.append)
    with caplog.at_level(logging.ERROR):
        catalog.add(build_tool("new"))
    assert "new" in catalog
    assert len(changes) == 1
    assert "broken listener" in caplog.text


def test_a_listener_of_a_view_receives_the_tool_as_the_view_shows_it(view, catalog):
    changes = []
    end = view.subscribe(changes.append)
    catalog.add(build_tool("look", read_only=True))
    (change,) = changes
    assert change.removed == ()
    (came,) = change.added
    assert came in view
    catalog.remove("look")
    assert changes[-1].removed == (came,)
    end()
    catalog.add(build_tool("look", read_only=True))
    assert len(changes) == 2


def test_a_listener_of_a_view_is_not_called_for_a_hidden_tool(catalog):
    changes = []
    catalog.filtered(lambda tool: tool.facts.read_only).subscribe(changes.append)
    catalog.add(build_tool("delete"))
    assert changes == []


def test_a_change_reaches_a_merged_view_once(catalog):
    """Both sources of the view report it."""
    changes = []
    catalog.merged(catalog.prefixed("x_")).subscribe(changes.append)
    catalog.add(build_tool("new"))
    assert sorted(tool.name for change in changes for tool in change.added) == ["new", "x_new"]


def test_a_listener_may_change_the_catalog(catalog):
    """It is told when everything is done."""

    def follow(change):
        if "new" in [tool.name for tool in change.added]:
            catalog.add(build_tool("follower"))

    catalog.subscribe(follow)
    catalog.add(build_tool("new"))
    assert catalog.names()[-2:] == ["new", "follower"]


def test_a_view_follows_its_source_in_many_threads():
    """Reading while others add never leaves a view behind its source."""
    catalog = Catalog()
    view = catalog.prefixed("p_").sorted()
    start = threading.Barrier(6)

    def add(number):
        start.wait()
        for n in range(40):
            catalog.add(build_tool(f"t{number}_{n}"))
            assert f"p_t{number}_{n}" in view

    threads = [threading.Thread(target=add, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(view) == 240
