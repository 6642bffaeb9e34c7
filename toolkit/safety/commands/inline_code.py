"""
The check of code in other languages, on the command line or at standard input.

A bash grammar cannot parse Python. So code that may start programs, remove files or reach the network leads to a
question. So does code that cannot be seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from ..._plumbing.wording import in_backticks
from ..shell.known_input import find_known_input, is_descriptor, is_standard_input
from ..shell.records import SimpleCommand
from .files import CommandFiles
from .harmful_code import ALIKE, code_dangers
from .options import Args
from .targets import Danger, writing_danger
from .variable_values import remove_variables

__all__ = [
    "AWKS",
    "DOWNLOADED",
    "DOWNLOADERS",
    "SCRIPT_MODULES",
    "find_awk_programs",
    "find_inline_code",
    "find_interpreter_operands",
    "interpreter_dangers",
    "language_of_program",
    "reads_code",
    "runs_harmful_code",
    "unseen_code_dangers",
]

DOWNLOADERS = frozenset({
    "curl", "wget", "fetch", "aria2c", "http", "https", "httpie", "lwp-request", "GET", "lynx", "ftp", "telnet",
    "nc", "ncat", "netcat", "openssl", "scp",
})  # fmt: skip
DOWNLOADED = Danger("deny", "runs what it has just downloaded, unseen")
_DECODERS = frozenset({
    "base64", "base32", "xxd", "openssl", "uudecode", "gunzip", "zcat", "gzip", "bzip2", "bzcat", "xz", "xzcat",
    "rev", "tr", "od", "hexdump", "printf", "perl",
})  # fmt: skip
_PHP = "-r -R -B -E --run --process-code --process-begin --process-end"
# For each interpreter, the options or the word behind which the code stands on the command line.
_INTERPRETERS: dict[str, str] = {
    "python": "-c", "pypy": "-c", "ipython": "-c", "perl": "-e -E", "ruby": "-e", "php": _PHP,
    "lua": "-e", "tcc": "", "irb": "-e", "slsh": "-e",
    "node": "-e --eval -p --print", "nodejs": "-e --eval -p --print", "deno": "eval", "bun": "-e --eval -p --print",
    "luajit": "-e", "Rscript": "-e", "osascript": "-e", "julia": "-e --eval -E --print", "guile": "-c",
    "ghci": "-e", "groovy": "-e", "elixir": "-e --eval", "tclsh": "", "ghc": "-e",
    "ocaml": "-e", "swift": "-e", "scala": "-e", "kotlin": "-e",
    "R": "-e", "racket": "-e --eval", "clojure": "-e --eval", "clj": "-e --eval", "jrunscript": "-e", "gjs": "-c",
    "wish": "", "pwsh": "-c -Command",
    "jython": "-c", "micropython": "-c", "graalpy": "-c", "sage": "-c", "hy": "-c", "mongosh": "--eval",
    "mongo": "--eval", "jshell": "", "gp": "", "bb": "-e", "janet": "-e", "fennel": "-e", "csi": "-e", "gosh": "-e",
    "clisp": "-x", "ecl": "--eval", "rdmd": "--eval", "crystal": "eval", "octave-cli": "--eval", "scilab": "-e",
    "octave": "--eval", "sbcl": "--eval", "erl": "-eval", "raku": "-e", "nu": "-c --commands", "xonsh": "-c",
    "bpython": "-c", "ptpython": "-c", "django-admin": "-c", "flask": "", "pry": "-e", "rails": "runner r",
    "iex": "-e --eval", "groovysh": "-e", "runghc": "", "runhaskell": "",
}  # fmt: skip
# Options of interpreters that take the next word, so that it is not the script.
_VALUE_OPTIONS = {
    "python": "-W -X", "pypy": "-W -X", "perl": "-I", "ruby": "-I -r -C -E", "php": "-d -c -z",
    **dict.fromkeys(("node", "nodejs"), "-r --require --import --loader -C --conditions"),
    **dict.fromkeys(("deno", "bun"), "-r --preload --config -c"),
}  # fmt: skip
# Modules of python whose words are statements.
_RUN_STATEMENTS = frozenset({"timeit", "pdb", "code"})
SCRIPT_MODULES = frozenset({
    "cProfile", "profile", "trace", "pdb", "runpy", "doctest", "unittest", "coverage", "pyinstrument", "scalene",
    "viztracer", "memory_profiler", "kernprof", "line_profiler", "debugpy",
})  # fmt: skip
"""The modules of python whose operand is a script or a module."""
# Modules of python that read statements, and options with which an interpreter reads on when its program has ended.
_READ_STATEMENTS = frozenset({"asyncio", "code", "pdb", "IPython", "ptpython", "bpython"})
_READS_ON = {
    "python": re.compile(r"-[A-Za-z]*i|--interactive"), "node": re.compile(r"-[a-z]*i|--interactive"),
    "lua": re.compile("-i"), "julia": re.compile("-i"), "php": re.compile("-a|--interactive"),
    "perl": re.compile(r"-[a-z]*d(?!:)"),
}  # fmt: skip
# The subcommands with which a program of a project reads statements: `python manage.py shell`, `rails console`.
_CONSOLES = frozenset({"console", "c", "shell", "shell_plus", "dbshell", "dbconsole", "tinker", "repl"})
_PERL_CODE = re.compile(r"-[a-z0]*[MmFd](.+)", re.DOTALL)
_TEXT_IN_CODE = re.compile(r"""["']([^"'\n]+)["']""")
AWKS = frozenset({"awk", "gawk", "mawk", "nawk", "original-awk"})
_AWK_VALUES = re.compile(r"-[Fv]|--(?:field-separator|assign)")
_AWK_PARTS = re.compile(
    r'(?P<text>"(?:\\.|[^"\\])*")|#[^\n]*|\\\r?\n|(?P<regex>/(?:\\.|\[\^?\]?[^\]\n]*\]|[^/\\\n\[])+/)|(?P<other>[^\s])|\s+',
    re.DOTALL,
)
_DESCRIPTOR = re.compile(r".*\bfd/\d")
_WHOLE_EXPANSION = re.compile(r'"?(?:\$\w+|\$\{[^{}]*\}|\$\(.*\)|`.*`)"?', re.DOTALL)
# A `|` alone is a pipe in awk, and `@name(...)` calls the function whose name the variable holds. A number ends where a
# name begins: `5system(...)` is a number and a call.
_HARMFUL_AWK = re.compile(r"@|\b(?:\d\w*)?system\s*\(|(?<!\|)\|(?!\|)")


def language_of_program(name: str) -> str | None:
    """Return the language that a program of this name runs, or None. `python3.11` runs python."""
    base = name.rstrip("0123456789.")
    return base if base in _INTERPRETERS else None


def interpreter_dangers(args: Args, files: CommandFiles | None = None) -> Iterator[Danger]:
    """Yield the dangers of the code that a command runs, if the command is an interpreter. *files* are protected."""
    command = args.command
    language_name = language_of_program(command.name)
    if command.name in AWKS and any(map(_is_harmful_awk, _awk_words(args.words))):
        yield Danger("ask", "runs other programs from inside awk")
    if command.name in AWKS and any(map(_WHOLE_EXPANSION.fullmatch, find_awk_programs(command))):
        yield Danger("ask", "runs code that is only worked out when it runs")
    if language_name is None:
        return
    texts = _find_texts(args, language_name)
    if reads_code(args):
        if command.fed_by or any(redirection.operator.startswith("<") for redirection in command.redirections):
            yield from unseen_code_dangers((*command.fed_by, *command.substitutions))
            known = find_known_input(command)
            texts += [(known.text, known.is_exact)] if known is not None else []
            if known is None:
                yield Danger("ask", "runs code that cannot be checked")
    elif any(word.startswith("<(") for word in args.words):
        yield from unseen_code_dangers(command.substitutions)
    elif not texts and not all(command.literal) and (known := find_known_input(command)) is not None:
        texts.append(known)  # the name of the script may be a name of standard input: `/dev/stdi?`
    if not all(is_literal for _, is_literal in texts):
        yield from unseen_code_dangers(command.substitutions)
        yield Danger("ask", "runs code that is only worked out when it runs")
    code = "\n".join([*(text for text, _ in texts), *_code_in_options(args)])
    yield from code_dangers(language_name, code)
    if files is None:
        return
    for path in _TEXT_IN_CODE.findall(code):
        if files.is_write_protected(path) or files.is_secret(path) or writing_danger(path) is not None:
            yield Danger("ask", f"runs code that is about {in_backticks(path)}")


def reads_code(args: Args) -> bool:
    """Return whether a command is an interpreter that runs the code in its input, alone or after other code."""
    language_name = language_of_program(args.command.name)
    if language_name is None:
        return False
    return _reads_on(args, language_name) or (
        not _find_texts(args, language_name) and _reads_program(args, language_name)
    )


def _find_texts(args: Args, language_name: str) -> list[tuple[str, bool]]:
    """Return each code on the command line, and whether it is known exactly. The `-` of `pwsh -Command -` is none."""
    codes = _find_codes(args, _INTERPRETERS[language_name].split())
    return [code for code in codes if not is_standard_input(code[0])]


def runs_harmful_code(command: SimpleCommand) -> bool:
    """Return whether *command* is an interpreter, and runs code that may start programs or that is not known."""
    return any(interpreter_dangers(Args(command)))


def _reads_on(args: Args, language_name: str) -> bool:
    """Return whether an interpreter reads further code from its input when its program has ended, or before."""
    if not _READ_STATEMENTS.isdisjoint(args.values("-m")):
        return True
    option = _READS_ON.get(ALIKE.get(language_name, language_name))
    at = 0
    while option is not None and at < len(args.words) and args.words[at].startswith("-"):
        if option.match(args.words[at]):
            return True
        at += 2 if args.words[at] in ("-W", "-X") else 1
    return False


def _reads_program(args: Args, language_name: str) -> bool:
    """Return whether an interpreter without code on its line reads its program from its input: `python - x`."""
    operands = find_interpreter_operands(args, language_name)
    scripts = operands[1:] if operands[:1] == ("run",) else operands  # `deno run -`
    is_input = not scripts or is_standard_input(scripts[0]) or is_descriptor(scripts[0])
    if "-m" in args.options and ALIKE.get(language_name, language_name) == "python":  # `python -m cProfile /dev/stdin`
        modules = SCRIPT_MODULES.intersection(args.values("-m"))
        return bool(modules) and any(is_standard_input(word) or _DESCRIPTOR.match(word) for word in args.words)
    return is_input or not _CONSOLES.isdisjoint(operands[:2])


def find_interpreter_operands(args: Args, language_name: str) -> tuple[str, ...]:
    """Return the script of an interpreter, if there is one, and the words for it."""
    takes = _VALUE_OPTIONS.get(language_name, "").split()
    words = [word for before, word in pairwise(("", *args.words)) if before not in takes]
    return args.operands_of(words)


def _code_in_options(args: Args) -> Iterator[str]:
    """Yield the code in options of perl that are no programs: `-F` and `-d` stand in the program as they are."""
    if language_of_program(args.command.name) == "perl":
        yield from (match[1] for word in args.words if (match := _PERL_CODE.match(word)))


def find_inline_code(args: Args) -> str | None:
    """Return the code of another language on the command line, or None."""
    language_name = language_of_program(args.command.name)
    options = () if language_name is None else _INTERPRETERS[language_name].split()
    codes = [code for code, _ in _find_codes(args, options)]
    return "\n".join(codes) if codes else None


def _awk_words(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that may hold a program of awk, which is every word but the values of `-F` and `-v`."""
    for before, word in pairwise(("", *words)):
        if not _AWK_VALUES.fullmatch(before) and not _AWK_VALUES.match(word):
            yield word


def _is_harmful_awk(program: str) -> bool:
    """Return whether *program* runs another one, also if the variables of the shell in it are empty: `s${u}ystem`."""
    return any(_HARMFUL_AWK.search(_remove_awk_texts(text)) for text in (program, remove_variables(program)))


def find_awk_programs(command: SimpleCommand) -> list[str]:
    """Return the programs of awk as they are written, without those that come from a file."""
    programs: list[str] = []
    operand, before, has_file = "", "", False
    for word, plain in zip(command.words[1:], command.plain[1:], strict=True):
        is_value = _AWK_VALUES.fullmatch(before) is not None
        if not is_value and (before == "-e" or before.startswith("--so") or plain.startswith(("-e", "--so"))):
            programs.append(word)
        elif not is_value and (not plain.startswith("-") or plain == "-"):
            operand = operand or word
        has_file = has_file or (not is_value and plain.startswith(("-f", "--file")))
        before = "" if is_value else plain
    return [*programs, *([] if has_file or not operand else [operand])]


def _remove_awk_texts(program: str) -> str:
    """Return *program* with `"` for each text and each pattern, and without comments."""
    rest: list[str] = []
    at = 0
    while match := _AWK_PARTS.match(program, at):
        at = match.end()
        last = next((part for part in reversed(rest) if part.strip()), "")
        if match["regex"] and (last[-1:].isalnum() or last in (")", "]", "_", "$", '"')):
            # Behind a value, a slash divides.
            rest.append("/")
            at = match.start() + 1
        else:
            rest.append('"' if match["text"] or match["regex"] else match["other"] or " ")
    return "".join(rest)


def _find_codes(args: Args, options: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield each code on the command line, and whether it is known exactly: `perl -e 'a' -e 'b'` has two."""
    if options and not _RUN_STATEMENTS.isdisjoint(args.values("-m")):
        yield "\n".join(args.words), all(args.command.literal)
        return
    for at, word in enumerate(args.words):
        for option in options:
            if word == option or (re.fullmatch(r"-\w+", word) and len(option) == 2 and word.endswith(option[1])):
                if at + 1 < len(args.words):
                    yield args.words[at + 1], args.command.literal[at + 2]
            elif len(option) == 2 and (match := _joined_code(option, " ".join(options)).fullmatch(word)):
                yield match[1], args.command.literal[at + 1]
            elif option.startswith("--") and word.startswith(f"{option}="):
                yield word.partition("=")[2], args.command.literal[at + 1]


@cache
def _joined_code(option: str, options: str) -> re.Pattern[str]:
    """Return the pattern for code that is joined to *option*, which may stand behind flags: `-Bc'code'`."""
    flags = "".join(flag for flag in "abBdhilnOpPqsSTtuUvVwx" if flag in "np" or f"-{flag}" not in options.split())
    flags += "0-9" + ("EI" if option == "-c" else "")
    return re.compile(rf"-[{flags}]*?{option[1]}(.+)", re.DOTALL)


def unseen_code_dangers(sources: tuple[SimpleCommand, ...]) -> Iterator[Danger]:
    """Yield the dangers of running the output of *sources*."""
    if any(source.name in DOWNLOADERS for source in sources):
        yield DOWNLOADED
    elif any(source.name in _DECODERS for source in sources):
        yield Danger("deny", "runs a text that was made unreadable")
