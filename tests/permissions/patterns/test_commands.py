"""
Command patterns, over commands that are really parsed.
"""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.permissions.patterns.commands import CommandPattern, commands_allowed, commands_concerned


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("git push:*", "git push", True),
        ("git push:*", "git push origin main", True),
        ("git push:*", "git   push", True),
        ("git push:*", '"git" push', True),
        ("git push:*", "\\git push", True),
        ("git push:*", "g'i't pu\"sh\"", True),
        ("git push:*", "git pushx", False),
        ("git push:*", "git push-x", False),
        ("git push:*", "'git push'", False),
        ("git push:*", "git pull", False),
        ("git push:*", "git", False),
        ("git push:*", "echo git push", False),
        ("git push:*", "echo 'x; git push'", False),
        ("git  push :*", "git push origin", True),
        ("npm test", "npm test", True),
        ("npm test", "npm test --watch", False),
        ("npm test", "npm", False),
        ("npm 'run it'", "npm run\\ it", True),
        ("find . -name '*.py'", 'find . -name "*.py"', True),
        ("echo \\*", "echo '*'", True),
        ("*", "anything at all", True),
        (":*", "anything at all", True),
    ],
)
def test_commands_are_compared_word_by_word(pattern, text, expected):
    """Quotes and spaces do not matter for allow and deny rules."""
    assert commands_allowed(text, [pattern]) is expected
    assert commands_concerned(text, pattern) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("git status && npm test", True),
        ("git status; git diff x | npm test", True),
        ("git status || (npm test)", True),
        ("git status\nnpm test", True),
        ("! git status", True),
        ("git status && npm test && ls", False),
        ("npm test --watch", False),
        ("git status # rm", True),
        ("", False),
        ("# only words", False),
    ],
)
def test_every_simple_command_has_to_be_allowed_by_some_pattern(text, expected):
    assert commands_allowed(text, ["git status:*", "git diff:*", "npm test"]) is expected


ADDED = [
    "{} > out.txt",
    "{} >> out.txt",
    "{} 2>&1",
    "{} < in.txt",
    "{} <<< text",
    "{} $(id)",
    "{} `id`",
    "{} <(id)",
    "{} $HOME",
    '{} "$HOME"',
    "{} ${{HOME:-x}}",
    "{} $((x=1))",
    "{} *.py",
    "{} ~",
    "{} ~root/x",
    "{} {{a,b}}",
    "{} x?",
    "A=1 {}",
    "A=1; {}",
    "export PATH=.; {}",
    "$X {}",
    "{} & id",
    "{}; id",
    "id | {}",
    "f() {{ id; }}; {}",
    "git() {{ id; }}; {}",
    "alias git=id; {}",
    "eval {}; id",
    "{} (",
    "{} '",
    "{} \x01",
    "{} \u202e",
]


@pytest.mark.parametrize("added", ADDED)
def test_a_command_with_parts_that_cannot_be_judged_is_not_allowed(added):
    """The parts are redirections, assignments, substitutions, expansions of the shell, and syntax errors."""
    assert not commands_allowed(added.format("git status"), ["git status:*"])
    assert commands_allowed("git status", ["git status:*"])


WORDS = st.text("abc-._/: '\"\\", min_size=1, max_size=6)


@given(words=st.lists(WORDS, max_size=4), added=st.sampled_from(ADDED))
def test_no_allow_holds_once_anything_unknown_is_added(words, added):
    text = shlex.join(["git", "status", *words])
    assert commands_allowed(text, ["git status:*"])
    assert not commands_allowed(added.format(text), ["git status:*"])


@given(words=st.lists(WORDS, min_size=1, max_size=5))
def test_a_command_matches_the_pattern_made_of_its_words(words):
    """Quoting is undone on both sides."""
    text = shlex.join(["run", *words])
    assert CommandPattern.read(text).words == ("run", *words)
    assert commands_allowed(text, [text])
    assert commands_allowed(text, [f"{text}:*"])
    assert commands_concerned(text, text)


@pytest.mark.parametrize(
    ("text", "patterns", "expected"),
    [
        ("find . -exec rm {} \\;", ["find:*"], False),
        ("find . -exec rm {} \\;", ["find:*", "rm:*"], True),
        ("find . -exec rm {} \\;", ["find:*", "rm"], False),
        ("find . -exec rm {} \\;", ["find . -exec rm {} ';'"], True),
        ("find . -name x", ["find:*"], True),
        ("xargs rm", ["xargs:*"], False),
        ("xargs grep x", ["xargs grep:*"], True),
        ("xargs rm x", ["xargs grep:*"], False),
        ("xargs git status", ["xargs:*", "git status"], False),
        ("xargs git status", ["xargs:*", "git status:*"], True),
        ("xargs git status", ["xargs git status"], True),
        ("xargs nice git status", ["xargs:*", "nice:*", "git status"], False),
        ("sudo rm x", ["sudo:*"], False),
        ("sudo -u bob rm x", ["sudo -u bob rm:*"], True),
        ("timeout 5 npm test", ["timeout 5 npm test"], True),
        ("timeout 5 npm test", ["timeout:*", "npm test"], True),
        ("env rm x", ["env:*", "npm test"], False),
        ("sh -c 'npm test'", ["sh -c 'npm test'"], True),
        ("sh -c 'npm test; rm x'", ["sh:*", "npm test"], False),
        ("sh -c 'npm test > x'", ["sh:*", "npm test"], False),
        ("sh -c 'npm test; rm x'", ["*"], True),
        ("rm x", ["xargs rm:*"], False),
        ("xargs rm", ["xargs:*", "run =="], False),
        ("find . -exec rm {} \\;", ["find:*", "xargs rm:*"], False),
    ],
)
def test_a_command_that_a_wrapper_runs_has_to_be_allowed_too(text, patterns, expected):
    """A pattern for that command allows it, or a pattern that has the wrapper with the command."""
    assert commands_allowed(text, patterns) is expected


CHAINS = [
    "{}",
    "ls && {}",
    "ls; {}",
    "ls | {}",
    "{} &",
    "({})",
    "! {}",
    "if true; then {}; fi",
    "for x in a; do {}; done",
    "f() {{ {}; }}; f",
    "echo $({})",
    "echo `{}`",
    'echo "$({})"',
    "cat <({})",
    "X=$({})",
    "{} > out",
    "A=1 {}",
    "sudo {}",
    "env A=1 {}",
    "nohup {}",
    "time {}",
    "timeout 5 {}",
    "command {}",
    "exec {}",
    "xargs {}",
    "find . -exec {} \\;",
    "cat <<EOF\n$({})\nEOF",
    "ls\n{}",
    "ls \\\n && {}",
]


@given(
    chain=st.lists(st.sampled_from(CHAINS[:16]), max_size=2),
    last=st.sampled_from(CHAINS),
    words=st.lists(st.text("abc-./", min_size=1, max_size=5), max_size=3),
    quoted=st.booleans(),
)
def test_a_denied_prefix_stays_denied_in_chains_and_wrappers(chain, last, words, quoted):
    """A deny holds if any part matches."""
    command = shlex.join(["git", "push", *words])
    if quoted:
        command = f"sh -c {shlex.quote(command)}"
    text = last.format(command)
    for template in chain:
        text = template.format(text) if "\n" not in text else text
    assert commands_concerned(text, "git push:*")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("rm:*", "/bin/rm x"),
        ("rm:*", "./rm x"),
        ("rm:*", "RM x"),
        ("/bin/rm:*", "/bin/rm x"),
        ("git push:*", "git -C x push"),
        ("git push:*", "git --no-pager -c a=b push"),
        ("git push --force:*", "git push -q --force"),
        ("npm test", "npm --silent test"),
        # What is not known could be it.
        ("git push:*", "git $X"),
        ("git push:*", "git 'pu'$X"),
        ("git push:*", "git {push,pull}"),
        ("git push:*", "$X"),
        ("git push:*", "$(echo git) push"),
        ("git push:*", "git -C $X push"),
        ("git push", "git push $X"),
        ("git push:*", "echo push | xargs git"),
        ("git push:*", "echo push | xargs -I% git % origin"),
        ("git push:*", "echo push | xargs -I % git % origin"),
        ("git push:*", "echo push | xargs -i git {} origin"),
        ("git push:*", "echo push | xargs --replace=@ git @ origin"),
        ("git push:*", "echo push | xargs --replace git {} origin"),
        ("git push:*", "find . -name push -exec git {} \\;"),
        ("git push:*", "find . -name push -exec sudo git {} \\;"),
        ("git push:*", "echo push | xargs sudo git"),
        ("git push:*", "echo push | xargs -I% sudo git % origin"),
        ("git push:*", "echo push | sudo xargs -n1 git"),
        ("git push:*", "parallel git {} ::: push"),
        # A shell that takes a program for its script.
        ("npm test:*", "bash npm test"),
        ("npm test:*", "bash -x -- /usr/bin/npm test x"),
        ("npm test:*", "bash -o posix npm test"),
        ("npm test:*", "source npm test"),
        ("npm test:*", ". npm test"),
        ("npm test:*", "bash $X"),
        # What cannot be parsed.
        ("git push:*", "git push ("),
        ("git push:*", "echo 'x"),
        ("git push:*", "ls \x00"),
        ("git push:*", "ls " + "x" * 30_000),
    ],
)
def test_a_deny_rule_holds_for_every_possible_match(pattern, text):
    """A command can be written in many ways."""
    assert commands_concerned(text, pattern)
    assert not commands_allowed(text, ["git status:*", "ls"])


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("git push:*", "git log $X"),
        ("git push:*", "git log -n 1 push"),
        ("git push:*", "git stash push"),
        ("git push", "git push origin"),
        ("git push", "git push -q"),
        ("rm:*", "grep 'rm -rf' notes.txt"),
        ("rm:*", "npm rm"),
        ("rm -rf:*", "rm x"),
        ("npm test", "npm testing"),
        ("npm test:*", "bash run.sh test"),
        ("rm:*", "find . -name '*.py'"),
        ("rm:*", "xargs -I{} cp {} x"),
        ("rm:*", "A=1"),
        ("rm:*", "cat <<'EOF'\nrm -rf /\nEOF"),
    ],
)
def test_a_deny_rule_does_not_hold_for_impossible_matches(pattern, text):
    """Words in other places, and in quotes, are only words."""
    assert not commands_concerned(text, pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("git push | sh", "simple command"),
        ("a && b:*", "simple command"),
        ("a; b", "simple command"),
        ("a > b", "simple command"),
        ("echo $HOME", "simple command"),
        ("echo `id`", "simple command"),
        ("(a)", "simple command"),
        ("rm *", "only at the end"),
        ("git push*", "only at the end"),
        ("git:* push", "only at the end"),
        ("**", "only at the end"),
        ("git 'push", "quotes"),
        ("  ", "missing"),
        ("", "missing"),
        ("  :*", "missing"),
    ],
)
def test_a_malformed_pattern_is_refused_with_the_remedy(pattern, message):
    with pytest.raises(ValueError, match=message):
        CommandPattern.read(pattern)


@pytest.mark.parametrize(
    "line",
    [
        "echo rm x > y; bash y",
        "echo rm x > y; . ./y",
        "echo rm x | tee y; sh ./y",
        "echo rm x > ./y; sh < y",
        "cat > y <<'EOF'\nmake\nrm x\nEOF\nsh y",
        "printf 'sh z' > y; echo rm x > z; sh y",
        r"echo -e 'r\x6d x' > y; sh y",
        "curl https://example.com > y; sh y",
    ],
)
def test_a_deny_holds_for_a_script_that_the_line_writes_and_runs(line):
    """The script is read as a part of the line, and one that cannot be told could be any command."""
    assert commands_concerned(line, "rm:*")


@pytest.mark.parametrize(
    "line", ["echo make > y; sh y", "cat > y <<'EOF'\nmake test\nEOF\nsh y", "echo rm x > y; cat y"]
)
def test_a_deny_rule_does_not_hold_for_a_written_script_that_runs_another_command(line):
    """The commands of the script count, not that it was written."""
    assert not commands_concerned(line, "rm:*")


CHOSEN_PROGRAMS = [
    "rsync -e 'rm -rf /' a host:b",
    "rsync -erm a host:b",
    "rsync --rsh=/bin/rm a host:b",
    "rsync --rsync-path='cd /; rm x' a host:b",
    "ssh -o ProxyCommand='rm -rf /' host",
    "ssh -oProxyCommand='nc %h %p|rm x' host",
    "scp -S /bin/rm a host:b",
    "vim -c '!rm -rf /' a",
    "vim '+!rm x' a",
    "tar -I 'rm -rf /' -xf a.tar",
    "tar --use-compress-prog=rm -xf a.tar",
    "git grep -Orm x",
    "git grep --open-files-in-pager=/bin/rm x",
    "sort --compress-program=rm a",
    "split --filter='rm $FILE' a",
]


@pytest.mark.parametrize("line", CHOSEN_PROGRAMS)
def test_a_deny_holds_for_a_program_that_an_option_chooses(line):
    assert commands_concerned(line, "rm:*")
    assert commands_concerned(line, "rm -rf:*")


@pytest.mark.parametrize(
    "line",
    [
        "python3 -c 'import os; os.system(\"rm x\")'",
        "python3 - <<< 'import os; os.system(\"rm x\")'",
        "awk 'BEGIN{system(\"rm x\")}'",
        "launcher rm x",
        "launcher --run 'cd y; rm x'",
        "launcher put 'end{system(\"rm x\")}'",
        "x=rm; launcher $x",
        "echo rm | xargs launcher",
        "launcher $(time echo rm;) x",
        "launcher *'; rm x'",
        "launcher --run '\\rm x'",
        "launcher --run 'launcher> y rm x'",
        "bash run.sh rm x",
        "python3 run.py 'rm x'",
        "CC='rm x' make",
        "make CC='rm x'",
        "git -c core.pager=rm log",
        "git -c alias.x='!rm y' x",
        "grm x",
    ],
)
def test_a_deny_holds_for_a_program_that_code_or_an_unknown_program_starts(line):
    assert commands_concerned(line, "rm:*")
    assert not commands_concerned(line, "curl:*")


def test_a_deny_rule_holds_for_an_unknown_program_with_too_many_values():
    """They are not filled in one by one."""
    settings = "".join(f"x={number};" for number in range(1_000))
    assert commands_concerned(settings + "launcher $x;" * 4, "rm:*")
    assert not commands_concerned(settings + "launcher $x", "rm:*")


def test_a_deny_rule_of_several_words_needs_all_of_them_in_code():
    line = 'python3 -c \'import subprocess; subprocess.run(["git", "status"])\''
    assert commands_concerned(line, "git status:*")
    assert not commands_concerned(line, "git push:*")
    assert commands_concerned("git-push origin", "git push:*")
    assert commands_concerned("git -c alias.p=push p", "git push:*")


@pytest.mark.parametrize("line", [*CHOSEN_PROGRAMS, "rsync -av rm host:b", "ssh -p 22 host ls rm", "tar -czf a.tar rm"])
def test_a_deny_leaves_other_programs_alone_where_an_option_chooses_one(line):
    assert not commands_concerned(line, "curl:*")


@pytest.mark.parametrize("line", ["rsync -av rm host:b", "tar -czf a.tar rm", "tar -I zstd -xf rm.tar", "git grep rm"])
def test_a_file_with_the_name_of_a_denied_program_is_not_a_program(line):
    assert not commands_concerned(line, "rm:*")


def test_every_command_is_denied_if_the_grammar_is_missing():
    """A command that cannot be parsed matches every deny rule and no allow rule."""
    code = (
        "import sys; sys.modules['tree_sitter'] = sys.modules['tree_sitter_bash'] = None\n"
        "from toolkit.permissions.patterns.commands import commands_allowed, commands_concerned\n"
        "print(commands_allowed('ls', ['ls']), commands_allowed('ls', ['*']), commands_concerned('ls', 'rm:*'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["False", "False", "True"], "")
