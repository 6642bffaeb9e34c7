"""Names that are ruled out together are none that judging them one by one would keep."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.safety.protected_files import Protected
from toolkit.sandbox.visible_files import build_suspect_finder
from toolkit.workspace import Workspace

PIECES = [".git", "config", "hooks", ".aws", "credentials", "sso", ".env", ".env.example", "x.pem", "a", "lib", "keys"]
ODD = ["..", "a..b", ".ENV", ".env.", "a b", "a\\.env", "ﬁle.pem", ".env:x", ".Env ", "some file", "keys-open", "etc"]
NAMES = st.sampled_from([*PIECES, *ODD])
PATHS = st.lists(NAMES, min_size=1, max_size=5).map(lambda names: "/" + "/".join(names))
WISHES = [
    Protected("keys*/**", "keys", "not written", ("keys-open",)),
    Protected("/etc/a/**", "settings", "not written"),
    Protected("lib/*/a", "a part"),
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """With patterns of all kinds besides the usual ones."""
    return Workspace(tmp_path_factory.mktemp("root"), protected=WISHES)


@given(folder=PATHS, names=st.lists(NAMES | st.text(st.characters(exclude_characters="/\0"), min_size=1), min_size=1))
@example(folder="/keys-open", names=["a"])
@example(folder="/etc", names=["a"])
@example(folder="/a", names=["\u212aeys", "key4.db", "x"])
def test_every_protected_name_is_suspect(workspace, folder, names):
    """This holds for any folder, any name and any other names beside it."""
    protected = {name for name in names if workspace.is_kept(f"{folder}/{name}", "write")}
    assert protected <= build_suspect_finder(workspace.protected_patterns, workspace.is_kept)(folder, names)


def test_ordinary_names_are_not_judged(workspace):
    """They may be alone or beside a secret. A folder costs two questions for any number of names."""
    paths = []

    def is_kept(path, access):
        paths.append(path)
        return workspace.is_kept(path, access)

    suspects = build_suspect_finder(workspace.protected_patterns, is_kept)
    ordinary = [f"file_{number}.py" for number in range(1000)]
    assert suspects("/projects", ordinary) == set()
    assert suspects("/projects", [*ordinary, ".ENV"]) == {".ENV"}
    assert len(paths) == 4


def test_only_ambiguous_names_are_suspect_without_patterns():
    suspects = build_suspect_finder([], lambda path, access: False)
    assert suspects("/root", ["a", ".env", "b."]) == {"b."}
