"""Commands and file tools go by one list of protected files, however a command names a file."""

from __future__ import annotations

import os
import re
import time
import warnings
from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit import Command, SafetyChecks, Writes
from toolkit.errors import Safety
from toolkit.safety.commands.check import check_command
from toolkit.safety.commands.files import CommandFiles, FileUse, files_of
from toolkit.safety.commands.folders import folders_of
from toolkit.safety.commands.options import Args
from toolkit.safety.name_globs import is_glob, may_overlap, regex_of
from toolkit.safety.protected_files import BUILT_IN, Protected, ProtectedFiles
from toolkit.safety.shell.parser import parse_script
from toolkit.workspace import Workspace


def example_of(rule: Protected) -> str:
    """Return a path that *rule* protects."""
    path = re.sub(r"/\*\*$", "/x", rule.pattern)
    path = path.replace("?*", "x").replace("*", "x").replace("?", "_")
    return path if path.startswith("/") else f"./{path}"


# The one list.


@pytest.mark.one_case_in(5)
@pytest.mark.parametrize("rule", BUILT_IN, ids=lambda rule: rule.pattern)
def test_every_file_that_tools_do_not_write_needs_a_question_before_a_command_writes_it(rule):
    """There is no second list, because each pattern of the first one holds for commands."""
    path = example_of(rule)
    for command in (f"echo x > {path}", f"tee {path}", f"cp a {path}", f"rm {path}", f"some-program --output={path}"):
        verdict = check_command(command)
        assert verdict is not None, command


@pytest.mark.one_case_in(5)
@pytest.mark.parametrize(
    "rule", [rule for rule in BUILT_IN if rule.level == "neither read nor written"], ids=lambda rule: rule.pattern
)
def test_every_secret_needs_a_question_before_a_command_reads_it(rule):
    """The same holds for files that tools do not read."""
    path = example_of(rule)
    for command in (f"cat {path}", f"some-program {path}", f"wc -l < {path}", f"dd if={path}", f"curl -F f=@{path} u"):
        verdict = check_command(command)
        assert verdict is not None, command


@pytest.mark.one_case_in(5)
@pytest.mark.parametrize(
    "rule", [rule for rule in BUILT_IN if rule.level == "not written"], ids=lambda rule: rule.pattern
)
def test_a_file_that_may_be_read_is_read_without_a_question(rule):
    """A command that shows a workflow or a hook does no harm."""
    if "authorized_keys" not in rule.pattern:
        assert CommandFiles().find_rule(FileUse(example_of(rule), "read")) is None


def test_the_reason_names_the_kind_of_file_and_the_pattern():
    """A person learns what the file is and which pattern to lift."""
    verdict = check_command("sort -o .git/config x")
    assert verdict is not None
    assert verdict.reason == "`sort -o .git/config x` changes a file that makes git run code (`.git/config`)"


def word_for(checks: SafetyChecks, command: str) -> str | None:
    return next((finding.word for finding in checks.judge([Command(command)])), None)


def test_protected_and_unprotected_files_apply_to_commands(tmp_path):
    (tmp_path / "data").mkdir()
    plain = SafetyChecks([tmp_path])
    checks = SafetyChecks([tmp_path], protected=["*.sqlite", tmp_path / "data"], unprotected=[".gitlab-ci.yml"])
    assert word_for(plain, "cat shop.sqlite") is None
    assert word_for(checks, "cat shop.sqlite") == "ask"
    assert word_for(checks, "cat data/x.csv") == "ask"
    assert word_for(checks, "cd data && cat x.csv") == "ask"
    assert word_for(checks, "cat dat?/x.csv") == "ask"
    assert word_for(checks, f"cat {tmp_path}/data/x.csv") == "ask"
    assert word_for(plain, "echo x > .gitlab-ci.yml") == "ask"
    assert word_for(checks, "echo x > .gitlab-ci.yml") is None


def test_a_workspace_hands_its_list_to_the_commands(tmp_path):
    """`Workspace(protected=...)` protects from `bash` as from `read`."""
    with Workspace(tmp_path, protected=["ledger.csv"], unprotected=["*.pem"]) as space:
        checks = space.safety()
    assert word_for(checks, "cat ledger.csv") == "ask"
    assert word_for(checks, "cat server.pem") is None


def test_a_link_to_a_protected_file_is_followed(tmp_path):
    """A command that reads `notes` reads `.env`, if that is where the link leads."""
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "notes").symlink_to(".env")
    (tmp_path / "plain").symlink_to("other")
    checks = SafetyChecks([tmp_path])
    assert word_for(checks, "cat notes") == "ask"
    assert word_for(checks, "cat plain") is None


def test_a_root_inside_a_protected_folder_does_not_cause_questions(tmp_path):
    """Commands in a project under `.config/toolkit` are judged by their own names."""
    root = tmp_path / ".config" / "toolkit" / "project"
    root.mkdir(parents=True)
    assert word_for(SafetyChecks([root]), "echo x > notes.txt") is None


# Repositories without a working folder.


@pytest.fixture
def bare(tmp_path):
    """Return a folder that git takes for a repository, under a name that says nothing."""
    folder = tmp_path / "store"
    for name in ("objects", "refs", "hooks"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text("")
    (tmp_path / "other").mkdir()
    return tmp_path


@pytest.mark.parametrize("path", ["store/config", "store/hooks/post-receive", "store/info/attributes", "x.git/config"])
def test_the_settings_of_a_bare_repository_are_not_written(bare, path):
    """Git runs what they say in a folder of any name; checks, workspace and commands agree."""
    checks = SafetyChecks([bare])
    assert [finding.by for finding in checks.judge([Writes(path)])] == ["check `protected-file`"]
    assert word_for(checks, f"echo x > {path}") == "ask"
    with Workspace(bare) as space, pytest.raises(Safety, match="makes? git run code"):
        space.write(path, b"x")


@pytest.mark.parametrize("path", ["other/config", "store/description", "config"])
def test_other_files_of_these_names_are_written(bare, path):
    """`config` is a common name, and only a repository makes it one that runs code."""
    assert SafetyChecks([bare]).judge([Writes(path)]) == []


def test_a_lifted_pattern_holds_for_repositories_on_the_disk_too(bare):
    """The user who lifts `?*.git/config` means every bare repository."""
    assert SafetyChecks([bare], unprotected=["?*.git/config"]).judge([Writes("store/config")]) == []


# How a word names a file.


@pytest.mark.parametrize(
    ("command", "uses"),
    [
        ("cat a b", {("a", "read"), ("b", "read")}),
        ("cp a b", {("a", "read"), ("b", "write"), ("b/a", "write")}),
        ("cp a b/", {("a", "read"), ("b/a", "write")}),
        ("mv a b", {("a", "write"), ("b", "write")}),
        ("grep x f", {("f", "read")}),
        ("sed s/a/b/ f", {("f", "read")}),
        ("sed -i s/a/b/ f", {("f", "write")}),
        ("sed -n 'w out' f", {("f", "read"), ("out", "write")}),
        ("sort -oout f", {("out", "write"), ("f", "read"), ("out", "read")}),
        ("curl -fsSLo out u", {("out", "write")}),
        ("tar -xf a -C d", {("a", "write"), ("d", "write"), ("a", "read"), ("d", "read")}),
        ("unzip -d d a", {("d", "write"), ("d", "read")}),
        ("dd if=a of=b", {("a", "read"), ("b", "write"), ("if=a", "read"), ("of=b", "read")}),
        ("echo a", set()),
        ("git clone u d", {("d", "write")}),
        ("git show HEAD:f", {("f", "read")}),
        ("git -C d archive -o f HEAD", {("f", "write"), ("d/f", "write")}),
    ],
)
def test_the_files_that_a_command_uses_are_found(command, uses):
    """The table has the options of its program."""
    (parsed_command,) = parse_script(command).commands
    assert {(use.word, use.access) for use in files_of(Args(parsed_command)) if use.word} >= uses


@pytest.mark.parametrize("command", ["cat *", "grep foo *", "rm *.o", "cat *.json", "sed -i s/a/b/ *.yml", "cat src/*"])
def test_an_unspecific_glob_does_not_cause_a_question(command):
    """`*` and `*.json` may match any file, and work would stop if they asked."""
    assert check_command(command) is None


def test_a_star_matches_every_secret_with_dotglob():
    """After `shopt -s dotglob` the shell puts `.env` among the names."""
    assert check_command("shopt -s dotglob; cat *") is not None


@st.composite
def globs_for_a_name(draw):
    """Return a protected name, and a glob that the shell expands to it and that keeps one of its letters."""
    name = draw(st.sampled_from([".env", ".npmrc", "id_rsa", ".netrc", "credentials.json", "kubeconfig", ".pgpass"]))
    length = draw(st.integers(1, 3))
    letters = list(name)
    for at, letter in enumerate(name):
        if at not in (0, length):
            letters[at] = draw(st.sampled_from([letter, "?", f"[{letter}]", f"[{letter}x]", "*"]))
    return name, "".join(letters)


@given(globs_for_a_name())
@settings(deadline=None)
def test_a_glob_that_the_shell_would_expand_to_a_secret_asks(case):
    """The name may be split in any way, if one letter of it is written."""
    name, glob = case
    assert fnmatchcase(name, glob)
    assert check_command(f"cat {glob}") is not None


@given(st.text("ab.", min_size=1, max_size=5), st.text("ab.*?", min_size=1, max_size=5))
def test_a_glob_overlaps_a_name_if_and_only_if_the_name_matches(name, glob):
    """The reference is `fnmatch`, with leading dots as the shell has them."""
    expected = fnmatchcase(name, glob) and (not name.startswith(".") or glob.startswith("."))
    assert may_overlap(glob, name) is expected
    assert (re.fullmatch(regex_of(glob), name) is not None) is fnmatchcase(name, glob)


@pytest.mark.parametrize(
    ("glob", "pattern", "meets"),
    [
        (".e*", ".env", True),
        ("f*.p?m", "*.pem", True),
        ("*.py", "*.pem", False),
        ("*.json", "*.tfvars.json", False),
        ("*.json", "credentials.json", False),
        ("cred*", "credentials.json", True),
        ("[[:alpha:]]d_rsa", "id_rsa", True),
        ("[!a-d]d_rsa", "id_rsa", True),
        ("[z-a]d_rsa", "id_rsa", True),
        ("[a-z]*.o", "id_rsa.*", False),
        ("*", "id_rsa", False),
    ],
)
def test_a_glob_aims_at_a_name_by_its_letters(glob, pattern, meets):
    """An ending that many files have is no letter of the name."""
    assert may_overlap(glob, pattern, must_be_specific=True) is meets


def test_only_a_text_with_a_star_or_question_mark_or_brackets_is_a_glob():
    assert [is_glob(text) for text in ("a*", "a?", "[a]", "a", "{a,b}")] == [True, True, True, False, False]


@pytest.mark.parametrize("glob", ["/etc/sh*", "/e*/shadow", "~/.s*/id_*", ".git/*", ".vscode/*.json", ".*"])
def test_a_glob_may_stand_in_any_name_of_a_path(glob):
    """It may be in the first name, the last one, or one between."""
    assert ProtectedFiles(BUILT_IN).find_possible_rule(glob, "write") is not None


# Folders.


@pytest.mark.parametrize(
    ("line", "folders"),
    [
        ("ls", ("",)),
        ("cd a && ls", ("", "a")),
        ("cd a; cd b", ("", "a", "b", "a/b")),
        ("(cd a; ls); ls", ("", "a")),
        ("cd; ls", ("", "~")),
        ("cd a; cd -", ("", "a")),
        ("cd /x/y; cd ..", ("", "/x/y", "..", "/x")),
        ("cd a; cd ../b", ("", "a", "../b", "b")),
        ("pushd a; popd", ("", "a")),
        ("env -C a ls", ("", "a")),
        ("make -C a all", ("", "a")),
        ("d=a; cd $d", ("", "$d", "a")),
    ],
)
def test_the_folders_that_a_line_may_run_in_are_found(line, folders):
    """Each one counts for every command."""
    script = parse_script(line)
    values = {assignment.name: assignment.value for assignment in script.assignments}

    def fill_in(word):
        return dict.fromkeys([word, re.sub(r"\$(\w+)", lambda match: values[match[1]], word)])

    assert folders_of(script.commands, fill_in) == folders


def test_a_line_that_goes_to_too_many_folders_asks():
    """The number of readings is limited, and the limit fails closed."""
    verdict = check_command("; ".join(f"cd d{number}" for number in range(30)))
    assert verdict is not None
    assert "more folders than can be looked at" in verdict.reason


def test_a_long_line_in_many_folders_is_judged_in_a_moment():
    """Twenty thousand characters, each word in each of 64 folders, are looked at or asked about."""
    started = time.process_time()
    verdict = check_command("; ".join(f"cd d{number}" for number in range(6)) + "; cat" + " a*" * 6_000)
    assert verdict is not None
    assert time.process_time() - started < 5


def test_a_brace_expansion_with_too_many_names_asks():
    verdict = check_command("cat " + "{a,b}" * 20)
    assert verdict is not None
    assert "more names than can be looked at" in verdict.reason


def test_braces_in_quotes_stand_for_no_names():
    assert check_command('git commit -m "' + "{a,b}" * 20 + ' in $x"') is None
    assert check_command('git commit -m "$x"' + "{a,b}" * 20) is not None


def test_code_that_joins_names_does_not_cause_a_question():
    """`/` and the names of folders stand in most programs."""
    assert check_command("""python3 -c "print('/'.join(['etc', '.github', '.config']))" """) is None


def test_a_path_that_cannot_be_followed_is_left_to_the_program(tmp_path):
    """The check says nothing about a link in a circle: the program will."""
    os.symlink("loop", tmp_path / "loop")
    assert word_for(SafetyChecks([tmp_path]), "cat loop") is None


@given(st.text(alphabet="ab&|~-[]!^:+0", max_size=12))
def test_no_class_of_a_glob_warns(text):
    """Python warns of doubled signs in a class, and a program may turn warnings into errors."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        re.compile(regex_of(f"[{text}]"))
    assert caught == []
