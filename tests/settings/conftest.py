"""A home and a project for each test."""

from __future__ import annotations

import pytest

from tests.settings.kit import Place


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Folders of a user and of a project; the real ones are not touched."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nowhere"))
    place = Place(tmp_path)
    place.user.mkdir(mode=0o700)
    place.project.mkdir()
    return place
