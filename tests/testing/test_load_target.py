"""
`catalog_of`: what a name on a command line means; and what is seen of a folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit import Catalog, CatalogError, CatalogView
from toolkit.testing import catalog_of
from toolkit.testing.laws.run_conditions import WatchedFolder, describe_changes
from toolkit.testing.load_target import list_packages, load_module

TOOLS = """
from toolkit import Catalog, tool

kitchen = Catalog()

@tool(catalog=None, read_only=True)
def shout(text: str) -> str:
    "Say it louder."
    return text.upper()

@kitchen.tool
def cook(dish: str) -> None:
    "Make a meal."

def whisper(text: str) -> str:
    "Say it quietly."
    return text.lower()

def odd(text: object()) -> None:
    "Cannot be a tool."

def _hidden() -> None:
    "Nobody's business."

number = 7
"""


def test_loading_a_module_finds_its_tools_and_catalogs(write_module):
    assert catalog_of(write_module("offering.tools", TOOLS)).names() == ["cook", "shout"]


def test_exports_of_a_package_count_wherever_they_are_defined(write_module):
    """A package whose functions come from its modules lists them in `__all__`."""
    write_module("inner_tools", "def shout(text: str) -> str:\n    'Say it louder.'\n    return text.upper()\n")
    name = write_module(
        "outer_tools",
        "from inner_tools import shout\n__all__ = ['shout']\ndef helper(a: int) -> int:\n    'Help.'\n    return a\n",
    )
    assert catalog_of(name, undecorated=True).names() == ["shout"]
    with pytest.raises(CatalogError, match="with `--all`"):
        catalog_of(name)


def test_undecorated_functions_count_if_asked_for(write_module):
    """The public ones that can be tools; nothing has to be edited."""
    name = write_module("undecorated_tools", TOOLS)
    assert catalog_of(name, undecorated=True).names() == ["cook", "shout", "whisper"]


def test_a_catalog_is_named_after_a_colon(write_module):
    """It may also be a function, or any other source of a catalog."""
    name = write_module("named_tools", TOOLS)
    kitchen = catalog_of(f"{name}:kitchen")
    assert isinstance(kitchen, CatalogView)
    assert kitchen.names() == ["cook"]
    assert catalog_of(f"{name}:whisper").names() == ["whisper"]


def test_a_file_is_a_module(tmp_path):
    """Loaded once, under its own name."""
    file = tmp_path / "tools_in_a_file.py"
    file.write_text(TOOLS)
    try:
        first = catalog_of(str(file))
        assert first.names() == ["cook", "shout"]
        assert catalog_of(f"{file}:kitchen")["cook"] is first["cook"]
    finally:
        del sys.modules["tools_in_a_file"]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("no.such.module", "cannot load 'no.such.module': No module named 'no'"),
        ("", "no module is named"),
        ("no_such_file.py", "there is no such file"),
        ("json:nothing", "json has no 'nothing'; it has no catalog and no dispatcher; leave the name out"),
        ("toolkit:nothing", "toolkit has no 'nothing'; its catalogs and dispatchers are default_catalog"),
        ("json", "json has no tools"),
    ],
)
def test_a_missing_target_is_an_error_with_the_remedy(target, words):
    with pytest.raises(CatalogError, match=words):
        catalog_of(target)


@pytest.mark.parametrize("source", ["1/0", "import sys; sys.exit(3)", "def"], ids=["raises", "exits", "no Python"])
def test_the_error_for_a_module_that_fails_has_its_exception(write_module, source):
    with pytest.raises(CatalogError, match="it raised (ZeroDivisionError|SystemExit|SyntaxError)"):
        catalog_of(write_module("failing_tools", source))


def test_a_module_in_the_current_folder_is_found(tmp_path, monkeypatch):
    """Whether or not it is on the path."""
    (tmp_path / "tools_right_here.py").write_text(TOOLS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder not in ("", str(tmp_path))])
    try:
        assert len(catalog_of("tools_right_here")) == 2
    finally:
        sys.modules.pop("tools_right_here", None)


def run_in(folder, source):
    """Return what a Python that has not *folder* on its path prints there, as the command `toolkit` has not."""
    root = Path(__file__).parents[2]
    start = f"import sys; sys.path = [each for each in sys.path if each != {str(folder)!r}]; "
    run = subprocess.run(
        [sys.executable, "-P", "-c", start + source],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


LOAD = "from toolkit.testing import catalog_of; found = catalog_of({target!r}); "


@pytest.mark.parametrize("target", ["tools", "tools.py", "calendar.py"])
@pytest.mark.parametrize("name", ["calendar", "jsonschema"])
@pytest.mark.long
def test_a_file_beside_the_target_stands_in_for_no_other_module(tmp_path, target, name):
    """An import of the calendar, or of an installed package, gets that; the target itself may have such a name."""
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "calendar.py").write_text(TOOLS)
    (tmp_path / "jsonschema.py").write_text("raise RuntimeError('not this one')")
    report = f"import {name}; print(found.names(), hasattr({name}, 'kitchen'))"
    assert run_in(tmp_path, LOAD.format(target=target) + report) == "['cook', 'shout'] False\n"


def test_a_package_in_the_working_folder_comes_before_an_installed_one(tmp_path):
    """The author of a change wants to check it."""
    (tmp_path / "site" / "shop").mkdir(parents=True)
    (tmp_path / "site" / "shop" / "__init__.py").write_text("raise RuntimeError('the old one')")
    (tmp_path / "here" / "shop").mkdir(parents=True)
    (tmp_path / "here" / "shop" / "__init__.py").write_text("")
    (tmp_path / "here" / "shop" / "tools.py").write_text(TOOLS)
    source = f"sys.path.append({str(tmp_path / 'site')!r}); " + LOAD.format(target="shop.tools") + "print(len(found))"
    assert run_in(tmp_path / "here", source) == "2\n"


def test_a_file_can_import_modules_beside_it(tmp_path):
    """This holds for any working folder."""
    (tmp_path / "helping_hand.py").write_text("from toolkit import tool\n")
    (tmp_path / "handy_tools.py").write_text("from helping_hand import tool\n" + TOOLS)
    source = LOAD.format(target=str(tmp_path / "handy_tools.py")) + "print(len(found))"
    assert run_in("/", source) == "2\n"


def test_a_file_of_a_package_imports_its_neighbours(tmp_path, monkeypatch):
    """The rest of the package imports the same module, and it is executed once."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    inner = tmp_path / "shop_package" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner.parent, inner):
        (folder / "__init__.py").write_text("")
    (inner / "words.py").write_text("greeting = 'hello'\n")
    (inner / "tools.py").write_text("from .words import greeting\n" + TOOLS)
    assert catalog_of(str(inner / "tools.py")).names() == ["cook", "shout"]
    module = sys.modules["shop_package.inner.tools"]
    assert load_module(str(inner / "tools.py")) is module
    assert load_module(str(inner / "__init__.py")) is sys.modules["shop_package.inner"]


def test_a_file_of_a_package_belongs_to_the_package_around_the_file(tmp_path, monkeypatch):
    """An installed package of the same name does not count."""
    for folder in ("site", "here"):
        package = tmp_path / folder / "shop_of_two_places"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"place = {folder!r}\n")
    (package / "tools.py").write_text("from . import place\n" + TOOLS)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    assert load_module(str(package / "tools.py")).place == "here"


def test_a_file_in_the_root_folder_is_in_no_package(monkeypatch):
    """This holds also with an `__init__.py` beside it."""
    monkeypatch.setattr(Path, "is_file", lambda path: True)
    assert list_packages(Path("/tools.py")) == []
    assert list_packages(Path("/shop/inner/tools.py")) == [Path("/shop"), Path("/shop/inner")]


@pytest.mark.parametrize("folder", ["json", "my-tools"])
def test_a_file_of_a_package_that_cannot_be_imported_is_loaded_alone(tmp_path, folder):
    """Another package has the same name, or no import statement can name the folder."""
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "__init__.py").write_text("raise RuntimeError('not imported')")
    (tmp_path / folder / "lonely.py").write_text(TOOLS)
    assert catalog_of(str(tmp_path / folder / "lonely.py")).names() == ["cook", "shout"]


def test_a_file_that_has_failed_fails_again(tmp_path):
    """Half of it is not kept."""
    (tmp_path / "half_a_file.py").write_text(TOOLS + "1/0")
    for _ in range(2):
        with pytest.raises(CatalogError, match="ZeroDivisionError"):
            catalog_of(str(tmp_path / "half_a_file.py"))


def test_the_error_for_a_module_without_tools_has_the_remedy(write_module):
    with pytest.raises(CatalogError, match="decorate a function with `@tool`"):
        catalog_of(write_module("empty_tools", "a = 1"), undecorated=True)


def test_every_change_in_a_folder_is_found(tmp_path):
    """Entries may come, go or change in content, permissions and links."""
    for name in "abc":
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "pipe")
    watched = WatchedFolder(tmp_path)
    before = watched.snapshot()
    assert describe_changes(before, watched.snapshot()) == ""
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").chmod(0o600)
    (tmp_path / "c").unlink()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("b")
    (tmp_path / "sub" / "new").touch()
    changes = describe_changes(before, watched.snapshot())
    assert changes == f"{os.path.join('sub', 'new')} appeared, c went, a changed, b changed, link changed"


def test_a_long_list_of_changes_is_cut(tmp_path):
    """The first ones are told, and how many more there are."""
    watched = WatchedFolder(tmp_path)
    before = watched.snapshot()
    for number in range(8):
        (tmp_path / str(number)).touch()
    assert describe_changes(before, watched.snapshot()).endswith("4 appeared and 3 more")


def test_a_file_or_a_too_large_folder_cannot_be_watched(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="is no folder"):
        WatchedFolder(tmp_path / "file")
    with pytest.raises(ValueError, match="more than 0 entries"):
        WatchedFolder(tmp_path, max_entries=0).snapshot()


def test_an_unreadable_file_has_its_own_kind_in_a_snapshot(tmp_path):
    """The rest is still compared."""
    (tmp_path / "a").write_text("x")
    watched = WatchedFolder(tmp_path)
    assert watched.snapshot()["a"][0] == "file"
    assert watched._describe_entry(str(tmp_path / "gone")) == ("unreadable", 0, "FileNotFoundError")


def test_a_named_catalog_is_not_copied(write_module):
    """Its later changes are visible."""
    name = write_module("living_tools", TOOLS)
    kitchen = catalog_of(f"{name}:kitchen")
    assert isinstance(kitchen, Catalog)
    kitchen.remove("cook")
    assert len(catalog_of(f"{name}:kitchen")) == 0


@pytest.mark.parametrize("name", [".", "./", "tools/"])
def test_the_error_for_a_folder_names_its_first_file(tmp_path, monkeypatch, name):
    (tmp_path / "tools").mkdir()
    for folder in (tmp_path, tmp_path / "tools"):
        (folder / "shop.py").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CatalogError, match=r"is a folder; name a module, or a file in it, such as .*shop\.py"):
        catalog_of(name)
