"""Scripts for tab completion in shells: click's own, with what bash and zsh need besides for targets and arguments."""

from __future__ import annotations

import os

from click.shell_completion import (
    BashComplete,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

__all__ = ["SHELLS", "register_completion_classes"]


def register_completion_classes() -> None:
    """Let click use the classes for bash and zsh in place of its own."""
    for kind in SHELLS.values():
        add_completion_class(kind)


class _BashLine(BashComplete):
    """
    Completion for bash, which reads the whole command line.

    Bash cuts words at `:` and `=`. Its own list of words therefore holds neither a target with the name of a catalog
    nor an argument as one word. No blank follows a parameter that still needs its value.
    """

    source_template = f"""\
{BashComplete.source_template}
%(complete_func)s_line() {{
    local COMP_WORDS=("${{COMP_LINE:0:COMP_POINT}}")
    local word="${{COMP_WORDS[0]##*[[:space:]]}}"
    %(complete_func)s "$@"
    COMPREPLY=("${{COMPREPLY[@]#"${{word%%"${{word##*[:=]}}"}}"}}")
    if [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == *= ]]; then
        compopt -o nospace
    fi
}}
complete -o nosort -F %(complete_func)s_line %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        return (words, "") if line[-1:].isspace() or not words else (words[:-1], words[-1])


class _ZshOpenEnd(ZshComplete):
    """
    Completion for zsh, which adds no blank after a parameter that still needs its value.

    It needs nothing else in ~/.zshrc.
    """

    source_template = ZshComplete.source_template.replace(
        "compadd -U -V unsorted -a completions",
        "compadd -U -V unsorted -- ${completions:#*=}\n        compadd -U -V unsorted -S '' -- ${(M)completions:#*=}",
    ).replace(
        "    compdef ",
        "    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }\n    compdef ",
    )


SHELLS: dict[str, type[ShellComplete]] = {"bash": _BashLine, "zsh": _ZshOpenEnd, "fish": FishComplete}
"""The supported shells, each with its class."""
