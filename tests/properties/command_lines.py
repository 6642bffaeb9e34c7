"""
Command lines by the thousand, in every form that bash knows, each with the name of the stand-in somewhere in it.

The same seed gives the same lines. A line need not make sense, and need not even be a command line: what matters is
whether bash and the reader agree on what it starts. Nothing here blocks, sleeps, signals or loops without an end.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

__all__ = ["STAND_IN", "command_lines"]

STAND_IN = "zap"

_NAMES = ("a", "b", "i", "x_1", "A", "NODE_ENV", "IFS", "PS4", "fd")
_NUMBERS = ("0", "1", "2", "3", "42")
_HARMLESS = ("true", ":", "echo", "printf %s", "echo -n", "cat", "test -n", "false", "[ x ]", "pwd")
_PLAIN = (
    "a",
    "b",
    "1",
    "x=1",
    "-n",
    "--",
    "-",
    "a-b",
    "./x",
    "y.txt",
    "a=b",
    "{}",
    "%s",
    "+",
    "@",
    "=",
    "ü",
    "a:b",
    "}",
    "]",
    "[",
    "!",
)
_FILES = ("/dev/null", "out", "/dev/null", "./out", '"out"', "$a", "'o t'", "/dev/fd/2")
_BLANKS = (" ", " ", " ", " ", " ", "  ", "\t", " \\\n", "\\\n ", " \\\n ")
_ODD = (
    "\r",
    "\u00a0",
    "\u2003",
    "\f",
    "\v",
    "\\",
    "#",
    "'",
    '"',
    "`",
    "$",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "!",
    "\n",
    ";",
    "&",
    "|",
    "<",
    ">",
    "=",
    "+=",
    "\\\n",
    "~",
    "*",
    "?",
    ",",
    "..",
    "-",
    "^",
    "%",
    "@",
)
_KEYWORDS = (
    "if",
    "then",
    "elif",
    "else",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "while",
    "until",
    "case",
    "esac",
    "select",
    "function",
    "time",
    "coproc",
    "{",
    "}",
    "!",
    "[[",
    "]]",
    "((",
    "))",
    "(",
    ")",
    ";;",
    ";&",
    "time -p",
    "time --",
    "! !",
)
_OPERATORS = (
    ">",
    ">",
    "<",
    ">>",
    ">|",
    "<>",
    ">&",
    "<&",
    "&>",
    "&>>",
    "2>",
    "1>&",
    "0<",
    "3<>",
    "2>>",
    "{fd}>",
    "{fd}>",
    "{a}<",
    "{fd}>>",
    "{x_1}<>",
    "{fd}>&",
    "{a[0]}>",
    "12>",
)
_SETTINGS = (
    "set -e",
    "set -k",
    "set -f",
    "set -B",
    "set +B",
    "set -o posix",
    "shopt -s extglob",
    "shopt -s expand_aliases",
    "shopt -u extglob",
    "set -a",
    "shopt -s lastpipe",
    "set -x",
    "set -v",
    "set -u",
    "set -n",
    "set --",
    "set -- {0}",
    "shopt -s nullglob",
)
_PLACES = (
    "{0}; {1}",
    "{0} {1}",
    "{0}\n{1}",
    "{0}&{1}",
    "{0}{1}",
    "{0} | {1}",
    "{0} # {1}",
    "{0} {1} x",
    "{0} '{1}'",
    "{1}={0}",
    "echo {1}; {0}",
)
_TOKEN = re.compile(r"\s+|[A-Za-z0-9_./-]+|'[^']*'|\"[^\"]*\"|[<>&|;]+|.", re.DOTALL)


def command_lines(seed: int, real: Sequence[str] = ()) -> Iterator[str]:
    """
    Yield lines without an end.

    Args:
        seed: What decides on all of them.
        real: Lines as people write them, of which some are taken, changed and given the stand-in.
    """
    draw = random.Random(seed)  # noqa: S311 -- what is wanted is the same numbers again
    lines = _Lines(draw)
    while True:
        at = draw.random()
        if real and at < 0.15:
            line = _spliced(draw, draw.choice(real), lines)
        else:
            line = lines.script(draw.choice((1, 1, 2, 2, 3)))
            if at < 0.4:
                line = _mutated(draw, line)
        if STAND_IN not in line:
            line = draw.choice(_PLACES).replace("{0}", line).replace("{1}", STAND_IN)
        elif draw.random() < 0.85:
            line = _with_one(draw, line)
        yield line


def _with_one(draw: random.Random, line: str) -> str:
    """Leave one stand-in in the line: two would hide each other, as one that is seen stops the line."""
    pieces = line.split(STAND_IN)
    at = draw.randrange(1, len(pieces))
    return "pwd".join(pieces[:at]) + STAND_IN + "pwd".join(pieces[at:])


def _spliced(draw: random.Random, line: str, lines: _Lines) -> str:
    """Put the stand-in, or something odd, between or in place of the tokens of a real line."""
    tokens = _TOKEN.findall(line)
    for _ in range(draw.choice((1, 1, 2, 3))):
        at = draw.randrange(len(tokens) + 1)
        piece = draw.choice(
            (
                STAND_IN,
                lambda: lines.simple(1),
                lambda: draw.choice(_ODD),
                lambda: lines.redirection(1),
                lambda: lines.word(1),
                lambda: draw.choice(_KEYWORDS),
            )
        )
        text = piece if isinstance(piece, str) else piece()
        if draw.random() < 0.5:
            text = f" {text} "
        tokens[at : at + draw.choice((0, 0, 1))] = [text]
    return "".join(tokens)


def _mutated(draw: random.Random, line: str) -> str:
    """Delete, double, swap or insert a token or two."""
    tokens = _TOKEN.findall(line)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        if not tokens:
            break
        at = draw.randrange(len(tokens))
        what = draw.randrange(6)
        if what == 0:
            del tokens[at]
        elif what == 1:
            tokens.insert(at, tokens[at])
        elif what == 2:
            other = draw.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif what == 3:
            tokens.insert(at, draw.choice(_ODD))
        elif what == 4:
            tokens.insert(at, f" {draw.choice(_KEYWORDS)} ")
        else:
            cut = draw.randrange(len(tokens[at]) + 1)
            tokens[at] = tokens[at][:cut] + draw.choice(_ODD) + tokens[at][cut:]
    return "".join(tokens)


class _Lines:
    """The grammar: every method returns a piece of a line, and *depth* bounds how deep it nests."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._one = draw.choice
        self._chance = draw.random

    def script(self, depth: int) -> str:
        text = self.statement(depth)
        while self._chance() < 0.25:
            text += self._one(
                (
                    "; ",
                    ";",
                    "\n",
                    " && ",
                    " || ",
                    " | ",
                    "&",
                    " & ",
                    "|&",
                    "\n\n",
                    " ;",
                    ";\\\n",
                    " |\n",
                    "&&\n",
                    " # x\n",
                    ";#x\n",
                    "\r\n",
                )
            ) + self.statement(depth)
        if self._chance() < 0.1:
            text += self._one((";", "\n", " &", " #", " # " + STAND_IN, "#", "\\\n", " \\\n#" + STAND_IN, "\r", ";#"))
        return text

    def statement(self, depth: int) -> str:
        at = self._chance()
        if depth <= 0 or at < 0.55:
            return self.simple(depth)
        if at < 0.75:
            return self.compound(depth - 1)
        if at < 0.87:
            return self.wrapped(depth - 1)
        if at < 0.95:
            return self.evaluated(depth - 1)
        return (
            self._one(_SETTINGS).replace("{0}", self.word(1))
            + self._one(("; ", "\n", " && ", " "))
            + self.statement(depth - 1)
        )

    def simple(self, depth: int) -> str:
        """Assignments, redirections and words in any order, with a command of some kind."""
        parts = []
        while self._chance() < 0.4:
            parts.append(self.assignment(depth) if self._chance() < 0.6 else self.redirection(depth))
        if self._chance() < 0.12:
            parts.insert(
                0,
                self._one(
                    (
                        "time",
                        "time -p",
                        "!",
                        "coproc",
                        "time --",
                        "time -p --",
                        "! time",
                        "time !",
                        "coproc a",
                        "exec",
                        "command",
                        "builtin",
                        "command -p",
                        "command --",
                        "exec -a x",
                        "exec -c",
                        "-p",
                        "--",
                    )
                ),
            )
        if self._chance() < 0.93:
            parts.append(self.name(depth))
        while self._chance() < 0.5:
            at = self._chance()
            parts.append(
                self.redirection(depth) if at < 0.25 else self.assignment(depth) if at < 0.35 else self.word(depth)
            )
        text = ""
        for part in parts:
            text += (self._one(_BLANKS) if text else "") + part
        return text + self._tail(parts)

    def _tail(self, parts: list[str]) -> str:
        """A here-document's body, where one was begun."""
        bodies = ""
        for part in parts:
            for found in re.finditer(r"<<(-?)\s*(['\"\\]?)(E\w*)", part):
                line = self._one(
                    (
                        STAND_IN,
                        f"$({STAND_IN})",
                        f"`{STAND_IN}`",
                        "x",
                        "$a",
                        f"\\$({STAND_IN})",
                        "EOF x",
                        " E",
                        "\\",
                        f"${{a:-{STAND_IN}}}",
                        "a\\",
                    )
                )
                end = self._one(
                    (found[3], found[3], found[3], found[3], "\t" + found[3], found[3] + " ", " " + found[3], "")
                )
                bodies += f"\n{line}\n{end}"
        if bodies:
            bodies += self._one(("", "\n" + STAND_IN, "\n:", ";" + STAND_IN, "\n"))
        return bodies

    def name(self, depth: int) -> str:
        """The first word of a command: the stand-in half of the time."""
        if self._chance() < 0.35:
            return self.disguised() if self._chance() < 0.3 else STAND_IN
        return self._one(_HARMLESS)

    def disguised(self) -> str:
        """The stand-in's name in other letters."""
        a, b, c = STAND_IN
        return self._one(
            (
                f"{a}''{b}{c}",
                f'"{a}{b}{c}"',
                f"'{STAND_IN}'",
                f"\\{STAND_IN}",
                f"{a}\\\n{b}{c}",
                f"$'\\x7aap'",
                f'{a}"{b}"{c}',
                f"./{STAND_IN}",
                f'$"{STAND_IN}"',
                f"$'z'ap",
                f"{a}{b}{c}$b",
                f"${{b}}{STAND_IN}",
                f"{{{STAND_IN},}}",
                f"$(echo {STAND_IN})",
                f"`echo {STAND_IN}`",
                f"$'{STAND_IN}\\0x'",
                f"z[a]p",
                f"/???/{STAND_IN}",
                f"${{a:-{STAND_IN}}}",
                f"{STAND_IN}\\\n",
                f'"{STAND_IN}"\\\n',
                f"$'\\172ap'",
                f"z$'\\141'p",
                f"$b{STAND_IN}",
                f"${STAND_IN}",
            )
        )

    def word(self, depth: int) -> str:
        at = self._chance()
        if at < 0.3:
            return self._one(_PLAIN)
        if at < 0.4:
            return STAND_IN
        if at < 0.6 or depth <= 0:
            return self.quoted()
        if at < 0.93:
            return self.expansion(depth - 1)
        return self.word(depth - 1) + self.word(depth - 1)

    def quoted(self) -> str:
        text = self._one(
            (
                STAND_IN,
                f"a; {STAND_IN}",
                f"$({STAND_IN})",
                "a b",
                "#",
                f"`{STAND_IN}`",
                f"; {STAND_IN} ;",
                "\\",
                "$a",
                f"\n{STAND_IN}\n",
                "",
                "!",
                "((",
                "EOF",
            )
        )
        return (
            self._one(
                (
                    "'{}'",
                    '"{}"',
                    "$'{}'",
                    '$"{}"',
                    "\\{}",
                    "{}",
                    "'{}'x",
                    "'{}",
                    '"{}',
                    "''{}",
                    "$'\\'{}'",
                    '"\\"{}"',
                    '"\'"{}"\'"',
                    "'\\'{}",
                    "\\'{}\\'",
                    '"${{a}}{}"',
                    "\"$(echo '{}')\"",
                    "'{}'\\''{}'",
                )
            ).format(text, text)
            if text
            else "''"
        )

    def expansion(self, depth: int) -> str:
        one, inner = self._one, lambda: self.script(depth)
        name = one(_NAMES)
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"$({inner()})",
            lambda: f"$( {inner()}\n)",
            lambda: f"`{inner()}`",
            lambda: f"`echo \\`{STAND_IN}\\``",
            lambda: f'"$({inner()})"',
            lambda: f'"`{inner()}`"',
            lambda: f"<({inner()})",
            lambda: f">({inner()})",
            lambda: f"${{{name}:-{self.word(depth)}}}",
            lambda: f'"${{{name}:-{self.word(depth)}}}"',
            lambda: (
                f"${{{name}{one((':=', '=', '-', '+', ':+', '?', '#', '%', '##', '//a/', '/a/', '^', ',,', ':', '@'))}{one((STAND_IN, '$(' + STAND_IN + ')', 'x', '1', '`' + STAND_IN + '`', 'P', 'Q', 'a[$(' + STAND_IN + ')]', '}'))}}}"
            ),
            lambda: f"${{!{name}}}",
            lambda: f"${{!{name}*}}",
            lambda: f"${{#{name}}}",
            lambda: f"${{{name}[{one(('0', '@', '$(' + STAND_IN + ')', 'b', 'i', '$i'))}]}}",
            lambda: f"${{{name}@{one('PQEAaKUuL')}}}",
            lambda: f"${name}",
            lambda: f'"${name}"',
            lambda: (
                f"$(({one(('1+1', 'a', 'i++', '$a', 'a[$(' + STAND_IN + ')]', '$(' + STAND_IN + ')', 'a[b]', '`' + STAND_IN + '`', '1<<2', '(1)', 'a=b'))}))"
            ),
            lambda: f"$[{one(('1+1', '$(' + STAND_IN + ')', 'a'))}]",
            lambda: f"{{{one((STAND_IN, 'a'))},{one(('b', STAND_IN, '', '$a'))}}}",
            lambda: f"{{{one(('1..3', 'a..c', '1..2..1'))}}}",
            lambda: one(
                (
                    "~",
                    "~/x",
                    "~+",
                    "~root",
                    "a=~",
                    "*",
                    "?ap",
                    "z*",
                    "[z]ap",
                    "!(x)",
                    "@(a|b)",
                    "+(x)",
                    "?(zap)",
                    "*(x;zap)",
                )
            ),
            lambda: one(
                (
                    "$@",
                    '"$@"',
                    "$*",
                    "$?",
                    "$#",
                    "$!",
                    "$$",
                    "$-",
                    "$0",
                    "$1",
                    "${10}",
                    "${@}",
                    "${#}",
                    "${##}",
                    "${$}",
                    "${-}",
                )
            ),
        )
        return one(forms)()

    def assignment(self, depth: int) -> str:
        name = self._one(_NAMES)
        target = self._one(
            (
                "{0}",
                "{0}",
                "{0}",
                "{0}",
                "{0}[0]",
                "{0}[$i]",
                "{0}[b]",
                "{0}[ 1 ]",
                "{0}[$(" + STAND_IN + ")]",
                "{0}['x']",
                "{0}[;" + STAND_IN + ";]",
                "{0}-b",
                "1{0}",
                "\\{0}",
                "'{0}'",
                "{0}\\\n",
            )
        )
        sign = self._one(("=", "=", "=", "=", "+=", "=", " =", "= "))
        at = self._chance()
        if at < 0.25:
            value = self.array(depth)
        elif at < 0.6:
            value = self._one(
                (
                    "1",
                    "",
                    "x",
                    STAND_IN,
                    "'a b'",
                    f"'x[$({STAND_IN})]'",
                    f'"{STAND_IN}"',
                    "~",
                    "$b",
                    f"a[`{STAND_IN}`]",
                    f"'$({STAND_IN})'",
                )
            )
        else:
            value = self.word(depth)
        return target.replace("{0}", name) + sign + value

    def array(self, depth: int) -> str:
        inner = self._one(
            (
                "",
                "",
                "1 2",
                STAND_IN,
                "[0]=1",
                f"$({STAND_IN})",
                f"a\n{STAND_IN}\n",
                f"# {STAND_IN}\n",
                f"a;{STAND_IN}",
                "(x)",
                f"[$({STAND_IN})]=1",
                f"'{STAND_IN}'",
                "a # b\n",
                "<x",
                ">(x)",
                "[a b]=c",
                "a=1",
            )
        )
        return f"({inner})" + self._one(("", "", "", "", "#", "x", "#x", "=(1)", f"#;{STAND_IN}", "'x'"))

    def redirection(self, depth: int) -> str:
        at = self._chance()
        if at < 0.15:
            return self._one(("<<", "<<", "<<-", "2<<", "{fd}<<", "0<<-")) + self._one(
                ("EOF", "EOF", "'EOF'", '"EOF"', "\\EOF", " EOF", 'E"O"F', "E$a", "EOF\\\n", "E'OF'")
            )
        if at < 0.25:
            return self._one(("<<<", "<<< ", "2<<<", "{fd}<<<")) + self.word(depth)
        if at < 0.32:
            return self._one(
                (
                    ">&-",
                    "<&-",
                    "2>&1",
                    "2>&-",
                    "1>&2",
                    ">&2",
                    "{fd}>&-",
                    ">&1-",
                    ">& -",
                    "2>& 1",
                    f">&-{STAND_IN}",
                    f"<&-{STAND_IN}",
                    f"2>&1{STAND_IN}",
                    ">&$a",
                    "<&3-",
                )
            )
        target = self._one(_FILES) if self._chance() < 0.8 else self.word(depth)
        return self._one(_OPERATORS) + self._one(("", "", " ", "\\\n")) + target

    def compound(self, depth: int) -> str:
        one, body = self._one, lambda: self.script(depth)
        name = one(_NAMES)
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"if {body()}; then {body()}; fi",
            lambda: f"if {body()}\nthen {body()}\nelif {body()}; then :; else {body()}\nfi",
            lambda: f"for {name} in {self.word(depth)} {self.word(depth)}; do {body()}; done",
            lambda: f"for {name} in {STAND_IN}; do ${name}; done",
            lambda: f"for {name}; do {body()}; done",
            lambda: f"for {name} in 1\ndo {body()}\ndone",
            lambda: f"for {name} in 1; {{ {body()}; }}",
            lambda: f"for ((i=0;i<1;i++)); do {body()}; done",
            lambda: f"for ((i=0; i<{one(('1', '$(' + STAND_IN + ')', 'a', '1;' + STAND_IN))}; i++)) {{ {body()}; }}",
            lambda: f"while {one(('false', '! true', 'read a', '((0))', '[[ -z x ]]'))}; do {body()}; done",
            lambda: f"until {one(('true', STAND_IN + '; true', ':'))}; do {body()}; done",
            lambda: f"select {name} in 1 2; do {body()}; break; done",
            lambda: (
                f"case {self.word(depth)} in {one(('a', '*', '(a)', 'a|b', STAND_IN, '[a-z]*', chr(34) + 'a' + chr(34), 'esac', '$(' + STAND_IN + ')', 'a;' + STAND_IN, '@(a|b)', 'if', '#'))}) {body()};; {one(('', '*) ' + STAND_IN + ';;', '(b) :;&', 'c) ;;&'))} esac"
            ),
            lambda: f"case x in\n*)\n{body()}\n;;\nesac",
            lambda: f"{{ {body()}; }}",
            lambda: f"{{ {body()}\n}}",
            lambda: f"({body()})",
            lambda: f"( {body()} )",
            lambda: (
                f"(({one(('1', 'a', 'a=1', 'i++', '$a', 'a[$(' + STAND_IN + ')]', '$(' + STAND_IN + ')', STAND_IN, '1); ' + STAND_IN + '; (1', 'a[b]', chr(39) + STAND_IN + chr(39), '1 # x'))}))"
            ),
            lambda: f"[[ {self.condition(depth)} ]]",
            lambda: f"[ {self.word(depth)} {one(('=', '==', '-eq', '<', '>', '-a', '-lt'))} {self.word(depth)} ]",
            lambda: f"f() {{ {body()}; }}{one(('', '; f', chr(10) + 'f'))}",
            lambda: f"function f {{ {body()}; }}; f",
            lambda: f"function f() {{ {body()}; }}; f {self.word(depth)}",
            lambda: f"f () ( {body()} ); f",
            lambda: f"{one(('true', 'echo', 'f', STAND_IN))}() {{ {body()}; }}; {one(('true', 'echo', 'f'))} x",
            lambda: (
                f"f() {one(('if :; then ' + STAND_IN + '; fi', '((1))', '[[ x ]]', 'for a in 1; do ' + STAND_IN + '; done'))}; f"
            ),
            lambda: f"coproc {{ {body()}; }}",
            lambda: f"coproc {name} {{ {body()}; }}",
            lambda: f"coproc {self.simple(depth)}",
            lambda: f"time {{ {body()}; }}",
            lambda: f"time ({body()})",
            lambda: f"time {self.simple(depth)}",
            lambda: f"! {self.simple(depth)}",
            lambda: f"{self.simple(depth)} | {self.simple(depth)}",
        )
        text = one(forms)()
        while self._chance() < 0.2:
            part = self.redirection(depth)
            text += one(("", " ", " ")) + part + self._tail([part])
        return text

    def condition(self, depth: int) -> str:
        one, word = self._one, lambda: self.word(depth)
        return one(
            (
                f"{word()} == {word()}",
                f"-n {word()}",
                f"{word()} =~ {one(('a', '^a(b|c)$', '$a', '(;' + STAND_IN + ')', 'a b', '[;]', chr(39) + 'x' + chr(39), 'a#', '(#'))}",
                f"{word()} -eq {word()}",
                f"! -f {word()}",
                f"( {word()} )",
                f"{word()} && {word()}",
                f"{word()} < {word()}",
                f"-v {word()}",
                f"a[$({STAND_IN})] -eq 0",
                f"x == @(a|b)",
                f"x != !(a; {STAND_IN})",
                f"{word()} ||\n{word()}",
                f"-n x # {STAND_IN}\n",
                f"x; {STAND_IN}",
                f"x ]]; {STAND_IN}; [[ x",
                f"$a -lt {word()}",
                "a -eq 1",
            )
        )

    def wrapped(self, depth: int) -> str:
        """A program that runs the words behind it."""
        one, number = self._one, self._one(_NUMBERS)
        inner = self.simple(depth) if self._chance() < 0.6 else STAND_IN
        wrapper = one(
            (
                "env",
                "env -i",
                "env -u a",
                "env -ua",
                "env -C .",
                "env --chdir=.",
                "env --chd=.",
                "env --unset a",
                "env --uns=a",
                "env -",
                "env --",
                "env -v",
                "env a=1",
                "env a-b=1",
                "env =1",
                "env a[0]=1",
                "env 1=2",
                "env -iv",
                "env -iC .",
                "env --ign",
                "env --block-signal=INT",
                "env --default-signal",
                "env --split-string=",
                "env -S",
                "env -vS",
                "env -iS",
                "env --split",
                "env --s",
                "env -S -i",
                "env -",
                "env - a=b",
                "env -u a -u b",
                "env -0",
                "env -a x",
                "env --argv0=x",
                "env --arg x",
                "nice",
                "nice -n 1",
                "nice -n1",
                "nice -1",
                "nice --adjustment=1",
                "nice --adj 1",
                "nice --adj=1",
                "nice -n 1 --",
                "nice -",
                "nice -n +1",
                "nice --",
                "nohup",
                "nohup --",
                "setsid",
                "setsid -w",
                "setsid -f",
                "setsid --wa",
                "setsid -cw",
                "setsid --",
                f"timeout 5",
                "timeout -k 1 5",
                "timeout -k1 5",
                "timeout --sig=9 5",
                "timeout --signal 9 5",
                "timeout -s 9 5",
                "timeout -vs9 5",
                "timeout --kill-a=1 5",
                "timeout --kill-after 1 5",
                "timeout --fore 5",
                "timeout --pres 5s",
                "timeout -- 5",
                "timeout --verb .5m",
                "timeout -v -- 1",
                "stdbuf -oL",
                "stdbuf -o L",
                "stdbuf -o0 -e L",
                "stdbuf --output=L",
                "stdbuf --out L",
                "stdbuf --inp=L",
                "stdbuf -i0 --",
                "ionice",
                "ionice -c 3",
                "ionice -c3",
                "ionice -t -c 2 -n 1",
                "ionice --class 3",
                "ionice --cla=3",
                "ionice -tc3",
                "chrt -o 0",
                "chrt --other 0",
                "chrt -b 0",
                "chrt --oth 0",
                "chrt -v -o 0",
                "chrt -T 1 -o 0",
                "taskset 1",
                "taskset -c 0",
                "taskset --cpu-list 0",
                "taskset --cpu 0",
                "taskset -ac 0",
                "exec",
                "exec -a x",
                "exec -c",
                "exec -cl",
                "exec -la x",
                "exec --",
                "command",
                "command -p",
                "command --",
                "command -p --",
                "builtin",
                "builtin command",
                "builtin --",
                "builtin eval",
                "command eval",
                "command exec",
                "xargs",
                "xargs -n 1",
                "xargs -I{}",
                "xargs -I {}",
                "xargs -0",
                "xargs -r",
                "xargs -i",
                "xargs -l",
                "xargs -e",
                "xargs -P2",
                "xargs --max-args=1",
                "xargs --max-a 1",
                "xargs --rep",
                "xargs --replace={}",
                "xargs -d x",
                "xargs -tn1",
                "xargs -a /dev/null",
                "xargs --arg-file=/dev/null",
                "xargs -E x",
                "xargs --null",
                "xargs -ix",
                "xargs -L 1",
                "xargs --no-run",
                "xargs --eof",
                "xargs --max-lines",
                "xargs --process-slot-var=a",
                "find . -maxdepth 0 -exec",
                "find . -maxdepth 0 -execdir",
                "find . -maxdepth 0 -name x -o -exec",
                "find -maxdepth 0 -ok",
                "prlimit",
                "prlimit --nofile=64",
                "prlimit -n64",
                "prlimit --cpu",
                "prlimit --nof=64",
                "unshare",
                "unshare -r",
                "unshare --map",
                "setpriv",
                "setpriv --no-new-privs",
                "setpriv --nnp",
                "setpriv --clear-groups",
                "flock /dev/null",
                "flock -n /dev/null",
                "flock -w 1 /dev/null",
                "flock -nx out",
                "flock --wait 1 out",
                "flock --tim 1 out",
                "time -p",
                "time",
                "command time",
                "bash -c",
                "sh -c",
                "bash -ec",
                "bash --norc -c",
                "bash -o errexit -c",
                "bash +e -c",
                "bash -O extglob -c",
                "eval",
                "eval --",
                "bash -ceu",
                "bash -c --",
                "bash -- ",
                "bash -s",
                "bash -s x",
                "sh -s --",
                "choom -n 0",
                "choom -n 0 --",
                "script -qc",
                "script -q /dev/null -c",
                "script --com",
                "script -c",
                "choom --adj 0 --",
                "runcon",
                "nsenter",
                "uclampset",
                "chroot .",
                "chroot --skip .",
                "setarch",
                "setarch -R",
                "linux64",
                "setarch x86_64",
                "i386",
                "x86_64 -R",
                "cat |",
                "nice nice",
                "env env",
                "busybox",
            )
        )
        if re.search(r"-c$|-ec$|eval|-S$|--split|--com$|--s$|-ceu|--split-string=$", wrapper):
            inner = one(("'{}'", '"{}"', "{}", "'{}' x", "\\{}", "$'{}'")).replace("{}", inner)
            if wrapper.endswith("=") or (wrapper.endswith("S") and self._chance() < 0.5):
                return wrapper + inner
        text = f"{wrapper}{one(_BLANKS)}{inner}"
        if wrapper.startswith("find"):
            text += one((" \\;", " ';'", " {} +", " {} \\;", ""))
        if wrapper.startswith(("xargs", "bash -s", "sh -s")):
            text += one((" < /dev/null", " <<< x", f" <<< {STAND_IN}", f" <<< '{STAND_IN}; :'", ""))
            text = one(("", "", "", f"echo {STAND_IN} | ", "echo x | ", f"printf '{STAND_IN}\\n' | ")) + text
        return text

    def evaluated(self, depth: int) -> str:
        """Builtins and habits that make a command of a text."""
        one, word, name = self._one, lambda: self.word(depth), self._one(_NAMES)
        quoted = one(
            (
                STAND_IN,
                f"'{STAND_IN}'",
                f"'x; {STAND_IN}'",
                f'"{STAND_IN}"',
                f"'$({STAND_IN})'",
                f"'a[$({STAND_IN})]'",
                f"\\`{STAND_IN}\\`",
                f"'{self.simple(0)}'",
            )
        )
        return one(
            (
                f"eval {quoted}",
                f"eval a {quoted}",
                f"eval {word()}",
                f"trap {quoted} EXIT",
                f"trap {quoted} DEBUG; :",
                f"trap -- {quoted} 0",
                f"trap {word()} ERR; false",
                f"a={quoted}; $a",
                f"a={quoted}; eval $a",
                f'a={quoted}; "$a"',
                f"a={quoted}; ((a))",
                f"a={quoted}; echo $((a))",
                f"a={quoted}; [[ $a -eq 0 ]]",
                f"a={quoted}; [[ a -eq 0 ]]",
                f"a={quoted}; let a",
                f"a={quoted}; let b=a",
                f"a={quoted}; declare -i b=a",
                f"a={quoted}; echo ${{!a}}",
                f"a={quoted}; echo ${{b:a}}",
                f"a={quoted}; echo ${{b[a]}}",
                f"a={quoted}; b[a]=1",
                f"a={quoted}; test -v $a",
                f"a={quoted}; [[ -v $a ]]",
                f'a={quoted}; [ -v "$a" ]',
                f"a={quoted}; unset $a",
                f"a={quoted}; printf -v $a x",
                f"a={quoted}; read $a <<< x",
                f"a={quoted}; ${{a@P}}",
                f"a={quoted}; echo ${{a@P}}",
                f"a={quoted} env a",
                f"a={quoted}; export $a=1",
                f"a={quoted}; wait -n -p $a",
                f"a={quoted}; : ${{b:$a}}",
                f"a={quoted}; declare -n b=a; ((b))",
                f"read a <<< {quoted}; ((a))",
                f"read a <<EOF\na[\\$({STAND_IN})]\nEOF\necho $((a))",
                f"for a in {quoted}; do ((a)); done",
                f"set -- {quoted}; (($1))",
                f"set -- {quoted}; $1",
                f"set -- {quoted}; $*",
                f"a=({quoted}); ${{a[0]}}",
                f'a=({quoted}); "${{a[@]}}"',
                f"mapfile a <<< {quoted}; ((a))",
                f"printf -v a %s {quoted}; ((a))",
                f"a={quoted}; b=$a; ((b))",
                f"a+={quoted}; ((a))",
                f"a={quoted}; for ((i=a;i<1;i++)); do :; done",
                f"declare a={quoted}; ((a))",
                f"export a={quoted}; bash -c '((a))'",
                f"a={quoted}; return $a",
                f"a={quoted}; shift $a",
                f"a={quoted}; printf %d $a",
                f"a={quoted}; ulimit -n $a",
                f"a={quoted}; a=1 b=$a; ((b))",
                f"a='x[\\$' b='({STAND_IN})]'; c=$a$b; ((c))",
                f"a=$(echo {quoted}); ((a))",
                f"let a={quoted}",
                f"let {quoted}",
                f"declare -i a={quoted}",
                f"declare -a a='([0]=$({STAND_IN}))'",
                f"declare a[{quoted}]=1",
                f"unset {quoted}",
                f"test -v {quoted}",
                f"[ -v {quoted} ]",
                f"[[ -v {quoted} ]]",
                f"printf -v {quoted} x",
                f"read {quoted} <<< 1",
                f"[[ {quoted} -eq 0 ]]",
                f"mapfile -C {quoted} -c 1 a <<< x",
                f"mapfile -tC {quoted} -c1 b <<< x",
                f"readarray -C {STAND_IN} -c 1 <<< x",
                f"compgen -C {quoted}",
                f"compgen -W {quoted}",
                f"compgen -F {STAND_IN} x",
                f"complete -C {STAND_IN} x",
                f"enable -f ./x {STAND_IN}",
                f"hash -p /x {STAND_IN}",
                f"hash -p $(type -p {STAND_IN}) ls; ls",
                f"fc -s",
                f"bind -x {quoted}",
                f"exec {word()}",
                f"source /dev/stdin <<< {quoted}",
                f". /dev/stdin <<EOF\n{STAND_IN}\nEOF",
                f"source <(echo {quoted})",
                f". <(echo {STAND_IN})",
                f"bash <(echo {STAND_IN})",
                f"bash <<< {quoted}",
                f"bash <<EOF\n{STAND_IN}\nEOF",
                f"sh < <(echo {STAND_IN})",
                f"echo {quoted} | bash",
                f"echo {STAND_IN} | sh -",
                f"printf '{STAND_IN}' | bash -s",
                f"echo {STAND_IN} > out; . ./out",
                f"echo {STAND_IN} > out; bash out",
                f"bash < out",
                f"cat <<EOF | bash\n{STAND_IN}\nEOF",
                f"{{ echo {STAND_IN}; }} | bash",
                f"echo {STAND_IN} | tee out | sh",
                f'bash -c "$(echo {STAND_IN})"',
                f"bash -c $'{STAND_IN}'",
                f"bash -c '$0' {STAND_IN}",
                f"bash -c '\"$@\"' x {STAND_IN}",
                f"bash -c 'eval $1' x {STAND_IN}",
                f"$SHELL -c {STAND_IN}",
                f"$BASH -c {STAND_IN}",
                f"alias x={STAND_IN}\nx",
                f"shopt -s expand_aliases\nalias x={STAND_IN}\nx",
                f"shopt -s expand_aliases\nalias echo='{STAND_IN} '\necho x",
                f"BASH_ALIASES[x]={STAND_IN}; shopt -s expand_aliases\nx",
                f"PS4='$({STAND_IN})'; set -x; :",
                f"PS4='$({STAND_IN})' bash -xc :",
                f"BASH_ENV=<(echo {STAND_IN}) bash -c :",
                f"BASH_ENV='$({STAND_IN})' bash -c :",
                f"ENV='$({STAND_IN})' sh -c :",
                f"PROMPT_COMMAND={STAND_IN} bash -ic :",
                f"command_not_found_handle() {{ {STAND_IN}; }}; nope",
                f"PATH=. {STAND_IN}",
                f"PATH=.:$PATH; x",
                f"f() {STAND_IN}; f",
                f"export -f {STAND_IN}",
                f"env 'BASH_FUNC_x%%=() {{ {STAND_IN}; }}' bash -c x",
                f"enable -n echo; echo {STAND_IN}",
                f"set -k; echo a=1 {STAND_IN}",
                f'set {STAND_IN}; "$@"',
                f"getopts a {quoted}",
                f"coproc {STAND_IN}",
                f"{name}={STAND_IN} ; $" + name,
                f"_=x; $_ {STAND_IN}",
                f": {STAND_IN}; $_",
                f"echo {STAND_IN} | xargs -I@ @",
                f"echo {STAND_IN} | xargs env",
                f"echo {STAND_IN} | while read a; do $a; done",
                f"read a <<< {STAND_IN}; $a",
                f"time\n{STAND_IN}",
                f"history -s {STAND_IN}; fc -s",
                f"type {STAND_IN}",
                f"command -v {STAND_IN}",
                f"which {STAND_IN}",
                f"caller {STAND_IN}",
                f"help {STAND_IN}",
                f"type -t {STAND_IN}",
                f"let 'a[$({STAND_IN})]=1'",
                f"echo $(< {word()})",
                f"echo `< {word()}`",
                f"$(: ) {STAND_IN}",
                f"$a {STAND_IN}",
                f"`` {STAND_IN}",
                f"$() {STAND_IN}",
                f'"" {STAND_IN}',
                f"{{}} {STAND_IN}",
                f"{{,}} {STAND_IN}",
                f"{{{STAND_IN},x}}",
                f"{{echo,{STAND_IN}}}",
            )
        )
