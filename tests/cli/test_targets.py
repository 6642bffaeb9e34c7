"""
What a command works on, and what is said where it cannot be loaded.
"""

from __future__ import annotations

import pytest

from toolkit.cli.targets import open_target
from toolkit.errors import CatalogError

BROKEN = "import nothing_of_this_name\n"


@pytest.mark.parametrize("target", ["tools.py", "tools.py:catalog", "./tools.py", "shop_tools", "shop_tools:catalog"])
def test_a_target_is_a_file_or_a_module_or_a_catalog_in_one(shop, target):
    """Files and modules in the current folder among them."""
    (shop.folder / "shop_tools.py").write_text((shop.folder / "tools.py").read_text())
    with open_target(target) as found:
        assert found.catalog.names()[0] == "free_days"
        assert found.safety is None


def test_a_module_in_the_current_folder_is_found_without_being_installed(shop):
    """As with `python -m`."""
    shop.write("goods/tools.py", (shop.folder / "tools.py").read_text())
    assert shop.process("list", "goods.tools:catalog").json[0]["name"] == "free_days"


def test_the_built_in_tools_bring_their_checks(shop):
    """Those of the current folder."""
    with open_target("builtin") as found:
        assert found.safety is not None
        assert "read" in found.catalog


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("no_such_module", "install it, or correct the name"),
        ("no_such_file.py", "there is no such file"),
        ("tools.py:nothing", "has no 'nothing'"),
        ("", "no module is named"),
        ("./tools", "./tools is no Python file; name one that ends in `.py`, or a module"),
        ("https://example.com/mcp", "servers cannot be asked for tools yet"),
    ],
)
def test_what_cannot_be_loaded_is_told_with_the_remedy(shop, target, says):
    """On standard error; nothing is written."""
    ran = shop.run("list", target)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith("error: ")
    assert says in ran.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BROKEN, "No module named 'nothing_of_this_name'"),
        ("1/0", "it raised ZeroDivisionError: division by zero"),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("x = 1", "has no tools"),
        ("raise ValueError('\\x1b[2J')", "\\x1b[2J"),
    ],
)
def test_a_module_that_fails_is_told_in_a_line(shop, text, says):
    """With its last words, made visible, and without a traceback."""
    shop.write("bad.py", text)
    ran = shop.run("list", "bad.py")
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err


def test_debug_shows_the_traceback(shop):
    """Of the module itself too."""
    shop.write("bad.py", "def deep():\n    1/0\n\ndeep()\n")
    ran = shop.run("list", "bad.py", "--debug")
    assert ran.code == 2
    assert "Traceback" in ran.err
    assert "in deep" in ran.err
    assert ran.err.splitlines()[-1].startswith("error: cannot load 'bad.py'")


def test_a_tool_that_cannot_be_described_is_an_error_of_its_author(shop):
    """Told with the parameter and the remedy."""
    shop.write(
        "odd.py",
        "from toolkit import Catalog\ncatalog = Catalog()\n@catalog.tool\ndef f(x: 'Nowhere') -> None:\n    'Do it.'\n",
    )
    ran = shop.run("show", "odd.py", "f")
    assert (ran.code, ran.out) == (2, "")
    assert "Nowhere" in ran.err
    assert [each["name"] for each in shop.run("list", "odd.py").json] == ["f"]


def test_a_block_that_raises_ends_the_target(shop):
    """What is raised inside is not mistaken for a failure to load."""
    with pytest.raises(KeyError), open_target("builtin"):
        raise KeyError("x")
    with pytest.raises(CatalogError), open_target("x://y"):
        raise AssertionError
