"""A home and a project for each test."""

from __future__ import annotations

import pytest

from tests.settings.kit import SettingsPlace
from toolkit.settings.trust import Trust


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Folders of a user and of a project; the real ones are not touched."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nowhere"))
    place = SettingsPlace(tmp_path)
    place.user.mkdir(mode=0o700)
    place.project.mkdir()
    return place


@pytest.fixture
def project(tmp_path):
    """A project with rules and a hook."""
    folder = tmp_path / "project"
    (folder / ".toolkit/hooks").mkdir(parents=True)
    (folder / ".toolkit/toolkit.toml").write_text('allow = ["read"]')
    (folder / ".toolkit/hooks/check.py").write_text("print()")
    (folder / "README.md").write_text("hello")
    return folder


@pytest.fixture
def trust(tmp_path):
    """A user who trusts no folder yet."""
    return Trust(tmp_path / "config/toolkit/trust.json")
