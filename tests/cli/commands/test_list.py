"""
Looking at tools: list, show, schema, search.
"""

from __future__ import annotations

import json

import pytest

from toolkit.formats import FORMATS


def test_list_has_every_tool_with_its_facts(shop):
    """JSON when piped, in the order of the catalog."""
    listed = shop.run("list", "tools.py").json
    assert [entry["name"] for entry in listed] == ["free_days", "cancel", "order", "flaky", "sleep", "broken"]
    assert listed[0]["description"].startswith("List the public holidays")
    assert listed[0]["facts"] == {
        "read_only": True,
        "destructive": False,
        "idempotent": True,
        "open_world": False,
        "defer": False,
        "aliases": ["holidays"],
        "group": "days",
        "search_hint": "days off work",
        "version": "1.2",
    }


def test_list_as_text_is_a_table(shop):
    """A line each, however wide, with the facts in words and the first line of the description."""
    lines = [" ".join(line.split()) for line in shop.run("list", "tools.py", "-o", "text").out.splitlines()]
    assert [lines[0], *lines[2:6]] == [
        "name facts group description",
        "free_days read-only days List the public holidays of a year.",
        "cancel destructive Cancel a holiday.",
        "order writes Order things.",
        "flaky read-only, deferred Fail a few times.",
    ]


def test_list_keeps_to_a_group(shop):
    """The list is empty if there is no such group."""
    assert [entry["name"] for entry in shop.run("list", "tools.py", "--group", "days").json] == ["free_days"]
    assert shop.run("list", "tools.py", "--group", "nights").json == []


def test_text_that_a_module_prints_goes_to_standard_error(shop):
    """The output stays JSON."""
    ran = shop.run("list", "tools.py:catalog")
    assert len(ran.json) == 6
    assert "the module speaks" in ran.err


def test_show_describes_the_whole_tool(shop):
    """It has signature, description, arguments, result, examples, facts and place."""
    ran = shop.run("show", "tools.py", "holidays", "-o", "text")
    assert ran.out.splitlines() == [
        'free_days(year: integer, country: "DE" | "FR" = "DE", after: date | null = null) -> list of date',
        "",
        "List the public holidays of a year.",
        "",
        "More of it.",
        "",
        "arguments",
        "├── year: integer  Four digits.",
        '├── country?: "DE" | "FR" = "DE"  Where you are.',
        "└── after?: date | null = null  Only later ones.",
        "",
        "result: list of date",
        "",
        "examples",
        '  {"year": 2026}',
        "",
        "facts: read-only",
        "aliases: holidays",
        "group: days",
        "search hint: days off work",
        "version: 1.2",
        f"from: tools.free_days ({shop.folder}/tools.py:20)",
    ]


def test_show_has_nested_records_as_a_tree(shop):
    """The descriptions of their fields are shown."""
    lines = shop.run("show", "tools.py", "order", "-o", "text").out.splitlines()
    assert lines[4:11] == [
        "arguments",
        "├── items: list of object",
        "│   └── each item: object  What is bought.",
        "│       ├── sku: string  As on the label.",
        "│       └── tags: list of string",
        "├── notes?: list of string = []",
        "└── total?: number = 0.0",
    ]


def test_show_omits_sections_that_a_tool_does_not_have(shop):
    """There is no result, no examples and no aliases."""
    shop.write("bare.py", "from toolkit import Catalog\ncatalog = Catalog()\n@catalog.tool\ndef f():\n    'Do it.'\n")
    lines = shop.run("show", "bare.py", "f", "-o", "text").out.splitlines()
    assert lines[:-1] == ["f()", "", "Do it.", "", "arguments", "", "facts: writes"]


def test_show_as_json_is_the_definition_and_more(shop):
    """Examples and the place among it."""
    details = shop.run("show", "tools.py", "free_days", "--json").json
    assert details["input_schema"]["required"] == ["year"]
    assert details["output_schema"]["type"] == "array"
    assert details["examples"] == [{"year": 2026}]
    assert details["place"].endswith("tools.py:20)")


def test_schema_prints_the_plain_definition_if_no_format_is_named(shop):
    assert set(shop.run("schema", "tools.py", "free_days").json) == {
        "name",
        "description",
        "input_schema",
        "output_schema",
        "facts",
    }


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("tool", ["free_days", "flaky"])
def test_schema_prints_every_format(shop, name, tool):
    """This holds also for a deferred tool."""
    assert tool in json.dumps(shop.run("schema", "tools.py", tool, "--format", name).json)


def test_schema_can_be_strict(shop):
    definition = shop.run("schema", "tools.py", "holidays", "--format", "openai", "--strict").json
    assert definition["function"]["strict"] is True
    assert definition["function"]["parameters"]["required"] == ["year", "country", "after"]


def test_a_note_says_that_a_format_has_no_strict_tools(shop):
    """The note is on standard error, and the output is JSON."""
    ran = shop.run("schema", "tools.py", "free_days", "--format", "ollama", "--strict")
    assert "note: Ollama has no strict tools" in ran.err
    assert ran.json["function"]["name"] == "free_days"


def test_strict_without_a_format_is_refused(shop):
    ran = shop.run("schema", "tools.py", "free_days", "--strict")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("error: --strict needs the format of a provider: --format openai --strict\n")


def test_search_finds_tools_by_words(shop):
    """The best first, with the words that matched; misspelt words are corrected."""
    hits = shop.run("search", "tools.py", "public", "holydays").json
    assert [hit["name"] for hit in hits] == ["free_days", "cancel"]
    assert hits[0]["words"] == ["public", "holydays -> holidays"]
    assert hits[0]["score"] > hits[1]["score"]
    table = shop.run("search", "tools.py", "public", "holydays", "-o", "text").out.splitlines()
    assert table[0].split() == ["name", "score", "matching", "words", "description"]
    assert table[2].startswith("free_days")
    assert table[2].rstrip().endswith("List the public holidays of a year.")


def test_a_search_without_a_fit_names_the_groups_and_exits_with_1(shop):
    ran = shop.run("search", "tools.py", "zebra", "crossing")
    assert (ran.code, ran.json) == (1, [])
    assert "nothing fits; the groups are" in ran.err
    assert shop.run("search", "tools.py", "zebra", "-o", "text").out == ""
    assert shop.run("search", "tools.py", "holidays", "--limit", "1", "--group", "days").json[0]["name"] == "free_days"


@pytest.mark.parametrize("command", ["show", "schema", "call", "explain"])
def test_an_unknown_tool_is_an_error_with_the_nearest_name(shop, command):
    ran = shop.run(command, "tools.py", "free_day")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.endswith("error: unknown tool `free_day`; did you mean `free_days`?\n")


def test_the_built_in_tools_are_a_target(shop):
    assert "read" in [entry["name"] for entry in shop.run("list", "builtin").json]


FOREIGN = """
from toolkit import Catalog, Tool

catalog = Catalog()
catalog.tool(lambda: None, name="own", description="Own.")
catalog.add(
    Tool.from_schema("find", "Find.", {"type": "object"}, lambda arguments: None, origin="mcp:shop")
)
"""


def test_the_origin_of_a_tool_from_elsewhere_is_shown(shop):
    """It is a column of the list, a line of `show`, and a field of both in JSON."""
    (shop.folder / "mixed.py").write_text(FOREIGN, encoding="utf-8")
    lines = [" ".join(line.split()) for line in shop.run("list", "mixed.py:catalog", "-o", "text").out.splitlines()]
    assert [lines[0], *lines[2:]] == [
        "name facts group origin description",
        "own writes python Own.",
        "find writes mcp:shop Find.",
    ]
    assert [entry["origin"] for entry in shop.run("list", "mixed.py:catalog").json] == ["python", "mcp:shop"]
    assert "origin: mcp:shop\n" in shop.run("show", "mixed.py:catalog", "find", "-o", "text").out
    assert "origin: " not in shop.run("show", "mixed.py:catalog", "own", "-o", "text").out


def test_functions_without_a_decorator_are_tools_with_all(shop):
    """`list`, `show` and `call` take them; without the option the error names it."""
    shop.write("plain.py", 'def double(number: int) -> int:\n    """Double it."""\n    return 2 * number\n')
    assert "with `--all`" in shop.run("list", "plain.py").err
    assert [tool["name"] for tool in shop.run("list", "plain.py", "--all").json] == ["double"]
    assert "Double it." in shop.run("show", "plain.py", "double", "--all", "-o", "text").out
    called = shop.run("call", "plain.py", "double", "number=4", "--all", "--mode", "auto")
    assert (called.code, called.json["value"]) == (0, 8)
