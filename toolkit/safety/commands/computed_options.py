"""
Options and subcommands that a line computes, and with which a program runs another one.

`x=-exec; find . $x rm {} +` runs `rm`, though no word of `find` says so. A variable that the line does not set counts
as empty or as a plain name, because the caller's environment is not written by the line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..shell.braces import expand_braces
from ..shell.evaluation import decodes_text, prints_into_variable
from ..shell.known_input import SHELLS
from ..shell.prefix_programs import PREFIXES
from ..shell.records import CannotParse, Script, SimpleCommand
from ..shell.wrappers import RUNNERS, find_wrapped_commands
from .dangers import may_choose_program
from .inline_code import language_of_program
from .variable_values import (
    FILLERS,
    collect_values,
    count_turns,
    fill_in_command,
    fill_in_turn,
    find_set_names,
    join_array,
    remove_variables,
)

__all__ = ["fill_in_defaults", "find_computed_options", "with_empty_variables"]

# Substitutions that print a number, a date, or a name that the line does not choose.
_PLAIN_SUBSTITUTION = re.compile(
    r"\$\(\([\w\s+*/%-]*\)\)|\$\(\s*(?:pwd|nproc|whoami|hostname|arch|mktemp(?: -d)?|uname(?: -[a-z]+)?|id -[a-z]+"
    r"|(?:dirname|basename|realpath|readlink -f|readlink) (?:--\s)?\"?(?:\$[\w@]+|\$\{\w+\}|0)\"?"
    r"|(?:which|command -v|wc -[clw]) [\w./]+|(?:docker|podman) ps(?: -[alq]+| (?:-f|--filter) [\w=./]+)+"
    r"|kubectl get(?: [\w./=]+| -[nl] [\w./=]+)* -o name"
    r"|git (?:rev-parse(?: --(?:abbrev-ref|short|show-toplevel|git-dir|verify))*(?: HEAD| @)?|branch --show-current"
    r"|describe(?: --(?:tags|always|dirty|abbrev=\d+))*|merge-base [\w/.]+ [\w/.]+"
    r"|ls-files|diff --name-only(?: [\w/.]+)*)"
    r"|date(?: -u)?(?: '?\"?\+(?:%[FTYmdHMSsjyzZ])(?:%[FTYmdHMSsjyzZ]|[-_:.T])*\"?'?)?"
    r")\s*(?:2>\s*/dev/null\s*)?\)"
)
_FILE_CONTENT = re.compile(r"\$\(\s*(?:cat\s+|<\s*)[\w./]+\s*\)")
_DEFAULT = re.compile(r"\$\{\w+:?[-=]((?:[^{}$`]|\$\w+|\$\{\w+\})*)\}")
_ALTERNATIVE = re.compile(r"\$\{\w+:?\+((?:[^{}$`]|\$\w+|\$\{\w+\})*)\}")
_ENDS_IN_NAME = re.compile(r"\$(\w+)\}")
# What may print any text: a substitution, another variable's value, a variable that is changed.
_SUBSTITUTES = re.compile(r"`|\$[(\[]|[<>]\(|\$\{!")
_EXPANDS = re.compile(r"[$`]|[<>]\(")
_CHANGED = re.compile(r"\$\{(\w+|[@*])(?:[^\w}\[:=+-]|:[^=+-])")
_REPLACED = re.compile(r"\$\{[^{}]*/")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_INNER_SUBSTITUTION = re.compile(r"\$\([^()]*\)|`[^`]*`")
_SUBSTITUTION = re.compile(r"\$\(.*\)", re.DOTALL)
_SPLITS = re.compile(r"\[@\]|\$@|\$\{@|\$\{!\w+@")
_SET_BY_SHELL = re.compile(r"_|REPLY|OPTARG|MAPFILE|BASH\w*|DIRSTACK|FUNCNAME")
_USED = re.compile(r"\$\{?(\w+|[@*])")
_BRACES_IN_BRACES = re.compile(r"\{[^{}]*,[^{}]*\{")
_PATTERN = re.compile(r"[*?\[]")
_OPTION_PATTERN = re.compile(r"-[^=]*[*?\[]")
_INSIDE_WORD = re.compile(r"(?<=\w)\$(?:[@*!]|\{(?:\w+|[@*!])\})(?=\w)")
_JOINED_VALUE = re.compile(r"-[A-Za-z]\$")
# With these subcommands, no option of git runs a program that the option names. Other programs take a message too.
_PLAIN_GIT = frozenset({
    "add", "blame", "branch", "checkout", "cherry-pick", "commit", "describe", "log", "ls-files", "merge", "mv",
    "reset", "restore", "rev-parse", "rm", "show", "stash", "status", "switch", "tag",
})  # fmt: skip
_WITH_MESSAGES = frozenset({"git", "gh", "hg", "svn", "jj"})
_MESSAGES = frozenset({"-m", "-am", "--message", "--body", "--title", "--notes"})
_EXEC = re.compile(r"-(?:exec|ok)(?:dir)?")
_OPTION_FILE = re.compile(r"(?:.*/)?-[^/]", re.DOTALL)


def find_computed_options(script: Script) -> Iterator[SimpleCommand]:
    """Yield the commands that may run another one because of a word that the line computes."""
    commands = [
        command
        for command in script.commands
        if (command.gets_words_from_input or not all(command.literal)) and _may_run_others(command)
    ]
    if not commands:
        return
    values = collect_values(script, are_others_empty=True)
    words = _ComputedWords(script, [name for name in values if _SUBSTITUTES.match(name)])
    for command in commands:
        places = range(1, _count_own_words(command))
        # The name of a shell's script is often computed. Only the values that the line gives to it count.
        is_any = not _is_shell(command) and any(words.may_be_option(command, at) for at in places)
        if is_any or _is_fed_computed_words(command) or _runs_unshown(command, words, values):
            yield command


def with_empty_variables(command: SimpleCommand) -> Iterator[SimpleCommand]:
    """
    Yield *command* as it is if its variables are empty: `--to-c${u}ommand=x`, `del${u}ete`.

    A word that is nothing but a variable is then no word: `awk -f $u x` runs `x`.
    """
    for texts in _with_defaults(command):
        words = [
            text if is_known else _empty_variables(text)
            for word, text, is_known in zip(command.words, texts, command.literal, strict=True)
            if is_known or remove_variables(text) or _is_word_if_empty(word)
        ]
        if words and words != list(command.plain):
            yield command.with_words(words)


def _with_defaults(command: SimpleCommand) -> Iterator[list[str]]:
    """Yield the words with the default of `${u:-x}`, and without and with the text of `${u:+x}`."""
    known = list(zip(command.plain, command.literal, strict=True))
    without = [plain if is_known else fill_in_defaults(plain, "") for plain, is_known in known]
    yield without
    with_text = [plain if is_known else fill_in_defaults(plain, r"\1") for plain, is_known in known]
    if with_text != without:
        yield with_text


def fill_in_defaults(word: str, alternative: str) -> str:
    """Return *word* with its defaults, the innermost first, and with *alternative* for `${u:+x}`."""
    before = ""
    while before != word:
        # The `$y` of `${x:-$y}e` must not look like the variable `ye`.
        word = _ENDS_IN_NAME.sub(r"${\1}}", word)
        before, word = word, _ALTERNATIVE.sub(alternative, _DEFAULT.sub(r"\1", word))
    return word


def _is_word_if_empty(word: str) -> bool:
    """Return whether *word* has quotes, and so is a word even if its variables are empty."""
    return word.startswith('"') and not _SPLITS.search(word)


def _is_quoted(word: str) -> bool:
    """Return whether *word* stands as a whole in one pair of quotes, so that it stays one word."""
    before = ""
    while before != word:
        before, word = word, _INNER_SUBSTITUTION.sub("", word)
    word = _SUBSTITUTION.sub("", word)  # one that has a parenthesis in a text, such as a here-document
    return _QUOTED.fullmatch(word) is not None and not _SPLITS.search(word)


def _empty_variables(word: str) -> str:
    word = _INSIDE_WORD.sub("", word)
    name, equals, value = word.partition("=")
    emptied = remove_variables(name)
    if emptied == name or _JOINED_VALUE.match(name) or not (emptied.startswith("-") or (equals and emptied)):
        return word
    return emptied + equals + value


def _may_run_others(command: SimpleCommand) -> bool:
    if not command.literal[0]:
        return False
    name, first = command.name, command.plain[1] if command.literal[1:2] == (True,) else ""
    if name == "git":
        return first not in _PLAIN_GIT
    if language_of_program(name) is not None:
        return not first or first.startswith("-")  # the words behind a script are for the script
    return name in RUNNERS or name in PREFIXES or may_choose_program(name) or _is_shell(command)


def _is_shell(command: SimpleCommand) -> bool:
    return command.name in SHELLS or command.name in ("source", ".")


def _count_own_words(command: SimpleCommand) -> int:
    """Return how many words of *command* are its own: the words behind `nice` or `env` are those of another command."""
    others = [part for part in find_wrapped_commands(command) if isinstance(part, SimpleCommand)]
    lengths = [len(part.words) for part in others if command.name in PREFIXES]
    return len(command.words) - max(lengths, default=0)


def _names_option_file(script: Script) -> bool:
    """Return whether the line makes a file whose name is an option, which `*` then becomes: `touch -- -x; tar c *`."""
    names = [redirection.target for redirection in script.redirections if redirection.writes]
    for command in script.commands:
        names += [word for word in command.plain[1:] if "/" in word]
        names += command.plain[command.plain.index("--") + 1 :] if "--" in command.plain else ()
    return any(map(_OPTION_FILE.match, names))


class _ComputedWords:
    """The words of a line that it computes."""

    def __init__(self, script: Script, known_outputs: Sequence[str]) -> None:
        self._known_outputs = known_outputs
        self._has_option_file = _names_option_file(script)
        # The content of a file is computed if the line may have written it, and so is all that a function prints.
        writes_file = any(redirection.writes for redirection in script.redirections)
        names_option = any(_OPTION_FILE.match(assignment.value) for assignment in script.assignments)
        self._plain = [_PLAIN_SUBSTITUTION, *([] if writes_file else [_FILE_CONTENT])]
        if self._has_option_file or names_option or script.functions:
            self._plain = []
        self._set_names = {"PWD", "OLDPWD", "@", "*", *(assignment.name for assignment in script.assignments)}
        # The variables whose values the line computes, and None if it does not show which.
        self._names: set[str | None] = set()
        for command in script.commands:
            if command.name in FILLERS or prints_into_variable(command):
                self._names.update(find_set_names(command))
            if command.name in script.functions and any(map(_SUBSTITUTES.search, command.plain)):
                self._names.update(("@", "*", *map(str, range(1, len(command.plain)))))
        for assignment in script.assignments:
            value = "" if assignment.is_literal else assignment.value
            if self._find_computed(value) or self._is_unread(value):
                self._names.add(assignment.name)

    def may_be_option(self, command: SimpleCommand, at: int) -> bool:
        """Return whether the word at this place may become any option, or several words."""
        if command.literal[at]:
            return False
        word, is_quoted = self.remove_plain(command.plain[at]), _is_quoted(command.words[at])
        is_option_file = _OPTION_PATTERN.match(word) or (self._has_option_file and _PATTERN.match(word))
        if is_option_file or (not is_quoted and _BRACES_IN_BRACES.search(word)):
            return True
        is_inside_text = not all(way.endswith("()") for way in command.nesting)  # whose parameters are given elsewhere
        first = min(self._find_computed(word, is_inside_text=is_inside_text), default=None)
        if first is None:
            return False
        if is_quoted and command.name in _WITH_MESSAGES and command.plain[at - 1] in _MESSAGES:
            return False
        if is_quoted and command.name == "find" and {";", "+"}.isdisjoint(command.plain):
            return False  # one word cannot be both the option and the sign that ends its command
        before = word[:first]
        return not is_quoted or not before or (before.startswith("-") and "=" not in before)

    def _find_computed(self, text: str, *, is_inside_text: bool = False) -> list[int]:
        """Return the places of the parts of *text* that may become any text."""
        text = self.remove_plain(text)
        for output in self._known_outputs:
            text = text.replace(output, "0")
        places = [match.start() for pattern in (_SUBSTITUTES, _REPLACED) for match in pattern.finditer(text)]
        changed = [match for match in _CHANGED.finditer(text) if match[1] in self._set_names or match[1].isdigit()]
        places += [match.start() for match in changed]
        for match in _USED.finditer(text):
            is_parameter = match[1].isdigit() or match[1] in "@*"
            is_any = is_inside_text if is_parameter else None in self._names
            if is_any or match[1] in self._names or _SET_BY_SHELL.fullmatch(match[1]):
                places.append(match.start())
        return places

    def _is_unread(self, value: str) -> bool:
        """Return whether *value* is an array with a sign in quotes that looks like an expansion: `(-x '$(')`."""
        text = remove_variables(self.remove_plain(join_array(value))) if value.startswith("(") else ""
        return _EXPANDS.search(text) is not None

    def remove_plain(self, text: str) -> str:
        """Return *text* with `0` for every substitution that prints a plain name, the innermost first."""
        before = ""
        while before != text:
            before = text
            for pattern in self._plain:
                text = pattern.sub("0", text)
        return text


def _is_fed_computed_words(command: SimpleCommand) -> bool:
    """Return whether `xargs` may add an option to *command* that the line shows only in a code, or to a `find`."""
    if not command.gets_words_from_input:
        return False
    sources = command.wrapper.fed_by if command.wrapper is not None else ()
    return any(map(decodes_text, sources)) or (command.name == "find" and _ends_nothing(command))


def _ends_nothing(command: SimpleCommand) -> bool:
    """Return whether a `;` or a `+` of `find` ends the command of no `-exec` that the line shows."""
    is_open = False
    for before, word in zip(("", *command.plain), command.plain, strict=False):
        if word == ";" or (word == "+" and before == "{}"):
            if not is_open:
                return True
            is_open = False
        else:
            is_open = is_open or _EXEC.fullmatch(word) is not None
    return False


def _runs_unshown(command: SimpleCommand, words: _ComputedWords, values: Mapping[str, Sequence[str]]) -> bool:
    """Return whether *command* runs others than those that it shows, with one of the values that the line gives."""
    shown = _count_wrapped(command)
    try:
        readings = [*fill_in_command(command, values), *_readings(command, words, values)]
        return any(_count_wrapped(reading) - shown for reading in readings)
    except CannotParse:
        return True


def _count_wrapped(command: SimpleCommand) -> Counter[str]:
    return Counter(part.name if isinstance(part, SimpleCommand) else "" for part in find_wrapped_commands(command))


def _readings(
    command: SimpleCommand, computed: _ComputedWords, values: Mapping[str, Sequence[str]]
) -> Iterator[SimpleCommand]:
    """Yield *command* with its variables filled in, its defaults and braces expanded, and other variables empty."""
    for texts in _with_defaults(command):
        for turn in range(max(1, count_turns(" ".join(texts), values))):
            words: list[str] = []
            for at, (word, text) in enumerate(zip(command.words, texts, strict=True)):
                # The shell expands braces before variables. A value may hold another variable.
                parts = [text] if command.literal[at] else expand_braces(text) or [text]
                filled = [fill_in_turn(fill_in_turn(part, values, turn), values, turn) for part in parts]
                filled = [remove_variables(computed.remove_plain(part)) for part in filled]
                if command.literal[at] or any(map(_SUBSTITUTES.search, filled)):
                    words.append(command.plain[at])
                else:
                    words += filled if _is_quoted(word) else [name for part in filled for name in part.split()]
            yield command.with_words(words)
