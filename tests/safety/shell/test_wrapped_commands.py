"""The commands behind a wrapper such as `sudo` are listed."""

from __future__ import annotations

import pytest

from toolkit.safety.shell.parser import parse_script


def words(text: str) -> list[tuple[str, ...]]:
    """Return the words of every command that *text* runs."""
    return [command.words for command in parse_script(text).commands]


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
def test_the_command_that_a_wrapper_runs_is_listed(text, inner):
    """It stands behind the options of the wrapper, or in a text that the wrapper gives to a shell."""
    assert inner in words(text)


@pytest.mark.parametrize("text", ["sudo --odd y rm x", "sudo -Z rm x", "sudo $options rm x", "timeout $seconds rm x"])
def test_every_word_after_an_unknown_option_may_begin_a_command(text):
    """One command too many is better than one too few."""
    assert ("rm", "x") in words(text)


@pytest.mark.parametrize(
    "text",
    ["sudo", "xargs", "env", "bash", "bash x.sh", "eval", "trap - EXIT", "find . -exec", "uv sync", "git log", "python x.py -m y", "$x rm y", "tmux ls", "docker ps", "source x"],
)  # fmt: skip
def test_a_wrapper_without_a_command_is_listed_alone(text):
    assert len(words(text)) == 1
