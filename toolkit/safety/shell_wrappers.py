"""
Commands that run other commands, and what they would run.

`sudo -u bob nice rm x` runs `nice rm x`, which runs `rm x`. Where an option is
not known, nobody can say where the inner command starts, and every place it
might start at is listed: rather one command too many than one too few.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from .shell_prefixes import PREFIXES, Prefix
from .shell_records import Assignment, SimpleCommand

__all__ = ["SHELLS", "STANDARD_INPUT", "Text", "known_input", "opened"]

SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh"])
STANDARD_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
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
    elif name in PREFIXES:
        yield from _prefixed(command, PREFIXES[name])
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


def _prefixed(command: SimpleCommand, prefix: Prefix) -> Iterator[Opened]:
    at, sure = 1, True
    if prefix.after:
        if prefix.after not in command.plain[1:]:
            return
        at = command.plain.index(prefix.after, 1) + 1
    options = dict.fromkeys(prefix.values.split(), True) | dict.fromkeys(prefix.flags.split(), False)
    assigned: list[Assignment] = []
    skip = prefix.skip
    while at < len(command.words):
        word, known = command.plain[at], command.literal[at]
        found = _ASSIGNMENT.fullmatch(word) if prefix.sets else None
        if known and word == "--":
            at, options = at + 1, {}
        elif found is not None:
            assigned.append(Assignment(name=found.group(1), value=found.group(2), is_literal=known))
            at += 1
        elif word.startswith("-") and options and (len(word) > 1 or "-" in options):
            steps = _steps(word, options)
            sure = sure and known and steps is not None
            if command.name == "env" and word.startswith(("-S", "--split-string")):
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
    if command.name == "ssh" and at >= len(command.words) and (text := known_input(command)) is not None:
        yield Text(text, "ssh")
    starts = [at] if sure else range(1, len(command.words))
    for start in starts:
        if start < len(command.words):
            yield _rest(command, start, prefix, assigned)


def _rest(command: SimpleCommand, start: int, prefix: Prefix, assigned: list[Assignment]) -> Opened:
    if prefix.joins:
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
    elif (at >= len(command.words) or command.plain[at] in STANDARD_INPUT) and (
        text := known_input(command)
    ) is not None:
        yield Text(text, command.name)


def _eval(command: SimpleCommand) -> Iterator[Opened]:
    if len(command.words) > 1:
        first = 2 if command.words[1:2] == ("--",) else 1
        yield Text(" ".join(command.plain[first:]), "eval")


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
        yield from _prefixed(command, Prefix(values="-w -E --timeout --wait", flags="-s -x -e -u -n -o -F", skip=1))


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


def _terminal(command: SimpleCommand) -> Iterator[Opened]:
    """`tmux new -d 'make all'`: a word with a space in it is a command line."""
    yield from _container(command)
    for word in command.plain[1:]:
        if " " in word:
            yield Text(word, command.name)


def _source(command: SimpleCommand) -> Iterator[Opened]:
    if len(command.words) > 1 and command.plain[1] in STANDARD_INPUT and (text := known_input(command)) is not None:
        yield Text(text, command.name)


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
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose", "kubectl", "lxc", "vagrant"), _container),
    **dict.fromkeys(("adb", "gdb", "make"), _container),
    **dict.fromkeys(("tmux", "screen"), _terminal),
    **dict.fromkeys(("source", "."), _source),
}
