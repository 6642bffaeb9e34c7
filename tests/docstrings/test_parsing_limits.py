"""Reading docstrings of any content: bounded time, and the same answer for every style."""

import textwrap
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.docstrings.parsing import _read_entries, docstring_parsers, parse, words
from toolkit.docstrings.sections import Sections, _add_google, read_simple_entries

JUNK = [
    ":",
    "@",
    "`",
    "(",
    " ",
    "\n",
    "\n\n",
    ">>> ",
    "```",
    "```\n",
    "\n:param x",
    "\n:param x:",
    ":a:",
    "\n---",
    "\n ",
]
JUNK += [
    "Args:\n",
    "Args:\n\n",
    "\nArgs:\n    x (",
    "a\n---\n",
    "args\n---\n",
    "x" + " " * 9,
    ".. a::\n",
    "\n  - x:",
    "a, ",
]
JUNK += ["\nReturns: ", "@param  ", " default", "A", "\t", "\r", "\n>>> x\n```\n", "**", "\nArgs:\n\n- x"]


@pytest.mark.one_case_in(3)
@pytest.mark.unmeasured
@pytest.mark.parametrize("head", ["", "Args:\n    x (", "Parameters\n---\nx", "Do it.\n\n:param x", "Returns:\n    "])
@pytest.mark.parametrize("junk", JUNK)
def test_junk_takes_linear_time(head, junk):
    """Thirty kilobytes take about 20 ms; work that grows with the square of the length would take many seconds."""
    text = junk * (30_000 // len(junk))
    start = time.process_time()
    parse(head + text)
    words(text)

    assert time.process_time() - start < 1


LINES = [
    "Args:",
    "Returns:",
    "Raises:",
    "**Args:**",
    "Returns: x",
    "Parameters",
    "Notes",
    "---",
    "===",
    "",
    "\t",
    "\x0c",
]
LINES += ["x: y", "  x: y", "    x (int: y", "x : int", "    text", "  - x", "* **x** - y", "```", ">>> x", "\u3000"]
LINES += [":param x: y", "@param x", ":class:`x`", ".. note:: x", ".. x::"]
PAGES = st.lists(st.sampled_from(LINES) | st.text(max_size=9))


@given(st.text() | PAGES.map("\n".join) | PAGES.map("\r\n".join))
def test_any_text_is_read(text):
    """No text raises, and no parameter is empty."""
    docstring = parse(text)

    assert all(name.isidentifier() or name.isalnum() for name in docstring.parameters if name.isascii())
    assert all(value and value == value.strip() for value in docstring.parameters.values())
    assert docstring.description == docstring.description.strip("\n")


WORDS = st.text("abcdefghijklmnopqrstuvwxyzäöü", min_size=1, max_size=8).filter(lambda word: word != "leak")
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(lambda drawn_words: " ".join(drawn_words).capitalize() + ".")
TEXTS = st.lists(SENTENCES, min_size=1, max_size=3).map("\n\n".join)
NAMES = st.from_regex(r"\A[a-z_][a-z_0-9]{0,9}\Z").filter(lambda name: name != "leak")


def wrap_at_thirty(text: str, indent: int) -> str:
    lines = "\n\n".join(textwrap.fill(part, 30) for part in text.split("\n\n"))
    return textwrap.indent(lines, " " * indent).lstrip()


RENDERERS = {
    "google": (
        lambda name, text: f"    {name} (int): {wrap_at_thirty(text, 8)}\n",
        "\n\nArgs:\n{}\nReturns:\n    leak\n\nExample:\n    leak",
    ),
    "numpy": (
        lambda name, text: f"{name} : int\n    {wrap_at_thirty(text, 4)}\n",
        "\n\nParameters\n----------\n{}\nReturns\n-------\nint\n    leak\n\nExamples\n--------\nleak",
    ),
    "sphinx": (
        lambda name, text: f":param int {name}: {wrap_at_thirty(text, 4)}\n",
        "\n\n{}:returns: leak\n:raises leak: leak",
    ),
    "epydoc": (
        lambda name, text: f"@param {name}: {wrap_at_thirty(text, 4)}\n",
        "\n\n{}@return: leak\n@raise leak: leak",
    ),
}


@pytest.mark.unmeasured
@pytest.mark.parametrize("style", RENDERERS)
@given(description=TEXTS, parameters=st.dictionaries(NAMES, TEXTS, min_size=1, max_size=4), margin=st.integers(0, 9))
def test_a_rendered_docstring_is_read_back(style, description, parameters, margin):
    """This holds for any description and parameters, in any style and at any margin."""
    entry, page = RENDERERS[style]
    text = description + page.format("".join(entry(name, about) for name, about in parameters.items()))
    docstring = parse(textwrap.indent(text, " " * margin))

    assert docstring.description == description
    assert docstring.parameters == parameters
    assert docstring.returns.endswith("leak")


@pytest.mark.parametrize(
    "junk", ["Args:\n    x: Text.\n\n", ":param x: Text.\n", "x (", "\n   ", "Args\n----\nx : int\n    y\n"]
)
def test_a_megabyte_is_prose(junk):
    """A text that is longer than any docstring is not searched for sections, and takes well under a second."""
    start = time.process_time()
    docstring = parse("Do it.\n\n" + junk * (1_000_000 // len(junk)))

    assert (docstring.parameters, docstring.returns) == ({}, "")
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("read_file", "Read file"),
        ("getHTTPStatus", "Get HTTP status"),
        ("HTTPServer", "HTTP server"),
        ("userIDs", "User IDs"),
        ("fs.read-file", "Fs read file"),
        ("READ_FILE", "Read file"),
        ("HTTP", "HTTP"),
        ("getX", "Get x"),
        ("sha256_sum", "Sha256 sum"),
        ("größe_lesen", "Größe lesen"),
        ("__init__", "Init"),
        ("_", ""),
        ("", ""),
    ],
)
def test_words(name, expected):
    """A name becomes a phrase, and an acronym stays one."""
    assert words(name) == expected


SIMPLE_TEXTS = st.text(alphabet="aB1 :().,=[]\"'`*\\-#é€", max_size=20) | st.sampled_from(
    ["Defaults to 3.", "a (b): c", "x: y", "optional", "Args:", "Returns: it"]
)


@given(
    st.lists(st.tuples(st.text(alphabet="ab_1é", min_size=1, max_size=5), SIMPLE_TEXTS), min_size=1, max_size=4),
    st.integers(1, 6),
)
def test_simple_entries_are_read_as_by_docstring_parser(entries, margin):
    """One line for each parameter is the usual form, and takes a tenth of the time without the parser."""
    sections = Sections()
    body = "".join(f"\n{' ' * margin}{name}: {text}" for name, text in entries)
    _add_google(sections, body)
    if [style for style, _ in sections.pages] != ["simple"]:
        return
    parser = docstring_parsers()["google"]
    assert read_simple_entries(body) == list(_read_entries(parser("\nArgs:" + body)))


def test_simple_entries_need_no_parser():
    """A program whose docstrings are all of this kind never imports it."""

    def refuse():
        raise AssertionError("not needed")

    docstring = parse("Do it.\n\nArgs:\n    path: The file.\n    limit: How many: at most.\n", parsers=refuse)
    assert docstring.parameters == {"path": "The file.", "limit": "How many: at most."}
