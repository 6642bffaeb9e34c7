"""What the safety checks and the workspace refuse to the builtin tools, in every mode."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..example_counts import limit_examples
from ..sandbox.levels import REAL
from .project_calls import OUTSIDE, SECRET, edit_call, write_call

pytestmark = pytest.mark.anyio


CHECKED = pytest.mark.parametrize(
    "without", [(), ("folder", "protected-file")], ids=["by the checks", "by the workspace alone"]
)


@CHECKED
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": ".env"}),
        ("read", {"path": "src/../.ENV"}),
        ("read", {"path": "innocent.txt"}),
        ("grep", {"pattern": ".", "path": ".env"}),
        write_call(".env", "x"),
        write_call(".git/hooks/pre-commit", "#!/bin/sh\n"),
        write_call(".github/workflows/ci.yml", "on: push\n"),
        edit_call(".env", "hunter2", "x"),
        edit_call("innocent.txt", "hunter2", "x"),
    ],
)
async def test_protected_files_are_refused_in_every_mode(dispatcher, root, name, arguments, without):
    """Twice over: before the call, and where the file is opened."""
    (root / "innocent.txt").symlink_to(".env")
    result = await dispatcher("bypass", without=without).call(name, arguments)
    assert result.kind == "safety"
    assert SECRET not in result.text
    assert (root / ".env").read_text() == SECRET
    assert not (root / ".git").exists()
    assert not (root / ".github").exists()


@CHECKED
async def test_a_search_skips_secrets_and_names_them(dispatcher, without):
    """Their names may be known, and their content may not."""
    by = dispatcher("plan", without=without)
    matches = await by.call("grep", {"pattern": "hunter2", "ignored": True})
    assert matches.kind == "ok"
    assert "TOKEN" not in matches.text
    assert "1 protected file was not searched: .env" in matches.text
    assert ".env" in (await by.call("glob", {"pattern": "*"})).text.split()


@pytest.mark.parametrize("sandbox", REAL)
async def test_a_command_does_not_read_a_secret_either(dispatcher, sandbox):
    """This holds in every mode, and for every kind of command."""
    by = dispatcher("bypass", sandbox=sandbox)
    result = await by.call("bash", {"command": "cat .env; cat < .e*; cp .env x; cat x; ln .env y; cat y; true"})
    assert result.kind == "ok"
    assert "hunter2" not in result.text


@pytest.mark.one_case_in(3)
@CHECKED
@pytest.mark.parametrize(
    ("path", "kind", "words"),
    [
        ("../outside.txt", "safety", "outside the folders"),
        ("src/../../outside.txt", "safety", "outside the folders"),
        ("src/out.txt", "safety", "outside the folders"),
        ("/etc/passwd", "safety", "outside the folders"),
        ("//etc//passwd", "safety", "outside the folders"),
        ("/dev/zero", "safety", "outside the folders"),
        ("/proc/self/environ", "safety", "every process has for itself"),
        ("/proc/self/root/etc/passwd", "safety", "every process has for itself"),
        ("~/.profile", "safety", "is not expanded"),
        ("~root/.profile", "safety", "is not expanded"),
        ("\ud800", "bad_args", "not valid Unicode"),
        ("file:///etc/passwd", "failed", "does not exist"),
        ("pipe", "failed", "only files can be read"),
        ("src", "failed", "list it with `glob`"),
        ("notes.txt/x", "failed", "not a folder"),
    ],
    ids=lambda value: ascii(value)[:40],
)
async def test_hostile_paths_end_in_a_clear_refusal(dispatcher, root, tmp_path, path, kind, words, without):
    """Never a byte from outside, never a wait, never a bug of ours."""
    (root / "src" / "out.txt").symlink_to(tmp_path / "outside.txt")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    result = await dispatcher("bypass", without=without).call("read", {"path": path}, timeout_seconds=20)
    assert result.kind == kind
    assert words in result.text
    assert OUTSIDE not in result.text
    assert "root:" not in result.text


NO_PATHS = [
    ("loop", "in a circle; name the file itself"),
    ("loop/x", "in a circle; name the file itself"),
    ("x" * 300, "shorten it"),
    ("a/" * 200 + "b" * 300, "shorten it"),
    ("a\0b", "NUL character, which no path can; send it without"),
    ("", "the path is empty; name a file"),
]


@pytest.mark.one_case_in(3)
@CHECKED
@pytest.mark.parametrize(("path", "words"), NO_PATHS, ids=lambda value: ascii(value)[:40])
@pytest.mark.parametrize(
    ("tool", "further"),
    [("read", {}), ("write", {"content": "x"}), ("glob", {"pattern": "*"}), ("grep", {"pattern": "x"})],
)
async def test_a_path_that_leads_to_no_file_is_to_be_corrected(dispatcher, root, tool, further, path, words, without):
    """The model is told what to send instead, and not that it must not try again."""
    (root / "loop").symlink_to("loop")
    by = dispatcher("bypass", without=without)
    result = await by.call(tool, {"path": path, **further}, timeout_seconds=20)
    assert result.kind == ("failed" if without else "bad_args")
    assert words in result.text
    assert "Do not try again" not in result.text


@pytest.mark.unmeasured
@CHECKED
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=limit_examples(40))
@given(
    pieces=st.lists(st.sampled_from(["..", ".", "", "src", "up", "out", "in", "outside.txt", "root", "~"]), max_size=7)
)
@pytest.mark.long
async def test_no_path_leads_outside(dispatcher, root, tmp_path, pieces, without):
    """For any combination of names, links and `..`, a file outside is not read and not changed."""
    for name, target in {"src/up": "..", "src/out": "../../outside.txt", "src/in": "../notes.txt"}.items():
        if not (root / name).is_symlink():
            (root / name).symlink_to(target)
    by, path = dispatcher("bypass", without=without), "/".join(pieces)
    for call in (("read", {"path": path}), ("grep", {"pattern": ".", "path": path})):
        assert OUTSIDE not in (await by.call(*call)).text
    for call in (edit_call(path, "lies", "stands"), write_call(path, "x")):
        await by.call(*call)
    assert (tmp_path / "outside.txt").read_text() == OUTSIDE
    assert {entry.name for entry in tmp_path.iterdir()} == {"root", "outside.txt"}
