"""A command line is read as bash reads it, or not at all."""

from __future__ import annotations

import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.safety.shell.heredocs import read_heredoc_text
from toolkit.safety.shell.known_input import find_known_input
from toolkit.safety.shell.nodes import NodeContext
from toolkit.safety.shell.parser import CannotParse, MissingShellParser, parse_script
from toolkit.safety.shell.tree import StatementReader
from toolkit.safety.shell.words import read_word


def words(text: str) -> list[tuple[str, ...]]:
    """The words of every command that *text* runs."""
    return [command.words for command in parse_script(text).commands]


def tops(text: str) -> list[str]:
    """The names of the commands that a person sees."""
    return [command.name for command in parse_script(text).top]


# Words.


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("plain", "plain"),
        ("'a b'", "a b"),
        ('"a b"', "a b"),
        ("a\\ b", "a b"),
        ("r''m", "rm"),
        ('"r"m', "rm"),
        ("\\rm", "rm"),
        ("r\\\nm", "rm"),
        ('"a\\\nb"', "ab"),
        ('"\\$x \\` \\" \\\\ \\n"', '$x ` " \\ \\n'),
        ("'$x `y` \\'", "$x `y` \\"),
        ("$'\\x72\\155'", "rm"),
        ("$'a\\tb\\'c\\u0041'", "a\tb'cA"),
        ("$'\\ca\\q'", "\x01\\q"),
        ("'it'\\''s'", "it's"),
        ("''", ""),
        ("a=b", "a=b"),
        ("--x='y z'", "--x=y z"),
        ("a{b", "a{b"),
        ("@{u}", "@{u}"),
        ("[", "["),
        ("a~", "a~"),
        ("-", "-"),
        ("x$", "x$"),
        ("wörld", "wörld"),
        ('"日本"', "日本"),
        ("1", "1"),
    ],
)
def test_quotes_and_escapes_are_removed(written, word):
    """The word is what the command will get."""
    (command,) = parse_script(f"echo {written} end").commands
    assert (command.words, command.literal) == (("echo", word, "end"), (True, True, True))


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("$x", "$x"),
        ('"$HOME"/x', "$HOME/x"),
        ("${x:-y}", "${x:-y}"),
        ("*.py", "*.py"),
        ("?", "?"),
        ("[ab]c", "[ab]c"),
        ("~/x", "~/x"),
        ("~bob", "~bob"),
        ("x=~/y", "x=~/y"),
        ("{a,b}", "{a,b}"),
        ("{1..3}", "{1..3}"),
        ("$(date)", "$(date)"),
        ("`date`", "`date`"),
        ("<(date)", "<(date)"),
        ("$((1 + 1))", "$((1 + 1))"),
        ("a$IFS/", "a$IFS/"),
        ('$"hello"', "hello"),
        ("$'\\xff'", "\\xff"),
    ],
)
def test_a_word_that_the_shell_works_out_is_not_literal(written, plain):
    """It keeps its source, and has a plain form without quotes."""
    command = parse_script(f"echo {written}").commands[-1]
    assert (command.words[1], command.plain[1], command.literal) == (written, plain, (True, False))


@given(st.lists(st.text(st.characters(exclude_categories=("Cc", "Cs", "Cf")), max_size=20), max_size=5))
def test_quoting_is_undone(arguments):
    """A word that `shlex.quote` protects arrives as it was."""
    (command,) = parse_script(" ".join(["echo", *map(shlex.quote, arguments)])).commands
    assert command.words == ("echo", *arguments)
    assert all(command.literal)


# Commands, wherever they stand.


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("# nothing", []),
        ("a", ["a"]),
        ("a; b\nc & d", ["a", "b", "c", "d"]),
        ("a && b || ! c | d |& e", ["a", "b", "c", "d", "e"]),
        ("(a; b)", ["a", "b"]),
        ("{ a; b; }", ["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done", ["a", "b"]),
        ("until a; do b; done", ["a", "b"]),
        ("for x in 1 2; do a; done", ["a"]),
        ("for ((i = 0; i < 3; i++)); do a; done", ["a"]),
        ("select x in 1 2; do a; done", ["a"]),
        ("case $x in a|b) c;; *) d;& e) f;; esac", ["c", "d", "f"]),
        ("f() { a; }; f", ["a", "f"]),
        ("function f { a; }", ["a"]),
        ("f() ( a )", ["a"]),
        ("echo $(a `b`)", ["b", "a", "echo"]),
        ('echo "$(a "$(b)")"', ["b", "a", "echo"]),
        ("echo `a \\`b\\``", ["b", "a", "echo"]),
        ('echo "`a "b"`"', ["a", "echo"]),
        ("diff <(a) >(b)", ["a", "b", "diff"]),
        ("x=$(a)", ["a"]),
        ("x=(1 $(a))", ["a"]),
        ("echo ${x:-$(a)}", ["a", "echo"]),
        ("echo $(( $(a) ))", ["a", "echo"]),
        ("(( x = $(a) ))", ["a", "(("]),
        ("[ -f $(a) ] && [[ $(b) == c ]]", ["a", "[", "b", "[["]),
        ("case $(a) in $(b)) c;; esac", ["a", "b", "c"]),
        ("for x in $(a); do b; done", ["a", "b"]),
        ("cat <<EOF\n$(a) ${x:-$(b)}\nEOF\nc", ["a", "b", "cat", "c"]),
        ("cat <<'EOF'\n$(a)\nEOF\nc", ["cat", "c"]),
        ("cat <<-EOF\n\tx\n\tEOF\nc", ["cat", "c"]),
        ("cat <<EOF | a && b\nx\nEOF\nc", ["cat", "a", "b", "c"]),
        ("cat <<< $(a)", ["a", "cat"]),
        ("cat > $(a)", ["a", "cat"]),
        ("> x", []),
        ("echo $(< x)", ["echo"]),
        ("echo $(< x a)", ["a", "echo"]),
        ("export x=$(a)", ["a", "export"]),
        ("time (a; b)", ["a", "b", "time"]),
        ("unset x", ["unset"]),
    ],
)
def test_every_command_is_found(text, names):
    """In the order in which it is read."""
    assert tops(text) == names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rm > x -rf /", ("rm", "-rf", "/")),
        ("> x rm -rf /", ("rm", "-rf", "/")),
        ("a | rm >> x -rf / 2>&1", ("rm", "-rf", "/")),
        ("rm <&- -rf", ("rm", "-rf")),
        ("rm -rf >&- /", ("rm", "-rf", "/")),
        ("rm <<< x -rf /", ("rm", "-rf", "/")),
        ("rm <<EOF -rf /\nx\nEOF", ("rm", "-rf", "/")),
        ("a && rm <<'EOF' -rf /\nx\nEOF", ("rm", "-rf", "/")),
        ("rm -r\\\nf /", ("rm", "-rf", "/")),
        ("rm \\\n  -rf \\\n  /", ("rm", "-rf", "/")),
        ("python3 - <<'EOF'\nx\nEOF", ("python3", "-")),
        ("x=1 rm -rf /", ("rm", "-rf", "/")),
        ("rm -rf / >& x 0>&1", ("rm", "-rf", "/")),
        ("rm -rf >|x / 0<y", ("rm", "-rf", "/")),
        ("echo a\\ #x", ("echo", "a #x")),
        ("!x", ("!x",)),
        ("> b <<< c rm", ("rm",)),
    ],
)
def test_words_behind_redirections_are_the_commands(text, expected):
    """The grammar loses some of them; the shell does not."""
    assert parse_script(text).commands[-1].words == expected


def test_how_a_command_was_reached_is_told():
    """From the outside in."""
    script = parse_script("sudo sh -c 'echo $(id)'; f() { ls; }")
    assert [(command.name, command.nesting) for command in script.commands] == [
        ("sudo", ()),
        ("sh", ("sudo",)),
        ("id", ("sudo", "sh -c", "$()")),
        ("echo", ("sudo", "sh -c")),
        ("ls", ("f()",)),
    ]
    assert [command.name for command in script.top] == ["sudo", "ls"]


@pytest.mark.parametrize(
    ("text", "name", "feeding"),
    [
        ("a | b | c", "c", ["a", "b"]),
        ("a | b && c", "c", []),
        ("a | b | c && d", "d", []),
        ("a | b | c && d", "c", ["a", "b"]),
        ("a && b | c", "c", ["b"]),
        ("a | (b; c)", "c", ["a"]),
        ("a | while read x; do b; done", "b", ["a"]),
        ("a | sudo b", "b", ["a"]),
        ("a | sh -c 'b'", "b", ["a"]),
        ("cat <<EOF | a\nx\nEOF", "a", ["cat"]),
        ("a $(b) | c", "c", ["a"]),
    ],
)
def test_who_feeds_a_command_is_told(text, name, feeding):
    """Through pipes, into compounds and wrappers."""
    (command,) = [candidate for candidate in parse_script(text).commands if candidate.name == name]
    assert [feeder.name for feeder in command.fed_by] == feeding
    assert (command.pipe_source.name if command.pipe_source else None) == (feeding[-1] if feeding else None)


@pytest.mark.parametrize(
    ("text", "redirection", "assignment", "substitution"),
    [
        ("ls -l", False, False, False),
        ("ls > x", True, False, False),
        ("ls 2>&1", True, False, False),
        ("cat <<'EOF'\n$x\nEOF", True, False, False),
        ("sh -c 'ls > x'", True, False, False),
        ("x=1 ls", False, True, False),
        ("x=1", False, True, False),
        ("export x=1", False, True, False),
        ("env x=1 ls", False, True, False),
        ("for x in a; do ls; done", False, True, False),
        ("ls $x", False, False, True),
        ("ls ${x}", False, False, True),
        ("ls $(a)", False, False, True),
        ("ls `a`", False, False, True),
        ("ls <(a)", False, False, True),
        ("ls $((1))", False, False, True),
        ("((x++))", False, False, True),
        ("ls '$x'", False, False, False),
    ],
)
def test_what_an_allow_rule_has_to_know(text, redirection, assignment, substitution):
    """Anywhere in the text, and in what it gives to shells."""
    script = parse_script(text)
    assert (script.has_redirection, script.has_assignment, script.has_substitution) == (
        redirection,
        assignment,
        substitution,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > 'x y'", [(">", "x y", True, True)]),
        ("a >> $x", [(">>", "$x", False, True)]),
        ("a < x", [("<", "x", True, False)]),
        ("a 2>&1", [(">&", "1", True, False)]),
        ("a >& x", [(">&", "x", True, True)]),
        ("a &> x", [("&>", "x", True, True)]),
        ("a 2>&-", [(">&-", "", True, False)]),
        ("a <<EOF\nx $y\nEOF", [("<<", "x $y\n", False, False)]),
        ("a <<'EOF'\nx $y\nEOF", [("<<", "x $y\n", True, False)]),
        ("a <<< x", [("<<<", "x", True, False)]),
    ],
)
def test_redirections_are_told(text, expected):
    """Their operator, their target, whether it is known, whether a file is written."""
    redirections = parse_script(text).redirections
    assert [
        (redirection.operator, redirection.target, redirection.is_literal, redirection.writes)
        for redirection in redirections
    ] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x=1", [("x", "1", True)]),
        ("x='a b' y=$z c", [("x", "a b", True), ("y", "$z", False)]),
        ("x+=1", [("x", "1", False)]),
        ("x[0]=1", [("x", "1", False)]),
        ("x=~/y", [("x", "~/y", False)]),
        ("for x in a $b; do c; done", [("x", "a", True), ("x", "$b", False)]),
        ("for x; do c; done", [("x", "", False)]),
        ("sudo x=1 ls", [("x", "1", True)]),
        ("declare -x y=2", [("y", "2", True)]),
    ],
)
def test_assignments_are_told(text, expected):
    """With their value, and whether it is known."""
    assert [
        (assignment.name, assignment.value, assignment.is_literal) for assignment in parse_script(text).assignments
    ] == expected


def test_functions_and_endless_loops_are_told():
    """For those who look for fork bombs."""
    assert parse_script("f() { a; }; function g { b; }; echo `h() { c; }`").functions == ("f", "g", "h")
    assert parse_script("while true; do a & done").spawns_in_loop
    assert parse_script("echo `while true; do a & done`").spawns_in_loop
    assert not parse_script("while true; do a; done").spawns_in_loop


# Wrappers.


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("sudo -u bob -EH rm x", ("rm", "x")),
        ("sudo -ubob -- rm x", ("rm", "x")),
        ("sudo --user=bob A=1 rm x", ("rm", "x")),
        ("doas -u bob rm x", ("rm", "x")),
        ("env -i -u A B=1 rm x", ("rm", "x")),
        ("env -S 'rm x'", ("rm", "x")),
        ("env - rm x", ("rm", "x")),
        ("nice -n 5 rm x", ("rm", "x")),
        ("nice -5 rm x", ("rm", "x")),
        ("timeout -k 1 5 rm x", ("rm", "x")),
        ("time -p rm x", ("rm", "x")),
        ("nohup rm x", ("rm", "x")),
        ("exec -a y rm x", ("rm", "x")),
        ("command -p rm x", ("rm", "x")),
        ("builtin rm x", ("rm", "x")),
        ("coproc rm x", ("rm", "x")),
        ("stdbuf -oL rm x", ("rm", "x")),
        ("strace -f -o y rm x", ("rm", "x")),
        ("busybox rm x", ("rm", "x")),
        ("setsid -w rm x", ("rm", "x")),
        ("xargs -0 -n 1 rm x", ("rm", "x")),
        ("xargs -I{} rm x", ("rm", "x")),
        ("parallel -j 2 rm ::: x", ("rm", "x")),
        ("watch -n 1 rm x", ("rm", "x")),
        ("ssh -p 22 host rm x", ("rm", "x")),
        ("ssh host <<'EOF'\nrm x\nEOF", ("rm", "x")),
        ("find . -name y -exec rm x \\;", ("rm", "x")),
        ("find . -ok rm x \\;", ("rm", "x")),
        ("fd y -x rm x", ("rm", "x")),
        ("eval rm x", ("rm", "x")),
        ("eval 'rm x'", ("rm", "x")),
        ("trap 'rm x' EXIT", ("rm", "x")),
        ("sh -c 'rm x'", ("rm", "x")),
        ("/bin/bash -euxo pipefail -c 'rm x' y", ("rm", "x")),
        ("zsh --norc +x -lc 'rm x'", ("rm", "x")),
        ("bash <<< 'rm x'", ("rm", "x")),
        ("bash -s y <<'EOF'\nrm x\nEOF", ("rm", "x")),
        ("bash /dev/stdin <<< 'rm x'", ("rm", "x")),
        ("bash -- - <<< 'rm x'", ("rm", "x")),
        ("echo rm x | sh", ("rm", "x")),
        ("cat <<'EOF' | sh\nrm x\nEOF", ("rm", "x")),
        (". /dev/stdin <<< 'rm x'", ("rm", "x")),
        ("su bob -c 'rm x'", ("rm", "x")),
        ("su --command='rm x'", ("rm", "x")),
        ("runuser -lc 'rm x' bob", ("rm", "x")),
        ("script -c 'rm x' log", ("rm", "x")),
        ("flock lock rm x", ("rm", "x")),
        ("flock lock -c 'rm x'", ("rm", "x")),
        ("git -c alias.y='!rm x' y", ("rm", "x")),
        ("git rebase -x 'rm x' main", ("rm", "x")),
        ("git submodule foreach 'rm x'", ("rm", "x")),
        ("git bisect run rm x", ("rm", "x")),
        ("docker exec web sh -c 'rm x'", ("rm", "x")),
        ("tmux new -d 'rm x'", ("rm", "x")),
        ("uv run --with y rm x", ("rm", "x")),
        ("poetry run rm x", ("rm", "x")),
        ("python3 -m rm x", ("rm", "x")),
        ("sudo env nice sh -c \"sh -c 'rm x'\"", ("rm", "x")),
    ],
)
def test_what_a_wrapper_runs_is_listed(text, inner):
    """Behind its options, and in the texts that it gives to a shell."""
    assert inner in words(text)


@pytest.mark.parametrize("text", ["sudo --odd y rm x", "sudo -Z rm x", "sudo $options rm x", "timeout $seconds rm x"])
def test_behind_an_unknown_option_every_start_is_listed(text):
    """Rather one command too many than one too few."""
    assert ("rm", "x") in words(text)


@pytest.mark.parametrize(
    "text",
    ["sudo", "xargs", "env", "bash", "bash x.sh", "eval", "trap - EXIT", "find . -exec", "uv sync", "git log", "python x.py -m y", "$x rm y", "tmux ls", "docker ps", "source x"],
)  # fmt: skip
def test_a_wrapper_with_nothing_inside_stands_alone(text):
    """No command is made up."""
    assert len(words(text)) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo a b | x", "a b"),
        ("echo -n a | x", "a"),
        ("printf a | x", "a"),
        ("x <<< a", "a"),
        ("x <<'EOF'\na\nEOF", "a\n"),
        ("cat <<'EOF' | x\na\nEOF", "a\n"),
        ("cat f | x", None),
        ("echo -e a | x", None),
        ("echo 'a\\n' | x", None),
        ("printf %s a | x", None),
        ("echo $a | x", None),
        ("y | x", None),
        ("x < f", None),
        ("x", None),
    ],
)
def test_what_a_command_reads_is_known_only_if_the_text_says_so(text, expected):
    """Escapes, formats and files are not guessed."""
    source = find_known_input(parse_script(text).commands[-1])
    assert (source.text if source else None) == expected


@pytest.mark.parametrize(
    ("text", "expected", "is_exact"),
    [
        ('x <<E\na\\$b \\`c\\` \\\\ \\d \\"\nE', 'a$b `c` \\ \\d \\"\n', True),
        ("x <<E\na\\\nb\nE", "ab\n", True),
        ("x <<E\na\\\\\nb\nE", "a\\\nb\n", True),
        ("x <<'E'\na\\\nb \\$c\nE", "a\\\nb \\$c\n", True),
        ("x <<-E\n\t\ta\n\tb\\\n\tc\n\tE", "a\nb\tc\n", True),
        ("x <<-'E'\n\ta\\\n\tb\nE", "a\\\nb\n", True),
        ("x <<E\n$a\nE", "$a\n", False),
        ("x <<E\n'$a' \\$b\nE", "'$a' $b\n", False),
        ("x <<E\n${a}\nE", "${a}\n", False),
        ("x <<E\na $(b) c\nE", "a $(b) c\n", False),
        ("x <<< 'a*'", "a*", True),
        ('x <<< "$a"', "$a", False),
        ("{ y; x; } <<E\na\nE", "a\n", False),
        ("echo a | { y; x; }", "a", False),
        ("printf a | x", "a", False),
    ],
)
def test_a_here_document_is_read_as_the_command_behind_it_reads_it(text, expected, is_exact):
    """Without the shell's backslashes and tabs; a text that is expanded or shared is not known exactly."""
    source = next(
        source
        for command in reversed(parse_script(text).commands)
        if command.name == "x" and (source := find_known_input(command))
    )
    assert (source.text, source.is_exact) == (expected, is_exact)


@pytest.mark.parametrize("text", ["echo a | x 3<<E\nb\nE", "echo a | x {fd}<<E\nb\nE", "echo a | x 3< b"])
def test_another_descriptor_is_not_the_standard_input(text):
    """The pipe still is."""
    command = next(command for command in parse_script(text).commands if command.name == "x")
    source = find_known_input(command)
    assert source is not None
    assert source.text == "a"


@pytest.mark.parametrize("text", ["{ echo a; echo b; } | x", "if y; then echo a; else echo b; fi | x"])
def test_several_commands_before_a_pipe_print_more_than_the_last(text):
    """So the text is not known."""
    assert find_known_input(parse_script(text).commands[-1]) is None


# What is not understood.


@pytest.mark.long
@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "text",
    [
        "echo 'x",
        'echo "x',
        "echo $(x",
        "echo `x",
        "echo (x)",
        "if x; then",
        "& x",
        "x ;; y",
        "then",
        "}",
        "x() y",
        "{rm,-rf,/}",
        "{}",
        "echo x\\",
        "cat <<EOF\nx",
        "cat <<E'O'F\nEOF",
        "a\0b",
        "a\rb",
        "a\x1bb",
        "a\u202eb",
        "a\u200bb",
        "a\ud800b",
        "x" * 20_001,
        "a;" * 600,
        "a|" * 600 + "a",
        "cat <<a;" * 60,
        "`a`" * 150,
        "(" * 200 + "a" + ")" * 200,
        "a && " * 200 + "a",
        "sudo " * 30 + "a",
        "eval " * 30 + "a",
        ("eval " * 11 + "x" * 500 + ";") * 20,
        "&(" * 1500,
        "(a) > x y",
        "cat <<EOF > x y\nz\nEOF",
        "${" * 9000,
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_what_is_broken_or_too_much_is_refused(text):
    """It is never taken for harmless."""
    with pytest.raises(CannotParse):
        parse_script(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("foo\\\n#x; rm y", id="a comment after a joined line is none"),
        pytest.param("echo a \\ b", id="an escaped space is a word"),
        pytest.param("cat << EOF\n EOF\nEOF\nrm y", id="an indented end ends nothing"),
        pytest.param("cat <<EOF\nEO\\\nF\nrm y\nEOF", id="a joined end ends"),
        pytest.param("cat <<EOF\nx\\\nEOF\nEOF\nrm y", id="an end behind a joined line ends nothing"),
        pytest.param("cat <<EOF |\nx\nEOF\nrm y", id="a line that goes on below the here-document"),
        pytest.param("cat <<EOF\n`rm y`\nEOF", id="backticks in a here-document"),
        pytest.param("cat <<A <<B\nA\nB", id="two here-documents"),
        pytest.param("echo \"${x:-'}\" ; rm y #'}\"", id="quotes inside an expansion"),
        pytest.param("echo ${x#`rm y`}", id="backticks inside an expansion"),
        pytest.param("echo ${x:='a'}", id="single quotes inside an expansion"),
        pytest.param("echo ${x@P}", id="a prompt expansion"),
        pytest.param("echo $((ls); rm y)", id="arithmetic or a subshell"),
        pytest.param('echo $(( "x" ))', id="quotes inside arithmetic"),
        pytest.param("time { rm y; }", id="a reserved word before a group"),
        pytest.param("coproc x { rm y; }", id="a coprocess with a group"),
        pytest.param("!'' rm", id="an exclamation mark in a word"),
        pytest.param("[x ]", id="a bracket in a word"),
        pytest.param("[ -n a=&rm ]", id="a sign inside a test"),
        pytest.param("[ a\nrm ]", id="a newline inside a test"),
        pytest.param("[[ a<(rm y) == b ]]", id="a process substitution inside a test"),
        pytest.param("[[ -v 'a[$(rm y)]' ]]", id="a test that evaluates"),
        pytest.param("[[ a =~ (x y|z) ]]", id="a pattern with a space"),
        pytest.param("declare 'a[$(rm y)]=1'", id="a declaration that evaluates"),
        pytest.param("printf -v 'a[`rm y`]' x", id="a builtin that evaluates"),
        pytest.param("a >& '$(rm y)'", id="a target that bash expands twice"),
        pytest.param("a >&$ b", id="a dollar alone before a word"),
        pytest.param("a -2>&1 b", id="a word that looks like a descriptor"),
        pytest.param("y='a'\\\nb rm", id="an assignment that goes on"),
        pytest.param("x\\\n= rm", id="an assignment in two lines"),
        pytest.param("@x=1", id="an assignment to no name"),
        pytest.param("<<<a<(b) rm y", id="a here-string that goes on"),
        pytest.param("a | b[1]=2 > c rm y", id="words behind an assignment's redirection"),
        pytest.param("(a) > b rm y", id="words behind a compound's redirection"),
        pytest.param("echo $`rm y`", id="a dollar before a backtick"),
        pytest.param("echo `a\\\\\\\nb`", id="a joined line inside backticks"),
        pytest.param("a\n{b", id="a brace at the start"),
        pytest.param("exec 3<>/dev/tcp/x/1", id="reading and writing at once"),
    ],
)  # fmt: skip
def test_where_the_grammar_and_bash_disagree_nothing_is_guessed(text):
    """Each of these hides a command from a reader that trusts the grammar."""
    with pytest.raises(CannotParse):
        parse_script(text)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a b", {}),
        ("a;b", {}),
        ("a`b`", {}),
        ("a$(b)", {}),
        ('"a${b}"', {}),
        ('"a', {}),
        ("'a", {}),
        ("$'a\\'", {}),
        ("a\\", {}),
        ("'$(a)'", {1: 5}),
        ("x" * 50 + "|", {}),
    ],
)
def test_a_word_that_does_not_fit_its_quotes_is_refused(text, spans):
    """The grammar said where it ends and what it holds; the characters say otherwise."""
    with pytest.raises(CannotParse, match="understood|backslash"):
        read_word(text, spans)


def odd(kind: str, text: str = "a", **parts: object) -> SimpleNamespace:
    """A node as another version of the grammar might give it."""
    standard = {"is_named": True, "children": [], "child_count": 0, "start_byte": 0, "end_byte": len(text)}
    return SimpleNamespace(type=kind, child_by_field_name=lambda _: None, **standard | parts)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a", odd("novelty")),
        ("a", odd("ERROR")),
        ("a", odd("for_statement")),
        ("a", odd("function_definition")),
        ("a", odd("command")),
        ("#\n", odd("comment", "#\n")),
        ("`a", odd("word", "`a")),
        ("a b", odd("program", "a b", children=[odd("word")])),
    ],
    ids=lambda node: getattr(node, "type", None),
)
def test_a_tree_of_another_kind_is_refused(text, node):
    """What is not known is never skipped."""
    with pytest.raises(CannotParse):
        StatementReader(text, lambda *_: None).visit(node, NodeContext())


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("<<EOF", (2, 5), None),
        ("<<E*F\nE*F", (2, 5), (6, 9)),
        ("<<EOF\nx", (2, 5), (6, 7)),
        ("<<EOF\nx\n", (2, 5), (6, 7)),
    ],
)
def test_a_here_document_that_does_not_end_is_refused(text, start, end):
    """Where its last line is decides what runs."""
    places = [("heredoc_start", start), ("heredoc_end", end)]
    children = [odd(kind, start_byte=at[0], end_byte=at[1]) for kind, at in places if at]
    with pytest.raises(CannotParse, match="here-document"):
        read_heredoc_text(odd("heredoc_redirect", text, children=children), text)


@pytest.mark.parametrize("place", [{"start_byte": 1}, {"end_byte": 1}])
def test_a_tree_that_leaves_something_out_is_refused(place):
    """Every character belongs to a command, or is space."""
    with pytest.raises(CannotParse, match="with a command"):
        StatementReader("aa", lambda *_: None).read(odd("program", "aa", **place), ())


def test_a_message_says_what_is_wrong():
    """Short, and with the place."""
    with pytest.raises(CannotParse, match="U\\+0000, which cannot be seen"):
        parse_script("a\0")
    assert "run pip install '.[shell]' in a checkout of toolkit" in str(MissingShellParser())
    with pytest.raises(CannotParse, match="longer than 20000 characters"):
        parse_script("x" * 30_000)
    with pytest.raises(CannotParse, match="ends is not understood"):
        parse_script("cat << EOF\n EOF\nEOF\nrm x")


@given(st.text(alphabet="ab $(){}[]<>|&;'\"`\\\n#=*?!~-/E", max_size=60))
def test_any_text_is_read_or_refused(text):
    """Nothing else is raised, and every command has a name."""
    try:
        script = parse_script(text)
    except CannotParse:
        return
    assert all(len(command.words) == len(command.literal) == len(command.plain) > 0 for command in script.commands)
    assert set(script.top) <= set(script.commands)


def test_many_threads_read_at_once():
    """The parser is not shared."""
    texts = [f"echo {number} $(a | b) > x" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert [script.commands[-1].words[1] for script in pool.map(parse_script, texts)] == [
            str(n) for n in range(200)
        ]


def test_deep_callers_are_refused_not_broken():
    """A text is refused if there is no stack left to read it."""

    def deep(levels: int) -> object:
        return deep(levels - 1) if levels else parse_script("(" * 100 + "a" + ")" * 100)

    used, frame = 0, sys._getframe()
    while frame is not None:
        used, frame = used + 1, frame.f_back
    with pytest.raises(CannotParse, match="nested too deeply"):
        deep(sys.getrecursionlimit() - used - 60)


@pytest.mark.parametrize("text", ["V{\U0008870aT", "{\U0010ffff", "a{é,\U0001f600}", "${\U000e0100}", "$'\U00012345'"])
def test_letters_from_everywhere_are_read(text):
    """The grammar's tables end at 255, and looking further has ended processes. Each time the answer is the same."""
    answers = set()
    for _ in range(50):
        try:
            answers.add(tuple(command.plain for command in parse_script(text).commands))
        except CannotParse as error:
            answers.add(str(error))
    assert len(answers) == 1


def test_words_keep_their_letters():
    """What stands in their place for the grammar is not what is judged."""
    (command,) = parse_script("echo 'größe' ≤5").commands
    assert command.plain == ("echo", "größe", "≤5")


@pytest.mark.parametrize(
    "text",
    [
        "cat <<é\nà\ncat <<'EOF'\né\nrm -rf ~\nEOF",
        "cat <<'%%'\né\ncat <<'EOF'\n%%\nrm -rf ~\nEOF",
        "cat <<-  'a é'\nx\na é",
    ],
)
def test_an_end_that_could_be_mistaken_is_not_read(text):
    """A here-document that ends elsewhere for the grammar than for the shell would hide a command."""
    with pytest.raises(CannotParse, match="cannot be told"):
        parse_script(text)


def test_a_here_document_may_hold_any_text():
    """Only its end has to be plain."""
    assert [command.name for command in parse_script("cat <<EOF\ngrüße 100% ≤\nEOF\nls").commands] == ["cat", "ls"]


def test_a_line_that_was_just_read_is_not_read_again():
    """The rules and the checks of one call share one reading."""
    assert parse_script("git status --short") is parse_script("git status --short")


@given(st.text("ab1._/,:=@%+#^!]}-~*?[{\\'\"$é\xa0", min_size=1))
def test_a_word_without_special_signs_is_read_the_short_way_with_the_same_outcome(text):
    """An expansion that is noted for a place far away keeps the reader from the short way."""

    def read(spans: dict[int, int]) -> object:
        try:
            return read_word(text, spans, tilde_after="=:")
        except CannotParse as problem:
            return str(problem)

    assert read({}) == read({len(text) + 1: len(text) + 2})
