"""
The names that completion offers: what is kept of a listed target, and where.
"""

from __future__ import annotations

import json
import os
import stat

import pytest

from toolkit.catalog import Catalog
from toolkit.cli.completion.known_names import (
    cache_file,
    read_cached_parameters,
    read_cached_targets,
    read_cached_tools,
    save_names,
)
from toolkit.spec import Tool


def a_tool(name, *parameters):
    schema = {"type": "object", "properties": {parameter: {} for parameter in parameters}}
    return Tool.from_schema(name, "Do it.", schema, lambda arguments: None)


def test_saved_names_are_found_by_the_target(shop):
    """They are found in folders where the target means the same."""
    save_names("a.py", Catalog(a_tool("one", "x", "y"), a_tool("two")))
    save_names("package.module", Catalog(a_tool("three")))
    assert read_cached_tools("a.py") == read_cached_tools("./a.py") == ["one", "two"]
    assert read_cached_parameters("a.py", "one") == ["x", "y"]
    assert read_cached_parameters("a.py", "none") == []
    assert read_cached_targets() == ["package.module", "a.py"]
    os.chdir("/")
    assert (read_cached_tools("a.py"), read_cached_tools("package.module")) == ([], [])
    assert read_cached_tools(str(shop.folder / "a.py")) == ["one", "two"]


def test_only_the_newest_targets_are_kept(shop):
    """Otherwise the file would grow without end."""
    for number in range(60):
        save_names(f"m{number}", Catalog())
    assert read_cached_targets() == [f"m{number}" for number in range(59, 9, -1)]


def test_names_that_are_special_to_a_shell_are_left_out(shop):
    """They may come from the author of a tool, or from another writer of the file."""
    save_names("a.py", Catalog(a_tool("fine", "x", "$(touch y)", "a b", "*")))
    save_names("$(touch x).py", Catalog())
    cache = json.loads(cache_file().read_text())
    entry = cache["targets"][str(shop.folder / "a.py")]
    entry["tools"]["`touch z`"] = []
    cache_file().write_text(json.dumps(cache))
    assert (read_cached_tools("a.py"), read_cached_parameters("a.py", "fine"), read_cached_targets()) == (
        ["fine"],
        ["x"],
        ["a.py"],
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"version": 2, "targets": {}}',
        '{"version": 1, "targets": []}',
        '{"version": 1, "targets": {"KEY": 5}}',
        '{"version": 1, "targets": {"KEY": {"tools": 5}}}',
        '{"version": 1, "targets": {"KEY": {"tools": {"f": 5}, "target": 5}}}',
        "[" * 100_000,
    ],
)
def test_a_damaged_file_of_names_offers_no_names(shop, text):
    """The next `list` writes a new file."""
    cache_file().parent.mkdir(parents=True)
    cache_file().write_text(text.replace("KEY", str(shop.folder / "a.py")))
    assert (read_cached_targets(), read_cached_parameters("a.py", "f")) == ([], [])
    save_names("a.py", Catalog(a_tool("f")))
    assert read_cached_tools("a.py") == ["f"]


def test_a_cache_that_cannot_be_written_is_not_an_error(shop, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert shop.run("list", "tools.py").code == 0
    assert read_cached_targets() == []


def test_no_half_written_file_is_left(shop):
    """If the file cannot be put in its place, it is removed."""
    cache_file().mkdir(parents=True)
    save_names("a.py", Catalog())
    assert list(cache_file().parent.iterdir()) == [cache_file()]


def test_the_names_are_kept_in_the_cache_of_the_user(shop, monkeypatch, tmp_path):
    """The usual place is used if none is set, and never the project. Other users cannot read the file."""
    save_names("a.py", Catalog())
    assert cache_file() == tmp_path / "cache" / "toolkit" / "names.json"
    assert stat.S_IMODE(cache_file().stat().st_mode) == 0o600
    assert list(cache_file().parent.iterdir()) == [cache_file()]
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_file() == tmp_path / "home" / ".cache" / "toolkit" / "names.json"


def test_a_tool_with_an_unresolved_name_is_saved_without_parameters(shop):
    shop.write(
        "odd.py",
        "from toolkit import Catalog\ncatalog = Catalog()\n@catalog.tool\ndef f(x: 'Nowhere') -> None:\n    'Do it.'\n",
    )
    shop.run("list", "odd.py")
    assert (read_cached_tools("odd.py"), read_cached_parameters("odd.py", "f")) == (["f"], [])
