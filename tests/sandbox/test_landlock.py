"""Landlock: every version of it, and what is granted where."""

from __future__ import annotations

import pytest

from toolkit.sandbox.base import SandboxOptions
from toolkit.sandbox.landlock import NEWEST_VERSION, find_landlock_version, landlock
from toolkit.sandbox.visible_files import visible_files_of
from toolkit.workspace import Workspace

from .levels import level, run


@pytest.fixture
def visible(tmp_path):
    """A workspace with one secret in a folder of its own."""
    (tmp_path / "keys" / "more").mkdir(parents=True)
    (tmp_path / "keys" / ".env").write_text("secret")
    (tmp_path / "keys" / "plain").write_text("plain")
    (tmp_path / "src").mkdir()
    return visible_files_of(Workspace(tmp_path))


def rules(visible, **options):
    sandbox = landlock(visible, version=NEWEST_VERSION, options=SandboxOptions(**options))
    ruleset = sandbox.plan(["true"], visible.writable[0], None)["landlock"]
    return ruleset, dict(ruleset["rules"])


def test_a_folder_with_a_secret_is_granted_piece_by_piece(visible):
    """Its other contents are granted whole, the folder can only be listed, and the secret not at all."""
    root = visible.writable[0]
    ruleset, granted = rules(visible)
    assert granted[f"{root}/src"] & 2
    assert granted[f"{root}/keys/plain"] & 6 == 6
    assert granted[f"{root}/keys/more"] & 2
    assert granted[f"{root}/keys"] == granted[root] == 8
    assert f"{root}/keys/.env" not in granted


def test_a_workspace_without_secrets_is_granted_whole(tmp_path):
    """One rule allows everything but making devices."""
    ruleset, granted = rules(visible_files_of(Workspace(tmp_path)))
    assert granted[str(tmp_path)] == ruleset["handled_access_fs"] & ~(1 << 6 | 1 << 11)


@pytest.mark.parametrize("number", range(1, NEWEST_VERSION + 3))
def test_every_version_gets_only_the_rights_that_it_knows(visible, number):
    """
    Rights, ports and scopes are left out if a kernel would refuse them. A newer kernel gets those of the newest
    known version.
    """
    ruleset = landlock(visible, version=number).plan(["true"], "/", None)["landlock"]
    version = min(number, NEWEST_VERSION)
    top = {1: 12, 2: 13, 3: 14, 4: 14}.get(version, 15)
    assert ruleset["handled_access_fs"] == (1 << (top + 1)) - 1
    assert all(rights & ~ruleset["handled_access_fs"] == 0 for _, rights in ruleset["rules"])
    assert (ruleset["handled_access_net"], ruleset["scoped"]) == (3 if version >= 4 else 0, 3 if version >= 6 else 0)
    assert ruleset["struct_bytes"] == {1: 8, 2: 8, 3: 8, 4: 16, 5: 16}.get(version, 24)


@pytest.mark.parametrize("number", range(1, NEWEST_VERSION + 1))
def test_every_version_confines_on_a_kernel_that_has_it(tmp_path, number):
    """A newer kernel can enforce the rules of an older version."""
    if find_landlock_version() < number:
        pytest.skip(f"NOT TESTED HERE: version {number} of Landlock; this kernel has {find_landlock_version()}")
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / ".env").write_text("secret")
    (tmp_path / "beside").write_text("outside")
    sandbox = landlock(visible_files_of(Workspace(root)), version=number)
    done = run(sandbox, "echo made > src/a; cat .env ../beside; echo x > ../new", cwd=root)
    assert (root / "src" / "a").read_text() == "made\n"
    assert done.stdout == ""
    assert not (tmp_path / "new").exists()


def test_no_file_can_be_created_beside_a_secret(tmp_path):
    """Existing files can be changed. The description says so."""
    (tmp_path / ".env").write_text("secret")
    (tmp_path / "plain").write_text("old")
    sandbox = level(Workspace(tmp_path), "landlock")
    done = run(sandbox, "echo new > plain; echo x > other", cwd=tmp_path)
    assert done.returncode != 0
    assert (tmp_path / "plain").read_text() == "new\n"
    assert not (tmp_path / "other").exists()
    assert "no file can be made" in sandbox.describe()


@pytest.mark.parametrize(("number", "has_network"), [(1, True), (4, False)])
def test_an_old_kernel_without_a_filter_has_a_network(visible, number, has_network):
    """If nothing shuts it off, the level does not claim that it is off."""
    sandbox = landlock(visible, version=number, options=SandboxOptions(machine="riscv64"))
    assert sandbox.network is has_network
    assert not sandbox.contained
    assert "are not known" in sandbox.describe()
    assert "seccomp_filter" not in sandbox.plan(["true"], "/", None)


def test_the_list_of_an_older_kernel_is_longer(visible):
    """The list has the rights that a version does not restrict."""
    lists = [landlock(visible, version=number).does_not for number in (1, 2, 3, 6)]
    assert [len(rule_list) for rule_list in lists] == sorted((len(rule_list) for rule_list in lists), reverse=True)
    assert "it can signal the user's other processes, the launcher too, and so leave a process behind" in lists[2]
