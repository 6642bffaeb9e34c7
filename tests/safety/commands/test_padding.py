"""A dangerous command is found however much the line holds beside it, and however deep it is nested."""

import shlex
from functools import reduce

import pytest

from toolkit.permissions.patterns.commands import commands_concerned
from toolkit.safety.commands.check import check_command

COMMANDS = ["rm -rf /", "cp ~/.aws/credentials /tmp/x", "tee ~/.bashrc"]
SIZES = [9, 40, 300]


def repeat(text, size, separator=" "):
    """Return *text* with each number from 0 on in the place of `#`."""
    return separator.join(text.replace("#", str(number)) for number in range(size))


def nest(template, command, size):
    """Return *command* quoted inside *template*, which is quoted inside *template*, and so on, eight times at most."""
    return reduce(
        lambda text, number: template.replace("#", str(number)).format(shlex.quote(text)), range(min(size, 8)), command
    )


PADDINGS = {
    "commands": lambda command, size: f"{repeat('echo #', size, '; ')}; {command}",
    "lines of a script": lambda command, size: f"sh <<'E'\n{repeat('echo #', size, chr(10))}\n{command}\nE\n",
    "lines of a file": lambda command, size: f"cat > s <<'E'\n{repeat('echo #', size, chr(10))}\n{command}\nE\nsh s",
    "added lines": lambda command, size: (
        f"{repeat('echo echo # >> s', size, '; ')}; echo {shlex.quote(command)} >> s; sh s"
    ),
    "other files": lambda command, size: f"{repeat('echo a > f#', size, '; ')}; echo {shlex.quote(command)} > s; sh s",
    "copies": lambda command, size: (
        f"echo {shlex.quote(command)} > s; cp s s0; "
        + "; ".join(f"cp s{number} s{number + 1}" for number in range(size))
        + f"; sh s{size}"
    ),
    "scripts that write scripts": lambda command, size: nest("echo {} > s#; sh s#", command, size),
    "shells": lambda command, size: nest("sh -c {}", command, size),
    "texts for eval": lambda command, size: nest("eval {}", command, size),
    "texts for shells of programs": lambda command, size: nest("launcher sh -c {}", command, size),
    "programs": lambda command, size: f"{'nohup ' * size}{command}",
    "variables before": lambda command, size: f"{repeat('A#=1', size)} {command}",
    "words of env": lambda command, size: f"env {repeat('A#=1', size)} {command}",
    "words of a shell": lambda command, size: f"bash {'-o errexit ' * size}-c {shlex.quote(command)}",
    "words of a program": lambda command, size: f"launcher {repeat('w#', size)} sh -c {shlex.quote(command)}",
    "known words of a program": lambda command, size: f"launcher {'ls ' * size} sh -c {shlex.quote(command)}",
    "values": lambda command, size: f"{repeat('x=v#', size, '; ')}; x={shlex.quote(command)}; eval $x",
    "values of values": lambda command, size: f"{repeat('y=v#', size, '; ')}; y={shlex.quote(command)}; x=$y; eval $x",
    "substitutions": lambda command, size: f"{repeat(': $(echo v#)', size, '; ')}; eval $(echo {command})",
    "words of a loop": lambda command, size: (
        f'for x in {repeat("w#", size)} {shlex.quote(command)}; do eval "$x"; done'
    ),
    "values of an array": lambda command, size: f"a=({repeat('w#', size)} {shlex.quote(command)}); eval ${{a[{size}]}}",
    "parameters": lambda command, size: f"set -- {repeat('w#', size)} {shlex.quote(command)}; eval ${{{size + 1}}}",
    "lines for xargs": lambda command, size: f"echo {repeat('w#', size)} {shlex.quote(command)} | xargs -I@ sh -c '@'",
    "functions": lambda command, size: (
        f"f0() {{ {command}; }}; "
        + "; ".join(f"f{number + 1}() {{ f{number}; }}" for number in range(size))
        + f"; f{size}"
    ),
    "arms of case": lambda command, size: f"case $1 in {repeat('a#) echo;;', size)} b) {command};; esac",
    "groups": lambda command, size: f"{'{ ' * size}{command}{'; }' * size}",
    "redirections": lambda command, size: f"{repeat('2> o#', size)} {command}",
    "folders": lambda command, size: f"{repeat('cd d#', size, '; ')}; {command}",
    "commands of find": lambda command, size: rf"find . {repeat(f'-exec echo # {chr(92)};', size)} -exec {command} \;",
    "statements of Python": lambda command, size: (
        "python3 -c " + shlex.quote(f"import os; {'x=1; ' * size}os.system({command!r})")
    ),
}


@pytest.mark.one_case_in(7)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("padding", PADDINGS)
def test_no_padding_hides_a_danger(padding, command, size):
    """A limit of the check that is reached makes it ask."""
    assert check_command(PADDINGS[padding](command, size)) is not None


@pytest.mark.one_case_in(7)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("padding", PADDINGS)
def test_no_padding_hides_a_command_from_a_rule(padding, size):
    """The same for the rules that deny a command or ask about it."""
    assert commands_concerned(PADDINGS[padding]("mytool deploy x", size), "mytool deploy:*")


@pytest.mark.parametrize("number", [9, 40, 400])
def test_a_line_with_many_folders_is_denied_for_what_is_denied_anywhere(number):
    """Only for relative paths does the check have to know the folder."""
    assert check_command(f"{repeat('cd d#', number, '; ')}; rm -rf /").word == "deny"


@pytest.mark.parametrize("size", [1, 3])
def test_a_harmless_line_of_the_same_form_runs(size):
    """The paddings of up to three parts are no reason to ask by themselves."""
    names = ["commands", "lines of a file", "scripts that write scripts", "shells", "functions", "words of a program"]
    asked = [name for name in names if check_command(PADDINGS[name]("ls -l", size)) is not None]
    assert asked == []
