"""Where a path leads: inside is fine, outside and secrets are not, by any name."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit.access import Reads
from toolkit.errors import Safety, ToolError
from toolkit.safety.paths import Folders
from toolkit.safety.protected_files import ProtectedFiles
from toolkit.workspace import Workspace
from toolkit.workspace.borders import Borders
from toolkit.workspace.open_beneath import OpenFolder

from .conftest import MARKER
from .trees import PATHS, TREES, plant


@pytest.fixture
def tree(root):
    """A file, and links to it and to elsewhere."""
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("inside")
    for name, target in {
        "relative": "a/b/file",
        "absolute": root / "a/b/file",
        "to_folder": "a/b",
        "chain": "relative",
        "through": "to_folder/../b/file",
        "out": "../outside/secret.txt",
        "out_absolute": root.parent / "outside/secret.txt",
        "out_folder": root.parent / "outside",
        "out_chain": "out_folder",
        "circle": "circle2",
        "circle2": "circle",
        "magic": "/proc/self/root/etc/passwd",
        "magic_cwd": "/proc/self/cwd",
    }.items():
        (root / name).symlink_to(target)
    return root


@pytest.mark.parametrize(
    "path",
    [
        *("a/b/file", "./a//b/./file", "a/b/../b/file", "relative", "absolute", "to_folder/file", "chain", "through"),
        *("{root}/a/b/file", "{root}/relative", "{root}/../root/a/b/file", "//{root}/a/b/file", "../root/a/b/file"),
    ],
)
def test_a_path_that_leads_inside_is_read(tree, space, path):
    """It may be written in any form."""
    assert space.read(path.format(root=tree)) == b"inside"


def test_the_root_may_have_other_names(tree, way, scratch):
    """A root that is given by a link is found by that name too."""
    (scratch / "alias").symlink_to(tree)
    space = Workspace(scratch / "alias", way=way)
    assert space.root == str(tree)
    assert space.read(str(scratch / "alias" / "a" / "b" / "file")) == b"inside"


OUTSIDE = [
    *("../outside/secret.txt", "{root}/../outside/secret.txt", "/etc/passwd", "/usr", "../outside"),
    *("out", "out_absolute", "out_folder/secret.txt", "out_chain/secret.txt", "to_folder/../../../outside/secret.txt"),
    *("~", "~/x", "magic", "magic_cwd/x", "/proc/self/root/etc/passwd", "/proc/self/environ", "/dev/stdin"),
]
NO_PATHS = ["circle", "circle/x", "", "a\0b", "n" * 256, "n/" * 2100 + "n", "\ud800"]


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("doing", ["read", "open", "stat", "entries", "walk", "place"])
def test_a_path_that_leads_outside_is_refused(tree, space, doing, path):
    """This holds for every method."""
    with pytest.raises(Safety):
        getattr(space, doing)(path.format(root=tree))


@pytest.mark.parametrize("path", NO_PATHS)
@pytest.mark.parametrize("doing", ["read", "open", "stat", "entries", "walk", "place"])
def test_a_text_that_is_not_a_path_is_a_plain_tool_error(tree, space, doing, path):
    """The model may correct the mistake."""
    with pytest.raises(ToolError) as problem:
        getattr(space, doing)(path)
    assert type(problem.value) is ToolError


@pytest.mark.parametrize("path", NO_PATHS)
def test_writing_to_a_text_that_is_not_a_path_is_a_plain_tool_error(tree, space, path):
    with pytest.raises(ToolError) as problem:
        space.write(path, b"x")
    assert type(problem.value) is ToolError


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_write_reaches_outside(tree, space, path):
    """The files there do not change."""
    with pytest.raises(Safety):
        space.write(path.format(root=tree), b"x")
    assert os.listdir(tree.parent / "outside") == ["secret.txt"]
    assert (tree.parent / "outside" / "secret.txt").read_bytes() == MARKER


def test_the_reason_names_the_place_and_the_remedy(tree, space):
    """The refusal says where the path led and what would help."""
    with pytest.raises(Safety) as refused:
        space.read("out")
    text = str(refused.value)
    assert "'out' leads to" in text
    assert "outside/secret.txt" in text
    assert "Workspace(folders=...)" in text


def test_a_path_has_to_be_text(space):
    with pytest.raises(ToolError, match="a path is text, got int"):
        space.read(3)


def test_a_path_with_two_meanings_is_refused(tree, space):
    """`..` after a link is read in two ways, by the system and by those who take it out first."""
    (tree / "file").write_text("other")
    (tree / "b").mkdir()
    (tree / "b" / "file").write_text("by text")
    with pytest.raises(Safety, match="means two places"):
        space.read("to_folder/../b/../file")


SECRETS = [".env", ".ssh/id_rsa", "deep/.ENV", "server.pem", ".aws/credentials"]


@pytest.mark.parametrize("path", SECRETS)
@pytest.mark.parametrize(
    "use",
    [
        lambda space, path: space.read(path),
        lambda space, path: space.stat(path),
        lambda space, path: space.write(path, b"x"),
    ],
    ids=["read", "stat", "write"],
)
def test_a_secret_is_not_read_and_not_written(root, space, path, use):
    """The error names the protected file and the remedy, and no file is created."""
    with pytest.raises(Safety, match=r"tools neither read nor write it.*Workspace\(unprotected=...\)"):
        use(space, path)
    assert os.listdir(root) == []


@pytest.mark.parametrize("chain", [["notes"], ["notes", "more"]])
def test_secrets_are_not_reached_through_links(root, space, chain):
    """An innocent name that leads to a secret is one."""
    (root / ".env").write_bytes(MARKER)
    target = ".env"
    for name in chain:
        (root / name).symlink_to(target)
        target = name
    with pytest.raises(Safety, match="environment file"):
        space.read(target)
    with pytest.raises(Safety, match="environment file"):
        space.write(target, b"x")


def test_a_name_on_the_way_protects_too(root, space):
    """A link that is called like a secret is one, wherever it leads, also in the middle of a chain."""
    (root / "plain").write_text("x")
    (root / ".env").symlink_to("plain")
    (root / "notes").symlink_to(".env")
    with pytest.raises(Safety, match="environment file"):
        space.read("notes")


def test_a_file_that_makes_programs_run_code_is_read_and_not_written(root, space):
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]")
    assert space.read(".git/config") == b"[core]"
    with pytest.raises(Safety, match="makes git run code"):
        space.write(".git/config", b"x")
    with pytest.raises(Safety, match="makes git run code"):
        space.write(".git/hooks/pre-commit", b"x")


def test_the_application_protects_and_lifts(root, way):
    """Patterns are added and lifted as for the safety checks."""
    (root / "ledger.db").write_text("x")
    (root / ".env").write_text("y")
    space = Workspace(root, protected=iter(["*.db", root / "own"]), unprotected=iter([".env"]), way=way)
    with pytest.raises(Safety, match="the application protects"):
        space.read("ledger.db")
    with pytest.raises(Safety, match="the application protects"):
        space.write("own", b"x")
    assert space.read(".env") == b"y"
    checks = space.safety()
    assert [bool(checks.judge([Reads(path)])) for path in ("ledger.db", "own", ".env")] == [True, True, False]


@pytest.fixture
def several(scratch, root, way):
    """A root with a read-only folder in it, and two folders beside it."""
    for name in ("root/vendor/mine", "lib", "docs"):
        (scratch / name).mkdir(parents=True)
        (scratch / name / "file").write_text(name)
    (root / "to_lib").symlink_to(scratch / "lib")
    (root / "to_vendor").symlink_to("vendor")
    folders, read_only = [scratch / "lib", root / "vendor" / "mine"], [root / "vendor", scratch / "docs"]
    return Workspace(root, folders=folders, read_only=read_only, way=way)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("vendor/mine/file", b"root/vendor/mine"),
        ("../lib/file", b"lib"),
        ("{above}/lib/file", b"lib"),
        ("to_lib/file", b"lib"),
        ("{above}/docs/file", b"docs"),
    ],
)
def test_every_folder_is_read(several, scratch, path, content):
    """Further folders are reached by absolute paths, by `..` and by links from one to another."""
    assert several.read(path.format(above=scratch)) == content


@pytest.mark.parametrize("path", ["vendor/new", "to_vendor/new", "../docs/new", "{above}/docs/deep/new", "Vendor/new"])
def test_a_read_only_folder_is_not_written(several, scratch, path):
    """This holds for every name of it, and for other cases of its letters."""
    with pytest.raises(Safety, match="only read"):
        several.write(path.format(above=scratch), b"x")


@pytest.mark.parametrize("path", ["new", "to_lib/new", "vendor/mine/new", "{above}/lib/deep/new"])
def test_the_innermost_folder_counts(several, scratch, path):
    """A writable folder inside a read-only one is written."""
    written = several.write(path.format(above=scratch), b"x")
    assert several.read(written.path) == b"x"


@pytest.mark.parametrize("path", [".", "vendor", "{above}/lib"])
def test_a_folder_of_the_workspace_is_not_replaced(several, scratch, path):
    with pytest.raises((Safety, ToolError)):
        several.write(path.format(above=scratch), b"x")


def test_a_workspace_lists_its_folders(several, scratch, root):
    """Other tools need them. The writable folders come first, beginning with the root, and then the read-only ones."""
    assert several.folders == (str(root), str(scratch / "lib"), str(root / "vendor" / "mine"))
    assert several.read_only == (str(root / "vendor"), str(scratch / "docs"))
    assert several.safety().root == several.root


def test_links_that_change_all_the_time_are_given_up(root):
    """The model gets an error after some tries."""
    (root / "to_file").symlink_to("file")
    tries = []

    def swap_in_folder(spot):
        tries.append(spot.path)
        raise OSError(40, "Too many levels of symbolic links")

    borders = Borders(Folders([root]), ProtectedFiles([]), [OpenFolder(str(root))])
    with pytest.raises(ToolError, match="keeps changing; try again later"):
        borders.run_on_path("to_file", "read", swap_in_folder)
    assert 1 < len(tries) < 100


def test_a_path_in_no_open_folder_is_refused(root, scratch):
    """The folders allow the path, but there is no descriptor to open it beneath."""
    borders = Borders(Folders([scratch]), ProtectedFiles([]), [OpenFolder(str(root))])
    with pytest.raises(Safety, match="in no folder that this workspace holds"):
        borders.run_on_path("outside/secret.txt", "read", lambda spot: spot)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    tree=TREES, paths=st.lists(st.one_of(PATHS, PATHS.map(lambda path: f"../inside/{path}")), min_size=1, max_size=8)
)
def test_a_file_that_is_read_is_allowed_and_is_the_one_that_the_system_opens(scratch, way, tree, paths):
    """On any tree, the file is inside and passes the safety checks."""
    import tempfile

    with tempfile.TemporaryDirectory(dir=scratch) as above:
        inside = os.path.join(above, "inside")
        os.mkdir(inside)
        plant(inside, tree)
        space = Workspace(inside, way=way)
        for path in paths:
            target = os.path.join(inside, path)
            is_inside = os.path.realpath(target).startswith(f"{inside}/")
            try:
                with space.open(path) as file:
                    status = os.fstat(file.fileno())
            except ToolError:
                assert not (is_inside and os.path.isfile(target)), path
            else:
                assert is_inside
                assert os.path.samestat(status, os.stat(target))
                assert space.safety().judge([Reads(path)]) == []
