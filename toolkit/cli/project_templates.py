"""
The texts of the files of a new project, by path.

`{package}` and `{title}` stand for the names of the project. `{install}` is the command that installs toolkit, and
`{install_place}` says where it is run.
"""

from __future__ import annotations

__all__ = ["FILES"]

_PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{title}"
version = "0.1.0"
description = "Tools for language models."
requires-python = ">=3.11"
# toolkit is not on a package index, so it is not listed here; README.md says how it is installed.
dependencies = []

# Whoever has installed this package finds its tools with `Catalog().discover()`.
[project.entry-points."toolkit.tools"]
{package} = "{package}.tools:catalog"

[tool.hatch.build.targets.wheel]
packages = ["{package}"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
"""

_INIT = '''\
"""Tools for language models."""
'''

_TOOLS = '''\
"""
The tools. A function with types and a docstring is all it takes.
"""

from __future__ import annotations

from toolkit import Catalog

catalog = Catalog()


@catalog.tool(read_only=True, group="texts", examples=[{{"text": "to be or not to be"}}])
def count_words(text: str, *, distinct: bool = False) -> int:
    """
    Count the words of a text.

    Args:
        text: The text; words are what stands between blanks.
        distinct: Whether a word that occurs twice counts once.
    """
    words = text.lower().split()
    return len(set(words)) if distinct else len(words)
'''

_TESTS = '''\
"""
Tests of the tools: calls as a model makes them, and the laws that every tool should keep.
"""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from toolkit import Dispatcher
from toolkit.builders import build_dispatcher
from toolkit.settings import load_settings
from toolkit.testing import arguments, check_catalog

from {package}.tools import catalog, count_words

PROJECT = Path(__file__).parents[1]


def test_the_tools_keep_the_laws():
    """Check schemas, descriptions and names, and call the tools with random arguments."""
    check_catalog(catalog)


def test_words_are_counted():
    """A call of a model counts distinct words."""
    result = Dispatcher(catalog).call_sync("count_words", {{"text": "to be or not to be", "distinct": True}})
    assert (result.kind, result.value) == ("ok", 4)


@given(arguments(count_words))
def test_distinct_words_are_never_more(drawn):
    """This holds for any text."""
    text = drawn["text"]
    assert count_words(text, distinct=True) <= count_words(text)


def test_texts_with_a_password_are_asked_about():
    """The settings of the project ask for it."""
    settings = load_settings(PROJECT, user=PROJECT / "none", environ={{}})
    result = build_dispatcher(settings, catalog).call_sync("count_words", {{"text": "my password is ..."}})
    assert result.kind == "waiting"
'''

_SETTINGS = """\
# Settings of this project, read by `toolkit call`, `toolkit agent` and load_settings().
# The lists `ask` and `deny` always count. A list `allow` counts only if you trust this folder.

[rules]
ask = ["count_words(text=*password*)"]
deny = []
"""

_README = """\
# {title}

Tools for language models, in [{package}/tools.py]({package}/tools.py).

The tools need toolkit, which is not on a package index. It is installed {install_place}:

```
{install}
```

Then, in this folder:

```
python -m pytest
toolkit list {package}.tools
toolkit call {package}.tools count_words text='to be or not to be' distinct=true
toolkit check {package}.tools
```

`.toolkit/toolkit.toml` says which calls are asked about and which are denied.
"""

FILES: dict[str, str] = {
    "pyproject.toml": _PYPROJECT,
    "{package}/__init__.py": _INIT,
    "{package}/tools.py": _TOOLS,
    "tests/test_tools.py": _TESTS,
    ".toolkit/toolkit.toml": _SETTINGS,
    "README.md": _README,
}
