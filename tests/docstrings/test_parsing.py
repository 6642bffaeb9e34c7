"""Docstrings of every style come apart into prose, parameters, returns and raises, and nothing makes the parser fail."""

import subprocess
import sys
import textwrap

import pytest

from toolkit.docstrings.parsing import Docstring, parse

GOOGLE = """
    Read a text file.

    It must be in the project: nothing else is allowed.

    Args:
        path (str): File path, relative
            to the project root.
        limit (int, optional): Stop after this many lines. Defaults to 3.
        url: the address: http://x
        *args: The rest.
        **kwargs (dict[str, int]): The options.

    Returns:
        The text.

    Raises:
        ValueError: If it is not there.
    """
NUMPY = r"""
    Read a text file.

    It must be in the project: nothing else is allowed.

    Parameters
    ----------
    path : str
        File path, relative
        to the project root.
    limit : int, optional
        Stop after this many lines. Defaults to 3.
    url
        the address: http://x
    *args
        The rest.
    \**kwargs : dict[str, int]
        The options.

    Returns
    -------
    The text.

    Raises
    ------
    ValueError
        If it is not there.

    See Also
    --------
    write : Write a text file.
    """
SPHINX = r"""
    Read a text file.

    It must be in the project: nothing else is allowed.

    :param path: File path, relative
        to the project root.
    :type path: str
    :param int limit: Stop after this many lines. Defaults to 3.
    :keyword url: the address: http://x
    :param \*args: The rest.
    :param dict[str, int] kwargs:
        The options.
    :returns: The text.
    :rtype: str
    :raises ValueError: If it is not there.
    """
EPYDOC = """
    Read a text file.

    It must be in the project: nothing else is allowed.

    @param path: File path, relative
        to the project root.
    @type path: str
    @param limit: Stop after this many lines. Defaults to 3.
    @keyword url: the address: http://x
    @param args: The rest.
    @param kwargs: The options.
    @return: The text.
    @raise ValueError: If it is not there.
    """
MARKDOWN = """
    Read a text file.

    It must be in the project: nothing else is allowed.

    **Parameters:**

    * **path** - File path, relative
    to the project root.
    * **limit** - Stop after this many lines. Defaults to 3.
    * **url** - the address: http://x
    * `args` -- The rest.
    * `kwargs` (dict): The options.

    **Returns:** The text.

    **Raises:** ValueError: If it is not there.
    """
READ = Docstring(
    "Read a text file.\n\nIt must be in the project: nothing else is allowed.",
    {
        "path": "File path, relative to the project root.",
        "limit": "Stop after this many lines. Defaults to 3.",
        "url": "the address: http://x",
        "args": "The rest.",
        "kwargs": "The options.",
    },
    "The text.",
    ("ValueError: If it is not there.",),
)
TITLES = ["Args", "Arguments", "Parameters", "Params", "Attributes", "args", "ARGS"]
TITLES += ["Keyword Args", "Keyword Arguments", "Other Parameters"]
FIELDS = [
    "param",
    "parameter",
    "arg",
    "argument",
    "key",
    "keyword",
    "kwarg",
    "ivar",
    "var",
    "cvar",
    "attribute",
    "attr",
]
STYLES = {"google": GOOGLE, "numpy": NUMPY, "sphinx": SPHINX, "epydoc": EPYDOC, "markdown": MARKDOWN}


def dedent(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


@pytest.fixture(params=STYLES.values(), ids=STYLES)
def written(request):
    return request.param


def test_every_style_has_the_same_meaning(written):
    """One docstring is written in each style."""
    assert parse(written) == READ


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("    ", "\t"),
        lambda text: text.replace("\n\n", "\n   \n"),
        lambda text: text.replace("\n", "   \n"),
        lambda text: text.replace("\n    ", "\n"),
        lambda text: text.replace("\n", "\n       "),
        lambda text: "\n\n" + text + "\n\n",
        lambda text: text.lstrip(),
    ],
    ids=["crlf", "cr", "tabs", "blanks between", "blanks behind", "dedented", "indented", "padded", "first line"],
)
def test_whitespace_does_not_matter(written, spoil):
    """Line ends, tabs and margins change nothing in what is read."""
    assert parse(spoil(written)) == READ


@pytest.mark.parametrize("text", [None, 3, b"Args:", "", " ", "\n \n\t\n", "\x0b\n\x0c\n:", "\u3000\n\u3000"])
def test_a_missing_or_empty_docstring_has_no_parameters(text):
    docstring = parse(text)

    assert (docstring.description.strip(" :\x0b\x0c\n\u3000"), docstring.parameters, docstring.returns) == ("", {}, "")


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("shape", ["{}:\n    x: Text.", "{}\n---\nx : int\n    Text.", "{}::\n\n    x - Text."])
def test_all_parameter_titles_count(title, shape):
    """Each usual title opens a section of parameters, in Google and NumPy style."""
    assert parse("Do it.\n\n" + shape.format(title)).parameters == {"x": "Text."}


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("sign", ":@")
def test_all_parameter_fields_count(sign, name):
    """Each usual field names a parameter, in Sphinx and epydoc style."""
    assert parse(f"Do it.\n\n{sign}{name} x: Text.\n") == Docstring("Do it.", {"x": "Text."}, "")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x (Callable[[int], tuple(int, str)], optional): Text.", {"x": "Text."}),
        ("x (a: b): Text.", {"x": "Text."}),
        ("x(int): Text.", {"x": "Text."}),
        ("x, y: Both.", {"x": "Both.", "y": "Both."}),
        ("x : Text.", {"x": "Text."}),
        ("x:Text.", {"x": "Text."}),
        ("größe: Der Wert.", {"größe": "Der Wert."}),
        ("- x: Text.\n    - y: More.", {"x": "Text.", "y": "More."}),
        (":param x: Text.", {"x": "Text."}),
        ("x \u2013 Text.", {"x": "Text."}),
        ("x:\n        Text.", {"x": "Text."}),
        ("x: Text\n    not hanging.\n    y: More.", {"x": "Text not hanging.", "y": "More."}),
        ("x: One.\n\n        Two.\n\n    y: More.", {"x": "One.\n\nTwo.", "y": "More."}),
        ("x: One of\n        - red: warm\n        - blue,\n          cold", {"x": "One of\n- red: warm\n- blue, cold"}),
        ("x: As in\n\n        some\n            code\n            here", {"x": "As in\n\nsome code here"}),
        (
            "x: As in\n        this\n\n            if a:\n                b\n\n        so",
            {"x": "As in this\n\n    if a:\n        b\n\nso"},
        ),
        (
            "x: As in\n        ```\n        {\n          1\n        ```\n        so",
            {"x": "As in\n```\n{\n  1\n```\nso"},
        ),
        ("x: As in::\n\n            a\n              b\n\n        so", {"x": "As in::\n\n    a\n      b\n\nso"}),
        ("x: As in::\n\n        a\n    y: More.", {"x": "As in::\n\n    a", "y": "More."}),
        ("x: As in\n        | a |\n        |---|", {"x": "As in\n| a |\n|---|"}),
        ("x: Text.\n\n        .. versionadded:: 3.2\n           Really.", {"x": "Text."}),
        ("x:", {}),
        ("x: First.\n    x: Second.", {"x": "First."}),
        ("None", {}),
        ("std::x", {}),
        ("x (unclosed: Text.", {}),
    ],
)
def test_google_entries(body, expected):
    """Types, wrapped lines, paragraphs, lists and code in a Google section are read as they were meant."""
    assert parse(f"Do it.\n\nArgs:\n    {body}\n\nAfter.") == Docstring("Do it.\n\nAfter.", expected, "")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x, y : int\n    Both.", {"x": "Both.", "y": "Both."}),
        ("x : {'a', 'b'}, default 'a'\n    Text.\n\n    More\n    of it.", {"x": "Text.\n\nMore of it."}),
        ("    x : int\n        Text.\n    y\n        More.", {"x": "Text.", "y": "More."}),
        ("`x`: int\n    Text.", {"x": "Text."}),
        ("x : int\n    Text.\n\n    .. deprecated:: 1.0", {"x": "Text."}),
        ("x : int", {}),
        ("not a name : int\n    Text.", {}),
        ("", {}),
    ],
)
def test_numpy_entries(body, expected):
    """Names, types and texts in a NumPy section are read as they were meant."""
    assert parse(f"Do it.\n\nParameters\n----------\n{body}\n\nTodo\n====\n* this\n") == Docstring(
        "Do it.", expected, ""
    )


@pytest.mark.parametrize(
    ("body", "expected", "description"),
    [
        (":param x: Text\nnot hanging.\n:param y: More.", {"x": "Text not hanging.", "y": "More."}, "Do it."),
        (":param x: Text.\n\nProse.", {"x": "Text."}, "Do it.\n\nProse."),
        (":param x: One.\n\n  Two.\n:meta private:", {"x": "One.\n\nTwo."}, "Do it."),
        ("  :param x: Text.", {"x": "Text."}, "Do it."),
        (":param x:Text.", {"x": "Text."}, "Do it."),
        (":param: Text.", {}, "Do it.\n\n:param: Text."),
        (":param *: Text.", {}, "Do it."),
        (":param x", {}, "Do it.\n\n:param x"),
        (":class:`Foo` is prose.\n:keyword:`if` too.", {}, "Do it.\n\n`Foo` is prose.\n`if` too."),
        (":smile: is prose.", {}, "Do it.\n\n:smile: is prose."),
        ("@property is prose: it is.", {}, "Do it.\n\n@property is prose: it is."),
    ],
)
def test_fields(body, expected, description):
    """Fields end where their text does, and a colon or an at sign alone makes no field."""
    assert parse(f"Do it.\n\n{body}") == Docstring(description, expected, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Returns:\n    int: The count.", "int: The count."),
        ("Returns:\n\n    One.\n\n    Two,\n    wrapped.", "One.\n\nTwo, wrapped."),
        ("Returns:\nThe count.", "The count."),
        ("Returns: The count\n    of all.", "The count of all."),
        ("Yields:\n    Each one.", "Each one."),
        ("Returns\n-------\nint\n    The count.", "int: The count."),
        ("Returns\n-------\nx : int\n    The x.\ny : str\n    The y.", "x : int: The x. y : str: The y."),
        ("Returns\n-------\nThe count\nof all: x.\n\nAnd so on.", "The count of all: x.\n\nAnd so on."),
        ("Yields\n------\nint\n    One.\n\n    Two.", "int: One.\n\nTwo."),
        (":return: The count.", "The count."),
        ("@return: The count.", "The count."),
        ("Returns:\n    First.\n\nYields:\n    Second.", "First."),
        ("Returns:", ""),
    ],
)
def test_returns(text, expected):
    """The text of the returns or yields section is kept, with the type if it was written there."""
    assert parse(f"Count.\n\n{text}") == Docstring("Count.", {}, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Raises:\n    KeyError: None such.", ["KeyError: None such."]),
        (
            "Raises:\n    KeyError: None\n        such.\n\n        More.\n    OSError: No.",
            ["KeyError: None such. More.", "OSError: No."],
        ),
        ("Raises:\n    - KeyError: None such.\n    - OSError", ["KeyError: None such.", "OSError"]),
        ("Raises:\n    If none is there.", ["If none is there."]),
        ("Raises: KeyError if\n    none is there.", ["KeyError if none is there."]),
        ("Raises\n------\nKeyError\n    None\n    such.\nOSError: No.", ["KeyError: None such.", "OSError: No."]),
        ("Raises\n------\nhttp.Error\nOSError\n", ["http.Error", "OSError"]),
        (":raises KeyError: none\n    such\n:raise OSError:", ["KeyError: none such", "OSError"]),
        ("@except KeyError: none such", ["KeyError: none such"]),
        (":raises: none such", ["none such"]),
        ("Raises:\n    KeyError: One.\n\nRaises:\n    OSError: Two.", ["KeyError: One.", "OSError: Two."]),
        ("Raises:", []),
    ],
)
def test_raised_exceptions_are_read_in_every_style(text, expected):
    """Each exception has one line."""
    assert parse(f"Count.\n\n{text}") == Docstring("Count.", {}, "", tuple(expected))


@pytest.mark.parametrize(
    "section",
    [
        "Args:\n    x: Leak.",
        "Raises:\n    Leak: leak",
        "Raises:\n    Leak",
        "Warns:\n    Leak: leak",
        "Example:\n    leak()",
        "Examples:\n    Leak.\n\n    More of the leak.",
        "Example::\n\n    leak()",
        "Example: ::\n\n    leak()",
        "Usage example:\n    leak()",
        "See Also:\n    leak",
        "References:\n    Leak, 1999.",
        "Todo:\n    * Leak",
        "Examples\n--------\nLeak.\n\n>>> leak()\n\nLeak.",
        "References\n----------\n.. [1] Leak.",
        "See Also\n========\nleak : Leak.",
        "Methods\n-------\nleak()",
        ">>> leak()\nleak\n>>> leak()",
        "    >>> leak()\n    leak",
        "```python\n>>> leak()\n\nleak\n```",
        "```\n>>> leak()\n\nunclosed leak",
        "Example:\n    >>> leak()",
        "Examples:\n\n    >>> leak()\n    leak",
        ".. versionadded:: 3.2 leak",
        "..  deprecated:: 3.2\n   Leak.\n\n   Leak.",
        ".. _leak: http://leak",
        ".. [1] leak",
        ":type x: leak",
        ":raises Leak: leak",
        "@raise Leak: leak",
    ],
)
def test_sections_are_not_in_the_description(section):
    """The prose around a section stays."""
    assert parse(f"Do it.\n\n{section}") == parse(f"\nDo it.\n\n{section}\n")
    assert "leak" not in parse(f"Do it.\n\n{section}").description.lower()
    assert parse(f"Do it.\n\n{section}").description == "Do it."
    assert parse(f"Do it.\n{section}").description == "Do it."


@pytest.mark.parametrize(
    "prose",
    [
        "Note: this is fast.",
        "Usage is simple:\ncall it.",
        "Usage:\n- The path must be absolute.",
        "As in:\n\n    if x:\n        args: 3",
        "Note:\n    Keep this.\n\n    And this.",
        "Warning:\n    Keep this.",
        "Custom Section:\n    Keep this.",
        "Overview\n--------\nKeep this.",
        "It Returns: nothing at all.",
        "A rule\n\n---\n\nand another\n\n- --",
        "**Bold** words: kept.",
        "```json\nArgs:\n    x: kept\n:param y: kept\n```",
        "```\nunclosed",
        "Three dots.. and more.",
        ".. and more.",
        "----------\nBoxed\n-- --",
    ],
)
def test_prose_stays(prose):
    """A colon, a fence, an admonition or an unknown heading is prose, and stays as written."""
    assert parse(f"Do it.\n\n{prose}\n\nArgs:\n    x: Text.\n") == Docstring(f"Do it.\n\n{prose}", {"x": "Text."}, "")
    assert parse(f"Do it.\n\n{prose}\n") == Docstring(f"Do it.\n\n{prose}", {}, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Do it.\n\nNotes\n-----\nKeep this.\n\nAnd this.", "Do it.\n\nNotes:\nKeep this.\n\nAnd this."),
        ("Do it.\n\n.. note:: Keep this.", "Do it.\n\nNote: Keep this."),
        ("Do it.\n\n.. warning::\n    Keep this.", "Do it.\n\nWarning:\n    Keep this."),
        ("Do it.\n\n.. code-block:: python\n\n    keep()", "Do it.\n\n    keep()"),
        ("Do it.\nArgs:\n    x: Text.\nKeep this.", "Do it.\n\nKeep this."),
        ("Do it.\n\nExample:\n    >>> x\nArgs:\n    x: Text.", "Do it."),
        ("Do it.\n\nA lot.\n>>> x\n1\n\nKeep this.", "Do it.\n\nA lot.\n\nKeep this."),
        ("Args:\n    x: Text.", ""),
        ("Returns: the thing.", "Returns: the thing."),
        ("See :class:`~a.b.Foo`, :py:func:`bar`, ``x`` and a:b:`c`.", "See `a.b.Foo`, `bar`, ``x`` and a:b:`c`."),
        ("Größe: 3 µm — fertig.", "Größe: 3 µm — fertig."),
    ],
)
def test_descriptions(text, expected):
    """Notes and later prose are kept, roles lose their names, and a lone summary is never mistaken."""
    assert parse(text).description == expected


def test_docstring_parser_is_imported_late():
    """Importing the module, and reading a docstring without parameters, does not load docstring_parser."""
    code = "import sys, toolkit.docstrings.parsing as d; d.parse('A.\\n\\nReturns:\\n  x: y'); sys.exit('docstring_parser' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 -- the code is ours


@pytest.mark.parametrize("error", [RuntimeError, ValueError, AssertionError, RecursionError])
def test_a_docstring_that_cannot_be_read_is_prose(written, error):
    """If the parser of a style raises, the whole text is the description."""

    def fail(page):
        raise error(page)

    docstring = parse(written, parsers=lambda: dict.fromkeys(("google", "numpy", "sphinx"), fail))

    assert docstring == READ or (docstring.parameters == {} and "File path, relative" in docstring.description)


def test_only_plain_entries_reach_the_parser():
    """The parser gets plain entries; a type with a colon is read here, as the parser would split it there."""
    pages = []

    class Page:
        params = ()

    def parsers():
        return {"google": lambda page: pages.append(page) or Page()}

    assert parse("Do it.\n\nArgs:\n    x (a: b): Text.", parsers=parsers).parameters == {"x": "Text."}
    assert pages == []
    assert parse("Do it.\n\nArgs:\n    x (a): Text.", parsers=parsers).parameters == {}
    assert pages == ["\nArgs:\n    x (a): Text."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":Parameters:\n    x : Text.", {"x": "Text."}),
        (":param x(int): Text.", {"x": "Text."}),
        (":param x (optional): Text.", {"x": "Text."}),
        (":param tuple(int) x: Text.", {"x": "Text."}),
        ("Args:\n    x: Text.\n\nKeyword Args:\n  y: More.\n\nArgs:\n    z: Last.", {"x": "Text.", "y": "More.", "z": "Last."}),
        ("Args:\n    x: Text.\n\n:param y: More.\n\nParameters\n----------\nz\n    Last.", {"x": "Text.", "y": "More.", "z": "Last."}),
        ("Args:\n    x: One\n        line.\n\n        Two.\n    y (int): More\n        of it.", {"x": "One line.\n\nTwo.", "y": "More of it."}),
        ("Args:\n    x: As in\n        this:\n\n            a\n              b", {"x": "As in this:\n\n    a\n      b"}),
        ("Args:\n    x (list[tuple(int)] (or so), optional): Text.", {"x": "Text."}),
        ("@param x: the param y: Text.\n@return: the param z: Text.", {"x": "the param y: Text."}),
    ],
)  # fmt: skip
def test_docstrings_that_docstring_parser_misreads_are_read_correctly(text, expected):
    """It misses, mixes or cuts their titles, fields and texts."""
    assert parse(f"Do it.\n\n{text}").parameters == expected


def test_a_section_without_text_leaves_no_title():
    """Notes that hold only a directive leave nothing in the description."""
    assert parse("Do it.\n\nNotes\n-----\n.. versionadded:: 1.0").description == "Do it."
