"""What a wrapper runs is found behind its options, however they are written."""

from __future__ import annotations

import pytest

from toolkit.safety.shell.getopt import options_of, read_option, values_of
from toolkit.safety.shell.parser import CannotParse, parse_script
from toolkit.safety.shell.prefix_programs import PREFIXES


@pytest.mark.parametrize(
    "line",
    [
        "env -S 'rm x'",
        "env -vS 'a=1 rm x'",
        "env -iS'rm x'",
        "env --split-string='rm x'",
        "env --split-str='-i rm x'",
        "env --s 'rm' x",
        "env -S a=1 rm x",
        "env --chd=. --uns a rm x",
        "env -C . -u a -- b=1 rm x",
        "env --argv0=y rm x",
        "timeout --sig=9 5 rm x",
        "timeout --kill-a 1 5 rm x",
        "timeout -vk1 5s rm x",
        "nice --adj=1 rm x",
        "nice --adj 1 rm x",
        "nice --1 rm x",
        "stdbuf --out L rm x",
        "ionice --cla 3 -tn1 rm x",
        "chrt --oth 0 rm x",
        "chrt -T 1 -d 0 rm x",
        "taskset --cpu 0 rm x",
        "prlimit --nof=64 -n64 rm x",
        "setarch rm x",
        "setarch x86_64 -R rm x",
        "linux64 rm x",
        "setpriv --nnp --reuid 1 rm x",
        "choom --adj 0 -- rm x",
        "uclampset -m 0 rm x",
        "unshare -rm --map-r rm x",
        "xargs --max-lines rm x",
        "xargs --rep rm x",
        "xargs -i rm x",
        "xargs -ix rm x",
        "xargs --max-a 1 -tn1 rm x",
        "xargs --process-slot-var a rm x",
        "flock -n y rm x",
        "flock --tim 1 y rm x",
        "flock -n y --comm 'rm x'",
        "find . -exec env -u + rm x \\;",
        "script -qc 'rm x' y",
        "script -c'rm x'",
        "script --com 'rm x'",
        "script -q y -- rm x",
        "npx -c 'rm x'",
        "npx --call='rm x'",
        "npm exec -c 'rm x'",
        "mapfile -C 'rm x' -c 1 a",
        "readarray -tC'rm x' a",
        "compgen -C 'rm x'",
        "alias y='rm x'",
        "bash -oc errexit 'rm x'",
        "bash -O nullglob -c 'rm x'",
        "bash -norc -c 'rm x'",
        "bash + -c 'rm x'",
        "source /dev/fd/0 <<< 'rm x'",
        "gosu root rm x",
        "cross-env A=1 rm x",
        "rlwrap rm x",
        "rlwrap -a -s 100 --histsize 3 rm x",
        "sshpass -p y rm x",
        "sshpass -fy -v rm x",
        "logsave -a y rm x",
        "ssh-agent rm x",
        "ssh-agent -t 1 -a y rm x",
        "entr rm x",
        "entr -cr rm x",
        "entr -s 'rm x'",
        "entr -crs 'rm x'",
        "history -s 'rm x'; fc -s",
        "history -s rm x",
        "fc -e 'rm x' 1",
        "nu -c 'rm x'",
        "nu --commands 'rm x'",
        "xonsh -c 'rm x'",
        "pwsh -Command 'rm x'",
        "pwsh -c 'rm x'",
        "pee cat 'rm x'",
        "mispipe 'rm x' cat",
        "hyperfine 'rm x'",
        "sem -j2 rm x",
        "systemd-inhibit rm x",
        "systemd-cat -t y rm x",
        "envdir y rm x",
        "openvt -w rm x",
        "tar --checkpoint-action=exec='rm x' -cf y z",
        "tar --checkpoint-ac exec='rm x' -cf y z",
        "tar --to-com='rm x' -xf y",
        "git difftool -x 'rm x'",
        "git difftool -yx 'rm x'",
        "git difftool --ext='rm x'",
        "fd -Hx rm x",
        "fd -Hxrm x",
    ],
)
def test_options_in_any_spelling_do_not_hide_a_command(line):
    """They may be in clusters, abbreviated, or have a value that is joined or follows."""
    assert ("rm", "x") in [command.words for command in parse_script(line).commands]


@pytest.mark.parametrize(
    "line",
    [
        "env -S 'rm\\_x'",
        "env 'BASH_FUNC_x%%=() { rm x; }' bash -c x",
        "echo rm x | xargs env",
        "echo rm x | xargs -n1 nice -n 1",
        "sh < <(echo rm x)",
        "source /dev/stdin < <(echo rm x)",
        "enable -f ./y z",
        "shopt -s expand_aliases",
        "shopt -s extglob",
        "set -k",
        "set -o posix",
        "hash -py rm",
        "script --com $'rm\\0x'",
        "flock out -c $'rm\\x00x'",
    ],
)
def test_a_line_with_an_unknown_command_or_a_change_of_parsing_is_refused(line):
    """A command that comes from elsewhere is not guessed."""
    with pytest.raises(CannotParse):
        parse_script(line)


@pytest.mark.parametrize(
    "line", ["npm install x y", "set -euo pipefail", "shopt -s globstar", "bash < y", "sh y", "xargs echo"]
)
def test_ordinary_lines_stay_readable(line):
    """They do not run commands that are not written in them."""
    assert len(parse_script(line).commands) <= 2


def test_options_are_read_as_getopt_does():
    """A cluster ends with the first option that takes a value. An abbreviation has to be unambiguous."""
    options = options_of(PREFIXES["timeout"])
    assert read_option("-vs9", options) == ("value", 1, "9")
    assert read_option("-vs", options) == ("value", 2, None)
    assert read_option("--sig=9", options) == ("value", 1, "9")
    assert read_option("--pres", options) == ("flag", 1, None)
    assert read_option("--unheard", options) is None
    assert read_option("-x", options) is None


def test_values_of_an_option_are_found_in_clusters():
    """The search ends at the first word that is not an option."""
    (command,) = parse_script("mapfile -tn 3 -Cfirst -tC second a -C third").commands[:1]
    assert list(values_of(command, "C", "dnOsuCc")) == ["first", "second"]
