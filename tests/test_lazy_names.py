"""Modules that are loaded when a name of theirs is first used."""

from __future__ import annotations

import sys

import pytest

from toolkit import ToolkitError
from toolkit._lazy_names import LazyModule, lazy_getattr


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a module that works, and one that needs another package, which is missing."""
    folder = tmp_path / "sample_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "good.py").write_text("name = object()\n")
    (folder / "broken.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__("sample_package")
    for module in ("sample_package", "sample_package.good"):
        sys.modules.pop(module, None)


def test_a_name_in_the_table_is_loaded_once(package):
    load = lazy_getattr("sample_package", {"name": "good"})
    assert "sample_package.good" not in sys.modules
    assert load("name") is package.name is sys.modules["sample_package.good"].name


def test_a_name_that_is_not_in_the_table_is_unknown(package):
    """The error has the words of Python."""
    with pytest.raises(AttributeError, match="module 'sample_package' has no attribute 'other'"):
        lazy_getattr("sample_package", {"name": "good"})("other")


def test_a_lazy_module_is_loaded_with_its_first_name(package):
    module = LazyModule("sample_package.good", "pip install sample")
    assert "sample_package.good" not in sys.modules
    assert module.name is module.name is sys.modules["sample_package.good"].name


@pytest.mark.parametrize("name", ["no_such_package", "sample_package.no_such_part"])
def test_a_missing_package_is_missed_with_the_remedy(package, name):
    """This holds also if only a part of it is missing, as in an old version."""
    top = name.partition(".")[0]
    with pytest.raises(ToolkitError, match=f"{top} is not installed; pip install sample"):
        _ = LazyModule(name, "pip install sample").anything


def test_the_error_names_another_missing_package(package):
    """The remedy for the lazy module would not help."""
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        _ = LazyModule("sample_package.broken", "pip install sample").anything
