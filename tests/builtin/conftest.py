"""A conversation for each test."""

from __future__ import annotations

import pytest

from toolkit import Dispatcher, Permissions, Session
from toolkit.builtin import Workspace, builtin_catalog
from toolkit.builtin.commands.shell_state import end_shells

from ..sandbox.levels import level
from .project_calls import APP, OUTSIDE, SECRET


@pytest.fixture
def session():
    """A conversation that ends with the test."""
    session = Session()
    yield session
    end_shells(session)


@pytest.fixture
def root(tmp_path):
    """A small project, with a secret in it and something beside it."""
    folder = tmp_path / "root"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text(APP)
    (folder / "notes.txt").write_text("one\ntwo\n")
    (folder / ".env").write_text(SECRET)
    (tmp_path / "outside.txt").write_text(OUTSIDE)
    return folder


@pytest.fixture
def dispatcher(root):
    """Makes a dispatcher for the project, as an application does."""

    def make(mode="auto", rules=(), *, sandbox="none", without=(), **options):
        workspace = Workspace(root)
        chosen = sandbox if sandbox == "none" else level(workspace, sandbox, network=options.get("network", False))
        catalog = builtin_catalog(workspace, sandbox=chosen, network=options.pop("network", False))
        safety = workspace.safety(without=without)
        return Dispatcher(catalog, permissions=Permissions(mode, rules), safety=safety, **options)

    return make
