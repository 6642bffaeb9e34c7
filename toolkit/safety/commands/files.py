"""
The check of protected files that a command reads or writes. It uses the same list as the file tools.

The check looks at every way in which a word can name a file: operands, values of options, `@file`, `if=` and `of=`,
globs, braces, scripts of `sed` and similar programs, names that `find` or `echo` pass on, and folders that the line
goes to.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice, pairwise
from typing import Literal, NamedTuple, TypeAlias

from ..name_globs import is_glob
from ..paths import Folders
from ..protected_files import BUILT_IN, Protected, ProtectedFiles
from ..repositories import find_repository_rule
from ..shell.braces import expand_braces
from ..shell.records import CannotParse, SimpleCommand
from ..shell.sed_scripts import SEDS, sed_actions
from .named_files import find_names_read
from .options import Args
from .printed_texts import input_text
from .table_files import (
    FILES,
    GIT,
    GIT_SHOWS_CONTENT,
    NAMES_ONLY,
    NOT_FILES,
    OUTPUT,
    SAYS_WRITE,
    SCRIPTS,
    SUBCOMMANDS,
    WITH_MESSAGE,
    FileRow,
)
from .targets import TOO_MANY_NAMES, Danger, writing_danger
from .variable_values import expand_words

__all__ = ["CommandFiles", "FileUse", "files_of"]

Use: TypeAlias = Literal["read", "write"]
_USE_BY_LETTER: dict[str, Use] = {"r": "read", "w": "write"}
# The texts that the shell would insert. Any other text that is computed at run time stays as it is.
_SUBSTITUTIONS = (
    (re.compile(r"^(?:\$HOME|\$\{HOME\})(?=/|$)"), "~"),
    (re.compile(r"^(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`|\$\(git rev-parse --show-toplevel\))(?=/|$)"), "."),
    (re.compile(r"\$GIT_DIR|\$\{GIT_DIR\}|\$\(git rev-parse (?:--absolute-git-dir|--git-(?:common-)?dir)\)"), ".git"),
    (re.compile(r"\$\(git rev-parse --git-path ([\w./-]+)\)"), r".git/\1"),
    (re.compile(r"\$\{\w+:?[-=+]([^{}]*)\}"), r"\1"),
)
_MAX_DANGERS = 10
_ASSIGNED = re.compile(r"[\w.-]+=\S+")
_ADDRESS_FILE = re.compile(r"\w://[^/\s]+/(?:[^?#\s]*/)?([^/?#\s]+)")
_PACKED = re.compile(r"(.+)\.(?:gz|z|Z|bz2|xz|lzma|zst|lz4)")
_UNPACKS_ONE = frozenset({
    "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "zstd", "unzstd", "lz4", "compress", "uncompress",
})  # fmt: skip
_BACKS_UP = frozenset({*SEDS, "perl", "ruby"})
_NAME_SOURCES = frozenset({"echo", "printf", "find", "fd", "ls", "realpath", "readlink", "git"})
_FIND_NAMES = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-lname"})


class FileUse(NamedTuple):
    """
    A word that names a file, and how the file is used.

    Attributes:
        dots: Whether `*` in the word may stand for a leading dot.
        tree: Whether a folder of that name is read with all its content.
    """

    word: str
    access: Use
    dots: bool = False
    tree: bool = False


class CommandFiles:
    """
    The list of protected files, in the form in which the command check compares it with words.

    Args:
        files: The list. The default is the built-in one.
        folders: The folders in which relative names start. They are needed for patterns that begin at the root of the
            disk, and for links. Without them the check does not look at the disk.
    """

    def __init__(self, files: ProtectedFiles | None = None, folders: Folders | None = None) -> None:
        self._files = files or ProtectedFiles(BUILT_IN)
        # If the root itself is protected, its rule says nothing about the single files in it.
        is_free = folders is not None and self._files.find_rule(f"{folders.root}/x", "write") is None
        self._folders = folders if is_free else None

    def find_rule(self, use: FileUse, folders: Sequence[str] = ("",)) -> Protected | None:
        """Return the rule that protects the file in *use* if the command runs in one of *folders*, or None."""
        names = expand_braces(_fill_in_variables(use.word))
        for name in names or ():
            for folder in folders:
                rule = self._find_path_rule(_join(_fill_in_variables(folder), name), use)
                if rule is not None:
                    return rule
        return None

    def is_write_protected(self, path: str) -> bool:
        """Return whether tools may not write the file *path*. A folder on the way to such a file does not count."""
        return self._files.find_rule(path, "write", with_content=False) is not None

    def is_secret(self, word: str) -> bool:
        """Return whether *word* names a file that tools may not even read."""
        return self.find_rule(FileUse(word, "read")) is not None

    def find_dangers(self, args: Args, folders: Sequence[str] = ("",), *, dots: bool = False) -> Iterator[Danger]:
        """Yield the dangers of the files that a command uses."""
        uses = dict.fromkeys(files_of(_with_braces_expanded(args)))
        dangers = (
            self.danger_of(use._replace(dots=dots or use.dots), folders)
            or (writing_danger(use.word) if use.access == "write" else None)
            for use in uses
        )
        # A finding shows three reasons at most, so the search can stop early.
        yield from islice((danger for danger in dangers if danger is not None), _MAX_DANGERS)

    def danger_of(self, use: FileUse, folders: Sequence[str] = ("",)) -> Danger | None:
        """Return the danger of one use of a file, or None if there is none."""
        if expand_braces(use.word) is None:
            return TOO_MANY_NAMES
        rule = self.find_rule(use, folders)
        if rule is None:
            return None
        verb = "changes" if use.access == "write" else "reads"
        return Danger("ask", f"{verb} {rule.what} (`{rule.pattern}`)")

    def _find_path_rule(self, path: str, use: FileUse) -> Protected | None:
        rule = self._find_name_rule(path, use)
        if rule is not None or self._folders is None or "$" in path:
            return rule
        absolute = self._absolute_path(path)
        rule = self._find_name_rule(absolute, use)
        if rule is not None or is_glob(absolute):
            return rule
        return self._find_disk_rule(absolute, use)

    def _find_name_rule(self, path: str, use: FileUse) -> Protected | None:
        if is_glob(path):
            return self._files.find_possible_rule(path, use.access, dots=use.dots)
        return self._files.find_rule(path, use.access, with_content=True if use.tree else None)

    def _find_disk_rule(self, path: str, use: FileUse) -> Protected | None:
        """
        Return the rule for the place that links lead to, or for a file that a repository uses as its settings.

        Return None if there is no such rule.
        """
        if self._folders is None:
            return None
        try:
            place = self._folders.places(path)[0]
        except ValueError:
            return None  # no program can open it either
        if place.path != path:
            for name in (*place.other_names, place.path):
                if rule := self._find_name_rule(name, use):
                    return rule
        return find_repository_rule(self._files, place.path) if use.access == "write" else None

    def _absolute_path(self, path: str) -> str:
        root = self._folders.root if self._folders is not None else ""
        return os.path.normpath(os.path.expanduser(path) if path.startswith("~") else os.path.join(root, path))


def files_of(args: Args) -> Iterator[FileUse]:
    """Yield every file that a command may read or write, as its words name them."""
    command = args.command
    name = command.name
    if name == "git":
        yield from _git_files(args)
    elif (row := FILES.get(name)) is not None:
        yield from _row_files(args, row, args.words, is_known=True)
        yield from _subcommand_files(args)
        yield from _files_with_derived_names(args)
        if name not in NAMES_ONLY:
            yield from _files_passed_to(command)
    elif name not in NAMES_ONLY:
        # A word with a blank is more often a text than a name.
        words = [word for word in args.words if not re.search(r"\s", word)]
        yield from _row_files(args, FileRow(), words, is_known=False)
        yield from _files_passed_to(command)
    yield from _output_files(args)
    yield from (FileUse(file, "read", dots=True) for file in find_names_read(args))
    if name not in NAMES_ONLY:
        yield from (FileUse(word.removeprefix("file://"), "read") for word in args.words if word.startswith("file://"))
    if name in SEDS:
        yield from _sed_files(command)
    for pattern in SCRIPTS.get(name, ()):
        for text in (*args.words, input_text(command)):
            for how, file in pattern.findall(text):
                yield FileUse(file, "write" if how.lower() in SAYS_WRITE else "read")


def _sed_files(command: SimpleCommand) -> Iterator[FileUse]:
    with suppress(CannotParse):  # the other checks ask about a script that cannot be read
        for action in sed_actions(command):
            if action.kind != "run":
                yield FileUse(action.text, action.kind)


def _row_files(args: Args, row: FileRow, words: Sequence[str], *, is_known: bool) -> Iterator[FileUse]:
    yield from (
        FileUse(file, "write") for value in args.values(*_split_options(row.writes)) for file in _files_in_value(value)
    )
    yield from (FileUse(_file_in_value(value), "read") for value in args.values(*_split_options(row.reads)))
    holds = not row.if_any or args.has(*row.if_any.split()) or "inplace" in args.words
    reads_trees = row.trees == "always" or (row.trees != "" and args.has(*row.trees.split()))
    letters = row.operands if holds else row.operands.replace("w", "r")
    excluded = _words_not_files(args)
    operands = [word for word in args.operands_of(words) if word not in excluded]
    name = args.command.name
    for at, word in enumerate(operands):
        is_last = row.last and at == len(operands) - 1 and at > 0 and not args.values("-t", "--target-directory")
        letter = row.last if is_last else letters[min(at, len(letters) - 1)]
        if letter == "w" and is_last:
            yield from _copy_targets(args, operands[:-1], word)
        elif letter in _USE_BY_LETTER:
            # `@file` stands for a file to many programs, and is the name of one to the others.
            for file in dict.fromkeys((word, word.rpartition("@")[2] or word)):
                yield FileUse(file, _USE_BY_LETTER[letter], tree=reads_trees)
        if _ASSIGNED.fullmatch(word):
            # `dd of=file` writes the file. An awk program may write to a file that a variable names.
            is_written = word.startswith("of=") or (name in SCRIPTS and any(">" in text for text in words))
            yield FileUse(word.partition("=")[2].lstrip("@"), "write" if is_written else "read")
    if not is_known or row.operands == "r":
        yield from _option_files(words)


def _words_not_files(args: Args) -> set[str]:
    """Return the words that are values of options and not files: excluded names, and messages."""
    has_message = args.command.name in WITH_MESSAGE
    return {
        value
        for option, value in args.option_values
        # `--no-banner` takes no value, so the word behind it is an operand.
        if NOT_FILES.fullmatch(option) and not option.startswith("--no") and (option != "-m" or has_message)
    }


@cache
def _split_options(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _file_in_value(value: str) -> str:
    """Return the file in `@file`, `name=@file;type=x`, `file:name`, `id=x,src=file` and `./file:/place`."""
    match = re.match(r"[\w.-]*=?@([^;]+)|file:(?!//)(.+)|(?:.*,)?(?:src|source)=([^,]+)|([.~/$][^:]*):/", value)
    return next(filter(None, match.groups()), value) if match else value


def _files_in_value(value: str) -> Iterator[str]:
    """Yield *value*, and the file in `link=file`, `1=file` and `type=local,dest=file`."""
    yield value
    last = re.split(r"[=,]", value)[-1]
    if last != value:
        yield last


def _option_files(words: Sequence[str]) -> Iterator[FileUse]:
    """Yield the file of `--opt=file`, `--opt=@file` and `-ofile`. The word behind an option is already an operand."""
    for word in words:
        if word.startswith("-") and not NOT_FILES.match(word):
            yield FileUse(word.partition("=")[2].rpartition("@")[2] if "=" in word else word[2:], "read")


def _output_files(args: Args) -> Iterator[FileUse]:
    """Yield the values of options whose names mean output, for any program."""
    for option, value in args.option_values:
        if OUTPUT.fullmatch(option):
            yield FileUse(value, "write")


def _files_with_derived_names(args: Args) -> Iterator[FileUse]:
    """Yield the files that get their name from an address, from a suffix, or from a pattern for backups."""
    name = args.command.name
    if (name == "wget" and not args.has("-O", "--output-document")) or (
        name in ("curl", "aria2c") and (name == "aria2c" or args.has("-O", "--remote-name", "--remote-name-all"))
    ):
        folder = args.value("-P", "--directory-prefix", "--output-dir", "-d", "--dir") or ""
        for word in args.words:
            if match := _ADDRESS_FILE.search(word):
                yield FileUse(_join(folder, match[1]), "write")
    for word in args.operands:
        if name in _UNPACKS_ONE and (match := _PACKED.fullmatch(word)):
            yield FileUse(match[1], "write")
    if name in _BACKS_UP:
        patterns = [word[2:] for word in args.words if word.startswith("-i")] + args.values("--in-place")
        for pattern in patterns:
            if "*" in pattern:
                names = (os.path.basename(word) for word in args.operands)
                yield from (FileUse(pattern.replace("*", file), "write") for file in names)


def _copy_targets(args: Args, sources: Sequence[str], target: str) -> Iterator[FileUse]:
    """Yield the target of a copy, and the names that the sources would have in it."""
    if not target.endswith("/") or args.has("-r", "-R", "-a", "--recursive", "--archive"):
        yield FileUse(target, "write")
    for source in sources:
        yield FileUse(f"{target.rstrip('/')}/{os.path.basename(source.rstrip('/'))}", "write")


def _git_files(args: Args) -> Iterator[FileUse]:
    operands = args.operands
    row = GIT.get(operands[0]) if operands else None
    if row is None or args.has("--cached") or (operands[0] == "worktree" and operands[1:2] != ("add",)):
        return
    if operands[0] in ("log", "whatchanged", "reflog") and not args.has(*GIT_SHOWS_CONTENT):
        return
    if operands[0] == "restore" and args.has("-S", "--staged") and not args.has("-W", "--worktree"):
        return  # the file itself stays as it is
    if operands[:2] == ("stash", "save") or (operands[0] == "checkout" and args.has("-b", "-B", "--orphan")):
        return  # what follows is a message, or the name of a branch
    folder = args.value("-C") or ""
    rest = args.words[args.words.index(operands[0]) + 1 :]
    for use in _row_files(args, row, rest, is_known=True):
        if operands[0] == "clone" and "://" in use.word:
            continue
        # `HEAD:.env` is the file in a commit.
        word = use.word.partition(":")[2] if use.access == "read" and ":" in use.word else use.word
        yield use._replace(word=_join(folder, word))
    for option, value in args.option_values:
        if folder and OUTPUT.fullmatch(option):
            yield FileUse(_join(folder, value), "write")


def _subcommand_files(args: Args) -> Iterator[FileUse]:
    """Yield the files of a subcommand that uses its operands differently from the program itself."""
    rows = SUBCOMMANDS.get(args.command.name)
    subcommand = next((word for word in args.operands if rows and word in rows), None)
    if rows and subcommand is not None:
        rest = args.words[args.words.index(subcommand) + 1 :]
        for use in _row_files(args, rows[subcommand], rest, is_known=True):
            # `web:/etc/shadow` is a file in the container.
            if ":" not in use.word:
                yield use


def _files_passed_to(command: SimpleCommand) -> Iterator[FileUse]:
    """Yield the names that `find -exec`, `| xargs` and `$(...)` pass to a command."""
    row = FILES.get(command.name, FileRow())
    use: Use = "write" if row.operands.endswith("w") and not row.if_any else "read"
    sources = list(command.substitutions) if any("$(" in word or "`" in word for word in command.words) else []
    if command.gets_words_from_input:
        sources += command.fed_by
    if command.wrapper is not None and command.wrapper.name in ("find", "fd"):
        sources.append(command.wrapper)
    for source in sources:
        if source.name not in _NAME_SOURCES:
            continue
        words = source.plain[1:]
        if source.name == "find":
            words = _without_names_left_out(words)
            yield from (FileUse(value, use, dots=True) for option, value in pairwise(words) if option in _FIND_NAMES)
        yield from (FileUse(word, use) for word in words if not word.startswith("-"))


def _without_names_left_out(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of `find` without the names that it leaves out: `-not -path x`, `-path x -prune`."""
    left_out = {
        at
        for at, word in enumerate(words)
        if word in _FIND_NAMES and (words[at - 1 : at] in (("!",), ("-not",)) or words[at + 2 : at + 3] == ("-prune",))
    }
    return tuple(word for at, word in enumerate(words) if not {at, at - 1} & left_out)


def _with_braces_expanded(args: Args) -> Args:
    """Return the command with the shell's braces expanded: `cp x{,.bak}` has two operands."""
    command = args.command
    if all(command.literal) or not any("{" in word for word in command.words):
        return args
    return Args(command.with_words(expand_words(command)))


def _fill_in_variables(word: str) -> str:
    if "$" in word or "`" in word:
        for pattern, text in _SUBSTITUTIONS:
            word = pattern.sub(text, word)
    return word


def _join(folder: str, word: str) -> str:
    return word if not folder or word.startswith(("/", "~", "$")) else f"{folder.rstrip('/')}/{word}"
