"""
Files that a line writes and then runs: `curl -o x url; sh x` does in two steps what `curl url | sh` does in one.

A text that the line itself shows is returned to the caller, which parses it. Downloads and texts that were made
unreadable are denied. Any other text that the line writes and runs leads to a question. The output of a compiler counts
as the project's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from ..shell.records import Script, SimpleCommand
from ..shell.wrappers import SHELLS, STANDARD_INPUT
from .files import files_of
from .inline_code import DOWNLOADERS, code_dangers, language_of_program, unseen_code_dangers
from .options import Args
from .printed_texts import find_known_output
from .targets import Danger

__all__ = ["WrittenText", "find_runs_of_written_files"]

_DOWNLOADED = Danger("deny", "runs what it has just downloaded, unseen")
_UNSEEN = Danger("ask", "runs a text that it has just written, and that cannot be checked")
_MAYBE_DOWNLOADED = Danger("ask", "may run what it has just downloaded: the names come from a list or from a server")
# With these options, only a list or the server gives the files their names.
_NAMELESS_OPTIONS = {
    "wget": "-i --input-file --input-metalink -r --recursive -m --mirror --content-disposition --trust-server-names",
    "curl": "-K --config -J --remote-header-name",
    "aria2c": "-i --input-file -T --torrent-file -M --metalink-file",
}
_OUTPUT_OPTIONS = ("-o", "--output", "-O", "--output-document", "--out")
# Programs that read commands in their own language from a file.
_READ_SCRIPTS = {
    "make": "-f --file --makefile", "gmake": "-f --file --makefile", "awk": "-f --file", "gawk": "-f --file",
    "sed": "-f --file", "gdb": "-x --command", "vim": "-S -s -u", "nvim": "-S -s -u", "expect": "-f", "at": "-f",
    "psql": "-f --file", "tclsh": "", "wish": "", "sqlite3": "-init", "dc": "-f --file", "sftp": "-b", "lftp": "-f",
    "nano": "-f --rcfile", "mutt": "-F", "mg": "-b", "maxima": "-b --batch", "lynx": "-cmd_script", "gnuplot": "-c",
}  # fmt: skip
_COPY_PROGRAMS = frozenset({"cp", "mv", "ln", "install"})


class WrittenText(NamedTuple):
    """A shell script that the line itself writes."""

    text: str


class _FileContent(NamedTuple):
    """The content of a file: a text that is known, or the reason why it should not run."""

    text: str | None
    danger: Danger = _UNSEEN


Outcome: TypeAlias = Danger | WrittenText


def find_runs_of_written_files(script: Script) -> Iterator[tuple[SimpleCommand, Outcome]]:
    """Yield each command that runs a file that the line wrote, with the danger or with the text to parse."""
    files: dict[str, _FileContent] = {}
    is_nameless = False
    for command in script.commands:
        args = Args(command)
        yield from ((command, danger) for danger in _scripts_from_elsewhere(args))
        for file in _run_files(args):
            written = files.get(_last_name(file))
            if written is not None:
                content = written if not _names_any(written.text, files) else _FileContent(None)
                yield from ((command, outcome) for outcome in _outcomes_of_run(command, content))
            elif is_nameless:
                yield command, _MAYBE_DOWNLOADED
        if command.name in _NAMELESS_OPTIONS:
            is_nameless = is_nameless or args.has(*_NAMELESS_OPTIONS[command.name].split())
        if command.name in _COPY_PROGRAMS and len(args.operands) > 1:
            source = files.get(_last_name(args.operands[0]))
            if source is not None:
                files[_last_name(args.operands[-1])] = source
        for file in _files_written_by(args):
            # A text that is appended to another makes a file that is not known as a whole, unless both texts are known.
            files[_last_name(file)] = _append_text(files.get(_last_name(file)), _content_written_by(command), command)


def _names_any(text: str | None, files: Iterable[str]) -> bool:
    """
    Return whether a script names a file that the line also writes.

    Then the script's own text does not show all it runs.
    """
    return any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text or "") for name in files if name)


def _scripts_from_elsewhere(args: Args) -> Iterator[Danger]:
    """Yield the dangers of `make -f -` and `awk -f <(...)`, whose program comes from another command."""
    command = args.command
    options = _READ_SCRIPTS.get(command.name, "").split()
    for value in args.values(*options):
        if value in STANDARD_INPUT or value.startswith("<("):
            yield next(iter(unseen_code_dangers((*command.fed_by, *command.substitutions))), _UNSEEN)


def _outcomes_of_run(command: SimpleCommand, content: _FileContent) -> Iterator[Outcome]:
    if content.text is None:
        yield content.danger
        return
    language_name = language_of_program(command.name) or _language_of(content.text)
    if language_name is not None:
        yield from code_dangers(language_name, content.text)
    elif command.name in _READ_SCRIPTS:
        yield _UNSEEN
    else:
        yield WrittenText(content.text)


def _language_of(text: str) -> str | None:
    """Return the language that the first line names, as in `#!/usr/bin/env python3`. Return None for a shell."""
    match = re.match(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(?:\S*/)?(\S+)", text)
    return language_of_program(match[1]) if match else None


def _run_files(args: Args) -> Iterator[str]:
    """Yield the files that a command runs."""
    command = args.command
    if command.name in SHELLS or language_of_program(command.name) or command.name in (".", "source"):
        if not args.has("-c", "-m") or command.name in (".", "source"):
            yield from args.operands[:2] if command.name in ("deno", "bun") else args.operands[:1]
            yield from args.values("--rcfile", "--init-file", "--require", "-r", "--import")
        yield from (redirection.target for redirection in command.redirections if redirection.operator == "<")
    elif command.name in _READ_SCRIPTS:
        yield from args.values(*_READ_SCRIPTS[command.name].split())
    elif "/" in command.words[0]:
        yield command.words[0]


def _files_written_by(args: Args) -> Iterator[str]:
    command = args.command
    yield from (redirection.target for redirection in command.redirections if redirection.writes)
    if command.name in ("tee", "sponge"):
        yield from args.operands
    if command.name in DOWNLOADERS:
        yield from args.values(*_OUTPUT_OPTIONS)
        # Without a name of its own, a file gets the last part of its address as its name.
        yield from (word for word in args.operands if "/" in word)
    if command.name in _DECODERS:
        yield from (use.word for use in files_of(args) if use.access == "write")


_DECODERS = frozenset({"openssl", "base64", "gpg", "uudecode", "xxd"})


def _content_written_by(command: SimpleCommand) -> _FileContent:
    """Return the content that a command writes to its file."""
    sources = (command, *command.fed_by, *command.substitutions)
    if any(source.name in DOWNLOADERS - {"openssl"} for source in sources):
        return _FileContent(None, _DOWNLOADED)
    known = find_known_output(command)
    if known is not None and known.is_exact:
        return _FileContent(known.text)
    return _FileContent(None, next(iter(unseen_code_dangers(sources)), _UNSEEN))


def _append_text(before: _FileContent | None, content: _FileContent, command: SimpleCommand) -> _FileContent:
    appends = (
        any(redirection.operator.startswith((">>", "&>>")) for redirection in command.redirections)
        or "-a" in command.words
    )
    if before is None or not appends:
        return content
    if before.text is None or content.text is None:
        return min(before, content, key=lambda part: (part.text is not None, part.danger.word != "deny"))
    return _FileContent(f"{before.text}\n{content.text}")


def _last_name(path: str) -> str:
    """Return the last name of *path*, which identifies the file. The folder may be written in many ways."""
    return path.rstrip("/").rsplit("/", 1)[-1]
