"""Tools of a module: which of its functions a catalog loads."""

import pytest

from toolkit import Catalog, CatalogError, ToolkitWarning, default_catalog, tool

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*has no docstring:toolkit.ToolkitWarning"),
    pytest.mark.filterwarnings("ignore:.*no parameter has a type:toolkit.ToolkitWarning"),
]


@pytest.fixture(autouse=True)
def clean_default_catalog():
    """What a test registers is gone after it."""
    with default_catalog.isolated():
        yield


TOOLS = """
    from types import SimpleNamespace
    from json import dumps
    from toolkit import Catalog, Tool, default_catalog, tool
    from tools_library import imported

    class Proxy:
        def __getattr__(self, name):
            raise RuntimeError("outside of its context")

    request = Proxy()

    @tool
    def registered():
        "Registered with everyone."

    @tool(catalog=None)
    def described():
        "Only described."

    def plain():
        "No tool."

    class Service:
        @tool
        def method(self):
            "A method."

    service = Service()
    own = Catalog()

    @own.tool
    def owned():
        "In a catalog of its own."

    schematic = Tool.from_schema("schematic", "From a schema.", {}, lambda arguments: arguments)
    sized = tool(len, name="sized")
"""
LIBRARY = """
    from toolkit import tool

    @tool(catalog=None)
    def imported():
        "From elsewhere."
"""


@pytest.fixture
def modules(write_module):
    write_module("tools_library", LIBRARY)
    write_module("tools_plain", TOOLS)
    write_module(
        "tools_exporting",
        TOOLS + "\n    __all__ = ['imported', 'described', 'own', 'sized', 'dumps', 'service', 'Service']\n",
    )


def test_loading_a_module_adds_the_tools_that_the_module_defines(modules):
    """The tools of its catalogs are included, and imported tools are not."""
    catalog = Catalog().load("tools_plain")
    assert catalog.names() == ["registered", "described", "owned", "schematic"]


def test_loading_a_module_with_all_adds_its_exports(modules):
    """Re-exports and objects in `__all__` count, and other names do not."""
    catalog = Catalog().load("tools_exporting")
    assert sorted(catalog.names()) == ["described", "imported", "method", "owned", "sized"]


def test_a_module_object_may_be_loaded_twice(modules):
    import tools_plain

    catalog = Catalog().load(tools_plain).load("tools_plain")
    assert len(catalog) == 4


def test_the_shared_catalog_is_not_an_export_of_a_module(modules):
    """A module that imports it does not offer everyone's tools."""

    @tool
    def unrelated():
        """Be elsewhere."""

    assert "unrelated" not in Catalog().load("tools_plain")


def test_loading_a_module_without_tools_warns_with_the_remedy():
    with pytest.warns(ToolkitWarning, match=r"json has no tools, so nothing was added; decorate .*catalog.tool"):
        assert len(Catalog().load("json")) == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tools_missing", "cannot load 'tools_missing': No module named 'tools_missing'; install it, or correct"),
        ("tools_plain.deeper", "cannot load 'tools_plain.deeper'"),
        ("tools_needing", "cannot load 'tools_needing': No module named 'not_installed'"),
        ("tools_mistaken", "cannot load 'tools_mistaken': cannot import name 'nothing'"),
        ("tools_promising", "tools_promising lists 'absent' in `__all__`, but has no such name"),
        (".relative", "give the whole name"),
        ("", "give the whole name"),
    ],
)
def test_the_error_says_why_a_module_cannot_be_loaded(name, words, modules, write_module):
    write_module("tools_needing", "import not_installed")
    write_module("tools_mistaken", "from json import nothing")
    write_module("tools_promising", "__all__ = ['absent']")
    with pytest.raises(CatalogError, match=words):
        Catalog().load(name)


def test_an_error_inside_a_module_propagates_unchanged(write_module):
    write_module("tools_broken", "1 / 0")
    with pytest.raises(ZeroDivisionError):
        Catalog().load("tools_broken")
