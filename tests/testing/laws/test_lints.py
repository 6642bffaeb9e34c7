"""
Each lint is broken once, and a rewrite suggested; good tools get no advice.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Annotated, Any

import pytest

from toolkit import Catalog, tool
from toolkit.spec import Tool
from toolkit.testing import lint

from . import broken


@pytest.fixture(scope="module")
def findings():
    return lint(broken.lints)


@pytest.mark.parametrize(("name", "rule"), broken.LINTS, ids=["-".join(names) for names in broken.LINTS])
def test_a_fault_is_found_and_a_rewrite_suggested(findings, name, rule):
    """The finding has the tool, the place and the new text."""
    (finding,) = [candidate for candidate in findings if (candidate.tool, candidate.rule) == (name, rule)]
    place, rewrite = broken.LINTS[name, rule]
    assert finding.place.startswith(place)
    assert rewrite in finding.remedy


def test_every_finding_is_intended(findings):
    assert [finding for finding in findings if (finding.tool, finding.rule) not in broken.LINTS] == []


def test_a_good_tool_gets_no_advice():
    """Its description says what the tool is for."""

    @tool(read_only=True, catalog=None, defer=True, search_hint="weather forecast rain sun temperature")
    def forecast(city: Annotated[str, "Where."], days: Annotated[int, "How many."] = 1) -> str:
        """Tell how the weather will be."""
        return city * days

    assert lint([Tool.of(forecast)]) == []


@pytest.mark.parametrize(
    ("hint", "wrong"),
    [
        ("rain", "has 1 word instead of 3 to 10"),
        ("one two three four five six seven eight nine ten eleven", "has 11 words instead of 3 to 10"),
        ("rain and sun.", "ends in a full stop"),
        ("rain.", "has 1 word instead of 3 to 10 and ends in a full stop"),
    ],
)
def test_a_hint_is_a_few_words(hint, wrong):
    """The rewrite is a hint that this lint has nothing against."""

    def forecast() -> None:
        """Tell how the weather will be tomorrow morning."""

    (finding,) = lint([Tool.described(forecast, search_hint=hint)])
    assert wrong in finding.message
    suggested = finding.remedy.removeprefix("search_hint=").strip("'")
    assert lint([Tool.described(forecast, search_hint=suggested)]) == []


def test_names_that_only_contain_the_letters_do_one_thing():
    """`and` counts as a word, not in `brand_handler`, nor at an end."""

    def brand_handler() -> None:
        """Look after a make of goods."""

    assert lint([Tool.of(brand_handler), Tool.described(brand_handler, name="command")]) == []


@pytest.mark.parametrize(
    ("name", "split"),
    [("read_and_write_file", "`read_file` and `write_file`"), ("find_user_and_send_mail", "`find_user` and `send_mail`"), ("readAndWrite", "`read` and `write`")],
)  # fmt: skip
def test_a_tool_that_does_two_things_is_split(name, split):
    """The words at the end belong to both parts if the first part is only a verb."""

    def both() -> None:
        """Do one thing, then another."""

    (finding,) = lint([Tool.described(both, name=name)])
    assert split in finding.remedy


def test_similar_names_are_found_among_aliases():
    """A model may call a tool by any of its names."""

    def first() -> None:
        """Do one thing."""

    def two() -> None:
        """Do another thing."""

    tools = [Tool.described(first, aliases=["modern"]), Tool.described(two, aliases=["modem"])]
    assert [(finding.tool, finding.place) for finding in lint(tools)] == [("two", "beside `modern`")]


def move(path: str) -> None:
    """Move a file."""
    os.rename(path, path + "~")
    shutil.move(path, path + "~")


def runs(command: Annotated[str, "What."]) -> str:
    """Run a command."""
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


def opens(path: Annotated[Path, "Which."], mode: Annotated[str, "How."] = "r") -> str:
    """Open a file in some mode."""
    with open(path, mode) as file, open(path) as other, path.open() as third:
        return file.read() + other.read() + third.read()


class Cleaner:
    def clean(self, path: Annotated[Path, "Which."]) -> None:
        """Remove a file."""
        path.unlink()


def list_shadowed(remove: Annotated[str, "Not a function."]) -> str:
    """Use a name like one that does harm."""
    return remove.removesuffix("os.remove(x)")


def archives(path: Annotated[Path, "Which."]) -> None:
    """Open what is no plain file, and call what was called."""
    with zipfile.ZipFile(path).open("member.txt", "strange") as member:
        {"say": print}["say"](member)


def imports(path: Annotated[str, "Which."]) -> None:
    """Import what it needs where it needs it."""
    import email
    import urllib.request as web
    from os import remove as away

    email.unlink("not a method")
    away(path)
    web.urlopen(path)


@pytest.mark.parametrize(
    ("described", "effects"),
    [
        (Tool.described(move, read_only=True), ["`os.rename` writes to the disk"]),
        (Tool.described(move), []),
        (Tool.described(runs, read_only=True), ["`subprocess.run` runs a command"]),
        (Tool.described(opens, read_only=True), []),
        (Tool.described(Cleaner().clean), ["`path.unlink` deletes"]),
        (Tool.described(Cleaner().clean, destructive=True), []),
        (Tool.described(functools.partial(runs, command="ls"), read_only=True), ["`subprocess.run` runs a command"]),
        (Tool.described(list_shadowed, read_only=True), []),
        (Tool.described(archives, read_only=True), []),
        (Tool.described(imports, read_only=True), ["`away` deletes", "`web.urlopen` reaches the network"]),
        (Tool.described(len, read_only=True, schema={"properties": {"obj": {"type": "string"}}}), []),
    ],
    ids=[
        "moves", "says nothing", "runs", "reads", "method", "says so", "partial", "shadowed", "archive", "imports",
        "builtin",
    ],
)  # fmt: skip
def test_effects_are_found_in_the_code_of_a_tool(described, effects):
    """Calls are recognised by any name of their import. An unknown call causes no finding."""
    reported = [
        finding.message.partition(",")[0] for finding in lint([described]) if finding.rule == "facts-against-code"
    ]
    assert reported == effects


def test_the_remedy_for_a_long_hint_only_drops_the_full_stop():
    (finding,) = lint([Tool.described(Cleaner().clean, destructive=True, search_hint="throw files away.")])
    assert finding.remedy == "search_hint='throw files away'"


def test_lists_in_lists_are_made_flat():
    """An unnamed value cannot become a parameter."""

    @tool(catalog=None)
    def add(cube: Annotated[list[list[list[int]]], "Numbers."]) -> None:
        """Add up numbers."""

    (finding,) = lint([Tool.of(add)])
    assert finding.remedy.startswith("take `cube` as a flat list")


def test_a_tool_with_an_unknown_name_has_no_lint_findings():
    """Its schema is not known, and the laws report it."""

    def later(place: Nowhere) -> None:  # noqa: F821 -- that is the fault
        """Take what is not there."""

    assert lint(Catalog(later)) == []


def test_the_remedy_for_a_large_schema_names_its_largest_part():
    @tool(catalog=None)
    def talk(words: Annotated[str, "Say something. " * 200]) -> None:
        """Talk about something."""

    (finding,) = lint([Tool.of(talk)])
    assert finding.rule == "large-schema"
    assert "shorten what is said of `words`" in finding.remedy


def test_a_circle_is_not_deep():
    """A record that contains itself is followed once."""
    schema = {
        "type": "object",
        "additionalProperties": True,
        "properties": {"tree": {"$ref": "#/$defs/N", "description": "A tree."}},
        "$defs": {"N": {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/N"}}}}},
    }
    tree = Tool.from_schema("grow", "Grow a tree.", schema, lambda arguments: None)
    assert lint([tree]) == []


def test_a_parameter_without_a_type_is_named_with_both_remedies():
    def fetch(page: Annotated[str, "Which."], mode, callback=None, retries=3, *, note: Any = None, **kwargs) -> str:
        """Fetch a page."""
        return page

    unsent = "if a model should not send it, `@tool(hidden="
    untyped = {finding.place: finding.remedy for finding in lint([Tool.described(fetch)]) if finding.rule == "untyped"}
    assert untyped == {
        "parameter `mode`": "annotate it, as in `mode: str`",
        "parameter `callback`": f'annotate it, as in `callback: str`; {unsent}["callback"])`',
        "parameter `retries`": f'annotate it, as in `retries: int`; {unsent}["retries"])`',
    }


@pytest.mark.parametrize(
    "options",
    [
        {"hidden": ["callback"]},
        {"schema": {"properties": {"page": {"type": "string"}, "callback": {"type": "null"}}}},
    ],
    ids=["hidden", "schema by hand"],
)
def test_a_parameter_that_needs_no_type_is_not_named(options):
    def fetch(page: str, callback=None) -> str:
        """Fetch a page."""
        return page

    assert [finding for finding in lint([Tool.described(fetch, **options)]) if finding.rule == "untyped"] == []


def test_a_missing_description_names_the_way_for_functions_that_cannot_be_edited():
    def indent(prefix: str) -> str:
        """Put a prefix before a line."""
        return prefix

    (violation,) = [finding for finding in lint([Tool.described(indent)]) if finding.rule == "described"]
    assert violation.remedy.endswith('if you cannot edit the function, `@tool(parameters={"prefix": "..."})`')
