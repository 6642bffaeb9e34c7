"""A text for a shell that is put together from values is known only if the values are."""

from __future__ import annotations

import pytest

from toolkit.permissions.patterns.commands import commands_allowed, commands_concerned, find_redirected_paths
from toolkit.safety.commands.check import check_command

GIVE_A_TEXT = [
    'watch "echo {}"',
    "watch echo {}",
    'tmux new -d "echo {}"',
    'screen -dm "echo {}"',
    "env -S \"sh -c 'echo {}'\"",
    'ssh host "echo {}"',
    "ssh host echo {}",
    'ssh "$host" "echo {}"',
    'parallel "echo {}" ::: a',
    'hyperfine "echo {}"',
    'git submodule foreach "echo {}"',
    'git rebase -x "echo {}" HEAD~1',
    'git rebase --exec="echo {}" HEAD~1',
    'git -c alias.x="!echo {}" x',
    'tar cf a.tar --checkpoint-action=exec="echo {}" b',
    'trap "echo {}" EXIT',
    'alias x="echo {}"',
    'su bob -c "echo {}"',
    'sg users "echo {}"',
    'sg - users -c "echo {}"',
    'script -qc "echo {}"',
    'flock f -c "echo {}"',
    'entr -s "echo {}"',
    'eval "echo {}"',
    "eval echo {}",
    'bash -c "echo {}"',
    'sudo sh -c "echo {}"',
    'sed "1e echo {}" f',
]
UNKNOWN_VALUES = [
    ("k='; rm -rf /'; {}", "$k"),
    ('k="\'"; {}', "$k"),
    ("k='!rm x'; {}", "$k"),
    ("export k='| rm x'; {}", "${k}"),
    ("j='; rm x'; k=$j; {}", "$k"),
    ("k=(a '; rm x'); {}", "${k[1]}"),
    ("for k in a '; rm x'; do {}; done", "$k"),
    ("read k <<< '; rm -rf /'; {}", "$k"),
    ("read <<< '; rm -rf /'; {}", "$REPLY"),
    ("mapfile -t k <<< '; rm -rf /'; {}", "${k[0]}"),
    ("printf -v k '; rm x'; {}", "$k"),
    ("printf -v \"$n\" '; rm x'; {}", "$k"),
    ("k=$(cat f); {}", "$k"),
    ("{}", "$(cat f)"),
    ("{}", "`cat f`"),
    ("{}", "${k:-$(cat f)}"),
    ("{}", "${!k}"),
    ("set -- '; rm -rf /'; {}", "$1"),
    ("set -- '; rm -rf /'; for k; do {}; done", "$k"),
    ("f() {{ {}; }}; f '; rm -rf /'", "$1"),
    ("f() {{ local k=$1; {}; }}; f '; rm -rf /'", "$k"),
    ("mkdir ';rm x'; cd ';rm x'; {}", "$PWD"),
    ("echo '; rm x'; {}", "$_"),
    ("mktemp() {{ echo '; rm x'; }}; {}", "$(mktemp)"),
    ("{}", "$(date '+%nrm x')"),
    ("{}", "$(basename '; rm x')"),
]


@pytest.mark.parametrize("command", GIVE_A_TEXT)
@pytest.mark.parametrize(("line", "value"), UNKNOWN_VALUES)
def test_a_value_that_is_not_known_makes_the_text_unknown(line, value, command):
    """This holds for every way to give a text to a shell, and for every source of the value."""
    text = line.format(command.replace("{}", value))
    assert commands_concerned(text, "dropdb:*")
    assert check_command(text) is not None
    assert not commands_allowed(text, ["*"])


@pytest.mark.parametrize("command", ['watch "echo $k"', 'trap "echo $k" EXIT', 'eval "echo $k"'])
def test_a_redirection_in_a_value_may_be_to_any_file(command):
    """It is not among the redirections of the line."""
    assert find_redirected_paths(f"k='> x'; {command}", writes=True) == (None,)


@pytest.mark.parametrize(
    "line",
    [
        "bash -c 'trap \"echo $1\" EXIT' _ '; touch pwn'",
        "find . -exec sh -c 'eval \"echo $1\"' _ {} \\;",
        "ls | xargs sh -c 'trap \"echo $1\" EXIT' _",
        'trap "echo ${k:-; rm -rf /}" EXIT',
        "watch echo *'; rm x'",
        "bash -s '; rm x' <<< 'watch \"echo $1\"'",
    ],
)
def test_a_value_from_the_surrounding_words_is_not_known(line):
    """It comes from the words of `sh -c`, the files of `find`, or a default."""
    assert commands_concerned(line, "dropdb:*")
    assert check_command(line) is not None


@pytest.mark.parametrize(
    "line",
    [
        'tmp=$(mktemp); trap "rm -f $tmp" EXIT',
        'tmp=$(mktemp -t "x.XXXX" 2>/dev/null); trap "rm -f $tmp" EXIT',
        'd=$(date +%F-%H:%M); ssh host "mkdir backup-$d"',
        'ssh host "git checkout $(git rev-parse HEAD)"',
        'b=$(git branch --show-current); ssh host "git checkout $b"',
        'ssh host "cd $DIR && ls"',
        'watch "ls $HOME"',
        'watch "ls $PWD"',
        'cd src; watch "ls $PWD"',
        'for i in 1 2 3; do ssh host "echo $i"; done',
        'for f in *.c; do hyperfine "gcc $f"; done',
        'n=3; m=$((n + 1)); watch "head -n $m f"',
        'name=web; tmux new -d "tail -f log/$name.log"',
        'f() { trap "echo $1" EXIT; }; f done',
        "git submodule foreach 'echo $name'",
        "k='a;b'; echo \"$k\"",
        "k='a;b'; watch 'echo $k'",
        "k='a;b'; git commit -m \"$k\"",
        'read -r k < f; echo "$k"',
        'sed -n "${n}p" f',
        'read -r n < f; sed -n "${n}p" g',
    ],
)
def test_ordinary_values_stay_readable(line):
    """Names, numbers, and variables that come from elsewhere."""
    assert not commands_concerned(line, "dropdb:*")
    assert check_command(line) is None


def test_a_refusal_stays_a_refusal():
    """The host of `ssh` is no reason to forget what runs there."""
    finding = check_command("for h in $(cat hosts); do ssh \"$h\" 'rm -rf /'; done")
    assert finding is not None
    assert finding.word == "deny"
