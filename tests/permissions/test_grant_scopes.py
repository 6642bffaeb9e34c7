"""Grants for folders and for commands: what they cover, and which of them are offered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.permissions.grant_kit import BASH, WRITE
from toolkit.access import Access, Command, Reads, Url, Writes
from toolkit.approvals.identity import identity_of
from toolkit.decisions import Grant
from toolkit.permissions import PermissionRequest, Permissions
from toolkit.permissions.grants import find_covering_grant, offer_grants
from toolkit.results import ToolCall
from toolkit.session import Session

pytestmark = pytest.mark.anyio


def request_of(tool, *accesses, root=".", session=None):
    """Return the request of a call that is about to touch these."""
    return PermissionRequest(
        call=ToolCall(tool.name), tool=tool, names=frozenset({tool.name}), accesses=accesses, root=root, session=session
    )


def is_covered(tool, scope, target, *accesses, root="."):
    """Return whether a grant of this scope answers for a call that touches these."""
    session = Session()
    Permissions.grant(session, Grant(tool=identity_of(tool), scope=scope, target=str(target)))
    return find_covering_grant(request_of(tool, *accesses, root=str(root), session=session), session) is not None


# Folders.


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a.txt", True),
        ("src", True),
        ("src/deep/new/file.txt", True),
        ("./src/../src/a.txt", True),
        ("src2/a.txt", False),
        ("srcs", False),
        ("src.txt", False),
        ("SRC/a.txt", False),
        ("src/../a.txt", False),
        ("src/../../etc/passwd", False),
        (".", False),
        ("inside/a.txt", True),
        ("src/outside/a.txt", False),
        ("src/outside/../a.txt", False),
        ("src/leaf.txt", False),
        ("jump/a.txt", True),
        ("jump/../a.txt", False),
        ("src/a\0b", False),
    ],
)
def test_a_folder_grant_covers_paths_that_really_lie_in_the_folder(tmp_path, path, expected):
    """
    Links and dots are resolved first, and dots before links by some programs. A folder with a similar name does not
    count.
    """
    (tmp_path / "src").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "src" / "outside").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "src" / "leaf.txt").symlink_to(tmp_path / "elsewhere" / "new.txt")
    (tmp_path / "inside").symlink_to(tmp_path / "src")
    (tmp_path / "src" / "below").mkdir()
    (tmp_path / "jump").symlink_to(tmp_path / "src" / "below")
    assert is_covered(WRITE, "folder", tmp_path / "src", Writes(path), root=tmp_path) is expected


@pytest.mark.parametrize(
    ("accesses", "expected"),
    [
        ([Writes("src/a"), Reads("src/b")], True),
        ([Writes("src/a"), Writes("b")], False),
        ([Writes("b"), Writes("src/a")], False),
        ([], False),
        ([Writes("src/a"), Command("make")], False),
        ([Writes("src/a"), Url("https://example.org/")], False),
        ([Access("src/a")], False),
    ],
    ids=["all under it", "one beside it", "the first beside it", "nothing", "a command", "an address", "another kind"],
)
def test_a_folder_grant_covers_a_call_only_if_all_its_paths_lie_in_the_folder(tmp_path, accesses, expected):
    assert is_covered(WRITE, "folder", tmp_path / "src", *accesses, root=tmp_path) is expected


@pytest.mark.parametrize(
    ("scope", "target", "access"),
    [("folder", ".", Command("make")), ("folder", ".", Url("docs")), ("command", "git log", Writes("git log"))],
    ids=str,
)
def test_an_access_of_another_kind_is_not_covered_by_a_grant(tmp_path, scope, target, access):
    """A command is not a path, although it could be one as a text."""
    folder = tmp_path / target if scope == "folder" else target
    covered = Writes("a.txt") if scope == "folder" else Command("git log -1")
    assert is_covered(BASH, scope, folder, covered, root=tmp_path)
    assert not is_covered(BASH, scope, folder, covered, access, root=tmp_path)


def test_the_grant_for_listing_a_folder_is_the_folder_itself(tmp_path):
    """A person who allows the listing has not allowed the files beside it."""
    (tmp_path / "src").mkdir()
    grants = list(offer_grants(request_of(WRITE, Reads("src"), root=str(tmp_path))))
    assert [grant.target for grant in grants if grant.scope == "folder"] == [str(tmp_path / "src")]


def test_only_the_grant_of_the_tool_is_offered_for_a_path_that_cannot_be_resolved(tmp_path):
    grants = list(offer_grants(request_of(WRITE, Writes("a\0b"), root=str(tmp_path))))
    assert [grant.scope for grant in grants] == ["tool"]


# Commands.


@pytest.mark.parametrize(
    ("prefix", "command", "expected"),
    [
        ("git log", "git log", True),
        ("git log", "git log --oneline -5", True),
        ("git log", "'git'  log -1", True),
        ("git log", "git logs", False),
        ("git log", "git  push", False),
        ("git log", "git log && git push", False),
        ("git log", "git log; git log -1", True),
        ("git log", "git log | sh", False),
        ("git log", "git log > out.txt", False),
        ("git log", "git log $(rm x)", False),
        ("git log", "GIT_PAGER=x git log", False),
        ("git log", "git log `id`", False),
        ("git log", "git log $X", False),
        ("git log", "git log &\nrm x", False),
        ("git log", "sudo git log", False),
        ("git log", "git log 'unclosed", False),
        ("git log", "", False),
        ("npm", "npmx", False),
    ],
)
def test_a_command_prefix_holds_for_commands_that_begin_so(prefix, command, expected):
    """Word by word, for every part, and only if nothing else goes on."""
    assert is_covered(BASH, "command", prefix, Command(command)) is expected


@pytest.mark.parametrize(
    ("accesses", "expected"),
    [
        ([Command("git log"), Command("git log -1")], True),
        ([Command("git log"), Command("rm x")], False),
        ([Command("git log"), Writes("x")], False),
        ([Writes("x")], False),
        ([], False),
    ],
    ids=["both", "one", "a file as well", "no command", "nothing"],
)
def test_a_command_grant_covers_a_call_only_if_all_accesses_are_such_commands(accesses, expected):
    assert is_covered(BASH, "command", "git log", *accesses) is expected


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ("ls -l src", "ls"),
        ("git status --short", "git status"),
        ("npm test", "npm test"),
        ("git -C x status", None),
        ("git", None),
        ("ls | wc -l", None),
        ("ls && pwd", None),
        ("sudo ls", None),
        ("sh -c 'ls'", None),
        ("find . -exec rm {} +", None),
        ("X=1", None),
        ("X=1 ls", None),
        ("ls > x", None),
        ("ls $(pwd)", None),
        ("'unclosed", None),
        ("", None),
        ("# nothing", None),
        ("'a b' c", "'a b'"),
    ],
)
def test_a_prefix_is_offered_for_one_plain_command(command, prefix):
    """It has as many words as a person would use for it, and lets no other command through."""
    grants = [grant for grant in offer_grants(request_of(BASH, Command(command))) if grant.scope == "command"]
    assert [grant.target for grant in grants] == ([] if prefix is None else [prefix])


@given(
    st.lists(
        st.one_of(
            st.builds(Command, st.sampled_from(["ls", "git status -s", "git -C x log", "a; b", "X=1", "sudo ls", "'"])),
            st.builds(Command, st.text(alphabet="ab -;|&$'\"\\<>(){}=#\n", max_size=12)),
            st.builds(Writes, st.sampled_from(["a", "src/a", "src/b/c", "/etc/passwd", "..", ".", "a\0"])),
            st.builds(Reads, st.text(max_size=8)),
            st.builds(Url, st.just("https://example.org")),
        ),
        max_size=3,
    )
)
def test_every_offered_grant_covers_its_call(accesses):
    """A person who agrees is not asked again for the same call. The grant of the whole tool comes last."""
    session = Session()
    request = request_of(BASH, *accesses, session=session)
    grants = list(offer_grants(request))
    assert [grant.scope for grant in grants].index("tool") == len(grants) - 1
    assert len(set(grants)) == len(grants)
    for grant in grants:
        Permissions.revoke(session)
        Permissions.grant(session, grant)
        assert find_covering_grant(request, session) == grant
