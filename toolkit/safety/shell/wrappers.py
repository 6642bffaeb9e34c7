"""
Commands that run other commands, and the commands that they would run.

`sudo -u bob nice rm x` runs `nice rm x`, which runs `rm x`. If an option is not known, it is not known either where the
inner command starts. Then every place where it might start is listed, so that no command is missed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import dropwhile, takewhile

from ..._plumbing.wording import in_backticks
from .getopt import options_of, read_option
from .known_input import SHELLS, find_known_input, is_descriptor, is_standard_input, skip_shell_options
from .prefix_programs import ARCHITECTURES, PREFIXES, Prefix
from .records import Assignment, CannotParse, ShellText, SimpleCommand, WrappedCommand, slice_command
from .sed_scripts import SEDS, sed_actions
from .shell_builtins import BUILTIN_FINDERS

__all__ = ["RUNNERS", "ShellText", "find_wrapped_commands"]

# These programs start a shell if no command is given to them.
_START_SHELL = frozenset({
    "ssh", "sudo", "doas", "chroot", "unshare", "nsenter", "fakeroot", "fakechroot", "proot", "firejail", "su",
    "runuser", "script", "sg", "newgrp", "nix-shell", "setarch", *ARCHITECTURES.split(),
})  # fmt: skip
# These programs run Python code if the command is a script or `-`.
_RUN_PYTHON = frozenset({"uv", "pipx"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
# Subcommands that run a command inside a container or on another machine.
_RUN_INSIDE = frozenset({"exec", "run", "rsh", "ssh", "shell", "-dm", "-dmS"})
_PROGRAM_NAME = re.compile(r"(?:/[\w./-]*/)?[a-z][\w.+-]*")
# `fd -Hx rm` and `fd -Hxrm`: flags may stand before the letter, and the program may be joined to it.
_JOINED_EXEC = re.compile(r"(?:--exec(?:-batch)?=|-[HIusigFalLp0q1]*[xX])(.+)", re.DOTALL)
_FD_EXEC = re.compile(r"-[HIusigFalLp0q1]*[xX]")
_EXEC_WORDS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "--exec", "--exec-batch"})
_REBASE_EXEC = re.compile(r"--exe?c?(?:=(.*))?|-[a-zA-Z]*?x(.*)", re.DOTALL)
_DIFFTOOL_EXEC = re.compile(r"--ext?c?m?d?(?:=(.*))?|-[gy]*x(.*)", re.DOTALL)
_GIT_SETS = frozenset({"-c", "--config"})
_TAR_EXEC = re.compile(r"(?:--checkpoint-a[a-z]*=)?exec=(.*)|--to-c[a-z]*=(.*)", re.DOTALL)
# The subcommands of tmux and zellij that take a command line.
_TERMINAL_RUNS = re.compile(
    r"new|new-.*|neww|splitw?|split-.*|respawn.*|run|run-.*|if|if-.*|pipep|pipe-.*|.*popup|action"
)
_CMAKE_NAMES = {
    "remove": "rm", "remove_directory": "rm", "copy": "cp", "copy_directory": "cp", "rename": "mv",
    "create_symlink": "ln", "create_hardlink": "ln",
}  # fmt: skip
_ENV_ASSIGNMENT = re.compile(r"([^=]*)=(.*)", re.DOTALL)


def find_wrapped_commands(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the commands and texts that *command* runs. Yield none if it is not a wrapper."""
    if not command.literal[0]:
        return
    name = command.name
    if name in _FINDERS:
        yield from _FINDERS[name](command)
    elif name in PREFIXES:
        yield from _commands_behind_prefix(command, PREFIXES[name])
    elif name in SHELLS:
        yield from _shell_texts(command)
    elif name.startswith("git-"):
        yield ShellText(" ".join(["git", name.removeprefix("git-"), *_quote_words(command, 1)]), name)


def _commands_behind_prefix(command: SimpleCommand, prefix: Prefix) -> Iterator[WrappedCommand]:
    at, sure = 1, not prefix.guess
    if prefix.after:
        at = _behind_subcommand(command, prefix.after.split())
        if not at:
            return
    first, options = at, options_of(prefix)
    assignments: list[Assignment] = []
    skip = prefix.skip
    while at < len(command.words):
        word, is_literal = command.plain[at], command.literal[at]
        if is_literal and word == "--":
            at, options = at + 1, {}
        elif prefix.sets and not is_literal and _may_set_unshown_name(command.name, word):
            raise CannotParse(f"`{command.name}` may set a variable whose name is only worked out when it runs")
        elif prefix.sets and (assignment := _parse_assignment(command.name, word)) is not None:
            unexpanded = assignment[1] if is_literal else ""
            assignments.append(
                Assignment(name=assignment[0], value=assignment[1], is_literal=is_literal, unexpanded=unexpanded)
            )
            at += 1
        elif word.startswith("-") and options and (len(word) > 1 or "-" in options):
            option = read_option(word, options)
            sure = sure and is_literal and option is not None
            if option is not None and option.kind == "text":
                value = option.value if option.value is not None else "".join(command.plain[at + 1 : at + 2])
                yield from _texts_in_option(command, value, at + option.word_count)
                if command.name == "env":
                    return
            at += option.word_count if option is not None else 1
        elif skip:
            sure = sure and is_literal
            skip -= 1
            at += 1
        elif not is_literal and at + 1 < len(command.words) and not command.words[at].startswith('"'):
            # In `sudo $options rm x` the variable may expand to options or to nothing.
            sure = False
            break
        else:
            break
    if at >= len(command.words) and command.name in _START_SHELL:
        yield from _texts_of_started_shell(command)
    if at >= len(command.words) and command.gets_words_from_input:
        raise CannotParse(f"the command behind `{command.name}` comes from the input of another")
    if command.name == "parallel" and "".join(command.plain[at : at + 1]) in ("", "::::"):
        raise CannotParse("`parallel` runs the lines of its input as commands")
    starts = [at] if sure else range(first, len(command.words))
    for start in starts:
        if start < len(command.words):
            yield _command_from(command, start, prefix, assignments)


def _texts_of_started_shell(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the input of a program that starts a shell because no command is given to it."""
    known = find_known_input(command)
    if known is not None and known.is_exact:
        yield ShellText(known.text, command.name)
    elif (
        command.fed_by
        or any(redirection.is_standard_input for redirection in command.redirections)
        # Inside a function, the input may be that of its caller.
        or any(wrapper.endswith("()") for wrapper in command.nesting)
        or command.name == "script"
    ):
        raise CannotParse(f"`{command.name}` starts a shell, and what the shell reads is not known")


def _behind_subcommand(command: SimpleCommand, subcommands: Sequence[str]) -> int:
    """Return the place behind the subcommand that runs a command, or 0 if there is none."""
    for at, word in enumerate(command.plain[1:], start=1):
        # `npm x` runs a program, and `npm install x` does not.
        if word in subcommands and (at == 1 or len(word) > 1):
            return at + 1
    return 0


def _may_set_unshown_name(name: str, word: str) -> bool:
    """Return whether *word*, which is expanded, may set a variable that the line does not name."""
    if word.startswith("-") or _ASSIGNMENT.fullmatch(word):
        return False
    return "=" in word or name != "sudo"  # `sudo $options rm x` is a question in any case, and `rm x` is judged


def _parse_assignment(name: str, word: str) -> tuple[str, str] | None:
    """Return the variable and the value that *word* sets, or None. For `env`, every word with a `=` sets a variable."""
    match = (_ENV_ASSIGNMENT if name == "env" else _ASSIGNMENT).fullmatch(word)
    if match is None or (name == "env" and word.startswith("-")):
        return None
    if match.group(1).startswith("BASH_FUNC_"):
        raise CannotParse(f"`{match.group(1)}` defines a function for every shell that is started")
    return match.group(1), match.group(2)


def _texts_in_option(command: SimpleCommand, value: str, behind: int) -> Iterator[WrappedCommand]:
    """Yield the command line in an option's value. *behind* is the place of the word after the value."""
    if command.name != "env":
        yield ShellText(value, f"{command.name} -c")
    elif "\\" in value or "#" in value:
        raise CannotParse("`env -S` has escapes and comments of its own")
    else:
        # The value begins with options and variables of `env`. The other words of the command follow it.
        yield ShellText(" ".join(["env", value, *_quote_words(command, behind)]), "env")


def _quote_words(command: SimpleCommand, start: int) -> Iterator[str]:
    words = zip(command.words[start:], command.literal[start:], strict=True)
    return (shlex.quote(word) if is_literal else word for word, is_literal in words)


def _command_from(command: SimpleCommand, start: int, prefix: Prefix, assignments: list[Assignment]) -> WrappedCommand:
    if prefix.joins:
        # `parallel rm ::: a b` passes `a` and `b` to `rm`.
        return ShellText(" ".join(word for word in command.plain[start:] if not word.startswith(":::")), command.name)
    first = command.plain[start]
    if command.name in _RUN_PYTHON and (is_standard_input(first) or first.endswith(".py")):
        return slice_command(command, start - 1, len(command.words), assignments, first_word="python")
    return slice_command(command, start, len(command.words), assignments)


def _shell_texts(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the text of `sh -c text`, or the text that the shell reads from standard input."""
    at, has_text = skip_shell_options(command)
    if at < len(command.words) and not has_text and is_descriptor(command.plain[at]):
        raise CannotParse(f"`{command.name}` runs what stands behind the descriptor `{command.plain[at]}`")
    if has_text and at < len(command.words):
        yield ShellText(command.plain[at], f"{command.name} -c")
    elif at >= len(command.words) or is_standard_input(command.plain[at]):
        if at + 1 < len(command.words) and command.fed_by and find_known_input(command) is None:
            raise CannotParse(f"{in_backticks(f'{command.name} {command.plain[at]}')} runs what another command prints")
        yield from _input_texts(command)


def _input_texts(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the text that a shell reads from standard input."""
    files = [redirection.target for redirection in command.redirections if redirection.operator == "<"]
    if any(file.startswith(("<(", "$(", "`")) for file in files):
        raise CannotParse(f"`{command.name}` runs what another command prints")
    if (known := find_known_input(command)) is not None:
        yield ShellText(known.text, command.name)


def _su(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the text of `su bob -c text`, also joined to `-c`, and of `sg group text`."""
    has_text = False
    for at, word in enumerate(command.plain):
        following = command.plain[at + 1 : at + 2]
        if word == "--" and command.name in ("script", "runuser") and following:
            yield slice_command(command, at + 1, len(command.words))
            has_text = True
        if match := re.fullmatch(r"--(?:c|ses|r)[a-z-]*(?:=(.*))?|-Command", word, re.DOTALL):
            texts = following if match[1] is None else (match[1],)
        elif match := re.fullmatch(r"-[A-Za-z]*?c(.*)", word, re.DOTALL):
            texts = (match[1],) if match[1] else following
        else:
            continue
        for text in texts:
            yield ShellText(text, f"{command.name} -c")
            has_text = True
    words = [word for word in command.plain[1:] if word != "-"]
    if command.name == "sg" and len(words) == 2:
        yield ShellText(words[1], "sg")
    elif not has_text and command.name in _START_SHELL:
        yield from _texts_of_started_shell(command)


_FLOCK = Prefix(
    values="-w -E --timeout --wait --conflict-exit-code",
    flags="-s -x -e -u -n -o -F -v --shared --exclusive --unlock --nonblock --nb --close --no-fork --verbose --fcntl",
    texts="-c --command",
    skip=1,
)


def _flock(command: SimpleCommand) -> Iterator[WrappedCommand]:
    # `-c` may stand behind the file. It may also belong to the command behind the file.
    yield from _su(command)
    yield from _commands_behind_prefix(command, _FLOCK)


def _entr(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the command of `entr make all`, or the command line of `entr -s 'make all'`."""
    flags = [*takewhile(lambda word: word.startswith("-"), command.plain[1:])]
    if any("s" in word for word in flags):
        yield from (ShellText(word, "entr -s") for word in command.plain[1 + len(flags) : 2 + len(flags)])
    yield from _commands_behind_prefix(command, PREFIXES["entr"])


def _find(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the command of each `-exec`, which ends at its `;` or at a `+` behind `{}`."""
    words = command.plain
    for at, word in enumerate(words):
        if command.name != "find" and (match := _JOINED_EXEC.fullmatch(word)):
            yield slice_command(command, at, len(words), first_word=match[1])
        elif word in _EXEC_WORDS or (command.name != "find" and _FD_EXEC.fullmatch(word)):
            ends = (
                end
                for end in range(at + 1, len(words))
                if words[end] == ";" or (words[end] == "+" and words[end - 1] == "{}")
            )
            end = next(ends, len(words))
            if end > at + 1:
                yield slice_command(command, at + 1, end)


def _git(command: SimpleCommand) -> Iterator[WrappedCommand]:
    words = command.plain
    for subcommand, pattern in (("rebase", _REBASE_EXEC), ("difftool", _DIFFTOOL_EXEC)):
        for at in range(words.index(subcommand) + 1 if subcommand in words else len(words), len(words)):
            if match := pattern.fullmatch(words[at]):
                yield ShellText(match[1] or match[2] or "".join(words[at + 1 : at + 2]), f"git {subcommand} -x")
    for at, word in enumerate(words[:-1]):
        following = words[at + 1]
        if match := re.fullmatch(r"alias\..*?(?:=(.+))?", following if word in _GIT_SETS else word, re.DOTALL):
            text = match[1] or ("" if word in _GIT_SETS else following)
            yield ShellText(text[1:] if text.startswith("!") else f"git {text}", "git alias")
        elif word == "foreach" and "submodule" in words:
            yield ShellText(" ".join(dropwhile(lambda text: text.startswith("-"), words[at + 1 :])), "git foreach")
        elif word == "run" and words[at - 1] == "bisect":
            yield slice_command(command, at + 1, len(words))


def _tar(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the text of `tar --checkpoint-action=exec=text` and `tar --to-command=text`."""
    for match in filter(None, map(_TAR_EXEC.fullmatch, command.plain[1:])):
        yield ShellText(match[1] or match[2] or "", "tar")


def _module(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the program that `-m` runs: `python -m pip install x` runs `pip install x`."""
    for at, word in enumerate(command.plain[1:-1], start=1):
        if not word.startswith("-"):
            return
        if match := re.fullmatch(r"-[A-Za-z]*?m(.*)", word):
            start = at if match[1] else at + 1
            yield slice_command(command, start, len(command.words), first_word=match[1] or None)
            return


def _container(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """
    Yield the command in `docker exec web sh -c text` and `kubectl exec pod -- ls`.

    Without `--` it is not known which word is the image. But the name of a shell can be recognised. Otherwise each word
    that may be the name of a program may begin the command.
    """
    words = command.plain
    for at, word in enumerate(words[1:], start=1):
        if word.rsplit("/", 1)[-1] in SHELLS and command.literal[at]:
            yield slice_command(command, at, len(command.words))
            return
    first = next((at + 1 for at, word in enumerate(words) if word in _RUN_INSIDE), len(words))
    if command.name in ("vagrant", "gcloud"):
        yield from (ShellText(text, f"{command.name} --command") for text in _command_options(words))
    if "--" in words[first:-1]:
        yield slice_command(command, words.index("--", first) + 1, len(words))
        return
    if words[first - 1] in ("ssh", "shell") and (first == len(words) or command.name == "gcloud"):
        yield from _texts_of_started_shell(command)
    for at in range(first, len(words)):
        if command.literal[at] and _PROGRAM_NAME.fullmatch(words[at]):
            yield slice_command(command, at, len(words))


def _debugger(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the program of `gdb --args program` and `lldb -- program`."""
    yield from _container(command)
    starts = [at + 1 for at, word in enumerate(command.plain) if word in ("--args", "-args", "--")]
    yield from (slice_command(command, start, len(command.words)) for start in starts if start < len(command.words))


def _command_options(words: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(words):
        if match := re.fullmatch(r"(?:--command|-c)(?:=(.*))?", word, re.DOTALL):
            yield match[1] or "".join(words[at + 1 : at + 2])


def _cmake(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the command in `cmake -E env A=1 rm x`: its own file commands have the names of the programs."""
    if "-E" in command.plain[1:-1]:
        at = command.plain.index("-E") + 1
        yield slice_command(command, at, len(command.words), first_word=_CMAKE_NAMES.get(command.plain[at]))


def _terminal(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the command lines in `tmux new -d 'make all'`: a word with a space, and any word behind `new`."""
    yield from _container(command)
    may_run = False
    for word, is_literal in zip(command.plain[1:], command.literal[1:], strict=True):
        if " " in word or (may_run and is_literal and not word.startswith("-")):
            yield ShellText(word, command.name)
        may_run = may_run or _TERMINAL_RUNS.fullmatch(word) is not None


def _source(command: SimpleCommand) -> Iterator[WrappedCommand]:
    file = "".join([word for word in command.plain[1:3] if word != "--"][:1])
    if is_descriptor(file):
        raise CannotParse(f"`{command.name}` runs what stands behind a descriptor")
    if is_standard_input(file):
        yield from _input_texts(command)


def _sed(command: SimpleCommand) -> Iterator[WrappedCommand]:
    for action in sed_actions(command):
        if action.kind == "run" and not action.text:
            raise CannotParse("`sed` runs lines of its input as commands")
        if action.kind == "run":
            yield ShellText(action.text, "sed e")


_FINDERS: dict[str, Callable[[SimpleCommand], Iterator[WrappedCommand]]] = {
    **BUILTIN_FINDERS,
    "find": _find,
    "fd": _find,
    "fdfind": _find,
    "git": _git,
    "flock": _flock,
    **dict.fromkeys(("tar", "gtar"), _tar),
    "cmake": _cmake,
    "entr": _entr,
    **dict.fromkeys(SEDS, _sed),
    **dict.fromkeys(("python", "python3", "py", "pypy3"), _module),
    **dict.fromkeys(("su", "runuser", "script", "nix-shell", "sg", "nu", "xonsh", "pwsh"), _su),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose", "kubectl", "lxc", "vagrant"), _container),
    **dict.fromkeys(("adb", "make", "oc", "podman-compose", "gcloud"), _container),
    **dict.fromkeys(("gdb", "lldb"), _debugger),
    **dict.fromkeys(("tmux", "screen", "pee", "mispipe", "hyperfine", "concurrently"), _terminal),
    **dict.fromkeys(("source", "."), _source),
}

RUNNERS = frozenset(_FINDERS) - SEDS - {"source", ".", "eval", "set", "shopt"}
"""The programs and builtins that run another program only with some of their options and subcommands."""
