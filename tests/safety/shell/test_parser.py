"""A command line is read as bash reads it, or not at all."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.safety.shell.parser import parse_script


def tops(text: str) -> list[str]:
    """Return the names of the commands that a person sees."""
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
    """A command inside a substitution comes before the command around it."""
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


def test_a_command_has_its_surrounding_commands_and_functions():
    """The outermost comes first."""
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
def test_a_command_has_the_commands_that_feed_it(text, name, feeding):
    """They feed it through pipes, into compounds and into wrappers."""
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
def test_a_script_has_flags_for_redirections_assignments_and_substitutions(text, redirection, assignment, substitution):
    """They may be anywhere in the text, and in the texts that it gives to shells."""
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
def test_redirections_are_listed(text, expected):
    """Each has its operator, its target, whether that is known, and whether a file is written."""
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
def test_assignments_are_listed(text, expected):
    """Each has its value, and whether it is known."""
    assert [
        (assignment.name, assignment.value, assignment.is_literal) for assignment in parse_script(text).assignments
    ] == expected


def test_functions_and_endless_loops_are_listed():
    """The check for fork bombs needs them."""
    assert parse_script("f() { a; }; function g { b; }; echo `h() { c; }`").functions == ("f", "g", "h")
    assert parse_script("while true; do a & done").spawns_in_loop
    assert parse_script("echo `while true; do a & done`").spawns_in_loop
    assert not parse_script("while true; do a; done").spawns_in_loop
