"""
Find the files of a project that its hooks run, before any hook runs.

Trust in a project covers its `.toolkit` folder. A hook's command may name files elsewhere in the project, where tools
can write, so the trust has to cover the content of these files too. The files are found in the words of the command:
every word that is an existing file of the project counts. If a command does not show which files it runs, it needs a
list beside it, `files = [...]`. With a list, a word that is only data for a program does not count any more. A word
that is run still counts.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._plumbing.wording import in_backticks

__all__ = ["MAX_HOOK_CHARS", "are_too_long", "find_scripts", "replace_scripts", "why_unresolved"]

MAX_HOOK_CHARS = 20_000
"""The most that the commands and the files of all hooks in a file may have together. A long command is a script."""

_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "fish")
_INTERPRETERS = (
    *_SHELLS,
    *("python", "pypy", "node", "deno", "bun", "tsx", "ts-node", "ruby", "perl", "php", "lua", "Rscript"),
)
# Programs that run the program that their words name.
_LAUNCHERS = (
    *("env", "exec", "command", "nohup", "nice", "time", "timeout", "setsid", "sudo", "xargs", "find", "parallel"),
    *("source", ".", "builtin", "trap", "doas", "stdbuf", "ionice", "taskset", "flock", "watch", "strace"),
)
# Programs that run files of the project without naming them.
_RUNNERS = (
    *("make", "gmake", "just", "task", "rake", "ninja", "tox", "nox", "pytest", "pre-commit", "npm", "npx", "pnpm"),
    *("yarn", "bunx", "cargo", "go", "gradle", "mvn", "sbt", "dotnet", "bundle", "composer", "mix", "bazel"),
    *("uv", "uvx", "poetry", "pdm", "hatch", "pipenv", "pixi", "eslint", "prettier", "jest", "vitest", "mocha"),
)
# Words of the shell itself that stand before a command.
_KEYWORDS = ("if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "time", "coproc")
_CODE_OPTION = re.compile(r"-[A-Za-z]*[ce]|--eval")
_LOADS = re.compile(r"\b(?:require|import|load|include)", re.IGNORECASE)
_EXPANSION = re.compile(r"\$[\w{(@*]|[*?]|\[[^\]]+\]|\{[^}]*[,.][^}]*\}|\{\}|^~[^/]+/")
# Variables with files and folders from which programs load code.
_LOAD_PATH_SETTING = re.compile(
    r"(PATH|BASH_ENV|PYTHON(?:PATH|HOME|STARTUP)|NODE_(?:PATH|OPTIONS)|PERL5(?:LIB|OPT)|RUBY(?:LIB|OPT)"
    r"|(?:LD|DYLD)_\w+|CLASSPATH|MAKEFILES)=(.*)",
    re.DOTALL,
)
_ELSEWHERE = re.compile(r"/|~/|\$HOME/|\$(?!PWD\b)\{?(?!PWD\b)\w+\}?\Z")
_ASSIGNMENT = re.compile(r"\w+=(.*)", re.DOTALL)
_UNSAFE = re.compile(r"[^\w./-]")
_SEPARATORS = re.compile(r"[;&|()<>]+")


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

    Args:
        argv: A command with its words, which may be text for a shell.
        project: The folder of the project.
        names: The files that trust covers, in `.toolkit` and elsewhere, relative to the project.
        copies: The folder with the copies, in the same places as in the project.

    Raises:
        ValueError: The path of a file is not written as it is, so it cannot be replaced.
    """
    root = os.path.realpath(project)
    places = {word: _find_place(root, word) for word in _words(list(argv), only_run=False)}
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
    words = _split(command) if isinstance(command, str) else list(command)
    reasons = itertools.chain(
        (_why_loading(word, root) for word in words),
        (_why_unresolved(program, words, root) for program, words in _commands(command)),
    )
    try:
        return next((reason for reason in reasons if reason is not None), None)
    except RecursionError:
        return "too many programs in it run each other"


def _why_loading(word: str, root: str) -> str | None:
    """
    Return why *word* makes programs load files that the command does not show; return None if it does not.

    Only a word that sets a variable such as `PATH` or `PYTHONPATH` to a place that may lie in the project can do that.
    """
    setting = _LOAD_PATH_SETTING.fullmatch(word)
    if setting is None or all(_is_elsewhere(place, root) for place in setting[2].split(":")):
        return None
    return f"`{setting[1]}` makes programs load files that the command does not name"


def _is_elsewhere(place: str, root: str) -> bool:
    return bool(_ELSEWHERE.match(place)) and not _is_within(root, os.path.normpath(os.path.expandvars(place)))


def _why_unresolved(program: str, words: Sequence[str], root: str) -> str | None:
    name = _name(program)
    if _changes_folder(program, words):
        return "it changes the folder, so its words name other files"
    is_fed = name in ("xargs", "parallel") and any(_name(word) in _INTERPRETERS for word in words)
    if name == "eval" or is_fed or (name in _INTERPRETERS and _reads_input(name, words)):
        return f"`{name}` runs what it is given"
    if (missing := _find_missing_script(name, words, root)) is not None:
        return f"there is no file {in_backticks(missing[:60])} in the project"
    runnable = _runnable_words(program, words)
    for at, word in enumerate(runnable):
        inner_program = _name(word)
        if inner_program in _RUNNERS or (inner_program in _INTERPRETERS and _has_module(runnable[at + 1 :])):
            return f"`{inner_program}` runs files that the command does not name"
        if inner_program in _INTERPRETERS and (why := _why_loading_code(inner_program, runnable[at + 1 :])):
            return why
        if at and inner_program in (*_INTERPRETERS, *_LAUNCHERS) and name in _LAUNCHERS and inner_program != ".":
            return _why_unresolved(word, runnable[at + 1 :], root)
        if name in _INTERPRETERS and _CODE_OPTION.fullmatch(runnable[at - 1]):
            continue  # This word is the code itself. For a shell, `_commands` also yields the commands in it.
        if _EXPANSION.search(word) and not word.startswith("$HOME/"):
            return f"{in_backticks(word[:60])} is known only when it runs"
        if name in _INTERPRETERS and at and os.path.isdir(os.path.join(root, word)):
            return f"`{name}` runs a file of the folder {in_backticks(word[:60])}"
    for word in (program, *words):
        if not os.path.isabs(word) and _leads_outside(root, word):
            return f"{in_backticks(word[:60])} leads out of the project"
    return None


# Options such as in `env -C tools` and `sudo -D tools`.
_CHANGES_FOLDER = re.compile(r"-C|-D|--chdir\b")


def _reads_input(name: str, words: Sequence[str]) -> bool:
    """Return whether an interpreter runs the text from its standard input, because it has no file and no code."""
    options = _options(words)
    if any(map(_CODE_OPTION.fullmatch, options)) or _has_module(words):
        return False
    after = words[len(options) : len(options) + 1]
    is_stdin_option = name in _SHELLS and any(re.fullmatch("-[a-z]*s", option) for option in options)
    return is_stdin_option or not after or after[0] == "-" or after[0].startswith(("/dev/stdin", "/dev/fd/"))


def _find_missing_scripts(argv: Sequence[str], root: str) -> list[str]:
    """Return the scripts that interpreters are to run and that do not exist; none if the command changes its folder."""
    commands = list(_commands(argv))
    if any(_changes_folder(program, words) for program, words in commands):
        return []
    scripts = (_find_missing_script(_name(program), words, root) for program, words in commands)
    return [script for script in scripts if script is not None and len(script.split()) == 1]


def _changes_folder(program: str, words: Sequence[str]) -> bool:
    name = _name(program)
    return name in ("cd", "pushd") or (name in _LAUNCHERS and any(map(_CHANGES_FOLDER.match, words)))


def _find_missing_script(name: str, words: Sequence[str], root: str) -> str | None:
    """Return the script that an interpreter is to run, if it does not exist; another process could write it later."""
    if name not in (*_INTERPRETERS, "source", "."):
        return None
    options = _options(words)
    script = "".join(words[len(options) : len(options) + 1])
    is_code = any(map(_CODE_OPTION.fullmatch, options)) or _has_module(words)
    if not script or is_code or _EXPANSION.search(script):
        return None
    place = _find_place(root, script)
    is_missing = place is not None and not _is_covered(place) and not os.path.exists(os.path.join(root, place))
    return script if is_missing else None


def _has_module(words: Sequence[str]) -> bool:
    """Return whether the options of an interpreter make it run a module: `-m name`, `-mname`, `-Bm name`."""
    return any(re.match(r"-[A-VY-Za-z]*m", option) for option in _options(words))


def _why_loading_code(tool: str, words: Sequence[str]) -> str | None:
    """Return why code on the command line of an interpreter may load files of the project; None if it may not."""
    options = _options(words)
    if tool in _SHELLS or not options or not _CODE_OPTION.fullmatch(options[-1]):
        return None
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


def _runnable_words(program: str, words: Sequence[str]) -> list[str]:
    """Return the words of a command that may be run: its program, and the words that this program may run."""
    return [program, *words] if _name(program) in (*_INTERPRETERS, *_LAUNCHERS) else [program]


def _name(program: str) -> str:
    """Return the name of a program without its folder and its version: `python3.12` is `python`."""
    return program.rsplit("/", 1)[-1].rstrip("0123456789.") or program


def _words(command: Any, *, only_run: bool) -> Iterator[str]:
    """Yield every word of a hook's command; with *only_run*, yield only the words that may be run."""
    if isinstance(command, str) or (isinstance(command, list) and all(isinstance(word, str) for word in command)):
        for program, words in _commands(command):
            for word in _runnable_words(program, words) if only_run else (program, *words):
                yield word
                if setting := re.search(r"=(.+)", word):  # `--config=tools/check.cfg`
                    yield setting[1]


def _commands(command: str | Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each command with its words, also the commands inside a word: `sh -c 'tools/check.sh'`."""
    words = _split(command) if isinstance(command, str) else list(command)
    current: list[str] = []
    for word in words:
        if isinstance(command, str) and _SEPARATORS.fullmatch(word):
            if current:
                yield current[0], current[1:]
            current = []
        elif current or not (isinstance(command, str) and (_ASSIGNMENT.fullmatch(word) or word in _KEYWORDS)):
            current.append(word)
    if current:
        yield current[0], current[1:]
    for word in words:
        if word != command and any(letter.isspace() for letter in word):
            yield from _commands(word)
    if not isinstance(command, str) and len(words) > 1 and _name(words[0]) in _SHELLS and "-c" in words:
        yield from _commands(words[-1])


def _split(text: str) -> list[str]:
    """Return the words of a shell command; the separators between commands are words of their own."""
    lexer = shlex.shlex(text.replace("`", " ; ").replace("\n", " ; "), posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # The quotes do not close; the shell reports that.
        return text.split()


def _find_file(root: str, word: str) -> str | None:
    """Return the file of the project that *word* names, relative to the project; return None if it names none."""
    place = _find_place(root, word)
    return place if place is not None and os.path.isfile(os.path.join(root, place)) else None


def _find_place(root: str, word: str) -> str | None:
    """Return the place in the project that *word* names as a path, relative to the project; None if it is elsewhere."""
    home = re.sub(r"^(?:~|\$HOME|\$\{HOME\})(?=/)", lambda _: os.path.expanduser("~"), word)
    try:
        path = os.path.normpath(os.path.join(root, home))
        # The path may reach the project by a link.
        path = path if _is_within(root, path) else os.path.realpath(path)
        return os.path.relpath(path, root) if word and _is_within(root, path) else None
    except (OSError, ValueError):
        return None


def _leads_outside(root: str, word: str) -> bool:
    """Return whether *word* names a file that is reached from the project but lies outside of it."""
    try:
        path = os.path.realpath(os.path.join(root, word))
        return os.path.isfile(path) and not _is_within(root, path)
    except (OSError, ValueError):
        return False


def _is_within(root: str, path: str) -> bool:
    return Path(path).is_relative_to(root)


def _is_covered(place: str | None) -> bool:
    """Return whether a place is in `.toolkit`; the trust covers the whole content of that folder already."""
    return place is not None and place.split("/")[0] == ".toolkit" and place != ".toolkit"
