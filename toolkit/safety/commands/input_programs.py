"""
Programs that run commands in a language of their own, from standard input or from a file: `psql`, `gdb`, `make`.

Most of these languages can start other programs. Interpreters and shells are not here, because their rules are
stricter: `inline_code` and `data_flows` have them.
"""

from __future__ import annotations

from ..shell.known_input import is_standard_input
from .inline_code import AWKS
from .options import Args
from .project_files import MAKES

__all__ = ["READ_SCRIPTS", "SCRIPT_OPERANDS", "reads_commands"]

READ_SCRIPTS = {
    **dict.fromkeys(MAKES, "-f --file --makefile"),
    **dict.fromkeys(AWKS, "-f --file -E --exec -i --include"),
    "sed": "-f --file", "gdb": "-x --command", "vim": "-S -s -u", "nvim": "-S -s -u", "expect": "-f", "at": "-f",
    "psql": "-f --file", "sqlite3": "-init", "dc": "-f --file", "sftp": "-b", "lftp": "-f",
    **dict.fromkeys(("mariadb", "duckdb", "lldb", "view", "sqlite"), ""),
    "nano": "-f --rcfile", "mutt": "-F", "mg": "-b", "maxima": "-b --batch", "lynx": "-cmd_script", "gnuplot": "-c",
    "just": "-f --justfile", "crontab": "", "ed": "", "ex": "", "vi": "", "bc": "", "m4": "", "mysql": "",
}  # fmt: skip
"""The options with which a program reads its commands from a file."""

SCRIPT_OPERANDS = frozenset({
    "expect", "dc", "gnuplot", "lftp", "crontab", "run-parts", "java", "runghc", "runhaskell", "sbatch", "qsub", "bsub",
})  # fmt: skip
"""Programs whose operand is a file with their commands."""

_ANY = 1_000
# The options of a program that give it its commands, so that it reads none, and the number of operands that do so.
_ROWS: dict[str, tuple[str, int]] = {
    **dict.fromkeys(("psql", "usql", "pgcli"), ("-c --command -f --file", _ANY)),
    **dict.fromkeys(("mysql", "mariadb", "mycli"), ("-e --execute", _ANY)),
    **dict.fromkeys(("sqlite3", "sqlite", "duckdb"), ("-c -s -f", 2)),
    **dict.fromkeys(("hive", "beeline", "spark-sql", "impala-shell"), ("-e -f -q", _ANY)),
    **dict.fromkeys(("sqlcmd", "snowsql"), ("-Q -q -i -f --query --filename", _ANY)),
    "cqlsh": ("-e -f --execute --file", _ANY), "cockroach": ("-e --execute -f --file", _ANY),
    "db2": ("-f", 1), "sqlplus": ("", _ANY), "isql": ("", _ANY),
    "clickhouse-client": ("-q --query --queries-file", _ANY), "redis-cli": ("-x -X --eval", 1), "bq": ("", 2),
    "gdb": ("", _ANY), "lldb": ("", _ANY), "expect": ("-c -f", 1), "osascript": ("-e", 1),
    "ed": ("", _ANY), "red": ("", _ANY), "ex": ("", _ANY),
    "dc": ("-e -f --expression --file", 1), "m4": ("", 1), "gnuplot": ("-e -c", 1), "maxima": ("-b --batch -r", _ANY),
    "ftp": ("", _ANY), "tftp": ("-c", _ANY), "sftp": ("-b", _ANY), "lftp": ("-c -f", _ANY),
    "sbatch": ("--wrap", 1), "qsub": ("", 1), "bsub": ("", 1), "tmux": ("", 1), "crontab": ("-l -r -e", 1),
}  # fmt: skip


def reads_commands(args: Args) -> bool:
    """Return whether a program runs the commands in its standard input. With others on its line, it runs only those."""
    if args.command.name not in _ROWS:
        return False
    options, count = _ROWS[args.command.name]
    names_input = any(map(is_standard_input, (*args.operands, *args.values(*options.split()))))
    if names_input or args.command.gets_words_from_input:
        return True
    return len(args.operands) < count and args.options.isdisjoint(options.split())
