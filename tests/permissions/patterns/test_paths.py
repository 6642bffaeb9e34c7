"""
Path patterns, with real folders and real links.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit.permissions.patterns.paths import PathPattern


@pytest.fixture
def root(tmp_path):
    """A project with links in it, and something beside it."""
    top = tmp_path / "project"
    for folder in ("src/deep", "src-evil", "docs", "secrets"):
        (top / folder).mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    for file in ("src/a.py", "secrets/key", "notes.txt"):
        (top / file).write_text("x")
    (tmp_path / "outside/passwd").write_text("x")
    links = {
        "src/out": "../../outside",
        "src/to_key": "../secrets/key",
        "src/chain": "to_key",
        "src/up": "..",
        "inside": "src",
        "leak": "../outside",
        "loop": "loop",
        "plain.txt": "notes.txt",
    }
    for name, target in links.items():
        (top / name).symlink_to(target)
    return top


# What is allowed, and what is denied; both where they agree.


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src/**", "src/a.py", True),
        ("src/**", "src/deep/new/file.py", True),
        ("src/**", "src", True),
        ("src/**", "src/", True),
        ("src/**", "./src//deep/../a.py", True),
        ("src/", "src/a.py", True),
        ("src/**", "src-evil/x", False),
        ("src/**", "srcx", False),
        ("src/**", "src/../notes.txt", False),
        ("src/**", "docs/src/x", False),
        ("src/**", ".", False),
        ("./src/**", "src/a.py", True),
        ("docs/../src/**", "src/a.py", True),
        ("src/*", "src/a.py", True),
        ("src/*", "src", False),
        ("src/?.py", "src/a.py", True),
        ("src/?.py", "src/ab.py", False),
        ("*.py", "a.py", True),
        ("*.py", "a.pyc", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "src/deep/a.py", True),
        ("**/*.py", "src/deep/a.txt", False),
        ("src/**/x/*.py", "src/a/x/b/x/c.py", True),
        ("src/**/x/*.py", "src/a/y/c.py", False),
        ("**", "any/thing", True),
        ("notes.txt", "notes.txt", True),
        ("notes.txt", "notes.txt.bak", False),
        ("../outside/**", "../outside/passwd", True),
        ("../outside/*", "../outside/../outside/passwd", True),
        ("a[b]c", "a[b]c", True),
        ("a[b]c", "abc", False),
        ("src/[ab].p*", "src/a.py", False),
    ],
)
def test_a_pattern_is_compared_component_by_component(root, pattern, path, expected):
    """Allow and deny rules compare in the same way."""
    read = PathPattern.read(pattern)
    assert read.allows(path, str(root)) is expected
    assert read.allows(str(root / path), str(root)) is expected
    assert read.concerns(path, str(root)) is expected


@pytest.mark.parametrize(
    ("pattern", "path", "allowed", "denied"),
    [
        # Links: an allow goes by where they lead, a deny by every name on the way.
        ("src/**", "src/out/passwd", False, True),
        ("src/**", "src/to_key", False, True),
        ("secrets/**", "src/to_key", True, True),
        ("secrets/**", "src/chain", True, True),
        ("src/to_key", "src/chain", True, True),
        ("src/**", "inside/a.py", True, True),
        ("inside/**", "src/a.py", True, True),
        ("notes.txt", "plain.txt", True, True),
        ("plain.txt", "notes.txt", True, True),
        # `src/up/..` is beside the project for the system, and `src` for who takes out the dots first.
        ("src/**", "src/up/../src/a.py", False, True),
        ("**", "src/out/../x", False, True),
        # A link in the project cannot stretch a pattern beyond it.
        ("leak/**", "leak/passwd", False, True),
        ("leak/**", "../outside/passwd", False, True),
        ("docs/../leak/**", "leak/passwd", False, True),
        ("src/out/passwd", "src/out/passwd", False, True),
        # Case, and letters in two forms.
        ("src/**", "SRC/a.py", False, True),
        ("SRC/*.PY", "src/a.py", False, True),
        ("caf\u00e9/**", "cafe\u0301/x", False, True),
        # Beneath what is denied.
        ("secrets", "secrets/key", False, True),
        ("src/*", "src/deep/x.py", False, True),
        ("**/deep", "src/deep/x.py", False, True),
        # A deny without a slash holds at any depth.
        ("*.py", "src/a.py", False, True),
        ("key", "secrets/key", False, True),
        ("key", "../outside/key", False, True),
        ("*", "src/a.py", False, True),
        ("**", "../outside/passwd", False, True),
        ("project", "notes.txt", False, False),
    ],
)
def test_an_allow_rule_is_narrow_and_a_deny_rule_is_wide(root, pattern, path, allowed, denied):
    """A doubtful path is not allowed, and is denied."""
    read = PathPattern.read(pattern)
    assert read.allows(path, str(root)) is allowed
    assert read.concerns(path, str(root)) is denied


@pytest.mark.parametrize("pattern", ["{folder}/outside/**", "{folder}/other/*", "/**"])
def test_an_absolute_pattern_does_not_start_from_the_root(root, tmp_path, pattern):
    """Links in the pattern are resolved."""
    (tmp_path / "other").symlink_to("outside")
    path, absolute = str(tmp_path / "outside/passwd"), PathPattern.read(pattern.format(folder=tmp_path))
    assert absolute.allows(path, str(root))
    assert absolute.concerns(path, str(root))


def test_an_absolute_pattern_matches_whole_names(root, tmp_path):
    assert not PathPattern.read(f"{tmp_path}/out/**").allows(str(tmp_path / "outside/passwd"), str(root))


@pytest.mark.parametrize("pattern", ["~/**", "~", "~/"])
def test_a_tilde_in_a_pattern_is_the_home_folder(root, pattern):
    path = os.path.expanduser("~/x")
    assert PathPattern.read(pattern).concerns(path, str(root))
    assert PathPattern.read("~/**").allows(path, str(root))


def test_a_relative_root_is_the_working_folder(monkeypatch, root):
    """A request has the root `.` unless it says otherwise."""
    monkeypatch.chdir(root)
    assert PathPattern.read("src/**").allows("src/a.py", ".")
    assert PathPattern.read("src/**").concerns(str(root / "src/a.py"), ".")


@pytest.mark.parametrize("path", ["", "a\0b", "~/x", "~root/x", "x" * 300, "loop/x", "/proc/self/cwd/x"])
@pytest.mark.parametrize("compare", [PathPattern.allows, PathPattern.concerns])
def test_text_that_cannot_be_a_path_is_an_error(root, path, compare):
    """An allow rule takes the error for no match, and a deny rule for a match."""
    with pytest.raises(ValueError):
        compare(PathPattern.read("**"), path, str(root))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("src/**.py", "stands alone"),
        ("***", "stands alone"),
        ("~root/x", "home folder"),
        ("~x", "home folder"),
        ("src/*/../x", "cannot follow"),
        ("a\0b", "NUL"),
    ],
)
def test_a_malformed_pattern_is_refused_with_the_remedy(pattern, message):
    with pytest.raises(ValueError, match=message):
        PathPattern.read(pattern)


_STEPS = st.sampled_from(
    ["src", "out", "up", "inside", "leak", "to_key", "chain", "secrets", "..", ".", "", "a.py", "deep", "SRC", "key"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(_STEPS, min_size=1, max_size=7), pattern=st.sampled_from(["src/**", "inside/**", "src/*", "leak/**"])
)
def test_an_allowed_path_really_lies_in_the_folder(root, steps, pattern):
    """The path may be written in any form, and may go through any links."""
    path = "/".join(steps)
    read = PathPattern.read(pattern)
    try:
        allowed = read.allows(path, str(root))
    except ValueError:
        return
    if allowed:
        real = Path(os.path.realpath(root / path))
        assert real.is_relative_to(os.path.realpath(root / "src"))
        assert read.concerns(path, str(root))
