"""The standard input of a command is known if the command line says it."""

from __future__ import annotations

import pytest

from toolkit.safety.shell.known_input import find_known_input
from toolkit.safety.shell.parser import parse_script


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
def test_the_input_of_a_command_is_known_only_if_the_text_has_it(text, expected):
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
def test_a_here_document_is_read_like_its_command_reads_it(text, expected, is_exact):
    """The backslashes and tabs of the shell are removed. A text that is expanded or shared is not known exactly."""
    source = next(
        source
        for command in reversed(parse_script(text).commands)
        if command.name == "x" and (source := find_known_input(command))
    )
    assert (source.text, source.is_exact) == (expected, is_exact)


@pytest.mark.parametrize("text", ["echo a | x 3<<E\nb\nE", "echo a | x {fd}<<E\nb\nE", "echo a | x 3< b"])
def test_redirecting_another_descriptor_leaves_the_pipe_as_input(text):
    command = next(command for command in parse_script(text).commands if command.name == "x")
    source = find_known_input(command)
    assert source is not None
    assert source.text == "a"


@pytest.mark.parametrize("text", ["{ echo a; echo b; } | x", "if y; then echo a; else echo b; fi | x"])
def test_a_group_of_commands_before_a_pipe_has_no_known_output(text):
    """It prints more than the last command."""
    assert find_known_input(parse_script(text).commands[-1]) is None
