"""
Find the files of a project that its hooks run, before any hook runs.

Trust in a project covers its `.toolkit` folder. A hook's command may name files elsewhere in the project, where tools
can write, so the trust has to cover the content of these files too. The files are found in the words of the command:
every word that is an existing file of the project counts. If a command does not show which files it runs, it needs a
list beside it, `files = [...]`. With a list, a word that is only data for a program does not count any more. A word
that is run still counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._plumbing.wording import in_backticks
from ..safety.commands.inline_code import language_of_program
from ..safety.shell.known_input import SHELLS, is_standard_input, skip_shell_options
from ..safety.shell.nodes import MAX_COMMANDS
from ..safety.shell.outline import read_outline
from ..safety.shell.prefix_programs import PREFIXES
from ..safety.shell.records import CannotParse, SimpleCommand
from ..safety.shell.words import ShellWord, read_word
from ..safety.shell.wrappers import ShellText, find_wrapped_commands

__all__ = ["MAX_HOOK_CHARS", "are_too_long", "find_scripts", "replace_scripts", "why_unresolved"]

MAX_HOOK_CHARS = 20_000
"""The most that the commands and the files of all hooks in a file may have together. A long command is a script."""

# Programs that run files of the project without naming them.
_RUNNERS = (
    *("make", "gmake", "just", "task", "rake", "ninja", "tox", "nox", "pytest", "pre-commit", "npm", "npx", "pnpm"),
    *("yarn", "bunx", "cargo", "go", "gradle", "mvn", "sbt", "dotnet", "bundle", "composer", "mix", "bazel"),
    *("uv", "uvx", "poetry", "pdm", "hatch", "pipenv", "pixi", "eslint", "prettier", "jest", "vitest", "mocha"),
    *("turbo", "nx", "lerna", "gulp", "grunt", "webpack", "rollup", "vite", "stylelint", "lint-staged"),
    *("playwright", "cypress", "karma", "ava", "mypy", "pylint", "flake", "coverage", "behave", "robot", "doit"),
    *("invoke", "inv", "fab", "scons", "snakemake", "sphinx-build", "mkdocs", "pip", "pipx", "jupyter", "alembic"),
    *("flask", "django-admin", "cmake", "ctest", "meson", "ant", "lein", "cabal", "stack", "swift", "zig", "mage"),
    *("rspec", "rubocop", "rails", "guard", "phpunit", "phpstan", "rebar", "dart", "flutter", "lefthook", "buck"),
    *("pants", "docker-compose", "vagrant", "terraform", "pulumi", "ansible", "ansible-playbook"),
    *("direnv", "mise", "nix", "nix-build", "nix-shell", "run-parts"),
)
_CODE_OPTION = re.compile(r"-[A-Za-z]*[ce]|--eval")
_LOADS = re.compile(r"\b(?:require|import|load|include)", re.IGNORECASE)
# Options such as in `env -C tools`, `sudo -D tools` and `find -execdir`.
_CHANGES_FOLDER = re.compile(r"-C|-D|--chdir\b|-(?:exec|ok)dir\b")
# Variables with files and folders from which programs load code.
_LOAD_PATH_SETTING = re.compile(
    r"(?<![\w$])(PATH|BASH_ENV|PYTHON(?:PATH|HOME|STARTUP)|NODE_(?:PATH|OPTIONS)|PERL5(?:LIB|OPT)|RUBY(?:LIB|OPT)"
    r"|(?:LD|DYLD)_\w+|CLASSPATH|MAKEFILES)=([^\s;&|()<>]*)"
)
_ELSEWHERE = re.compile(r"/|~/|\$HOME/|\$(?!PWD\b)\{?(?!PWD\b)\w+\}?\Z")
_HOME = re.compile(r"^(?:~|\$HOME|\$\{HOME\})(?=/)")
_UNSAFE = re.compile(r"[^\w./-]")
_TEST = re.compile(r"\[\[?\s")
# What stands between the parts of a command, and of a word such as `--config=tools/check.cfg`.
_SEPARATORS = re.compile(r"[\s;&|()<>\"'`=]+")


def find_scripts(project: str | os.PathLike[str], hooks: Sequence[Mapping[str, Any]]) -> list[str]:
    """
    Return the files outside `.toolkit` that *hooks* of *project* name, relative to the project, in a fixed order.

    *hooks* are the tables of the hooks as they were read; they may have mistakes.
    """
    root = os.path.realpath(project)
    names: set[str] = set()
    for table in [] if are_too_long(hooks) else hooks:  # The loader of settings reports that mistake.
        files = table.get("files")
        listed = files if isinstance(files, list) else None
        words = [*(listed or ()), *_words(table.get("command"), only_run=listed is not None)]
        files_named = [_find_file(root, word) for word in words if isinstance(word, str)]
        names |= {name for name in files_named if name is not None and not _is_covered(name)}
    return sorted(names)


def are_too_long(hooks: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether the commands and the files of *hooks* are too long to look for scripts in them."""
    return sum(len(str(hook.get(key, ""))) for hook in hooks for key in ("command", "files")) > MAX_HOOK_CHARS


def replace_scripts(
    argv: Sequence[str], project: str | os.PathLike[str], names: Collection[str], copies: Path
) -> list[str]:
    """
    Return *argv* with the paths of copies in place of each file of *project* that trust covers.

    *names* are the files that trust covers, in `.toolkit` and elsewhere, relative to the project. The copies are in the
    same places in the folder *copies*. If the path of a file is not written as it is, it cannot be replaced, and
    `ValueError` is raised.
    """
    root = os.path.realpath(project)
    places = {word: _find_place(root, word) for word in _words(argv, only_run=False)}
    covered = {word: place for word, place in places.items() if place in names}
    # A script that appears after the check is not run either. A text with blanks is a command of its own.
    missing = {word: place for word, place in places.items() if _is_covered(place) and len(word.split()) == 1}
    missing |= {script: _find_place(root, script) for script in _find_missing_scripts(argv, root)}
    replaced = missing | covered
    if not replaced:
        return list(argv)
    # A path has no meaning for a shell, however it is quoted. So the text is not parsed to replace it.
    words = "|".join(map(re.escape, sorted(replaced, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w./~$-])(?:{words})(?![\w/-]|\.\w)")
    if hidden := set(covered) - {match for word in argv for match in pattern.findall(word)}:
        raise ValueError(f"{in_backticks(min(hidden)[:80])} has quotes or backslashes in it; write the path as it is")
    if _UNSAFE.search(str(copies)):
        raise ValueError(f"{copies} has characters that a shell reads in another way; set TMPDIR to another folder")
    return [pattern.sub(lambda match: str(copies / str(replaced[match[0]])), word) for word in argv]


def why_unresolved(command: str | Sequence[str], project: str | os.PathLike[str]) -> str | None:
    """Return why the words of *command* do not show which files of *project* it runs; return None if they do."""
    root = os.path.realpath(project)
    try:
        commands = _read_commands(command)
    except CannotParse as error:
        return f"it cannot be read ({error})"
    # The words that are read show no assignments, and the text may hide a name in quotes: `env P''ATH=tools`.
    texts = [*([command] if isinstance(command, str) else ()), *(word for inner in commands for word in inner.plain)]
    reasons = [_why_loading(text, root) for text in texts] + [_why_unresolved(inner, root) for inner in commands]
    return next((reason for reason in reasons if reason is not None), None)


def _why_loading(text: str, root: str) -> str | None:
    """Return which variable in *text* makes programs load files of the project that it does not name; None if none."""
    for name, places in _LOAD_PATH_SETTING.findall(text):
        if not all(_is_elsewhere(place.strip("\"'"), root) for place in places.split(":")):
            return f"`{name}` makes programs load files that the command does not name"
    return None


def _is_elsewhere(place: str, root: str) -> bool:
    return bool(_ELSEWHERE.match(place)) and not _is_within(root, os.path.normpath(os.path.expandvars(place)))


def _why_unresolved(command: SimpleCommand, root: str) -> str | None:
    program, *words = command.plain
    name = _name(program)
    if _changes_folder(command):
        return "it changes the folder, so its words name other files"
    if name in _RUNNERS or (_is_interpreter(name) and _has_module(words)):
        return f"`{name}` runs files that the command does not name"
    at = _find_script(command)
    for run_at in (0,) if at is None else (0, at):
        if not _is_known(command, run_at):
            return f"{in_backticks(command.plain[run_at][:60])} is known only when it runs"
    if at is not None and os.path.isdir(os.path.join(root, command.plain[at])):
        return f"`{name}` runs a file of the folder {in_backticks(command.plain[at][:60])}"
    if (missing := _find_missing_script(command, root)) is not None:
        return f"there is no file {in_backticks(missing[:60])} in the project"
    if at is None and name in SHELLS and not skip_shell_options(command)[1]:
        return f"`{name}` runs what it is given"
    if at is None and _is_interpreter(name) and (why := _why_loading_code(name, words)) is not None:
        return why
    for word_at, word in enumerate(command.plain):
        if _leads_outside(root, word, is_script=word_at == at):
            return f"{in_backticks(word[:60])} leads out of the project"
    return None


def _is_interpreter(name: str) -> bool:
    return name in SHELLS or language_of_program(name) is not None or name in ("tsx", "ts-node")


def _is_known(command: SimpleCommand, at: int) -> bool:
    """Return whether a word names one file, which may be in the home folder; `{}` stands for a name from elsewhere."""
    word = command.plain[at]
    is_at_home = _HOME.match(word) is not None and not _UNSAFE.search(_HOME.sub("", word))
    return "{}" not in word and (command.literal[at] or is_at_home)


def _changes_folder(command: SimpleCommand) -> bool:
    name = _name(command.plain[0])
    return name in ("cd", "pushd") or (name in (*PREFIXES, "find") and any(map(_CHANGES_FOLDER.match, command.plain)))


def _find_script(command: SimpleCommand) -> int | None:
    """Return the place of the script among the words of an interpreter; None if it runs code or its input."""
    name, words = _name(command.plain[0]), command.plain[1:]
    at = 1
    if name in SHELLS:
        at, has_text = skip_shell_options(command)
        at = len(command.plain) if has_text else at
    elif _is_interpreter(name):
        options = _options(words)
        at = len(command.plain) if any(map(_CODE_OPTION.fullmatch, options)) or _has_module(words) else 1 + len(options)
    elif name not in ("source", "."):
        return None
    return at if at < len(command.plain) and not is_standard_input(command.plain[at]) else None


def _find_missing_script(command: SimpleCommand, root: str) -> str | None:
    """Return the script that an interpreter is to run, if it does not exist; another process could write it later."""
    at = _find_script(command)
    if at is None or not _is_known(command, at):
        return None
    place = _find_place(root, command.plain[at])
    is_missing = place is not None and not _is_covered(place) and not os.path.exists(os.path.join(root, place))
    return command.plain[at] if is_missing else None


def _find_missing_scripts(argv: Sequence[str], root: str) -> list[str]:
    """Return the scripts that interpreters are to run and that do not exist; none if the command changes its folder."""
    try:
        commands = _read_commands(argv)
    except CannotParse:
        return []
    if any(map(_changes_folder, commands)):
        return []
    scripts = (_find_missing_script(command, root) for command in commands)
    return [script for script in scripts if script is not None and len(script.split()) == 1]


def _has_module(words: Sequence[str]) -> bool:
    """Return whether the options of an interpreter make it run a module: `-m name`, `-mname`, `-Bm name`."""
    return any(re.match(r"-[A-VY-Za-z]*m", option) for option in _options(words))


def _why_loading_code(tool: str, words: Sequence[str]) -> str | None:
    """Return why code on the command line of an interpreter may load files of the project; None if it may not."""
    options = _options(words)
    if tool in SHELLS:
        return None  # The commands in its text are read too.
    if not options or not _CODE_OPTION.fullmatch(options[-1]):
        return f"`{tool}` runs what it is given"
    if tool in ("python", "pypy"):
        # Without these options, Python looks for modules in the current folder first, even for its own modules.
        if any(re.match(r"-[A-Za-z]*[IP]", option) for option in options):
            return None
        return f"`{tool} {options[-1]}` looks for modules in the project first, unless it is `{tool} -I {options[-1]}`"
    code = words[len(options) : len(options) + 1]
    if any(map(_LOADS.search, code)) or any(re.match("-r|--require|--import", option) for option in options):
        return f"`{tool}` loads files that the command does not name"
    return None


def _options(words: Sequence[str]) -> list[str]:
    """Return the options of an interpreter, with their values, that stand before its file or its code."""
    options: list[str] = []
    for word in words:
        is_value = bool(options) and options[-1] in ("-W", "-X", "-r", "--require", "--import")
        if not is_value and (not word.startswith("-") or word == "-"):
            break
        options.append(word)
        if _CODE_OPTION.fullmatch(word):
            break
    return options


def _name(program: str) -> str:
    """Return the name of a program without its folder and its version: `python3.12` is `python`."""
    return program.rsplit("/", 1)[-1].rstrip("0123456789.") or program


def _words(command: Any, *, only_run: bool) -> Iterator[str]:
    """Yield every word of a hook's command, and its parts; with *only_run*, yield only the words that may be run."""
    if not isinstance(command, (str, list, tuple)) or not all(isinstance(word, str) for word in command):
        return
    try:
        commands = _read_commands(command)
    except CannotParse:
        commands, only_run = [], False
    for inner in commands:
        runs_words = _is_interpreter(_name(inner.plain[0])) or inner.plain[0] in ("source", ".")
        yield from inner.plain if runs_words or not only_run else inner.plain[:1]
    if not only_run:
        for text in [command] if isinstance(command, str) else command:
            yield from _SEPARATORS.split(text)


def _read_commands(command: str | Sequence[str]) -> list[SimpleCommand]:
    """
    Return each command in *command* with its words, also those that it runs: `timeout 5 sh -c 'tools/check.sh'`.

    Raises:
        CannotParse: A part is not understood.
    """
    first = command if isinstance(command, str) else _build_command(command, [True] * len(command))
    waiting: list[SimpleCommand | str] = [first] if command else []
    commands: list[SimpleCommand] = []
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, str):
            try:
                waiting += _split_text(part)
            except RecursionError:
                raise CannotParse("it is nested too deeply") from None
            continue
        commands.append(part)
        if len(commands) + len(waiting) > MAX_COMMANDS:
            raise CannotParse("it runs too many commands")
        waiting += [inner.text if isinstance(inner, ShellText) else inner for inner in find_wrapped_commands(part)]
    return commands


def _split_text(text: str) -> Iterator[SimpleCommand | str]:
    """Yield the commands in a text for a shell, and the texts in its backticks."""
    spans_by_command, backticks, _ = read_outline(text)
    for spans in sorted(spans_by_command):
        words = [_read_word(text[start:end]) for start, end in spans]
        if not _TEST.match(text, spans[0][0]):  # it is one word, and runs nothing
            yield _build_command([word.plain for word in words], [word.is_literal for word in words])
    yield from (text[start + 1 : end - 1] for start, end in sorted(backticks))


def _build_command(words: Sequence[str], literal: Sequence[bool]) -> SimpleCommand:
    return SimpleCommand(words=tuple(words), literal=tuple(literal), plain=tuple(words), source="")


def _read_word(text: str) -> ShellWord:
    try:
        return read_word(text, {})
    except CannotParse:  # It has a substitution, whose commands are read on their own.
        return ShellWord(text, is_literal=False)


def _find_file(root: str, word: str) -> str | None:
    """Return the file of the project that *word* names, relative to the project; return None if it names none."""
    place = _find_place(root, word)
    return place if place is not None and os.path.isfile(os.path.join(root, place)) else None


def _find_place(root: str, word: str) -> str | None:
    """Return the place in the project that *word* names as a path, relative to the project; None if it is elsewhere."""
    home = _HOME.sub(lambda _: os.path.expanduser("~"), word)
    try:
        path = os.path.normpath(os.path.join(root, home))
        # The path may reach the project by a link.
        path = path if _is_within(root, path) else os.path.realpath(path)
        return os.path.relpath(path, root) if word and _is_within(root, path) else None
    except (OSError, ValueError):
        return None


def _leads_outside(root: str, word: str, *, is_script: bool) -> bool:
    """Return whether *word* is a path from the project to a file outside of it; a script need not exist yet."""
    try:
        path = os.path.realpath(os.path.join(root, word))
        is_from_project = not os.path.isabs(word) and not _HOME.match(word)
        return is_from_project and (is_script or os.path.isfile(path)) and not _is_within(root, path)
    except (OSError, ValueError):
        return False


def _is_within(root: str, path: str) -> bool:
    return Path(path).is_relative_to(root)


def _is_covered(place: str | None) -> bool:
    """Return whether a place is in `.toolkit`; the trust covers the whole content of that folder already."""
    return place is not None and place.split("/")[0] == ".toolkit" and place != ".toolkit"
