"""
Commands that run other commands, and what they would run.

`sudo -u bob nice rm x` runs `nice rm x`, which runs `rm x`. Where an option is
not known, nobody can say where the inner command starts, and every place it
might start at is listed: rather one command too many than one too few.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from .shell_records import Assignment, SimpleCommand

__all__ = ["SHELLS", "Text", "known_input", "opened"]

SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh"])
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)


class Text(NamedTuple):
    """A text that a command hands to a shell."""

    text: str
    via: str


Opened: TypeAlias = SimpleCommand | Text


def opened(command: SimpleCommand) -> Iterator[Opened]:
    """What *command* runs in its turn; nothing if it is no wrapper."""
    if not command.literal[0]:
        return
    name = command.name
    if name in _OPENERS:
        yield from _OPENERS[name](command)
    elif name in _SHAPES:
        yield from _prefixed(command, _SHAPES[name])
    elif name in SHELLS:
        yield from _shell(command)


def known_input(command: SimpleCommand) -> str | None:
    """What *command* reads from standard input, if the text says so."""
    for redirection in reversed(command.redirections):
        if redirection.operator.startswith("<<"):
            return redirection.target
    source = command.piped_from
    if source is None or not all(source.literal) or source.name not in ("echo", "printf", "cat"):
        return None
    if source.name == "cat":
        return known_input(source) if len(source.words) == 1 else None
    words = [word for at, word in enumerate(source.words) if at and not (at == 1 and word in ("-n", "--"))]
    text = " ".join(words)
    # Escapes and formats make another text of it.
    return None if "\\" in text or "%" in text or text.startswith("-") else text


@dataclass(frozen=True, slots=True)
class _Shape:
    """How the words before the inner command look: options with and without a value, then so many words."""

    values: str = ""
    flags: str = ""
    skip: int = 0
    sets: bool = False  # NAME=value may stand before the command
    joins: bool = False  # the rest is joined and given to a shell
    after: str = ""  # only behind this subcommand: `uv run`


_SHAPES: dict[str, _Shape] = {
    "sudo": _Shape(
        values="-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot --role --type",
        flags="-A -b -B -E -e -H -i -K -k -l -n -N -P -S -s -V -v --preserve-env --login --shell --stdin --non-interactive --background --set-home --reset-timestamp",
        sets=True,
    ),
    "doas": _Shape(values="-u -C", flags="-n -s -L"),
    "pkexec": _Shape(values="--user", flags="--disable-internal-agent --keep-cwd"),
    "env": _Shape(
        values="-u -C --unset --chdir",
        flags="- -i -0 -v --ignore-environment --null --debug --block-signal --default-signal --ignore-signal",
        sets=True,
    ),
    "nohup": _Shape(),
    "setsid": _Shape(flags="-c -f -w --ctty --fork --wait"),
    "nice": _Shape(values="-n --adjustment"),
    "ionice": _Shape(values="-c -n --class --classdata", flags="-t --ignore"),
    "chrt": _Shape(flags="-b -f -i -o -r -a -v -R", skip=1),
    "taskset": _Shape(flags="-a -c", skip=1),
    "numactl": _Shape(flags="--interleave --membind --cpunodebind --physcpubind --localalloc -l"),
    "timeout": _Shape(values="-k -s --kill-after --signal", flags="-v --verbose --foreground --preserve-status", skip=1),
    "gtimeout": _Shape(values="-k -s --kill-after --signal", flags="-v --verbose --foreground --preserve-status", skip=1),
    "time": _Shape(values="-f -o --format --output", flags="-p -a -v -q -V --portability --append --verbose --quiet"),
    "exec": _Shape(values="-a", flags="-c -l"),
    "command": _Shape(flags="-p -v -V"),
    "builtin": _Shape(),
    "coproc": _Shape(),
    "noglob": _Shape(),
    "nocorrect": _Shape(),
    "stdbuf": _Shape(values="-i -o -e --input --output --error"),
    "unbuffer": _Shape(flags="-p"),
    "strace": _Shape(values="-e -o -p -s -u -E -a -I -O -P -S -X -b", flags="-c -C -d -f -ff -F -h -i -k -n -N -q -qq -r -t -tt -ttt -T -v -V -w -x -xx -y -yy -z -Z"),
    "ltrace": _Shape(values="-e -o -p -s -u -a -l -n -x -A -D -F", flags="-c -C -f -i -L -r -S -t -tt -ttt -T -V -b"),
    "valgrind": _Shape(flags="-q -v --tool --leak-check --error-exitcode --track-origins --log-file --suppressions --show-leak-kinds"),
    "catchsegv": _Shape(),
    "fakeroot": _Shape(values="-l -s -i -b", flags="-u -v"),
    "proxychains": _Shape(values="-f", flags="-q"),
    "proxychains4": _Shape(values="-f", flags="-q"),
    "torsocks": _Shape(),
    "chroot": _Shape(values="--userspec --groups", flags="--skip-chdir", skip=1),
    "unshare": _Shape(flags="-m -u -i -n -p -U -C -T -f -r -c --mount --uts --ipc --net --pid --user --fork --map-root-user"),
    "nsenter": _Shape(values="-t -S -G --target --setuid --setgid", flags="-a -m -u -i -n -p -U -C -T -F -r -w --all --mount --uts --ipc --net --pid"),
    "systemd-run": _Shape(values="-p -u -H -M -E --unit --property --uid --gid --slice --description --setenv --working-directory", flags="-t -P -q -G -r -d --user --system --scope --pty --pipe --wait --collect --quiet --no-block --shell -S"),
    "prlimit": _Shape(),
    "cpulimit": _Shape(values="-l -p -e", flags="-b -f -m -q -v -z --"),
    "caffeinate": _Shape(values="-t -w", flags="-d -i -m -s -u"),
    "arch": _Shape(flags="-x86_64 -arm64"),
    "entr": _Shape(flags="-a -c -d -n -p -r -s -z -cr -rc"),
    "busybox": _Shape(),
    "toybox": _Shape(),
    "xargs": _Shape(
        values="-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-lines --max-procs --max-chars --replace",
        flags="-0 -r -t -p -x -o -i -e -l --null --no-run-if-empty --verbose --interactive --exit --open-tty",
    ),
    "parallel": _Shape(
        values="-j -N -n -a -S -I -d -L -P --jobs --arg-file --sshlogin --colsep --delay --retries --timeout --joblog --results --delimiter --max-args",
        flags="-0 -k -q -v -t -u -X -m -r --null --keep-order --bar --eta --dry-run --will-cite --progress --verbose --ungroup --linebuffer --lb --no-run-if-empty --halt --pipe --line-buffer --tag",
        joins=True,
    ),
    "watch": _Shape(values="-n --interval -q", flags="-d -t -b -e -g -c -x -p -r -w --differences --no-title --beep --errexit --chgexit --color --exec --precise --no-wrap", joins=True),
    "ssh": _Shape(
        values="-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
        flags="-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -tt -V -v -vv -vvv -X -x -Y -y",
        skip=1,
        joins=True,
    ),
    "uv": _Shape(values="--with --python -p --extra --group --env-file --project --directory", flags="--isolated --no-project --frozen --locked --no-sync --all-extras -q --quiet --active --no-dev", after="run"),
    "poetry": _Shape(after="run"),
    "pipenv": _Shape(after="run"),
    "pdm": _Shape(after="run"),
    "hatch": _Shape(after="run"),
    "bundle": _Shape(after="exec"),
    "direnv": _Shape(after="exec", skip=1),
    "conda": _Shape(values="-n -p --name --prefix", flags="--no-capture-output --live-stream", after="run"),
    "aws-vault": _Shape(after="exec", skip=1),
    "op": _Shape(values="--env-file --account", flags="--no-masking", after="run"),
    "npx": _Shape(values="-p --package -c --call", flags="-y --yes --no --no-install -q --quiet"),
}  # fmt: skip


def _prefixed(command: SimpleCommand, shape: _Shape) -> Iterator[Opened]:
    at, sure = 1, True
    if shape.after:
        if shape.after not in command.plain[1:]:
            return
        at = command.plain.index(shape.after, 1) + 1
    options = dict.fromkeys(shape.values.split(), True) | dict.fromkeys(shape.flags.split(), False)
    assigned: list[Assignment] = []
    skip = shape.skip
    while at < len(command.words):
        word, known = command.plain[at], command.literal[at]
        found = _ASSIGNMENT.fullmatch(word) if shape.sets else None
        if known and word == "--":
            at, options = at + 1, {}
        elif found is not None:
            assigned.append(Assignment(name=found.group(1), value=found.group(2), is_literal=known))
            at += 1
        elif word.startswith("-") and options and (len(word) > 1 or "-" in options):
            steps = _steps(word, options)
            sure = sure and known and steps is not None
            if command.name == "env" and (word.startswith("-S") or word.startswith("--split-string")):
                yield Text(re.sub(r"^(-S|--split-string=?)", "", " ".join(command.plain[at:])), "env")
                return
            at += steps or 1
        elif skip:
            sure = sure and known
            skip -= 1
            at += 1
        elif not known and at + 1 < len(command.words) and not _is_quoted(command, at):
            # `sudo $options rm x`: what it expands to may be options, or nothing.
            sure = False
            break
        else:
            break
    starts = [at] if sure else range(1, len(command.words))
    for start in starts:
        if start < len(command.words):
            yield _rest(command, start, shape, assigned)


def _rest(command: SimpleCommand, start: int, shape: _Shape, assigned: list[Assignment]) -> Opened:
    if shape.joins:
        # `parallel rm ::: a b` gives `a` and `b` to `rm`.
        return Text(" ".join(word for word in command.plain[start:] if not word.startswith(":::")), command.name)
    return _part(command, start, len(command.words), assigned)


def _part(command: SimpleCommand, start: int, end: int, assigned: list[Assignment] | None = None) -> SimpleCommand:
    return replace(
        command,
        words=command.words[start:end],
        literal=command.literal[start:end],
        plain=command.plain[start:end],
        via=(*command.via, command.name),
        outer=command,
        assignments=(*command.assignments, *(assigned or ())),
    )


def _steps(word: str, options: dict[str, bool]) -> int | None:
    """How many words an option takes, its value included; None if nobody knows."""
    if word in options:
        return 2 if options[word] else 1
    if word.startswith("--"):
        return 1 if word.partition("=")[0] in options and "=" in word else None
    if word[1:].isdigit():
        return 1
    for at, letter in enumerate(word[1:], start=1):
        takes = options.get(f"-{letter}")
        if takes is None:
            return None
        if takes:
            return 2 if at == len(word) - 1 else 1
    return 1


def _is_quoted(command: SimpleCommand, at: int) -> bool:
    return command.words[at].startswith('"')


def _shell(command: SimpleCommand) -> Iterator[Opened]:
    """`sh -c text`, or a shell that reads its commands."""
    at, has_text = 1, False
    while at < len(command.words):
        word = command.plain[at]
        if word in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            at += 2
        elif word in ("--", "-"):
            at += 1
            break
        elif word[:1] in ("-", "+") and len(word) > 1:
            if word[1] != "-" and word[0] == "-":
                has_text = has_text or "c" in word
                if "s" in word and not has_text:
                    at = len(command.words)
                    break
                at += word.endswith("o")  # -eo pipefail
            at += 1
        else:
            break
    if has_text and at < len(command.words):
        yield Text(command.plain[at], f"{command.name} -c")
    elif at >= len(command.words) and (text := known_input(command)) is not None:
        yield Text(text, command.name)


def _eval(command: SimpleCommand) -> Iterator[Opened]:
    if len(command.words) > 1:
        yield Text(" ".join(command.plain[1:]), "eval")


def _trap(command: SimpleCommand) -> Iterator[Opened]:
    words = [word for word in command.plain[1:] if word != "--"]
    if len(words) > 1 and not words[0].startswith("-"):
        yield Text(words[0], "trap")


def _su(command: SimpleCommand) -> Iterator[Opened]:
    """`su bob -c text`, `script -c text`, `flock file -c text`: the text is the word behind `-c`."""
    for at, word in enumerate(command.plain):
        text = None
        if word in ("-c", "--command", "--run", "--session-command") and at + 1 < len(command.plain):
            text = command.plain[at + 1]
        elif word.startswith(("--command=", "--session-command=")):
            text = word.partition("=")[2]
        elif re.fullmatch(r"-[a-z]*c", word) and at + 1 < len(command.plain):
            text = command.plain[at + 1]
        if text is not None:
            yield Text(text, f"{command.name} -c")


def _flock(command: SimpleCommand) -> Iterator[Opened]:
    yield from _su(command)
    if "-c" not in command.plain:
        yield from _prefixed(command, _Shape(values="-w -E --timeout --wait", flags="-s -x -e -u -n -o -F", skip=1))


def _find(command: SimpleCommand) -> Iterator[Opened]:
    """Each `-exec`, up to its `;` or `+`."""
    for at, word in enumerate(command.plain):
        if word in ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"):
            ends = (each for each in range(at + 1, len(command.plain)) if command.plain[each] in (";", "+"))
            end = next(ends, len(command.plain))
            if end > at + 1:
                yield _part(command, at + 1, end)


def _git(command: SimpleCommand) -> Iterator[Opened]:
    words = command.plain
    for at, word in enumerate(words[:-1]):
        following = words[at + 1]
        if word in ("-c", "--config-env") and re.match(r"alias\.[^=]+=!", following):
            yield Text(following.partition("!")[2], "git alias")
        elif (word in ("-x", "--exec") and "rebase" in words[1:at]) or (word == "foreach" and "submodule" in words):
            yield Text(following, f"git {word}")
        elif word == "run" and words[at - 1] == "bisect":
            yield _part(command, at + 1, len(words))


def _module(command: SimpleCommand) -> Iterator[Opened]:
    """`python -m pip install x` is `pip install x`."""
    for at, word in enumerate(command.plain[1:-1], start=1):
        if not word.startswith("-"):
            return
        if word == "-m":
            yield _part(command, at + 1, len(command.words))


def _container(command: SimpleCommand) -> Iterator[Opened]:
    """`docker exec web sh -c text`: which word is the image is not known, but a shell can be told."""
    for at, word in enumerate(command.plain[1:], start=1):
        if word.rsplit("/", 1)[-1] in SHELLS and command.literal[at]:
            yield _part(command, at, len(command.words))
            return


_OPENERS: dict[str, Callable[[SimpleCommand], Iterator[Opened]]] = {
    "eval": _eval,
    "trap": _trap,
    "find": _find,
    "fd": _find,
    "fdfind": _find,
    "git": _git,
    "flock": _flock,
    **dict.fromkeys(("python", "python3", "py", "pypy3"), _module),
    **dict.fromkeys(("su", "runuser", "script", "nix-shell", "sg"), _su),
    **dict.fromkeys(("docker", "podman", "nerdctl", "kubectl", "lxc", "vagrant", "tmux", "screen", "adb", "gdb", "make", "docker-compose"), _container),
}  # fmt: skip
