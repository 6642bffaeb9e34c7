"""
Files that a line writes and runs: `curl -o x url; sh x` does in two steps what `curl url | sh` does in one.

One rule holds for every way to write a file (a redirection, a copy, a link, a download, an archive, an editor) and for
every way to run it (by its path, by a shell, by an interpreter, as a makefile). The line does not show what runs, so
the run leads to a question. There are two exceptions. A text that the line itself shows is returned to the caller,
which parses it. The output of a compiler counts as the project's own, and so does what an archive of the project holds.
Downloads and texts that were made unreadable are denied.

The order of writing and running does not count, because loops, functions and background jobs change it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

from ..shell.known_input import SHELLS, find_shell_script, is_descriptor, is_standard_input, reads_like_bash
from ..shell.records import Script, SimpleCommand
from .computed_options import with_empty_variables
from .dangers import COMPUTED_OUTPUT
from .files import files_of
from .harmful_code import code_dangers
from .inline_code import (
    AWKS,
    DOWNLOADED,
    DOWNLOADERS,
    SCRIPT_MODULES,
    find_inline_code,
    find_interpreter_operands,
    language_of_program,
    unseen_code_dangers,
)
from .input_programs import READ_SCRIPTS, SCRIPT_OPERANDS, reads_commands
from .loaded_files import find_files_loaded_by_code, find_files_loaded_by_words, names_any_file
from .options import Args
from .printed_texts import find_known_output, input_text
from .project_files import MAKES, ODD_RECIPE, find_project_file_dangers, recipes_of
from .table_files import FILES
from .targets import Danger
from .variable_values import collect_values, fill_in_command, fill_in_text

__all__ = ["WrittenText", "find_runs_of_written_files"]

_UNSEEN = Danger("ask", "runs a text that it has just written, and that cannot be checked")
_EDITED = Danger("ask", "runs a file that it has just changed, and that cannot be checked")
_RENAMED = Danger("ask", "runs a file that it has just copied, linked or renamed")
_UNNAMED = Danger("ask", "may run what it has just downloaded: the names come from a list, an archive or a server")
# With these options, only a list or the server gives the files their names.
_NAMELESS_OPTIONS = {
    "wget": "-i --input-file --input-metalink -r --recursive -m --mirror --content-disposition --trust-server-names",
    "curl": "-K --config -J --remote-header-name",
    "aria2c": "-i --input-file -T --torrent-file -M --metalink-file",
}
_UNPACKERS = frozenset({"tar", "gtar", "bsdtar", "unzip", "unar", "unrar", "7z", "7za", "7zr", "7zz", "cpio", "ar"})
_CLONES = re.compile(r"git clone\b|gh repo clone\b|hg clone\b|svn (?:checkout|co|export)\b")
_OUTPUT_OPTIONS = ("-o", "--output", "-O", "--output-document", "--out")
# The files that these programs read without being told.
_DEFAULT_SCRIPTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(MAKES, ("Makefile", "makefile", "GNUmakefile")),
    "just": ("justfile", "Justfile", ".justfile"),
}
# Programs that also take a script on the command line, with the option before it.
_RUN_PROGRAM_TEXT = {"sed": ("-e",), **dict.fromkeys(AWKS, ())}
_COPY_PROGRAMS = frozenset({"cp", "mv", "ln", "install", "rsync", "ditto", "rename"})
# What these programs write is the project's own, if the project's own sources went in.
_BUILDERS = frozenset({
    "gcc", "g++", "cc", "c++", "clang", "clang++", "tcc", "gfortran", "ld", "as", "ar", "rustc", "javac", "protoc",
    "tsc", "esbuild", "go", "ghc", "bun", "deno",
})  # fmt: skip
# These programs change no content, or only its layout, or their `-o` is no output.
_KEEP_CONTENT = frozenset({
    "chmod", "chown", "chgrp", "chattr", "setfacl", "touch", "rm", "rmdir", "unlink", "trash", "del", "srm", "shred",
    "wipe", "mkfifo", "mknod", "truncate", "strip", "ranlib", "black", "isort", "rustfmt", "prettier", "eslint",
    "biome", "gofmt", "clang-format", "git", "nm", "grep", "egrep", "fgrep", "rg", "ag", "ack", "ssh",
})  # fmt: skip
# Signs and words with which a script of an editor, a debugger or a database runs a program.
_LEAVES_LANGUAGE = re.compile(
    r"[!|`]|\b(?:shell|e?syscmd|system|exec|spawn|popen|python|load|source|program|e)\b|\*.*\*", re.IGNORECASE
)
# What the shell inserts into a name: a variable, or all up to the last sign that may end a substitution.
_EXPANSION = re.compile(r"`[^`]*`|\$\{[^{}]*\}|\$\([^()]*\)|\$\w+|[$`].*[)}`]|\$\W|[$`]", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*(?:,|\.\.)[^{}]*)\}")
_MAX_BRACES = 4
_PATTERN = re.compile(r"[*?\[]")
_ON_PATH = re.compile(r"(?:.*/)?s?bin/[^/]+")


class WrittenText(NamedTuple):
    """A shell script that the line itself writes."""

    text: str


class _FileContent(NamedTuple):
    """
    The content of a file.

    Attributes:
        text: The text, if the line shows it.
        danger: Why the file should not run if its text is not known. None stands for the project's own programs.
        language: The language of *text*, if it was compiled.
        is_on_path: Whether the file lies in a folder of programs, so that its name alone runs it.
    """

    text: str | None
    danger: Danger | None = _UNSEEN
    language: str | None = None
    is_on_path: bool = False


Outcome: TypeAlias = Danger | WrittenText


def find_runs_of_written_files(script: Script) -> Iterator[tuple[SimpleCommand, Outcome]]:
    """Yield each command that runs a file that the line wrote, with the danger or with the text to parse."""
    values = collect_values(script)
    arguments, files = list(map(Args, script.commands)), dict[str, _FileContent]()
    for args in arguments:
        for reading in (args.command, *fill_in_command(args.command, values)):
            _add_written_files(Args(reading), files, values)
    is_nameless = False
    # A shell reads the file that `ENV` names when it starts.
    start_files = [setting.value for setting in script.assignments if setting.name == "ENV"]
    sets_path = any(setting.name == "PATH" for setting in script.assignments)
    codes = [code for args in arguments if (code := find_inline_code(args)) is not None]
    runs: list[tuple[Args, set[str]]] = []
    for args in arguments:
        readings = [args, *map(Args, with_empty_variables(args.command))]
        run_files = {file for reading in readings for file in _run_files(reading)}
        run_files.update(start_files if args.command.name in SHELLS else ())
        names = {_last_name(name) for file in run_files for name in fill_in_text(file, values)}
        runs.append((args, names.union(find_files_loaded_by_code(args, files))))
    # A script that runs may write a script that runs later.
    names_run = set[str]().union(*(names for _, names in runs)).intersection(files)
    codes += [text for name in names_run if (text := files[name].text)]
    for args, names in runs:
        command = args.command
        yield from ((command, danger) for danger in _scripts_from_elsewhere(args))
        for name in sorted(names):
            content = files.get(name)
            if content is not None:
                names_others = content.language is None and names_any_file(content.text, files)
                # `>> out*` and `>> "$x"` may add to the file `out`.
                is_added_to = any(_PATTERN.search(other) and fnmatchcase(name, other) for other in files)
                content = _FileContent(None) if names_others or is_added_to else content
                yield from ((command, outcome) for outcome in _outcomes_of_run(command, content))
            elif any(names_any_file(code, (name,)) for code in codes) or _may_be_written(name, args, arguments, files):
                yield command, _UNSEEN
            elif is_nameless:
                yield command, _UNNAMED
        yield from _project_file_runs(command, files)
        is_nameless = is_nameless or _leaves_names_open(args, files)
        if (content := files.get(command.words[0])) is not None and (content.is_on_path or sets_path):
            yield command, content.danger or _RENAMED


def _project_file_runs(
    command: SimpleCommand, files: Mapping[str, _FileContent]
) -> Iterator[tuple[SimpleCommand, Outcome]]:
    for name, content in files.items():
        # What the line only edits or copies is the project's own.
        if content.text is not None or content.danger not in (None, _EDITED, _RENAMED):
            for outcome in find_project_file_dangers(command.name, name, content.text):
                yield command, WrittenText(outcome) if isinstance(outcome, str) else outcome


def _add_written_files(args: Args, files: dict[str, _FileContent], values: Mapping[str, Sequence[str]]) -> None:
    command = args.command
    content = _content_written_by(args, files)
    redirected = {redirection.target for redirection in command.redirections}
    for file in _files_written_by(args):
        for target in fill_in_text(file, values):
            written = content._replace(is_on_path=_ON_PATH.fullmatch(target) is not None)
            for name in dict.fromkeys(_names_of(target, may_split=file not in redirected)):
                files[name] = _append_text(files.get(name), written, command)


def _names_of(target: str, *, may_split: bool) -> Iterator[str]:
    """
    Yield the names of the files that a word may become. A `*` stands for a part that the line does not show.

    Quoted, the word is the name itself. Otherwise the shell may split it, but not the target of a redirection.
    """
    for word in (target, *target.split()) if may_split else (target,):
        yield _last_name(word)
        shown = _EXPANSION.sub("*", word)
        yield from _expand_braces(shown)
        if may_split and "*" in shown:
            yield from _expand_braces(f"{shown.partition('*')[0]}*")
            yield from _expand_braces(f"*{shown.rpartition('*')[2]}")


def _expand_braces(word: str, depth: int = 0) -> Iterator[str]:
    match = _BRACES.search(word)
    if match is None or depth == _MAX_BRACES:
        before, _, rest = word.partition("{")
        inside, _, after = rest.rpartition("}")
        yield _last_name(f"{before}*{after}" if "," in inside else word)
        return
    for part in ["*"] if ".." in match[1] else match[1].split(","):
        yield from _expand_braces(word[: match.start()] + part + word[match.end() :], depth + 1)


def _may_be_written(name: str, run: Args, arguments: Sequence[Args], files: Iterable[str]) -> bool:
    """
    Return whether the line writes a file whose name it works out, and which may be *name*: `echo x > s"$1"; sh s1`.

    If it shows no part of the name, it has to show *name* elsewhere: `f() { echo x > "$1"; }; f name; sh name`.
    """
    if any(other.strip("*") and _PATTERN.search(other) and fnmatchcase(name, other) for other in files):
        return True
    is_open = any(not other.strip("*") for other in files) or any(
        COMPUTED_OUTPUT.search(word) for args in arguments if args.command.name in AWKS for word in args.words
    )
    others = [args.command for args in arguments if args is not run]
    shown = [
        *(word for command in others for word in command.plain),
        *(redirection.target for command in others for redirection in command.redirections),
    ]
    return is_open and any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for text in shown)


def _leaves_names_open(args: Args, files: Mapping[str, _FileContent]) -> bool:
    """Return whether *args* download files whose names the line does not show, or unpack an archive of this kind."""
    name = args.command.name
    if name in _NAMELESS_OPTIONS and args.has(*_NAMELESS_OPTIONS[name].split()):
        return True
    if _CLONES.match(" ".join((name, *args.operands[:2]))):
        return True
    from_elsewhere = bool(args.command.fed_by) or any(_last_name(word) in files for word in args.words)
    return name in _UNPACKERS and from_elsewhere


def _scripts_from_elsewhere(args: Args) -> Iterator[Danger]:
    """Yield the dangers of `make -f -` and `awk -f <(...)`, whose program comes from another command."""
    command = args.command
    options = READ_SCRIPTS.get(command.name, "").split()
    for value in args.values(*options):
        if is_standard_input(value) or is_descriptor(value) or value.startswith(("<(", "/proc/")):
            yield next(iter(unseen_code_dangers((*command.fed_by, *command.substitutions))), _UNSEEN)


def _outcomes_of_run(command: SimpleCommand, content: _FileContent) -> Iterator[Outcome]:
    if content.text is None:
        yield from (content.danger,) if content.danger is not None else ()
        return
    language_name = content.language or language_of_program(command.name) or _language_of(content.text)
    if language_name is not None:
        yield from code_dangers(language_name, content.text)
    elif command.name in _DEFAULT_SCRIPTS:
        recipes = shlex.join(["sh", "-c", recipes_of(content.text)])
        yield _UNSEEN if ODD_RECIPE.search(content.text) else WrittenText(recipes)
    elif command.name in _RUN_PROGRAM_TEXT:
        # The file is read like a program on the command line of `sed` or `awk`.
        yield WrittenText(shlex.join([command.name, *_RUN_PROGRAM_TEXT[command.name], content.text]))
    elif command.name in (*READ_SCRIPTS, *SCRIPT_OPERANDS):
        yield from (_UNSEEN,) if _LEAVES_LANGUAGE.search(content.text) else ()
    elif (interpreter := _interpreter_of(content.text)) and interpreter not in SHELLS:
        yield _UNSEEN
    else:
        shell = command.name if command.name in SHELLS else interpreter or ("sh" if "/" in command.words[0] else "")
        is_bash = reads_like_bash((*command.nesting, *filter(None, [shell])))
        yield WrittenText(content.text if is_bash else shlex.join([shell or "sh", "-c", content.text]))


def _language_of(text: str) -> str | None:
    """Return the language that the first line names, as in `#!/usr/bin/env python3`. Return None for a shell."""
    return language_of_program(_interpreter_of(text))


def _interpreter_of(text: str) -> str:
    """Return the program that the first line names, or "" if it names none."""
    match = re.match(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(?:\S*/)?(\S+)", text)
    return match[1] if match else ""


def _run_files(args: Args) -> Iterator[str]:
    """Yield the files that a command runs, or reads as a program."""
    command = args.command
    name = command.name
    language = language_of_program(name)
    reads_input = reads_commands(args)
    if reads_input:
        yield from (word for source in command.fed_by for word in Args(source).operands)
    if name in SHELLS or language or name in (".", "source") or name in READ_SCRIPTS or reads_input:
        yield from (
            redirection.target
            for redirection in command.redirections
            if redirection.is_standard_input and redirection.operator in ("<", "<>")
        )
    if name in SHELLS:
        yield from filter(None, [find_shell_script(command)])
        yield from args.values("--rcfile", "--init-file", "-rcfile", "-init-file")
    elif name in (".", "source") or name in SCRIPT_OPERANDS:
        yield from args.operands[:1]
    elif language:
        yield from _interpreter_files(args, language)
    if name in READ_SCRIPTS:
        files = args.values(*READ_SCRIPTS[name].split())
        yield from files or _DEFAULT_SCRIPTS.get(name, ())
        yield from find_files_loaded_by_words(args)
        yield from args.operands if name == "m4" else ()
    elif "/" in command.words[0]:
        yield command.words[0]


def _interpreter_files(args: Args, language: str) -> Iterator[str]:
    """Yield the script of an interpreter, and the modules that it loads first."""
    yield from args.values("--require", "-r", "--import") if language != "php" else ()
    yield from (f"{module.rpartition('.')[2]}.py" for module in args.values("-m"))
    if args.has("-m"):
        runs_operands = not SCRIPT_MODULES.isdisjoint(args.values("-m"))
        scripts = [word for word in args.operands if word not in args.values("-o", "--outfile")]
        yield from (word for word in scripts if runs_operands or word.endswith(".py"))
        yield from (f"{word}.py" for word in scripts if runs_operands)
        return
    if find_inline_code(args) is not None:
        return
    operands = find_interpreter_operands(args, language)
    yield from operands[:2] if language in ("deno", "bun") else operands[:1]


def _files_written_by(args: Args) -> Iterator[str]:
    command = args.command
    yield from (redirection.target for redirection in command.redirections if redirection.writes)
    if command.name in DOWNLOADERS:
        yield from args.values(*_OUTPUT_OPTIONS)
        # Without a name of its own, a file gets the last part of its address as its name.
        yield from (word for word in args.operands if "/" in word)
    if command.name == "git":
        yield from args.values("--output")
    if (command.name in FILES and command.name not in _KEEP_CONTENT) or command.name == "dd":
        yield from (use.word for use in files_of(args) if use.access == "write")
    if command.name in FILES and command.gets_words_from_input:
        yield "*"
    if command.name in ("split", "csplit"):  # they number the files that they write
        yield from (f"{prefix}*" for prefix in ("x", *args.operands, *args.values("-f", "--prefix")))
    if command.name in _BUILDERS and not args.has("-o", "-c", "-S", "-E"):
        yield "a.out"


def _content_written_by(args: Args, files: Mapping[str, _FileContent]) -> _FileContent:
    """Return the content that a command writes to its files."""
    command = args.command
    sources = (command, *command.fed_by, *command.substitutions)
    if command.name in (*_COPY_PROGRAMS, *_BUILDERS):
        return _content_made_from(args, files)
    if any(source.name in DOWNLOADERS - {"openssl"} for source in sources):
        return _FileContent(None, DOWNLOADED)
    known = find_known_output(command)
    if known is not None and known.is_exact:
        return _FileContent(known.text)
    is_shown = any(source.name in ("echo", "printf") or input_text(source) for source in sources)
    return _FileContent(None, next(iter(unseen_code_dangers(sources)), _UNSEEN if is_shown else _EDITED))


def _content_made_from(args: Args, files: Mapping[str, _FileContent]) -> _FileContent:
    """Return the content of a copy or of a compiled program. It is as dangerous as the worst source."""
    is_built = args.command.name in _BUILDERS
    sources = [files[name] for word in args.operands if (name := _last_name(word)) in files]
    if is_built and (known := input_text(args.command)):
        sources.append(_FileContent(known))
    unknown = [source for source in sources if source.text is None and source.danger is not None]
    if unknown:
        return min(unknown, key=lambda source: source.danger != DOWNLOADED)
    texts = [source.text for source in sources if source.text is not None]
    if is_built:
        return _FileContent("\n".join(texts) or None, None, "c" if texts else None)
    if sources and not texts:
        return sources[0]
    return _FileContent(texts[0]) if len(texts) == 1 else _FileContent(None, _RENAMED)


def _append_text(before: _FileContent | None, content: _FileContent, command: SimpleCommand) -> _FileContent:
    """Return the content after another write to the same file. Which of two texts stays is not known."""
    if before is None or before == content:
        return content
    appends = (
        any(redirection.operator.startswith((">>", "&>>")) for redirection in command.redirections)
        or "-a" in command.words
    )
    if before.text is None or content.text is None:
        return min(before, content, key=lambda part: (part.text is not None, part.danger != DOWNLOADED))
    return content._replace(text=f"{before.text}{content.text}") if appends else _FileContent(None)


def _last_name(path: str) -> str:
    """Return the last name of *path*, which identifies the file. The folder may be written in many ways."""
    return path.rstrip("/").rsplit("/", 1)[-1]
