"""
Rule files: whose rules count, and how mistakes are told.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from toolkit.permissions import Permissions
from toolkit.permissions.rule_files import RuleFileError, read_rules, user_rules
from toolkit.permissions.rules import Rule
from toolkit.permissions.trust import Trust


@pytest.fixture
def user(tmp_path):
    """The user's file."""
    path = tmp_path / "config/permissions.toml"
    path.parent.mkdir()
    path.write_text('mode = "auto"\nallow = ["read", "bash(npm test)"]\ndeny = ["bash(rm:*)"]\n')
    return path


@pytest.fixture
def project(tmp_path):
    """A project that brings rules along."""
    folder = tmp_path / "project"
    (folder / ".toolkit").mkdir(parents=True)
    text = 'mode = "bypass"\nallow = ["bash"]\nask = ["write"]\ndeny = ["read(path=.env)", "web_fetch"]\n'
    (folder / ".toolkit/permissions.toml").write_text(text)
    return folder


@pytest.fixture
def trust(tmp_path):
    """A user who trusts nobody yet."""
    return Trust(tmp_path / "config/trust.json")


def problems(**options) -> tuple[str, ...]:
    """What is wrong, one text for each."""
    with pytest.raises(RuleFileError) as caught:
        read_rules(**options)
    assert str(caught.value).splitlines()[:20] == [*caught.value.problems][:20]
    return caught.value.problems


def test_no_files_are_no_rules(tmp_path):
    """Nothing is missing if nothing is there."""
    assert read_rules().rules == ()
    found = read_rules(user=tmp_path / "none.toml", project=tmp_path, trust=Trust(tmp_path / "trust.json"))
    assert (found.rules, found.mode, found.ignored, found.files) == ((), None, (), ())


def test_a_project_only_tightens_until_it_is_trusted(user, project, trust):
    """Its deny and ask count, its allow and its mode do not, and are listed."""
    found = read_rules(user=user, project=project, trust=trust, session=["deny idle", Rule("allow", "search")])
    assert list(map(str, found.rules)) == [
        "allow read",
        "allow bash(npm test)",
        "deny bash(rm:*)",
        "ask write",
        "deny read(path=.env)",
        "deny web_fetch",
        "deny idle",
        "allow search",
    ]
    assert found.mode == "auto"
    assert [each.what for each in found.ignored] == ['mode = "bypass"', "allow bash"]
    assert all("have not trusted" in why and str(project) in why for _, why in found.ignored)
    assert str(found.ignored[1]).startswith("allow bash: you have not")
    assert found.files == (user, project / ".toolkit/permissions.toml")


def test_a_trusted_project_counts_whole(user, project, trust):
    """In the order user, project, session; the later mode wins."""
    trust.trust(project)
    found = read_rules(user=user, project=project, trust=trust)
    assert Rule("allow", "bash") in found.rules
    assert (found.mode, found.ignored) == ("bypass", ())


def test_a_change_takes_the_trust_away(user, project, trust):
    """Until the user has looked again."""
    trust.trust(project)
    with (project / ".toolkit/permissions.toml").open("a") as file:
        file.write("# more\n")
    found = read_rules(user=user, project=project, trust=trust)
    assert Rule("allow", "bash") not in found.rules
    assert found.mode == "auto"
    assert {"changed since you trusted it" in why for _, why in found.ignored} == {True}


class SwappingTrust(Trust):
    """Trust that is asked while another process puts the trusted file back."""

    def state(self, project):
        (self.path.parent.parent / "project/.toolkit/permissions.toml").write_text("deny = []")
        return super().state(project)


def test_a_file_that_is_swapped_while_it_is_read_is_not_trusted(project, trust):
    """The digest is about what was read, so the trusted file that is there when the digest is taken does not help."""
    file = project / ".toolkit/permissions.toml"
    file.write_text("deny = []")
    trust.trust(project)
    file.write_text('allow = ["bash"]')
    rules = read_rules(project=project, trust=SwappingTrust(trust.path))
    assert rules.rules == ()
    assert "has changed since you trusted it" in rules.ignored[0].why


def test_nobody_trusts_without_a_record(user, project):
    """No `trust` is given, so nothing is trusted."""
    found = read_rules(project=project)
    assert (found.mode, len(found.ignored)) == (None, 2)


def test_a_broken_record_is_told(project, trust):
    """It is why nothing is trusted."""
    trust.path.parent.mkdir()
    trust.path.write_text("{")
    assert "cannot be read" in read_rules(project=project, trust=trust).ignored[0].why


def test_a_project_that_loosens_nothing_is_not_asked_about(project, trust):
    """Nothing is ignored, so nothing is listed."""
    (project / ".toolkit/permissions.toml").write_text('deny = ["bash"]')
    assert read_rules(project=project, trust=trust).ignored == ()


def test_every_rule_says_where_it_was_written(user, project, trust):
    """For whoever wants to change it."""
    found = read_rules(user=user, project=project, trust=trust, session=["ask idle"])
    sources = {str(rule): rule.source for rule in found.rules}
    assert sources["deny web_fetch"] == f"project rules, deny[1] in {project}/.toolkit/permissions.toml"
    assert sources["allow read"] == f"user rules, allow[0] in {user}"
    assert sources["ask idle"] == "session rules, [0]"


# Mistakes.


def test_every_mistake_in_every_file_is_told_at_once(user, project, trust):
    """Each with its file, its place and the remedy; also those that would not count."""
    user.write_text('mode = "atuo"\nalow = ["read"]\ndeny = ["bash(", "read", 5]\nask = "write"\n')
    (project / ".toolkit/permissions.toml").write_text('allow = ["mcp:*/x"]\nxyzzy = 1\nmode = 5\n')
    found = problems(user=user, project=project, trust=trust, session=["deny", "allow read", 7])
    theirs = project / ".toolkit/permissions.toml"
    expected = [
        (f"{user}: mode: 'atuo' is not known", "did you mean `auto`?"),
        (f"{user}: 'alow' is not known", "did you mean `allow`?"),
        (f"{user}: deny[0]: rule `bash(`", "parentheses"),
        (f"{user}: deny[2]: rule 5", "names no tool"),
        (f"{user}: ask: has to be a list", 'ask = ["bash(npm test)"]'),
        (f"{theirs}: allow[0]: rule `mcp:*/x`", "one origin"),
        (f"{theirs}: 'xyzzy' is not known", "write one of mode, allow, ask, deny"),
        (f"{theirs}: mode: 5 is not known", "write one of plan, default, auto, deny_unlisted, bypass"),
        ("session rules, [0]: rule ''", "names no tool"),
        ("session rules, [2]: rule 7", "begins with"),
    ]
    assert len(found) == len(expected)
    for problem, (where, remedy) in zip(found, expected, strict=True):
        assert problem.startswith(where)
        assert remedy in problem


def test_many_mistakes_are_cut(user):
    """The reading ends after twenty of them."""
    user.write_text(f"deny = {['('] * 50}")
    with pytest.raises(RuleFileError) as caught:
        read_rules(user=user)
    assert len(caught.value.problems) == 21
    assert str(caught.value).endswith("there may be more; reading ended after 20 mistakes")
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def as_lost_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere.toml")


def as_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def as_latin_1(path: Path) -> None:
    path.write_bytes('deny = ["é"]'.encode("latin-1"))


def as_no_toml(path: Path) -> None:
    path.write_text("deny = [")


def as_twice(path: Path) -> None:
    path.write_text("deny = []\ndeny = []")


def as_too_large(path: Path) -> None:
    path.write_text("#" * 1_000_001)


def as_too_deep(path: Path) -> None:
    path.write_text("x = " + "[" * 100_000)


CASES = [
    (as_folder, "not a file"),
    (as_pipe, "a file"),
    (as_lost_link, "leads nowhere"),
    (as_loop, "cannot be used"),
    (as_latin_1, "not UTF-8"),
    (as_no_toml, "Invalid value"),
    (as_twice, "overwrite"),
    (as_too_large, "larger than"),
    (as_too_deep, "cannot be used"),
]


@pytest.mark.parametrize("whose", ["user", "project"])
@pytest.mark.parametrize(("change", "said"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_a_file_that_cannot_be_used_fails_closed(user, project, trust, whose, change, said):
    """The rules that it holds are missing, so nothing may run."""
    path = user if whose == "user" else project / ".toolkit/permissions.toml"
    change(path)
    (found,) = problems(user=user, project=project, trust=trust)
    assert found.startswith(f"{path}: cannot be used (")
    assert said in found
    assert found.endswith("correct it, or move it away")


def link_to_the_file(project: Path) -> None:
    (project / ".toolkit/permissions.toml").unlink()
    (project / ".toolkit/permissions.toml").symlink_to("../../elsewhere/permissions.toml")


def link_to_the_folder(project: Path) -> None:
    (project / ".toolkit/permissions.toml").unlink()
    (project / ".toolkit").rmdir()
    (project / ".toolkit").symlink_to("../elsewhere")


@pytest.mark.parametrize("change", [link_to_the_file, link_to_the_folder])
def test_a_projects_file_lies_in_the_project(project, tmp_path, change):
    """A link out of it would be somebody else's rules, and their content might be told in a message."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/permissions.toml").write_text('deny = ["read"]')
    change(project)
    (found,) = problems(project=project)
    assert "leads out of" in found or "no link" in found


def test_links_within_a_project_and_of_the_user_are_followed(user, project, tmp_path):
    """People keep their files in many places."""
    (tmp_path / "mine.toml").symlink_to(user)
    (project / ".toolkit/rules.toml").write_text('deny = ["read"]')
    (project / ".toolkit/permissions.toml").unlink()
    (project / ".toolkit/permissions.toml").symlink_to("rules.toml")
    found = read_rules(user=tmp_path / "mine.toml", project=project)
    assert Rule("deny", "read") in found.rules
    assert len(found.rules) == 4


def test_a_file_with_a_mark_of_its_encoding_is_read(user):
    """Some editors write one."""
    user.write_bytes(b'\xef\xbb\xbfdeny = ["read"]')
    assert read_rules(user=user).rules == (Rule("deny", "read"),)


def test_a_project_whose_folder_is_a_file_fails_closed(tmp_path):
    """`.toolkit` is there, and is not what it should be."""
    (tmp_path / ".toolkit").touch()
    (found,) = problems(project=tmp_path)
    assert "has to be a folder" in found


def test_one_session_rule_may_stand_alone():
    """A text is a rule, not a list of letters."""
    assert read_rules(session="deny read").rules == (Rule("deny", "read"),)
    assert read_rules(session=Rule("deny", "read")).rules == (Rule("deny", "read"),)


def test_the_users_file_is_in_the_users_configuration(monkeypatch, tmp_path):
    """Where other programs keep theirs."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_rules() == tmp_path / "toolkit/permissions.toml"


def test_a_file_may_keep_the_former_name_of_a_mode(tmp_path):
    """Files of users outlive the words of a version."""
    path = tmp_path / "permissions.toml"
    path.write_text('mode = "dont_ask"\n')
    assert Permissions.from_files(user=path).mode == "deny_unlisted"
