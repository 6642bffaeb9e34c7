"""
The check of code in other languages, on the command line or at standard input.

A bash grammar cannot parse Python. So code that may start programs, remove files or reach the network leads to a
question. So does code that cannot be seen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from ..._plumbing.wording import in_backticks
from ..shell.known_input import STANDARD_INPUT, find_known_input
from ..shell.records import SimpleCommand
from .files import CommandFiles
from .options import Args
from .targets import Danger, writing_danger
from .variable_values import remove_variables

__all__ = [
    "AWKS",
    "DOWNLOADERS",
    "code_dangers",
    "find_awk_programs",
    "find_inline_code",
    "interpreter_dangers",
    "language_of_program",
    "unseen_code_dangers",
]

DOWNLOADERS = frozenset({
    "curl", "wget", "fetch", "aria2c", "http", "https", "httpie", "lwp-request", "GET", "lynx", "ftp", "telnet",
    "nc", "ncat", "netcat", "openssl", "scp",
})  # fmt: skip
_DECODERS = frozenset({
    "base64", "base32", "xxd", "openssl", "uudecode", "gunzip", "zcat", "gzip", "bzip2", "bzcat", "xz", "xzcat",
    "rev", "tr", "od", "hexdump", "printf", "perl",
})  # fmt: skip
_PHP = "-r -R -B -E --run --process-code --process-begin --process-end"
# For each interpreter, the options or the word behind which the code stands on the command line.
_INTERPRETERS: dict[str, str] = {
    "python": "-c", "pypy": "-c", "ipython": "-c", "perl": "-e -E -n -p", "ruby": "-e", "php": _PHP,
    "lua": "-e", "tcc": "", "irb": "-e", "slsh": "-e",
    "node": "-e --eval -p --print", "nodejs": "-e --eval -p --print", "deno": "eval", "bun": "-e --eval -p --print",
    "luajit": "-e", "Rscript": "-e", "osascript": "-e", "julia": "-e --eval -E --print", "guile": "-c",
    "ghci": "-e", "groovy": "-e", "elixir": "-e --eval", "tclsh": "", "ghc": "-e",
    "ocaml": "-e", "swift": "-e", "scala": "-e", "kotlin": "-e",
    "R": "-e", "racket": "-e --eval", "clojure": "-e --eval", "clj": "-e --eval", "jrunscript": "-e", "gjs": "-c",
    "wish": "", "pwsh": "-c -Command",
    "octave": "--eval", "sbcl": "--eval", "erl": "-eval", "raku": "-e", "nu": "-c --commands", "xonsh": "-c",
}  # fmt: skip
_HARMFUL_CODE = re.compile(
    r"os\s*\.\s*(system|popen|exec\w*|spawn\w*|remove\w*|unlink|rmdir|kill\w*|fork\w*|dup2|chmod|chown|rename|replace)"
    r"|subprocess|socket|shutil|\bpty\b|ctypes|pickle|marshal|import_module|importlib\.(util|machinery|reload)"
    r"|__(?!version|file|name|main|doc|all|path|init|future)\w+__|\beval\b|\bexec\b|getattr|setattr|from\s+os\s+import"
    r"|child_process|\bexec(File|Sync)?\(|spawn|\bfs\b|require\(\W*(net|http|dgram|tls|vm)|fetch\(|process\.(env|kill)"
    r"|\bsystem\s*[(\"' ]|popen|fsockopen|passthru|shell_exec|proc_open|unlink|rmtree|rmdir|FileUtils|File\.delete"
    r"|Sys\.command|System\.Process|Process\.(run|start)|Runtime\.get|run-process|sh!|\bfork\b"
    r"|System\.(cmd|shell)\b|\bos:cmd|Port\.open|open_port|File\.rm|sys\.process|ProcessBuilder|\.execute\(|\bProcess\("
    r"|\bsyscall\b|\bexec[vl]\w*|posix_spawn|\bsystem2|Deno\.(run|Command|remove|write|kill)"
    r"|java\.shell|TCPSocket|urllib|urlopen|requests\.|httpx|http\.client|ftplib|smtplib|paramiko|do shell script",
    re.IGNORECASE,
)
# Names that the code puts together, and modules and functions that run other code or load it.
_HARMFUL_NAMES: dict[str, re.Pattern[str]] = {
    "python": re.compile(
        r"\bvars\s*\(|\bglobals\s*\(|attrgetter|methodcaller|sys\s*\.\s*modules|(?<![.\w])compile\s*\("
        r"|\b(?:os|sys|posix)\s+as\b|[=(\[]\s*os\s*(?=[)\],;}\n]|$)|\b(?:runpy|posix|pydoc|webbrowser|multiprocessing)\b"
        r"|\b(?:timeit|pdb|bdb|cProfile|profile|trace|code)\b.*\b(?:run\w*|timeit|interact)\s*\(|\bimp\b|zipimport"
        r"|load_extension|ensurepip|\bpip\s*\.\s*(?:main|_internal)|joblib|(?:torch|yaml|shelve)\s*\.\s*(?:load|open)\b",
        re.DOTALL,
    ),
    "perl": re.compile(r"&[{$]|\breadpipe\b|\bIPC::|\bopen[23]\b|\bkill\b|@ARGV\s*="),
    "ruby": re.compile(r"\b(?:__|public_)?send\b|\bmethod\s*\(|\bOpen3\b|\b\w+_eval\b|\bbinding\b|\bsh\s*[('\"]"),
    "node": re.compile(
        r"\bFunction\s*\(|\bimport\s*\(|\brequire\s*\(\s*(?:[^'\"\s]|'[^']*'\s*[^')\s]|\"[^\"]*\"\s*[^\")\s])"
        r"|process\s*\.\s*(?:binding|dlopen|mainModule)|require\(\W*(?:module|worker_threads|cluster|repl|inspector)\b"
        r"|\[\s*['\"]\w*['\"]\s*\+|\bconstructor\b"
    ),
    "lua": re.compile(r"\[\s*['\"]\w*['\"]\s*\.\.|\b(?:dofile|loadfile|loadstring|loadlib)\b|\bload\s*[('\"]"),
    "go": re.compile(r"go:generate|\bplugin\b|\bunsafe\b"),
    "rust": re.compile(r"\bCommand::|\bremove_(?:dir|file)|\bextern\b"),
}
_ALIKE = {
    **dict.fromkeys(("pypy", "ipython"), "python"), **dict.fromkeys(("nodejs", "bun", "deno"), "node"),
    "luajit": "lua", "irb": "ruby",
}  # fmt: skip
# In perl and ruby, `open` runs a name with a `|` before or behind it. So do other functions that take a file.
_OPENS_PIPE = re.compile(r"\bopen\b.*\||\bopen\b\s*\(?[^,;]+,\s*[$@]|\bIO\s*\.\s*\w+\s*\(?\s*['\"]\s*\|", re.DOTALL)
_RUNS_IN_QUOTES = frozenset({"perl", "ruby", "php", "julia", "raku"})
_QUOTES = re.compile(r"`|%x\W|\bqx\b")
# Modules of python whose words are statements.
_RUN_STATEMENTS = frozenset({"timeit", "pdb", "code"})
_TEXT_IN_CODE = re.compile(r"""["']([^"'\n]+)["']""")
AWKS = frozenset({"awk", "gawk", "mawk", "nawk", "original-awk"})
_AWK_VALUES = re.compile(r"-[Fv]|--(?:field-separator|assign)")
_AWK_PARTS = re.compile(
    r'(?P<text>"(?:\\.|[^"\\])*")|#[^\n]*|\\\r?\n|(?P<regex>/(?:\\.|\[\^?\]?[^\]\n]*\]|[^/\\\n\[])+/)|(?P<other>[^\s])|\s+',
    re.DOTALL,
)
_WHOLE_EXPANSION = re.compile(r'"?(?:\$\w+|\$\{[^{}]*\}|\$\(.*\)|`.*`)"?', re.DOTALL)
# A `|` alone is a pipe in awk, and `@name(...)` calls the function whose name the variable holds. A number ends where a
# name begins: `5system(...)` is a number and a call.
_HARMFUL_AWK = re.compile(r"@|\b(?:\d\w*)?system\s*\(|(?<!\|)\|(?!\|)")


def language_of_program(name: str) -> str | None:
    """Return the language that a program of this name runs, or None. `python3.11` runs python."""
    base = re.sub(r"[\d.]+$", "", name)
    return base if base in _INTERPRETERS else None


def interpreter_dangers(args: Args, files: CommandFiles) -> Iterator[Danger]:
    """Yield the dangers of the code that a command runs, if the command is an interpreter."""
    command = args.command
    language_name = language_of_program(command.name)
    if command.name in AWKS and any(map(_is_harmful_awk, _awk_words(args.words))):
        yield Danger("ask", "runs other programs from inside awk")
    if command.name in AWKS and any(map(_WHOLE_EXPANSION.fullmatch, find_awk_programs(command))):
        yield Danger("ask", "runs code that is only worked out when it runs")
    if language_name is None:
        return
    code, is_literal = _find_code(args, _INTERPRETERS[language_name].split())
    # `deno run -` reads its program from standard input, as `python -` does.
    operands = args.operands[1:] if args.operands[:1] == ("run",) else args.operands
    if code is None and not [word for word in operands if word not in STANDARD_INPUT] and "-m" not in args.options:
        if not command.fed_by and not any(redirection.operator.startswith("<") for redirection in command.redirections):
            return
        yield from unseen_code_dangers((*command.fed_by, *command.substitutions))
        known = find_known_input(command)
        code, is_literal = (known.text, known.is_exact) if known is not None else (None, True)
        if code is None:
            yield Danger("ask", "runs code that cannot be checked")
    elif any(word.startswith("<(") for word in args.words):
        yield from unseen_code_dangers(command.substitutions)
    if not is_literal:
        yield from unseen_code_dangers(command.substitutions)
        yield Danger("ask", "runs code that is only worked out when it runs")
    if code:
        yield from code_dangers(language_name, code)
    for path in _TEXT_IN_CODE.findall(code or ""):
        if files.is_write_protected(path) or files.is_secret(path) or writing_danger(path) is not None:
            yield Danger("ask", f"runs code that is about {in_backticks(path)}")


def find_inline_code(args: Args) -> str | None:
    """Return the code of another language on the command line, or None."""
    language_name = language_of_program(args.command.name)
    return None if language_name is None else _find_code(args, _INTERPRETERS[language_name].split())[0]


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


def code_dangers(language_name: str, code: str) -> Iterator[Danger]:
    """Yield the dangers of *code* in the language *language_name*."""
    language_name = _ALIKE.get(language_name, language_name)
    # Python reads letters of other forms as plain ones, and a name may go on behind a backslash.
    code = unicodedata.normalize("NFKC", code).replace("\\\n", "")
    names = _HARMFUL_NAMES.get(language_name)
    opens_pipe = language_name in ("perl", "ruby") and _OPENS_PIPE.search(code) is not None
    if names is not None and names.search(code):
        yield Danger("ask", "runs code that loads other code, or that works out what it calls")
    elif opens_pipe or _HARMFUL_CODE.search(code) or (language_name in _RUNS_IN_QUOTES and _QUOTES.search(code)):
        yield Danger("ask", "runs code that starts programs, removes files or reaches the network")


def _find_code(args: Args, options: list[str]) -> tuple[str | None, bool]:
    """Return the code on the command line, and whether it is known exactly."""
    if not _RUN_STATEMENTS.isdisjoint(args.values("-m")):
        return "\n".join(args.words), all(args.command.literal)
    for at, word in enumerate(args.words):
        for option in options:
            if word == option or (re.fullmatch(r"-\w+", word) and len(option) == 2 and word.endswith(option[1])):
                if at + 1 < len(args.words):
                    return args.words[at + 1], args.command.literal[at + 2]
            elif len(option) == 2 and (match := _joined_code(option).fullmatch(word)):
                return match[1], args.command.literal[at + 1]
            elif option.startswith("--") and word.startswith(f"{option}="):
                return word.partition("=")[2], args.command.literal[at + 1]
    return None, True


@cache
def _joined_code(option: str) -> re.Pattern[str]:
    """Return the pattern for code that is joined to *option*, which may stand behind flags: `-Bc'code'`."""
    flags = "abBdEhilnOpPqsSTtuUvVwx0-9" + ("I" if option == "-c" else "")
    return re.compile(rf"-[{flags}]*?{option[1]}(.+)", re.DOTALL)


def unseen_code_dangers(sources: tuple[SimpleCommand, ...]) -> Iterator[Danger]:
    """Yield the dangers of running the output of *sources*."""
    if any(source.name in DOWNLOADERS for source in sources):
        yield Danger("deny", "runs what it has just downloaded, unseen")
    elif any(source.name in _DECODERS for source in sources):
        yield Danger("deny", "runs a text that was made unreadable")
