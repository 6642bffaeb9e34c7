"""
A folder with tools in it, to work in; the user's own files are not touched.
"""

from __future__ import annotations

import sys

import pytest

from tests.cli.kit import TOOLS, CommandFolder


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """The current folder, with `tools.py`; cache, configuration and home are elsewhere."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "tools.py").write_text(TOOLS, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("NO_COLOR", "FORCE_COLOR", "_TOOLKIT_COMPLETE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(folder)  # what is loaded here is not found by the next test
    yield CommandFolder(folder)
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(folder)):
            del sys.modules[name]
