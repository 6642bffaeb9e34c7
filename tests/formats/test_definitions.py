"""What is sent is what the official SDKs know, and nothing of it is dropped by them."""

from __future__ import annotations

import pytest

from tests.formats import sdks
from tests.formats.tools import build_definitions, everything, module
from toolkit import Catalog, Session, tool
from toolkit.builtin import Workspace, builtin_catalog
from toolkit.errors import CatalogError
from toolkit.formats import FORMATS, Definitions, definitions_for
from toolkit.formats.base import Note

OPTIONS = [{}, {"strict": True}]


@pytest.fixture
def loaded():
    """A conversation in which both deferred tools were found, the last one first."""
    session = Session()
    session.load("forecast", "mail.search")
    return session


def names(name, definitions):
    """Return the names of the functions in *definitions*, in the shape of any provider."""
    listed = definitions[0]["functionDeclarations"] if name == "gemini" and definitions else definitions
    functions = [definition.get("toolSpec", definition.get("function", definition)) for definition in listed]
    return [function["name"] for function in functions if "name" in function]


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("options", OPTIONS, ids=["usual", "strict"])
@pytest.mark.parametrize("name", FORMATS)
def test_the_types_of_the_sdk_accept_every_definition(name, options, loaded):
    """No field of it is lost."""
    definitions = build_definitions(name, everything(), loaded, **options)
    assert sdks.tools(name, definitions) == sdks.plain(definitions)


@pytest.mark.parametrize("options", OPTIONS, ids=["usual", "strict"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_full_description_reaches_every_provider(name, options):
    """`describe="full"` tells what comes back and what goes wrong."""
    catalog = Catalog()

    @catalog.tool(describe="full")
    def find(city: str) -> str:
        """
        Find the station of a city.

        Returns:
            Its name.

        Raises:
            KeyError: No such city.
        """
        return city

    definitions = build_definitions(name, catalog, **options)
    [listed] = definitions[0]["functionDeclarations"] if name == "gemini" else definitions
    text = "Find the station of a city.\n\nReturns: Its name.\n\nRaises:\n- KeyError: No such city."
    assert listed.get("toolSpec", listed.get("function", listed))["description"] == text
    assert sdks.tools(name, definitions) == sdks.plain(definitions)


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("options", OPTIONS, ids=["usual", "strict"])
@pytest.mark.parametrize("name", FORMATS)
def test_the_built_in_tools_are_taken(name, options, tmp_path):
    """The tools that come with the package are told to every provider."""
    definitions = build_definitions(name, builtin_catalog(Workspace(tmp_path)), **options)
    assert definitions
    assert sdks.tools(name, definitions) == sdks.plain(definitions)


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_catalog_has_an_empty_list_of_definitions(name):
    assert build_definitions(name, Catalog()) == []


@pytest.mark.parametrize("name", FORMATS)
def test_loaded_tools_come_last_in_the_order_of_their_loading(name, loaded):
    """The definitions before them do not change."""
    catalog = everything()
    before, after = names(name, build_definitions(name, catalog)), names(name, build_definitions(name, catalog, loaded))
    wire = module(name).NAMING.wire
    assert after == [*before, "forecast", wire("mail.search")]


@pytest.mark.parametrize("name", FORMATS)
def test_descriptions_and_schemas_are_sent_unchanged(name):
    """The model reads what the author wrote."""
    catalog = Catalog(everything()["forecast"].function)

    @tool(catalog=catalog)
    def greet(who: str) -> str:
        """Greet a person.

        Args:
            who: The one to greet.
        """
        return who

    text = str(build_definitions(name, catalog))
    assert "Greet a person." in text
    assert "The one to greet." in text


def test_the_catalog_has_the_short_form(loaded):
    """`catalog.definitions("anthropic")` is the same as the function of the module."""
    catalog = everything()
    short = catalog.definitions("anthropic", session=loaded, strict=True)
    assert isinstance(short, Definitions)
    assert short == build_definitions("anthropic", catalog, loaded, strict=True)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_found_by_its_name(name):
    """The registry gives what the module gives."""
    assert definitions_for(name, everything()) == build_definitions(name, everything())


@pytest.mark.parametrize(
    ("name", "hint"),
    [("anthropc", "did you mean 'anthropic'?"), ("smoke signals", "There are: anthropic, openai"), (7, "There are")],
)
def test_an_unknown_format_is_refused_with_those_there_are(name, hint):
    """A misspelt format is answered with the nearest, any with the list."""
    with pytest.raises(CatalogError) as caught:
        definitions_for(name, Catalog())
    assert hint in str(caught.value)


@pytest.mark.parametrize("name", ["gemini", "ollama", "mcp"])
def test_a_note_says_that_a_provider_has_no_strict_tools(name):
    """The definitions are the usual ones."""
    usual, strict = build_definitions(name, everything()), build_definitions(name, everything(), strict=True)
    assert strict == usual
    assert "no strict tools" in str(strict.notes[0])


def test_a_note_names_its_tool():
    """Notes read as sentences about a tool, or about all of them."""
    assert str(Note("read", "not strict")) == "`read`: not strict"
    assert str(Note("", "nothing is strict")) == "nothing is strict"


@pytest.mark.parametrize("name", ["anthropic", "openai", "openai_responses", "bedrock", "mistral", "ollama"])
def test_a_union_at_the_top_is_sent_flat_with_a_note(name):
    """Providers refuse a union at the top of a schema, so its properties are offered together, and words say the rest."""
    definitions = build_definitions(name, everything())
    assert any(note.tool == "find_user" and "oneOf" in note.text for note in definitions.notes)
    text = str([definition for definition in sdks.plain(definitions) if "find_user" in str(definition)])
    assert "'by'" in text
    assert "has to fit `oneOf`" in text


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (([len],), r"catalog cannot be list; give Catalog\("),
        ((None,), r"catalog cannot be None; give Catalog\("),
        ((Catalog,), r"catalog cannot be the class Catalog; give Catalog\("),
        ((Catalog(), "ada"), r"session cannot be str; give Session\("),
    ],
)
@pytest.mark.parametrize("name", FORMATS)
def test_a_wrong_catalog_or_session_is_refused_with_the_right_type(name, wrong, words):
    """A list of functions is a common mistake."""
    with pytest.raises(TypeError, match=words):
        build_definitions(name, *wrong)
