"""What a catalog reports to its listeners is what has changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, Tool
from toolkit.errors import CatalogError, DuplicateTool

NAMES = ("a", "b", "c", "d")
names = st.sampled_from(NAMES)
tools = st.builds(lambda name, aliases: make_tool(name, aliases), names, st.lists(names, max_size=2, unique=True))


def make_tool(name, aliases=()):
    """Return a new tool, which differs from every other one."""
    return Tool.from_schema(name, "Do it.", {"type": "object"}, lambda arguments: 1, aliases=[*set(aliases) - {name}])


steps = st.one_of(
    st.tuples(st.just("add"), st.lists(tools, min_size=1, max_size=3), st.booleans()),
    st.tuples(st.just("remove"), names),
    st.tuples(st.just("alias"), names, names),
    st.tuples(st.just("isolated"), tools),
)


@given(st.lists(steps, max_size=12))
def test_a_listener_that_applies_every_change_has_the_content(given_steps):
    """This holds for tools that were added, replaced, removed, or refused halfway."""
    catalog, copy = Catalog(), {}

    def apply(change):
        for tool in change.removed:
            assert copy.pop(tool.name) is tool
        for tool in change.added:
            assert tool.name not in copy
            copy[tool.name] = tool

    catalog.subscribe(apply)
    for step in given_steps:
        try:
            match step:
                case "add", added, replace:
                    catalog.add(*added, replace=replace)
                case "remove", name:
                    catalog.remove(name)
                case "alias", alias, name:
                    catalog.alias(alias, name)
                case "isolated", tool:
                    with catalog.isolated():
                        catalog.add(tool, replace=True)
        except (CatalogError, DuplicateTool, KeyError):
            pass
        assert copy == {tool.name: tool for tool in catalog}
