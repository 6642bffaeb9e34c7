"""
Hook files: whose hooks run, where, and how mistakes are told.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import ShellHooks
from toolkit.hooks.shell.records import ShellHook
from toolkit.settings import MergedSettings, SettingsError, Trust, load_settings

USER = """
[[hooks]]
on = "before"
tools = ["bash", "fs_*"]
command = "exit 0"
timeout_seconds = 5
on_failure = "allow"
env = ["GITHUB_TOKEN"]
"""
PROJECT = """
[[hooks]]
on = "before"
command = ".toolkit/check.sh"

[[hooks]]
on = ["agent_start", "run_ended"]
command = ["/bin/true", "a b"]
"""


@pytest.fixture
def user(tmp_path):
    """The user's file."""
    path = tmp_path / "config/toolkit.toml"
    path.parent.mkdir()
    path.write_text(USER)
    return path


@pytest.fixture
def project(tmp_path):
    """A project that brings hooks along."""
    folder = tmp_path / "project"
    (folder / ".toolkit").mkdir(parents=True)
    (folder / ".toolkit/toolkit.toml").write_text(PROJECT)
    (folder / ".toolkit/check.sh").write_text('#!/bin/sh\necho "no, says $(pwd)" >&2\nexit 2\n')
    (folder / ".toolkit/check.sh").chmod(0o755)
    return folder


@pytest.fixture
def trust(tmp_path):
    """A user who trusts no folder yet."""
    return Trust(tmp_path / "config/trust.json")


@pytest.fixture
def catalog():
    """A catalog with one tool."""
    build_catalog = Catalog()

    @build_catalog.tool
    def bash() -> str:
        """Run nothing."""
        return "ran"

    return build_catalog


def load(*, user=None, project=None, trust=None) -> MergedSettings:
    """Load the settings of a user and of a project, without those of the machine."""
    nowhere = Path("/nowhere")
    return load_settings(
        project or nowhere,
        user=nowhere if user is None else user.parent,
        trust=trust or Trust(nowhere / "trust.json"),
        environ={},
    )


def read_hooks(**options) -> tuple[ShellHook, ...]:
    """Return the hooks that count."""
    return load(**options)["hooks"]


def problems(**options) -> tuple[str, ...]:
    """Return what is wrong, one text for each."""
    with pytest.raises(SettingsError) as caught:
        read_hooks(**options)
    return caught.value.problems


def test_there_are_no_hooks_without_files(tmp_path):
    """Missing files are not reported."""
    merged = load(user=tmp_path / "none.toml", project=tmp_path, trust=Trust(tmp_path / "trust.json"))
    assert (merged["hooks"], merged.ignored, merged.files) == ((), (), ())
    assert read_hooks() == ()


def test_a_hook_in_a_file_has_the_same_options_as_in_code(user, project):
    """Every key counts, and a missing key has its default."""
    (hook,) = read_hooks(user=user, project=project)
    assert (hook.on, hook.tools, hook.command) == (("before",), ("bash", "fs_*"), "exit 0")
    assert (hook.timeout_seconds, hook.on_failure, hook.env) == (5, "allow", ("GITHUB_TOKEN",))
    assert (hook.cwd, hook.source) == (user.parent, f"user hooks, hooks[0] in {user}")


def test_the_users_file_is_in_the_users_configuration(tmp_path, monkeypatch):
    """`$XDG_CONFIG_HOME` counts."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "toolkit").mkdir(mode=0o700)
    (tmp_path / "toolkit/toolkit.toml").write_text(USER)
    (hook,) = load_settings(tmp_path, environ={})["hooks"]
    assert hook.cwd == tmp_path / "toolkit"


# Whose hooks run.


def test_the_hooks_of_a_project_do_not_run_before_it_is_trusted(user, project, trust, catalog):
    """They are listed with the reason and the remedy, and the hooks of the user count."""
    merged = load(project=project, user=user, trust=trust)
    file = project / ".toolkit/toolkit.toml"
    why = f"you have not trusted {project}; look at its .toolkit folder, then trust it: `toolkit trust {project}`"
    assert [str(setting) for setting in merged.ignored] == [
        f"hooks = before *: .toolkit/check.sh (project, {file}:2): {why}",
        f"hooks = agent_start, run_ended *: /bin/true 'a b' (project, {file}:6): {why}",
    ]
    assert (len(merged["hooks"]), merged.files) == (1, (user, file))
    assert Dispatcher(catalog, hooks=[ShellHooks(merged["hooks"])]).call_sync("bash", {}).text == "ran"


@pytest.mark.parametrize("command", ['".toolkit/check.sh"', '[".toolkit/check.sh"]'])
def test_a_trusted_projects_hooks_run_in_its_folder(user, project, trust, catalog, command):
    """They run after those of the user, and relative paths begin in the folder."""
    (project / ".toolkit/toolkit.toml").write_text(PROJECT.replace('".toolkit/check.sh"', command))
    trust.trust(project)
    hooks = read_hooks(project=project, user=user, trust=trust)
    result = Dispatcher(catalog, hooks=[ShellHooks(hooks)]).call_sync("bash", {})
    assert [len(hook.on) for hook in hooks] == [1, 1, 2]
    assert (result.kind, result.error.message) == ("denied", f"no, says {project}")


def test_a_project_that_changed_is_not_trusted(project, trust):
    """The user has to look again after each change in its `.toolkit` folder."""
    trust.trust(project)
    (project / ".toolkit/check.sh").write_text("#!/bin/sh\nexit 0\n")
    merged = load(project=project, trust=trust)
    assert merged["hooks"] == ()
    assert "has changed since you trusted it" in merged.ignored[0].why


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda project, trust: (project / ".toolkit/check.sh").write_text("exit 0"),
            "has changed since you trusted it",
        ),
        (lambda project, trust: trust.revoke(project), "you have not trusted"),
        (lambda project, trust: trust.path.write_text("{"), "so it trusts nothing"),
        (
            lambda project, trust: (
                (project / ".toolkit/toolkit.toml").write_text(PROJECT + "\n"),
                trust.trust(project),
            ),
            "changed since it was read; load its hooks again",
        ),
        (
            lambda project, trust: ((project / ".toolkit/toolkit.toml").unlink(), trust.trust(project)),
            "changed since it was read; load its hooks again",
        ),
        (
            lambda project, trust: (
                (project / ".toolkit/toolkit.toml").unlink(),
                (project / ".toolkit/toolkit.toml").mkdir(),
                trust.trust(project),
            ),
            "changed since it was read; load its hooks again",
        ),
    ],
    ids=["script", "revoked", "trust file", "hooks and trusted again", "hooks gone", "hooks now a folder"],
)
def test_trust_is_checked_again_before_each_run(project, trust, catalog, change, problem):
    """A loaded hook does not run any more, and blocks like a failing hook."""
    trust.trust(project)
    dispatcher = Dispatcher(catalog, hooks=[ShellHooks(read_hooks(project=project, trust=trust))])
    change(project, trust)
    result = dispatcher.call_sync("bash", {})
    assert result.kind == "denied"
    assert problem in result.error.message


def test_an_unreadable_trust_file_trusts_no_folder(project, trust):
    """The list of hooks says so."""
    trust.path.parent.mkdir()
    trust.path.write_text("{")
    assert "so it trusts nothing" in load(project=project, trust=trust).ignored[0].why


def test_the_command_of_an_ignored_hook_is_shown_escaped(project):
    """No part of it acts on a terminal."""
    text = '[[hooks]]\non = "after"\ncommand = "evil\\u001b[2K\\n' + "x" * 500 + '"\n'
    (project / ".toolkit/toolkit.toml").write_text(text)
    (setting,) = load(project=project).ignored
    assert "evil\\x1b[2K\\nxxx" in str(setting)


# Mistakes.


def test_all_mistakes_in_all_files_are_reported_together(user, project):
    """Each report has the file, the number of the hook, the key and the remedy."""
    user.write_text('hook = 1\n[[hooks]]\non = "befor"\ncommand = ""\ntimeout = 3\n[[hooks]]\n')
    file = project / ".toolkit/toolkit.toml"
    file.write_text(
        '[[hooks]]\non = "after"\ncommand = "x"\n[[hooks]]\non = "after"\ncommand = "x"\ntimeout_seconds = 0\n'
    )
    assert problems(user=user, project=project) == (
        f"{user}:1: hook: is not known; did you mean `hooks`?",
        f"{user}:2: hooks[0]: 'timeout' is not known; did you mean `timeout_seconds`?",
        f"{user}:2: hooks[0]: on: 'befor' is not known; did you mean `before`?",
        f'{user}:2: hooks[0]: command: has to be a command: "./check.sh", or ["./check.sh", "--all"] to run it without a shell',
        f"{user}:6: hooks[1]: on: is missing; say when it runs, such as before, after, agent_start or person_asked",
        f"{user}:6: hooks[1]: command: is missing; say what runs",
        f"{file}:4: hooks[1]: timeout_seconds: has to be a number of seconds above 0, at most 86,400; got 0",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hooks = 1", "hooks: has to be a list; write [[hooks]] above each hook"),
        ("hooks = [1]", "hooks[0]: has to be a table; write [[hooks]] above each hook"),
        ("[hooks]\non = 1", "hooks: has to be a list"),
        ("hooks = [", "cannot be used ("),
        ('[[hooks]]\non = "after"\ncommand = "x"\ncwd = "/"', "'cwd' is not known"),
        ('[[hooks]]\non = "after"\ncommand = "x"\nenv = {A = "b"}', "env: has to be a list of names"),
    ],
)
def test_a_mistake_is_reported_with_its_file(user, text, problem):
    user.write_text(text)
    (mistake,) = problems(user=user)
    assert mistake.startswith(f"{user}:")
    assert problem in mistake


@pytest.mark.parametrize(
    ("command", "is_refused"),
    [
        ('"./check.sh"', True),
        ('"scripts/check --all"', True),
        ('["./check.sh"]', True),
        ('"LANG=C ./check.sh"', True),
        ('"A=b/c check"', False),
        ("\"'./my check' x\"", True),
        ('"~/bin/check"', False),
        ('"$HOME/bin/check"', False),
        ('"/usr/bin/check"', False),
        ('["/usr/bin/check"]', False),
        ('"git diff --quiet"', False),
        ('"echo \'it"', False),
    ],
)
def test_a_users_hook_is_not_a_projects_script(user, command, is_refused):
    """A relative path would run a file of the open project, trusted or not."""
    user.write_text(f'[[hooks]]\non = "before"\ncommand = {command}\n')
    if is_refused:
        assert "is no whole path; write one, so that no other user chooses what runs" in problems(user=user)[0]
    else:
        assert len(read_hooks(user=user)) == 1


def make_link(path, target):
    path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path.write_bytes(b"\xff"), "it is not UTF-8"),
        (lambda path: path.write_bytes(b"#" * 1_000_001), "it is larger than 262,144 bytes"),
        (lambda path: path.write_text("a = " + "[" * 100_000), "cannot be used"),
        (lambda path: make_link(path, path.parent / "nowhere"), "it is a link that leads nowhere"),
        (lambda path: (path.unlink(), path.mkdir()), "it is not a file"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "it is not a file"),
        (lambda path: make_link(path, path), "cannot be used (Too many levels of symbolic links)"),
    ],
    ids=["junk", "huge", "deep", "dangling", "folder", "fifo", "loop"],
)
def test_a_file_that_cannot_be_used_is_an_error(user, make, problem):
    """Its settings are missing, and the user has to notice that. The reader does not hang."""
    make(user)
    assert problem in problems(user=user)[0]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path.write_bytes(b"\xff"), "it is not UTF-8"),
        (lambda path: make_link(path, "nowhere"), "it is a link that leads nowhere"),
        (lambda path: make_link(path, path.name), "it is a link that leads nowhere"),
        (lambda path: (path.unlink(), path.mkdir()), "it is not a file"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "it is neither a file nor a folder"),
        (lambda path: (path.parent.rename(path.parents[1] / "x"), path.parent.symlink_to("x")), "has to be a folder"),
        (lambda path: (path.parent.rename(path.parents[1] / "x"), path.parent.touch()), "has to be a folder"),
    ],
    ids=["junk", "dangling", "loop", "folder", "fifo", "linked folder", "no folder"],
)
def test_a_file_of_a_project_that_cannot_be_used_is_an_error(project, make, problem):
    """Its deny rules would be missing."""
    make(project / ".toolkit/toolkit.toml")
    assert problem in problems(project=project)[0]


def test_a_project_cannot_point_out_of_itself(user, project):
    """A link to the user's own file would run it in the project's name."""
    make_link(project / ".toolkit/toolkit.toml", user)
    assert "is a link that leads out of" in problems(project=project)[0]


def test_a_settings_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(SettingsError([f"problem {n}" for n in range(30)])))
    assert (len(error.problems), str(error).splitlines()[-1]) == (30, "problem 29")


@pytest.mark.parametrize(
    ("command", "is_told"), [("./check.sh", True), ("scripts/x", True), (".toolkit/check.sh", False)]
)
def test_a_script_of_a_project_has_to_lie_in_the_trusted_folder(project, command, is_told):
    """A tool could write a script elsewhere after the user has trusted the folder."""
    (project / ".toolkit/toolkit.toml").write_text(f'[[hooks]]\non = "before"\ncommand = "{command}"\n')
    if not is_told:
        assert read_hooks(project=project) == ()
        return
    with pytest.raises(SettingsError, match="lies outside .toolkit, where tools may write; put it in there"):
        read_hooks(project=project)


# What a project's hook runs.


def hook_of(project, lines):
    """Let the project have one hook."""
    (project / ".toolkit/toolkit.toml").write_text(f'[[hooks]]\non = "before"\n{lines}\n')


@pytest.mark.parametrize("command", ["sh tools/check.sh", "true; sh tools/check.sh"])
def test_a_script_that_was_edited_after_the_trust_does_not_run(project, trust, catalog, command):
    """The call is blocked with the reason, until the user looks at the script and trusts it."""
    script = project / "tools/check.sh"
    script.parent.mkdir()
    script.write_text("exit 0\n")
    hook_of(project, f'command = "{command}"')
    trust.trust(project)
    dispatcher = Dispatcher(catalog, hooks=[ShellHooks(read_hooks(project=project, trust=trust))])
    assert dispatcher.call_sync("bash", {}).text == "ran"
    script.write_text("touch ran-anyway\n")
    result = dispatcher.call_sync("bash", {})
    assert result.kind == "denied"
    assert "has changed since you trusted it; look at its .toolkit folder and at tools/check.sh" in result.error.message
    assert not (project / "ran-anyway").exists()
    script.write_text("exit 0\n")
    assert dispatcher.call_sync("bash", {}).text == "ran"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ('command = "make check"', 'list the project\'s files that it runs: files = ["tools/check.py"], or files = []'),
        ('command = "sh ../x.sh $A"', "`../x.sh` leads out of the project"),
        ('command = "sh $A"', "known only when it runs"),
        ('command = "make"\nfiles = "Makefile"', "files: has to be a list of paths in the project"),
        ('command = "make"\nfiles = [5]', "files: has to be a list of paths in the project"),
        ('command = "make"\nfiles = ["../x"]', "files: `../x` is not in the project"),
        ('command = "make"\nfiles = ["/etc/passwd"]', "files: `/etc/passwd` is not in the project"),
        ('command = "make"\nfiles = ["nothing"]', "files: there is no file `nothing` in the project"),
    ],
)
def test_a_hook_that_trust_cannot_cover_is_a_mistake(project, lines, problem):
    hook_of(project, lines)
    assert problem in problems(project=project)[0]


def test_a_list_names_the_files_that_a_command_runs(project, trust, catalog):
    """They are covered like the rest. An empty list says that no file of the project is run."""
    (project / "rules.txt").write_text("a\n")
    hook_of(project, 'command = "cd . && true"\nfiles = ["rules.txt"]')
    trust.trust(project)
    dispatcher = Dispatcher(catalog, hooks=[ShellHooks(read_hooks(project=project, trust=trust))])
    assert dispatcher.call_sync("bash", {}).text == "ran"
    (project / "rules.txt").write_text("b\n")
    assert dispatcher.call_sync("bash", {}).kind == "denied"
    hook_of(project, 'command = "cd . && true"\nfiles = []')
    trust.trust(project)
    assert len(read_hooks(project=project, trust=trust)) == 1


def test_a_users_hook_has_no_list_of_files(user):
    """It may have any content, because it belongs to the user."""
    user.write_text('[[hooks]]\non = "before"\ncommand = "make check"\n')
    assert len(read_hooks(user=user)) == 1
    user.write_text('[[hooks]]\non = "before"\ncommand = "make check"\nfiles = []\n')
    assert "files: is for the hooks of a project" in problems(user=user)[0]
