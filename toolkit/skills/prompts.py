"""
Puts arguments into a prompt, by one literal substitution and nothing else.

`{name}` is replaced by the value if *name* is an argument. Values are not searched again, so a value that contains
`{other}` stays as it is. Everything else in braces is text: `{{name}}`, `{a.b}`, `{a[0]}`, `{a!r}`, and unknown names.
Arguments that have no place in the text are put after it, so that nothing from the caller is lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..errors import ToolError
from ..values.visible import make_visible
from .records import DEFAULT_ARGUMENT, Skill

__all__ = ["check_size", "fill_prompt", "prompt_of"]

_PLACEHOLDER = re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MAX_CHARACTERS = 1_000_000


def prompt_of(skill: Skill, values: Mapping[str, Any]) -> str:
    """Return the prompt for the model when *skill* is called with *values*."""
    texts = {name: _render_value(value) for name, value in values.items()}
    used = {name for name in _PLACEHOLDER.findall(skill.text) if name in texts}
    unused = {name: text for name, text in texts.items() if name not in used and text}
    rest = [text if name == DEFAULT_ARGUMENT.name else f"{name}: {text}" for name, text in unused.items()]
    if skill.folder is not None:
        rest.append(f"The files that belong to this are in {make_visible(str(skill.folder), keep_lines=False)}")
    return "\n\n".join([fill_prompt(skill.text, texts), *rest])


def fill_prompt(text: str, values: Mapping[str, str]) -> str:
    """Return *text* with *values* in their places. Raise `ToolError` if the result would be too long."""
    # A short text can name a long value many times.
    check_size(len(text) + sum(len(values.get(name, "")) for name in _PLACEHOLDER.findall(text)))
    return _PLACEHOLDER.sub(lambda place: values.get(place[1], place[0]), text)


def check_size(size: int) -> None:
    """Raise `ToolError` if a prompt has more characters than are allowed."""
    if size > _MAX_CHARACTERS:
        raise ToolError(f"the prompt would have {size:,} characters, and {_MAX_CHARACTERS:,} are allowed; send less")


def _render_value(value: Any) -> str:
    """Return a value as prompts show it: a string as it is, None as nothing, and every other value as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)  # a number without a fraction was most likely sent without one
    return "" if value is None else json.dumps(value, ensure_ascii=False)
