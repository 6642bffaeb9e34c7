"""Judging by name gives the same answers as judging the whole path."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.safety.protected import Protected
from toolkit.sandbox.names import by_name
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


@given(paths=st.lists(st.tuples(PATHS, st.sampled_from(["read", "write"])), min_size=1, max_size=12))
@example(paths=[("/keys-open/a", "write"), ("/keys-open", "write")])
@example(paths=[("/etc/a/b", "write"), ("/etc/b", "write"), ("/a/etc/a", "write")])
def test_the_verdict_is_the_same(workspace, paths):
    """For every path and every order of them."""
    judged = by_name(workspace.is_kept)
    assert [judged(*each) for each in paths] == [workspace.is_kept(*each) for each in paths]


def test_a_name_is_judged_once():
    """However many folders have it."""
    asked = []

    def is_kept(path, access):
        asked.append(path)
        return path.endswith(".env")

    judged = by_name(is_kept)
    assert [judged(f"/root/{number}/.env", "read") for number in range(3)] == [True, True, True]
    assert asked.count(".env") == 1


def test_what_is_remembered_is_bounded():
    """A workspace may have any number of names."""
    asked = []
    judged = by_name(lambda path, access: bool(asked.append(path)), most_names=10)
    for number in (*range(11), 0):
        judged(f"/root/{number}", "read")
    assert asked.count("0") == 2
