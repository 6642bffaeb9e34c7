"""Names on the wire and back."""

from __future__ import annotations

import pytest

from tests.formats.tools import build_definitions, module
from toolkit import Catalog, Session, tool
from toolkit.errors import CatalogError

DOTLESS = ["anthropic", "openai", "openai_responses", "bedrock", "mistral"]
DOTTED = ["gemini", "ollama", "mcp"]


def build_catalog(*names, defer=False):
    """Make a catalog of tools with these names."""
    catalog = Catalog()
    for name in names:

        @tool(name=name, defer=defer, catalog=catalog)
        def act() -> None:
            """Act."""

    return catalog


@pytest.mark.parametrize("name", DOTLESS)
def test_a_dot_is_sent_as_two_dashes(name):
    """Some providers forbid dots."""
    text = str(build_definitions(name, build_catalog("git.remote.add")))
    assert "git--remote--add" in text
    assert "git.remote" not in text


@pytest.mark.parametrize("name", DOTTED)
def test_a_dot_stays_if_it_is_legal(name):
    assert "'git.remote.add'" in str(build_definitions(name, build_catalog("git.remote.add")))


@pytest.mark.parametrize("name", DOTLESS)
def test_two_names_that_become_one_are_refused(name):
    """A clash is an error that names both tools and the remedy."""
    with pytest.raises(CatalogError) as caught:
        build_definitions(name, build_catalog("git.log", "git--log"))
    assert "`git--log` and `git.log`" in str(caught.value)
    assert "rename one" in str(caught.value)


@pytest.mark.parametrize("name", DOTLESS)
def test_a_deferred_tool_whose_name_cannot_be_sent_is_left_out_with_a_note(name):
    """The other tools of a large catalog can be used, and nothing can load that one."""
    catalog = build_catalog("plain").merged(build_catalog("a." + "b" * 62, "git.log", "git--log", defer=True))
    session = Session()
    session.load("git.log", "a." + "b" * 62, "git--log")
    definitions = build_definitions(name, catalog, session)
    assert "git--log" in str(definitions)
    assert len(definitions) == 2
    notes = {note.tool: note.text for note in definitions.notes}
    assert "left out, and cannot be loaded: tools `git--log` and `git.log`" in notes["git.log"]
    assert "names of at most 64 characters" in notes["a." + "b" * 62]
    assert catalog.definitions(name, session=session).notes == definitions.notes


@pytest.mark.parametrize("native_loading", [False, True])
@pytest.mark.parametrize("always", ["git.log", "git--log"])
def test_a_tool_that_is_not_deferred_keeps_its_name(always, native_loading):
    """A call of the name that was sent is a call of that tool, and never of the one that was left out."""
    other = {"git.log": "git--log", "git--log": "git.log"}[always]
    catalog = build_catalog(other, defer=True).merged(build_catalog(always))
    definitions = build_definitions("anthropic", catalog, native_loading=native_loading)
    assert [note.tool for note in definitions.notes] == [other]
    naming = module("anthropic").NAMING
    assert naming.resolve("git--log", catalog)[0] == always
    assert naming.find_sent(other, catalog) is None
    assert naming.find_sent(always, catalog) is catalog[always]


def test_a_call_resolves_to_the_tool_whose_name_was_sent():
    """A name with dots may be sent as the name of a deferred tool with dashes."""
    catalog = build_catalog("a--b--c", defer=True).merged(build_catalog("a.b--c"))
    assert module("openai").NAMING.resolve("a--b--c", catalog)[0] == "a.b--c"


@pytest.mark.parametrize("name", DOTTED)
def test_the_same_names_do_not_clash_where_dots_are_legal(name):
    """Only the other providers would have to refuse them."""
    assert len(str(build_definitions(name, build_catalog("git.log", "git--log")))) > 0


@pytest.mark.parametrize("name", DOTLESS)
def test_a_name_that_becomes_too_long_is_refused(name):
    """The error says how long it is on the wire, how long it may be, and what to do."""
    with pytest.raises(CatalogError) as caught:
        build_definitions(name, build_catalog("a." + "b" * 62))
    assert "at most 64" in str(caught.value)
    assert "65 characters" in str(caught.value)
    assert "shorter name" in str(caught.value)


@pytest.mark.parametrize("name", DOTTED)
def test_a_long_name_without_dots_to_change_is_fine(name):
    """The longest legal name of a catalog is legal everywhere."""
    assert build_definitions(name, build_catalog("a." + "b" * 62))


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("git--log", "git.log"),
        ("a--b--c", "a--b.c"),
        ("plain", "plain"),
        ("double--dash", "double--dash"),
        ("short", "short"),
        ("no--such", "no.such"),
    ],
    ids=["dot", "dot-and-dashes", "plain", "dashes", "alias", "unknown"],
)
def test_a_name_is_read_back_exactly_with_the_catalog(sent, name):
    """This holds for any mixture of dots and dashes."""
    catalog = build_catalog("git.log", "a--b.c", "plain", "double--dash")
    catalog.alias("short", "plain")
    naming = module("anthropic").NAMING
    assert naming.resolve(sent, catalog)[0] == name


def test_the_name_of_a_tool_comes_before_the_alias_of_another():
    """An alias that looks like the wire form of another tool does not take its calls."""
    catalog = build_catalog("git.log", "other")
    catalog.alias("git--log", "other")
    assert module("openai").NAMING.resolve("git--log", catalog)[0] == "git.log"


def test_dashes_are_read_as_dots_without_a_catalog():
    """This is the usual reading, and the lookup of the catalog also finds a name with dashes."""
    assert module("openai").NAMING.resolve("git--log", None) == ("git.log", None)
    assert module("gemini").NAMING.resolve("git--log", None) == ("git--log", None)


class Plain:
    """A catalog that finds tools by nothing but their names."""

    def __init__(self, catalog):
        self._tools = {tool.name: tool for tool in catalog}

    def __iter__(self):
        return iter(self._tools.values())

    def get(self, name):
        return self._tools.get(name)

    def offered(self, session=None):
        return list(self)


@pytest.mark.parametrize("name", ["git.log", "a--b.c", "double--dash"])
def test_any_catalog_will_do(name):
    """A format needs only three methods of a lookup, and reads names back through them."""
    catalog = Plain(build_catalog("git.log", "a--b.c", "double--dash"))
    naming = module("anthropic").NAMING
    assert naming.resolve(naming.wire(name), catalog)[0] == name
    assert len(build_definitions("anthropic", catalog)) == 3
