"""The documentation site: its pages and navigation, what is read from the source, and what is refused."""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.site.checks import find_broken_links
from docs.site.pages import collect_pages, draw_navigation, find_unlisted, list_sections

griffe = pytest.importorskip("griffe", reason="griffelib is not installed; it reads the docstrings for the site")
from docs.site import reference  # noqa: E402 -- it needs griffe

ROOT = Path(__file__).parents[1]


@pytest.fixture
def checkout(tmp_path):
    """Write a small project: two pages, a changelog, an example and a package."""
    files = {
        "docs/README.md": """
            # Documentation

            ## Start

            | page | what it is for |
            |---|---|
            | [First](first.md) | the first hour |

            ## How-tos: tools

            | page | what it is for |
            |---|---|
            | [Second](second.md) | what comes next |

            ## Reference

            ## Errors
            """,
        "docs/first.md": "# First\n\n[an example](../examples/01_try.py), [all](../examples/), [pages](README.md)\n",
        "docs/second.md": "# Second\n\n[first](first.md#first)\n",
        "CHANGELOG.md": "# Changelog\n\nSee [second](docs/second.md).\n",
        "examples/01_try.py": '"""Try it."""\n\nprint(1)\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    return tmp_path


def test_links_between_the_folders_of_a_checkout_become_links_between_pages(checkout):
    pages = collect_pages(checkout)
    assert pages["first.md"].endswith("[an example](examples/01_try.md), [all](examples/index.md), [pages](index.md)\n")
    assert pages["changelog.md"].endswith("See [second](second.md).\n")
    assert pages["examples/01_try.md"] == '# 01_try.py\n\n```python\n"""Try it."""\n\nprint(1)\n```\n'
    assert pages["examples/index.md"].endswith("- [`01_try.py`](01_try.md): Try it.\n")


def test_the_navigation_has_the_order_of_a_newcomer(checkout):
    navigation = draw_navigation(collect_pages(checkout), {"toolkit": ["toolkit/index.md", "toolkit/Tool.md"]})
    tree = tomllib.loads(f"nav = {navigation}")["nav"]
    assert [*map(list, tree)] == [
        ["Home"],
        ["Start"],
        ["How-tos"],
        ["Examples"],
        ["Reference"],
        ["Errors"],
        ["Changelog"],
    ]
    assert tree[2] == {"How-tos": [{"tools": [{"Second": "second.md"}]}]}
    assert tree[4] == {
        "Reference": [{"toolkit": ["reference/toolkit/index.md", {"Tool": "reference/toolkit/Tool.md"}]}]
    }


def test_our_navigation_begins_with_the_start_and_has_every_page():
    pages = collect_pages(ROOT)
    assert find_unlisted(pages) == []
    assert list(list_sections(pages["index.md"]))[:3] == ["Start", "Guides", "How-tos: tools"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[Second](second.md)", "[First](first.md)", "first.md is listed 2 times"),
        ("| [Second](second.md) | what comes next |", "", "second.md is listed 0 times"),
        ("second.md", "third.md", "third.md is listed 1 times"),
    ],
)
def test_a_page_that_the_navigation_does_not_have_once_is_a_problem(checkout, old, new, problem):
    pages = collect_pages(checkout)
    pages["index.md"] = pages["index.md"].replace(old, new)
    assert f"docs/README.md: {problem}; list each page of docs/ once" in find_unlisted(pages)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="gone.html">x</a>', "a.html: gone.html leads nowhere; mend the link or write the page"),
        ('<a href="inner/">x</a>', "a.html: inner/ leads nowhere; mend the link or write the page"),
        ('<a href="b.html#gone">x</a>', "a.html: b.html#gone names no heading of that page; mend the anchor"),
        ('<a href="#gone">x</a>', "a.html: #gone names no heading of that page; mend the anchor"),
        ('<img src="gone.svg">', "a.html: gone.svg leads nowhere; mend the link or write the page"),
        ('<p id="here"></p>', "a.html: two anchors #here; give one heading another text"),
        ('<script src="//cdn.example/a.js"></script>', "a.html: //cdn.example/a.js is loaded from outside; copy it"),
        (
            '<link rel="stylesheet" href="https://f.example/a.css">',
            "a.html: https://f.example/a.css is loaded from outside; copy it",
        ),
        ('<a href="b.html#there">x</a><a href="https://other.example/">x</a><a href="#here">x</a>', None),
        (
            '<a href="b.html#a%20b">x</a><a href="mailto:a@example.com">x</a><a name="old"></a><a href="#old">x</a>',
            None,
        ),
    ],
)
def test_a_broken_link_in_a_built_page_is_named(tmp_path, body, problem):
    (tmp_path / "a.html").write_text(f'<h1 id="here">A</h1>{body}')
    (tmp_path / "b.html").write_text('<h1 id="there">B</h1><h2 id="a b">C</h2>')
    assert find_broken_links(tmp_path) == ([problem] if problem else [])


NAMES = st.sampled_from(["a", "b", "c", "inner/d"])
ANCHORS = st.sampled_from(["one", "two", "three"])


@given(st.dictionaries(NAMES, st.tuples(st.sets(ANCHORS), st.lists(st.tuples(NAMES, ANCHORS | st.none()))), min_size=1))
def test_a_link_is_a_problem_if_and_only_if_its_target_is_missing(tmp_path_factory, pages):
    site = tmp_path_factory.mktemp("site")
    (site / "inner").mkdir()
    expected = 0
    for name, (anchors, links) in pages.items():
        headings = "".join(f'<h2 id="{anchor}"></h2>' for anchor in sorted(anchors))
        up = "../" if "/" in name else ""
        drawn = sorted({f"{up}{page}.html" + (f"#{anchor}" if anchor else "") for page, anchor in links})
        (site / f"{name}.html").write_text(headings + "".join(f'<a href="{link}">x</a>' for link in drawn))
        expected += sum(
            page not in pages or (anchor is not None and anchor not in pages[page][0]) for page, anchor in {*links}
        )
    assert len(find_broken_links(site)) == expected


SAMPLE = {
    "__init__": '''
        """A sample."""

        from .parts import LIMIT, Limits, Options, Runner, run

        __all__ = ["LIMIT", "Limits", "Options", "Runner", "run"]
        ''',
    "parts": '''
        """Parts of the sample."""

        from dataclasses import dataclass, field
        from typing import Any, TypedDict, Unpack, overload

        __all__ = ["LIMIT", "Runner"]

        LIMIT = 3
        """The most of all."""
        _SECONDS = 2.5


        class Options(TypedDict, total=False):
            """
            The options of a runner.

            seconds: How long it
                may take.
            log: Whether it writes.
            rest: What else is said.
            """

            seconds: float
            log: bool
            name: str | None
            other: int
            rest: str


        @dataclass(frozen=True)
        class RunnerOptions:
            """The options after they were checked."""

            log: bool = True
            other: int = 7
            name: str | None = "plain"


        @dataclass(frozen=True)
        class Unrelated:
            """Something else, with a field of the same name."""

            seconds: float = 99.0


        @dataclass(frozen=True)
        class Limits:
            """
            What is allowed.

            Attributes:
                size: How large.
                names: How it may be called.
            """

            size: int
            names: list[str] = field(default_factory=list)


        class Runner:
            """
            Runs things, into *output* if there is one.

            Args:
                limits: What it may do.
                name: How it is called.
                other: How many.

            Attributes:
                count: How many ran.
                limits: As given.
            """

            @overload
            def __init__(self, limits: Limits, **options: Unpack[Options]) -> None: ...
            @overload
            def __init__(self, limits: Limits, *, output: str) -> None: ...
            def __init__(self, limits: Any = None, *, output: Any = None, **options: Unpack[Options]) -> None:
                self.seconds = options.get("seconds", _SECONDS)
                self.log = options.pop("log", False)
                self.count = 0


        class LogOptions(TypedDict, total=False):
            """
            What is written.

            log: Whether it writes.
            """

            log: bool


        class FurtherOptions(LogOptions, total=False):
            """
            What else is written.

            extra: What is further known.
            """

            extra: int


        def build(limits: Limits, clock: object = None, **options: Unpack[FurtherOptions]) -> Runner:
            """Build a runner."""


        def refuse(limits: Limits, **unknown: object) -> None:
            """Refuse it."""


        def run(limits: Limits | None = None, *, first: "Runner") -> None:
            """Run it."""
            raise ValueError(f"the runner {first} is not ready; start it first")
        ''',
}


@pytest.fixture
def sample(tmp_path):
    """Return a function that writes the sample with other texts in it, and reads it."""

    def load(old="", new=""):
        for name, source in SAMPLE.items():
            path = tmp_path / "sample" / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(source).replace(old, new) if old else textwrap.dedent(source))
        return reference.load_package(tmp_path, "sample")

    return load


def list_rows(item):
    """Return name, type, default and description of each parameter in the docstring of *item*."""
    (section,) = [
        section for section in item.docstring.parsed if section.kind is griffe.DocstringSectionKind.parameters
    ]
    return [(row.name, str(row.annotation), row.value and str(row.value), row.description) for row in section.value]


def test_the_table_of_a_class_has_all_options_with_type_default_and_sentence(sample):
    package = sample()
    assert list_rows(package["Runner"]) == [
        ("limits", "Limits", None, "What it may do."),
        ("output", "str", "None", "Runs things, into *output* if there is one."),
        ("seconds", "float", "2.5", "How long it may take."),
        ("log", "bool", "True", "Whether it writes."),
        ("name", "str | None", "'plain'", "How it is called."),
        ("other", "int", "7", "How many."),
        ("rest", "str", "not given", "What else is said."),
    ]
    assert list_rows(package["Limits"]) == [
        ("size", "int", None, "How large."),
        ("names", "list[str]", "list()", "How it may be called."),
    ]
    assert list_rows(package["run"]) == [
        ("limits", "Limits | None", "None", "What is allowed."),
        ("first", "Runner", None, "Runs things, into *output* if there is one."),
    ]
    assert list_rows(package["parts.build"]) == [
        ("limits", "Limits", None, "What it may do."),
        ("clock", "object", "None", "A function that returns the time in seconds; tests give their own."),
        ("log", "bool", "False", "Whether it writes."),
        ("extra", "int", "not given", "What is further known."),
    ]
    assert [row[0] for row in list_rows(package["parts.refuse"])] == ["limits"]


def test_attributes_that_are_not_parameters_stay_in_their_section(sample):
    sections = {section.kind.value: section.value for section in sample()["Runner"].docstring.parsed}
    assert [attribute.name for attribute in sections["attributes"]] == ["count"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("", "", None),
        ('"""The most of all."""', "", "LIMIT is exported and has no docstring"),
        ('"""Run it."""', "", "run is exported and has no docstring"),
        ("LIMIT = 3", "class Limit:\n    ...\nLIMIT = 3", None),
        ("    rest: What else is said.\n", "", "Runner does not explain `rest`"),
        (
            '"run"]',
            '"run", "runner"]\nfrom .parts import Runner as R\n\nclass runner:\n    """Runs."""\n',
            "would have one page",
        ),
    ],
)
def test_an_exported_name_needs_a_docstring_and_a_page(sample, old, new, problem):
    problems = reference.find_undocumented(reference.list_exports(sample(old, new), ""))
    assert len(problems) == (problem is not None)
    assert all(problem in line and ".py:" in line for line in problems)


def test_each_class_has_a_page_and_each_module_lists_its_exports(sample, tmp_path):
    exports = reference.list_exports(sample(), "from sample.parts import Runner\n")
    pages = reference.write_reference(exports, tmp_path / "reference")
    assert pages["sample"] == ["sample/index.md", "sample/Limits.md", "sample/Options.md", "sample/Runner.md"]
    assert pages["sample.parts"] == ["sample.parts/index.md"]
    assert "(../sample/Runner.md)" in (tmp_path / "reference" / "sample.parts" / "index.md").read_text()
    index = (tmp_path / "reference" / "sample" / "index.md").read_text()
    assert "| [`Runner`](../sample/Runner.md) | Runs things, into *output* if there is one. |" in index
    assert "| [`LIMIT`](#sample.LIMIT) | The most of all. |" in index
    assert "::: sample.run\n" in index
    assert "::: sample.Runner\n" in (tmp_path / "reference" / "sample" / "Runner.md").read_text()


def test_the_page_of_messages_has_the_texts_of_errors_and_no_docstrings(sample, tmp_path):
    sample()
    page = reference.write_messages(tmp_path / "sample")
    assert "\n## sample.parts\n\n- `` the runner {first} is not ready; start it first ``\n" in page
    assert "Runs things" not in page
