"""
Scripts for tab completion in shells. Click's own script serves fish; bash and zsh have scripts of their own here.
"""

from __future__ import annotations

import os

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

__all__ = ["SHELLS", "register_completion_classes", "script_for"]

SHELLS = {"bash": "bashline", "zsh": "zshline", "fish": "fish"}
"""The supported shells, each with the name under which click knows its completion class."""

_PROGRAM = "toolkit"
_VARIABLE = "_TOOLKIT_COMPLETE"


def script_for(shell: str, cli: click.Command) -> str:
    """Return the script that *shell* has to read to complete the commands of *cli*."""
    register_completion_classes()
    kind = get_completion_class(SHELLS[shell])
    assert kind is not None  # noqa: S101 -- click has the class for fish, and `register_completion_classes` adds the others
    return kind(cli, {}, _PROGRAM, _VARIABLE).source()


def register_completion_classes() -> None:
    """Register the completion classes for bash and zsh with click."""
    add_completion_class(_BashLine)
    add_completion_class(_ZshLine)


class _BashLine(ShellComplete):
    """
    Completion for bash, which reads the whole command line.

    Bash cuts words at `:` and `=`. Its own list of words therefore holds neither a target with the name of a catalog
    nor an argument as one word.
    """

    name = SHELLS["bash"]
    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}" response completion type value word head
    response=$(env COMP_LINE="$line" %(complete_var)s=bashline_complete "$1")
    word="${line##*[[:space:]]}"
    head="${word%%"${word##*[:=]}"}"
    COMPREPLY=()
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$head"}") ;;
        esac
    done
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    fi
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ.get("COMP_LINE", "")
        words = split_arg_string(line)[1:]
        return (words, "") if line[-1:].isspace() or not words else (words[:-1], words[-1])

    def format_completion(self, item: CompletionItem[str]) -> str:
        return f"{item.type},{item.value}"


class _ZshLine(ZshComplete):
    """
    Completion for zsh, which adds no blank after a parameter that still needs its value.

    It needs nothing else in ~/.zshrc.
    """

    name = SHELLS["zsh"]
    source_template = """\
#compdef %(prog_name)s

%(complete_func)s() {
    local -a response plain open described
    local type key help
    response=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \\
        %(complete_var)s=zshline_complete %(prog_name)s)}")
    for type key help in ${response}; do
        case $type in
            dir) _path_files -/ ;;
            file) _path_files -f ;;
            plain)
                if [[ $key == *= ]]; then
                    open+=("$key")
                elif [[ $help == _ ]]; then
                    plain+=("$key")
                else
                    described+=("$key:$help")
                fi ;;
        esac
    done
    (( $#described )) && _describe -V unsorted described -U
    (( $#plain )) && compadd -U -V unsorted -a plain
    (( $#open )) && compadd -U -V unsorted -S '' -a open
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
    compdef %(complete_func)s %(prog_name)s
fi
"""
