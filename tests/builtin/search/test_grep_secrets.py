"""`grep` never shows a file that the workspace protects."""

from __future__ import annotations

import os

import pytest

from tests.builtin.trees import plant
from toolkit import Catalog, Dispatcher, Permissions
from toolkit.builtin.search.grep_syntax import build_query
from toolkit.builtin.search.grep_tool import grep_for
from toolkit.builtin.search.line_search import search_file
from toolkit.builtin.search.ripgrep import Ripgrep
from toolkit.builtin.time_limit import TimeLimit
from toolkit.errors import Safety, ToolError
from toolkit.workspace import Workspace

from .programs import BWRAP, RG, XARGS, needs_rg

pytestmark = pytest.mark.anyio


SECRETS = {
    ".env": "KEY=needle-secret\n",
    "in/.env": "needle-secret\n",
    ".ssh/id_rsa": "needle-secret\n",
    "server.pem": "needle-secret\n",
    "mine/x": "needle-secret\n",
    "open": "needle\n",
}


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("options", [{}, {"mode": "count"}, {"mode": "files"}, {"context_lines": 3}, {"ignored": True}])
def test_the_content_of_a_protected_file_is_never_shown(tmp_path, grep, options):
    """Built-in patterns and those of the application count. The names are listed whether the files match or not."""
    plant(tmp_path, SECRETS)
    workspace = Workspace(tmp_path, protected=["mine/**"])
    text = grep(workspace, "needle", **options)
    assert "secret" not in text
    assert text.split("\n")[0].startswith("open")
    assert text.split("\n")[1] == "(3 protected files were not searched: server.pem, in/.env, .env)"
    assert grep(workspace, "no such text").split("\n")[1] == text.split("\n")[1]


@needs_rg
def test_ripgrep_is_not_given_a_secret(tmp_path):
    """The program does not get the names of protected files, so it clears none of them."""
    workspace = plant(tmp_path, SECRETS)
    entries = [entry for entry in workspace.walk() if entry.kind == "file"]
    sieve = Ripgrep(workspace, rg=RG, xargs=XARGS, bwrap=None)
    cleared = sieve.find_files_without_match(build_query("no such text"), entries, TimeLimit(60, lambda: False))
    assert cleared == {"open", "mine/x"}


@needs_rg
@pytest.mark.skipif(BWRAP is None, reason="bubblewrap (bwrap) is not installed: the sandbox was NOT tested")
def test_ripgrep_sees_only_the_workspace(tmp_path):
    """In its sandbox it sees no secret and no file outside, and cannot write."""
    outside = tmp_path / "outside"
    outside.write_text("needle")
    workspace = plant(tmp_path / "root", {"open": "needle", ".env": "needle"})
    spy = tmp_path / "root" / "spy"
    spy.write_text(
        "#!/bin/sh\n"
        f"cat {outside} .env >/dev/null 2>&1 && printf 'leak\\0'\n"
        "grep -q needle .env 2>/dev/null && printf 'secret\\0'\n"
        "touch made 2>/dev/null && printf 'wrote\\0'\n"
        "[ -r open ] && printf './open\\0'\n"
    )
    spy.chmod(0o755)
    sieve = Ripgrep(workspace, rg=str(spy), xargs=XARGS, bwrap=BWRAP)
    code, output = sieve._run([XARGS, "-0", str(spy)], b"x\0", TimeLimit(60, lambda: False))
    assert (code, output) == (0, b"./open\0")
    assert not (tmp_path / "root" / "made").exists()


def test_a_protected_file_that_is_named_is_refused(tmp_path, grep):
    with pytest.raises(Safety, match=".env"):
        grep(plant(tmp_path, SECRETS), "needle", path=".env")


def test_a_pipe_that_is_named_is_refused(tmp_path, grep):
    """The search does not wait for its content; among other files it is passed over."""
    workspace = plant(tmp_path, {"a": "needle"})
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolError, match="only files"):
        grep(workspace, "needle", path="pipe")
    assert grep(workspace, "needle") == "a:1: needle"


def test_links_are_not_followed(tmp_path, grep):
    """A link may lead out of the workspace or to a file in it."""
    (tmp_path / "outside").write_text("needle outside")
    workspace = plant(tmp_path / "root", {"a": "needle"})
    os.symlink("../outside", tmp_path / "root" / "out")
    os.symlink("a", tmp_path / "root" / "again")
    assert grep(workspace, "needle") == "a:1: needle"


@needs_rg
def test_text_that_ripgrep_read_is_never_shown(tmp_path):
    """A file that becomes a link to the outside while ripgrep runs is read by the workspace, which refuses it."""
    (tmp_path / "outside").write_text("needle outside")
    workspace = plant(tmp_path / "root", {"a": "harmless", "b": "harmless"})
    entries = [entry for entry in workspace.walk() if entry.kind == "file"]
    os.remove(tmp_path / "root" / "a")
    os.symlink("../outside", tmp_path / "root" / "a")
    query, watch = build_query("needle"), TimeLimit(60, lambda: False)
    cleared = Ripgrep(workspace, rg=RG, xargs=XARGS, bwrap=None).find_files_without_match(query, entries, watch)
    assert cleared == {"b"}
    matches = search_file(workspace, entries[0], query, watch)
    assert isinstance(matches.refused, Safety)
    assert not matches.hits


async def test_a_rule_about_a_path_holds_for_every_file_of_a_search(tmp_path):
    """
    A denied file is not shown, and neither is the fact that it matches, although the folder above may be
    searched.
    """
    workspace = plant(tmp_path, {"in/a": "needle", "b": "needle"})
    catalog = Catalog()
    catalog.add(grep_for(workspace, ripgrep=False))
    permissions = Permissions("default", ["deny grep(path=in/**)"])
    result = await Dispatcher(catalog, permissions=permissions, safety=workspace.safety()).call(
        "grep", {"pattern": "needle"}
    )
    assert result.kind == "ok"
    assert result.text == "b:1: needle"
