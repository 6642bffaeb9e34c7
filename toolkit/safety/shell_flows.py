"""
What is dangerous about commands together: what flows from one to another.

Downloads and unknown texts that reach an interpreter, secrets that reach the
network, variables that change what a name means, functions without an end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .shell_args import Args
from .shell_records import Script, SimpleCommand
from .shell_targets import Danger, is_secret
from .shell_wrappers import SHELLS, known_input

__all__ = ["DOWNLOADERS", "flows", "whole"]

DOWNLOADERS = frozenset("curl wget fetch aria2c http https httpie lwp-request GET lynx ftp telnet nc ncat netcat openssl scp".split())
_SENDERS = DOWNLOADERS | frozenset("ssh sftp rsync socat sendmail mail mailx mutt ftp tftp rclone gsutil aws dig nslookup ping".split())
_DECODERS = frozenset("base64 base32 xxd openssl uudecode gunzip zcat gzip bzip2 bzcat xz xzcat rev tr od hexdump printf perl".split())
_TELLS_SECRETS = frozenset("env printenv set export declare".split())
_SECRET_NAME = re.compile(r"\$\{?\w*(SECRET|TOKEN|PASSW|API_?KEY|PRIVATE|CREDENTIAL|ACCESS_KEY)\w*", re.IGNORECASE)

# Where the code stands on the command line, and how a program is told to read it from there.
_INTERPRETERS: dict[str, str] = {
    "python": "-c", "perl": "-e -E -n -p", "ruby": "-e", "node": "-e --eval -p --print", "nodejs": "-e --eval -p --print",
    "deno": "eval", "bun": "-e --eval", "php": "-r", "lua": "-e", "luajit": "-e", "Rscript": "-e", "osascript": "-e",
    "pypy": "-c", "ipython": "-c", "julia": "-e", "guile": "-c", "tclsh": "", "ghci": "-e", "groovy": "-e", "elixir": "-e",
}  # fmt: skip
_HARMFUL_CODE = re.compile(
    r"os\s*\.\s*(system|popen|exec\w*|spawn\w*|remove\w*|unlink|rmdir|kill\w*|fork\w*|dup2|chmod|chown|rename|replace|truncate)"
    r"|subprocess|socket|shutil|pty\b|ctypes|pickle|marshal|importlib|__\w+__|\beval\b|\bexec\b|compile\(|getattr|setattr"
    r"|child_process|\bexec(File|Sync)?\(|spawn|\bfs\b|require\(['\"](net|http|https|dgram|tls|vm)|fetch\(|process\.(env|kill)"
    r"|\bsystem\b|popen|fsockopen|passthru|shell_exec|proc_open|unlink|rmtree|rmdir|FileUtils|File\.delete|IO\.popen"
    r"|\bfork\b|TCPSocket|Socket|`|%x|\bqx\b|urllib|urlopen|requests\.|httpx|http\.client|ftplib|smtplib|paramiko"
    r"|base64|b64decode|codecs|fromhex|chr\(|environ|\.write|write_text|write_bytes|open\([^)]*,\s*['\"][wax+]|do shell script",
    re.IGNORECASE,
)
_HARMFUL_AWK = re.compile(r"system\s*\(|\|\s*getline|\|\s*\"|\"\s*\||\|&|/inet/|print[^;}]*>\s*\"")

# Variables by which a harmless name comes to mean something else.
_POWERFUL = re.compile(
    r"LD_\w+|DYLD_\w+|PATH|IFS|BASH_ENV|ENV|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS|BASH_FUNC.*|GIT_(SSH|SSH_COMMAND|"
    r"EDITOR|PAGER|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR|CONFIG\w*|SEQUENCE_EDITOR|DIR|WORK_TREE)"
    r"|EDITOR|VISUAL|PAGER|BROWSER|MANPAGER|LESSOPEN|LESSCLOSE|PERL5?(LIB|OPT|DB)|RUBY(OPT|LIB)|NODE_OPTIONS|NODE_PATH"
    r"|PYTHON(STARTUP|HOME|INSPECT|WARNINGS|BREAKPOINT)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|HOME|SHELL|CDPATH|GLOBIGNORE|HISTFILE|HISTSIZE"
    r"|SSH_ASKPASS|SUDO_ASKPASS|PIP_(INDEX_URL|EXTRA_INDEX_URL)|NPM_CONFIG_\w+|https?_proxy|all_proxy|CC|CXX|MAKEFLAGS|TERMINFO",
    re.IGNORECASE,
)
_COMMON = frozenset(
    "ls cd cat cp mv rm git sudo su ssh curl wget echo printf test grep find sed awk python python3 pip npm node make docker "
    "kubectl sh bash command builtin eval exec source export kill ps head tail tee true false pwd mkdir touch chmod [".split()
)


def flows(command: SimpleCommand) -> Iterator[Danger]:
    """What is dangerous about where *command* gets its words, code or input from, and where they go."""
    if not command.literal[0]:
        yield Danger("ask", "runs a program whose name is only worked out when it runs")
    args = Args(command)
    name = command.name
    if name in SHELLS or name in ("eval", "source", "."):
        yield from _runs_text(args)
    elif (base := re.sub(r"[\d.]+$", "", name)) in _INTERPRETERS:
        yield from _runs_code(args, _INTERPRETERS[base].split())
    elif name in ("awk", "gawk", "mawk", "nawk"):
        if any(_HARMFUL_AWK.search(word) for word in args.words):
            yield Danger("ask", "runs other programs from inside awk")
    if name in _SENDERS:
        yield from _sends(args)


def _runs_text(args: Args) -> Iterator[Danger]:
    """A shell, and what it is given to run."""
    command = args.command
    sources = (*command.fed_by, *command.inner)
    if any(each.name in DOWNLOADERS for each in sources):
        yield Danger("deny", "runs what it has just downloaded, unseen")
    elif any(each.name in _DECODERS for each in sources):
        yield Danger("deny", "runs a text that was made unreadable")
    name = command.name
    if name in ("eval", "source", "."):
        # What was only a variable of the environment is the person's own; a substitution is not.
        if name == "eval" and not all(command.literal[1:]):
            yield Danger("ask", "runs a text that is only worked out when it runs")
        elif command.inner:
            yield Danger("ask", "runs the output of another command")
        return
    texts = [word for word, known in zip(args.words, command.literal[1:], strict=True) if not known]
    if texts and (command.inner or not all(word.startswith('"') for word in _unknown(command)) or "-c" in args.options):
        yield Danger("ask", "gives a shell a text that is only worked out when it runs")
    if "-i" in args.options and any(">" in each.operator for each in command.redirections):
        yield Danger("ask", "gives a shell to somebody else")
    reads = not args.operands or "-s" in args.options
    if reads and "-c" not in args.options and "--version" not in args.options:
        if known_input(command) is None:
            yield Danger("ask", "runs commands that nobody has seen")


def _unknown(command: SimpleCommand) -> Iterator[str]:
    return (word for word, known in zip(command.words[1:], command.literal[1:], strict=True) if not known)


def _runs_code(args: Args, options: list[str]) -> Iterator[Danger]:
    """Python, Perl and their kin with code on the command line or at standard input."""
    command = args.command
    given = [option for option in options if option in args.words or (len(option) == 2 and option in args.options)]
    if given:
        if any(_HARMFUL_CODE.search(word) for word in args.words):
            yield Danger("ask", "runs code that starts programs, removes files or reaches the network")
        if not all(command.literal):
            downloads = any(each.name in DOWNLOADERS for each in command.inner)
            yield Danger("deny" if downloads else "ask", "runs code that is only worked out when it runs")
    elif not [word for word in args.operands if word != "-"] and "-m" not in args.options:
        if not command.fed_by and not command.redirections:
            return
        if any(each.name in DOWNLOADERS for each in command.fed_by):
            yield Danger("deny", "runs what it has just downloaded, unseen")
        code = known_input(command)
        if code is None and (command.fed_by or any(each.operator == "<" for each in command.redirections)):
            yield Danger("ask", "runs code that nobody has seen")
        elif code is not None and _HARMFUL_CODE.search(code):
            yield Danger("ask", "runs code that starts programs, removes files or reaches the network")
    if any(each.name in DOWNLOADERS for each in command.inner) and any(word.startswith("<(") for word in args.words):
        yield Danger("deny", "runs what it has just downloaded, unseen")


def _sends(args: Args) -> Iterator[Danger]:
    command = args.command
    sources = (*command.fed_by, *command.inner)
    told = any(each.name in _TELLS_SECRETS and len(each.words) == 1 for each in sources)
    files = any(is_secret(word) for each in sources for word in (*each.plain[1:], *_read(each)))
    named = any(_SECRET_NAME.search(word) for each in (command, *command.fed_by) for word in each.plain)
    if told or files or (named and command.fed_by):
        yield Danger("deny", "sends keys or passwords to another machine")
    whole_files = any(re.match(r"(.*=)?@(/etc/|~|\$HOME|/home/|/root/)", word) for word in args.words)
    if whole_files or any(word.startswith(("--post-file", "--body-file")) for word in args.words):
        yield Danger("ask", "sends a file to another machine")


def _read(command: SimpleCommand) -> Iterator[str]:
    return (each.target for each in command.redirections if each.operator == "<")


def whole(script: Script) -> Iterator[tuple[str, Danger]]:
    """What is dangerous about a command line as a whole; with the part that shows it."""
    for name in script.functions:
        calls = [each for each in script.commands if each.name == name and f"{name}()" in each.via]
        if len(calls) > 1 or any(each.fed_by for each in calls):
            yield f"{name}()", Danger("deny", "is a function that multiplies itself without an end")
        elif calls:
            yield f"{name}()", Danger("ask", "is a function that calls itself")
        elif name in _COMMON:
            yield f"{name}()", Danger("ask", "gives a command another meaning")
    if _in_circles(script):
        yield "; ".join(script.functions), Danger("ask", "are functions that call each other without an end")
    if script.spawns_in_loop:
        yield "&", Danger("ask", "starts programs in a loop and waits for none of them")
    for assignment in script.assignments:
        if _POWERFUL.fullmatch(assignment.name) or (
            assignment.name.upper() == "PYTHONPATH" and assignment.value.startswith(("/tmp", "http"))  # noqa: S108
        ):
            yield f"{assignment.name}=", Danger("ask", "changes which programs run, or how")
    yield from _downloaded_and_run(script)


def _in_circles(script: Script) -> bool:
    names = set(script.functions)
    calls = {
        name: {each.name for each in script.commands if f"{name}()" in each.via} & names - {name} for name in names
    }
    for start in names:
        seen: set[str] = set()
        waiting = set(calls[start])
        while waiting:
            each = waiting.pop()
            if each not in seen:
                seen.add(each)
                waiting |= calls[each]
        if start in seen:
            return True
    return False


def _downloaded_and_run(script: Script) -> Iterator[tuple[str, Danger]]:
    """`curl -o x url; sh x`, in two steps what `curl url | sh` is in one."""
    saved: set[str] = set()
    for command in script.commands:
        args = Args(command)
        if command.name in DOWNLOADERS or any(each.name in DOWNLOADERS for each in command.fed_by):
            targets = [args.value("-o", "--output"), args.value("-O", "--output-document")]
            targets += [each.target for each in command.redirections if each.writes]
            targets += [word for word in args.operands if "/" in word or command.name == "tee"]
            saved |= {target.rsplit("/", 1)[-1] for target in targets if target}
            continue
        base = re.sub(r"[\d.]+$", "", command.name)
        runs = command.words[0] if "/" in command.words[0] else ""
        if command.name in SHELLS or base in _INTERPRETERS or command.name in (".", "source"):
            runs = args.operands[0] if args.operands else next(_read(command), "")
        if runs and runs.rsplit("/", 1)[-1] in saved:
            yield command.source, Danger("deny", "runs what it has just downloaded, unseen")
