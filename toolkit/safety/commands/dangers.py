"""
The dangers of a single command.

Most dangers are rows in a table (`table_system` and the other tables). This module has a function for each danger that
needs more than a row, such as which folder is removed or which file is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from ..shell.records import CannotParse, SimpleCommand
from ..shell.sed_scripts import SEDS, sed_actions
from .options import Args
from .printed_texts import input_text
from .table_reach import REACH_RISKS
from .table_runners import OTHER_COMPRESSORS, RUNNER_RISKS
from .table_system import CHOICE, GIT_RUNS, SYSTEM_RISKS, Risk
from .table_tools import TOOL_RISKS
from .table_work import WORK_RISKS
from .targets import Danger, removal_danger, writing_danger

__all__ = ["COMPUTED_OUTPUT", "chooses_program", "command_dangers", "has_dangers", "may_choose_program"]


def command_dangers(args: Args) -> Iterator[Danger]:
    """Yield everything that is dangerous about a command by itself."""
    name = args.command.name
    is_question = args.words[-1:] in _INFORMATION_OPTIONS
    for ready in _risks_by_name().get(name, ()):
        if _applies(ready, args) and not (is_question and _only_shows_information(ready.risk, args)):
            yield Danger(ready.risk.verdict, ready.risk.why)
    if name in _DANGER_FUNCTIONS:
        yield from filter(None, _DANGER_FUNCTIONS[name](args))


def chooses_program(command: SimpleCommand) -> bool:
    """Return whether one of the words of *command* names the program to run, as in `rsync -e 'ssh -x'`."""
    return any(danger.why in (CHOICE, GIT_RUNS) for danger in command_dangers(Args(command)))


def may_choose_program(name: str) -> bool:
    """Return whether the program *name* can be told which program to run."""
    return any(row.risk.why == CHOICE for row in _risks_by_name().get(name, ()))


def has_dangers(name: str) -> bool:
    """Return whether the tables know the program *name*."""
    return name in _risks_by_name() or name in _DANGER_FUNCTIONS


class _CompiledRisk(NamedTuple):
    """A row whose texts are split and compiled once, because every command of its program is compared with it."""

    risk: Risk
    begins: frozenset[tuple[str, ...]]
    options: tuple[str, ...]
    unless: tuple[str, ...]
    value: re.Pattern[str] | None
    word: re.Pattern[str] | None


@cache
def _risks_by_name() -> dict[str, list[_CompiledRisk]]:
    rows: dict[str, list[_CompiledRisk]] = {}
    for row in (*SYSTEM_RISKS, *RUNNER_RISKS, *TOOL_RISKS, *WORK_RISKS, *REACH_RISKS):
        ready = _CompiledRisk(
            row,
            frozenset(tuple(part.split()) for part in row.begins.split("|") if part),
            tuple(row.options.split()),
            tuple(row.unless.split()),
            re.compile(row.value) if row.value else None,
            re.compile(row.word) if row.word else None,
        )
        for name in row.names.split():
            rows.setdefault(name, []).append(ready)
    return rows


def _applies(compiled: _CompiledRisk, args: Args) -> bool:
    if compiled.begins and compiled.begins.isdisjoint(args.subcommands) and not _begins_short(compiled, args):
        return False
    if compiled.options and not args.has(*compiled.options):
        return False
    # Abbreviations do not count here. An option that makes a command harmless has to be written in full.
    if compiled.unless and not args.options.isdisjoint(compiled.unless):
        return False
    if compiled.value is not None and not any(map(compiled.value.fullmatch, args.values(*compiled.options))):
        return False
    if compiled.word is None:
        return True
    texts = (*args.words, input_text(args.command)) if compiled.risk.reads else args.words
    return any(map(compiled.word.fullmatch, texts))


def _begins_short(compiled: _CompiledRisk, args: Args) -> bool:
    """Return whether the subcommand is abbreviated, for a program that permits this: `npm publ`, `ip ro fl`."""
    least = _MIN_SHORT_CHARS.get(args.command.name)
    return least is not None and any(
        len(given) == len(full)
        and all(
            word == whole or (len(word) >= least and whole.startswith(word))
            for word, whole in zip(given, full, strict=True)
        )
        for given in args.subcommands
        for full in compiled.begins
    )


_MIN_SHORT_CHARS = {"npm": 3, "hg": 3, "bundle": 3, "ip": 2}


def _only_shows_information(risk: Risk, args: Args) -> bool:
    """
    Return whether a command that ends in `--help` or `--version` shows information and does nothing else.

    This is so if the word stands alone or right behind the subcommand. In `docker run x --help` the word belongs to the
    container.
    """
    if risk.verdict == "deny":
        return False
    if args.command.name == "ssh":
        return not args.operands
    before = " ".join(args.words[:-1])
    return not before or before in risk.begins.split("|")


def _rm_dangers(args: Args) -> Iterator[Danger | None]:
    """Yield the dangers of `rm` and similar programs."""
    recursive = args.has("-r", "-R", "--recursive")
    if args.has("--no-preserve-root"):
        yield Danger("deny", "removes the whole file system")
    for target in args.operands:
        yield removal_danger(target, recursive=recursive)
    command = args.command
    names_from_input = command.gets_words_from_input
    if recursive and names_from_input:
        yield Danger("ask", "removes files that are not known beforehand: the names come from another command")
    for source in (*command.fed_by, *([command.wrapper] if command.wrapper else [])):
        if source.name == "find" and (names_from_input or "{}" in args.operands):
            yield from _find_result_dangers(Args(source))


def _find_dangers(args: Args) -> Iterator[Danger | None]:
    if "-delete" in args.words:
        yield from _find_result_dangers(args)
    if not {"-fprint", "-fprintf", "-fls", "-fprint0"}.isdisjoint(args.words):
        yield Danger("ask", "writes files of the command's choice")


def _find_result_dangers(args: Args) -> Iterator[Danger | None]:
    """Yield the dangers of removing the files that `find` would pass to another command."""
    roots = []
    for word in args.words:
        if word.startswith(("-", "(", "!")):
            break
        roots.append(word)
    names = [args.words[at + 1] for at, word in enumerate(args.words[:-1]) if word in _FIND_FILTERS]
    # `find . -name '*.pyc'` is narrow enough. `find / -name '*.log'` is not.
    narrow = any(name.strip("*./?") for name in names) and _WIDENS.isdisjoint(args.words)
    for root in roots or ["."]:
        danger = removal_danger(root)
        if danger is not None and not (narrow and root.rstrip("/") == "."):
            yield Danger("ask" if narrow else danger.word, f"{danger.why}, or files in it")


_WIDENS = frozenset({"!", "-not", "-o", "-or", ","})
_FIND_FILTERS = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"})


def _mv_dangers(args: Args) -> Iterator[Danger | None]:
    *sources, target = args.operands or ("",)
    if target == "/dev/null":
        yield Danger("deny", "moves files to where nothing comes back from")
    for source in sources:
        # A file that is moved inside the project still exists.
        if source.startswith(("/", "~", "$")) or source.rstrip("/").endswith(".git"):
            danger = removal_danger(source)
            if danger is None or danger.word == "deny" or not _shares_variable(source, target):
                yield danger
    yield writing_danger(target)


def _shares_variable(source: str, target: str) -> bool:
    """Return whether both names are built from one variable: `mv "$x" "${x%.txt}.md"` only renames."""
    variables = _VARIABLE.findall(source)
    return bool(variables) and not set(variables).isdisjoint(_VARIABLE.findall(target))


_VARIABLE = re.compile(r"\$\{?(\w+)")


def _cp_dangers(args: Args) -> Iterator[Danger | None]:
    target = args.value("-t", "--target-directory") or (args.operands[-1] if args.operands else "")
    yield writing_danger(target)


def _ln_dangers(args: Args) -> Iterator[Danger | None]:
    yield from _cp_dangers(args)
    if any((danger := removal_danger(source)) and danger.word == "deny" for source in args.operands[:-1]):
        yield Danger("ask", "gives another name to what matters")


def _rsync_dangers(args: Args) -> Iterator[Danger | None]:
    yield from _cp_dangers(args)
    if any(option.startswith("--del") for option in args.options) and args.operands:
        yield removal_danger(args.operands[-1])
    if args.has("--remove-source-files", "--remove-sent-files"):
        yield from map(removal_danger, args.operands[:-1])


def _archive_dangers(args: Args) -> Iterator[Danger | None]:
    """Yield the dangers of `tar --remove-files`, `zip -m` and `7z -sdel`, which remove the files they have packed."""
    if args.command.name in ("tar", "gtar", "bsdtar"):
        yield from _old_tar_dangers(args)
    options = {"zip": ("-m", "--move"), "tar": ("--remove-files",), "gtar": ("--remove-files",), "bsdtar": ()}
    if args.has(*options.get(args.command.name, ("-sdel",))):
        yield from map(removal_danger, args.operands)


def _old_tar_dangers(args: Args) -> Iterator[Danger]:
    """Yield the dangers of options without a dash, whose values follow in their order: `tar cIf program file`."""
    letters = "".join(args.words[:1])
    if re.fullmatch("[A-Za-z]+", letters):
        values = zip((letter for letter in letters if letter in "fbIFCTXgKNLVH"), args.words[1:], strict=False)
        if any(letter == "F" or (letter == "I" and re.fullmatch(OTHER_COMPRESSORS, value)) for letter, value in values):
            yield Danger("ask", CHOICE)


def _cargo_dangers(args: Args) -> Iterator[Danger | None]:
    if args.begins_with("clean"):
        yield from map(removal_danger, args.values("--target-dir"))
    # `cargo vendor x` empties the folder `x` before it fills it.
    if args.begins_with("vendor") and not args.has("--no-delete"):
        yield from map(removal_danger, args.operands[1:])


def _build_dangers(args: Args) -> Iterator[Danger | None]:
    """
    Yield the dangers of `uv build --clear`, `poetry build --clean` and `pdm build`, which empty their output folder.
    """
    if (
        args.begins_with("build")
        and (args.command.name == "pdm" or args.has("--clear", "--clean"))
        and not args.has("--no-clean")
    ):
        yield from map(removal_danger, args.values("-o", "--out-dir", "--output", "-d", "--dest"))
    if args.begins_with("venv") and args.has("--clear", "-c", "--force"):
        yield from map(removal_danger, args.operands[1:])


def _in_place_dangers(args: Args) -> Iterator[Danger | None]:
    if any(option.startswith(("-i", "--in-place")) for option in args.options):
        yield from map(writing_danger, args.operands)


def _sed_dangers(args: Args) -> Iterator[Danger | None]:
    yield from _in_place_dangers(args)
    try:
        actions = sed_actions(args.command)
    except CannotParse as problem:
        yield Danger("ask", f"cannot be checked: {problem}")
        return
    for action in actions:
        yield writing_danger(action.text) if action.kind == "write" else None
        if action.kind == "run":
            yield Danger("ask", "runs a program of the command's choice")


def _awk_dangers(args: Args) -> Iterator[Danger | None]:
    """Yield the dangers of a file whose name is not a text: `f = "x"; print > f`. Every text may be the name."""
    yield from _in_place_dangers(args)
    if any(map(COMPUTED_OUTPUT.search, args.words)):
        texts = [text for word in args.words for text in _AWK_TEXT.findall(_JOINED_TEXTS.sub("", word))]
        values = [word.partition("=")[2] for word in args.words]
        yield from map(writing_danger, filter(None, (*texts, *values)))


def _kill_dangers(args: Args) -> Iterator[Danger | None]:
    """Yield the dangers of `kill`: `kill -9 -1` kills every process, and `kill -1 42` sends a signal to one."""
    if not {"-l", "-L", "--list", "--table"}.isdisjoint(args.words):
        return
    for target in args.words[1:] if args.words[:1] != ("--",) else args.words:
        if target == "-1":
            yield Danger("deny", "kills every process")
    if not {"0", "1"}.isdisjoint(args.operands):
        yield Danger("ask", "kills the first process, or all of its own group")


def _chmod_dangers(args: Args) -> Iterator[Danger | None]:
    """Yield the dangers of `chmod`, `chown` and `chgrp` on files outside of the project."""
    recursive = args.has("-R", "--recursive")
    for target in args.operands if args.command.name == "chmod" else args.operands[1:]:
        danger = writing_danger(target) or (removal_danger(target) if recursive or target == "/" else None)
        if danger is not None and not target.startswith((".", "*")):
            yield Danger("ask", "changes who may read and change what matters")


COMPUTED_OUTPUT = re.compile(r"\bprintf?\b[^;}\n]*>\s*(?:[^\s\"]|\"[^\"]*\"\s*\")")
"""awk writes to a file whose name is not a text: `print > ARGV[1]`."""
_JOINED_TEXTS = re.compile(r'"\s*"')
_AWK_TEXT = re.compile(r'"([^"\n]+)"')
_INFORMATION_OPTIONS = (("--help",), ("--version",))
_DOWNLOADS_TO = ("-o", "--output", "-O", "--output-document", "-P", "--output-dir", "--directory-prefix")
_DANGER_FUNCTIONS: dict[str, Callable[[Args], Iterator[Danger | None]]] = {
    **dict.fromkeys(("rm", "rmdir", "unlink", "trash", "del"), _rm_dangers),
    **dict.fromkeys(("rimraf", "del-cli", "trash-put", "rip", "gio"), lambda args: map(removal_danger, args.operands)),
    "find": _find_dangers,
    "mv": _mv_dangers,
    **dict.fromkeys(("cp", "install", "scp"), _cp_dangers),
    "ln": _ln_dangers,
    "rsync": _rsync_dangers,
    **dict.fromkeys(("tar", "gtar", "bsdtar", "zip", "7z", "7za", "7zr", "7zz"), _archive_dangers),
    "cargo": _cargo_dangers,
    **dict.fromkeys(("uv", "poetry", "pdm"), _build_dangers),
    **dict.fromkeys(
        ("logsave", "tee", "touch", "sponge", "mkfifo", "mknod"), lambda args: map(writing_danger, args.operands)
    ),
    "truncate": lambda args: (writing_danger(file) or removal_danger(file, recursive=False) for file in args.operands),
    **dict.fromkeys(SEDS, _sed_dangers),
    **dict.fromkeys(("perl", "ruby"), _in_place_dangers),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk_dangers),
    "dd": lambda args: (writing_danger(word[3:]) for word in args.words if word.startswith("of=")),
    "kill": _kill_dangers,
    **dict.fromkeys(("curl", "wget"), lambda args: map(writing_danger, args.values(*_DOWNLOADS_TO))),
    **dict.fromkeys(("chmod", "chown", "chgrp"), _chmod_dangers),
}
