"""
`toolkit show`: show all that is known about one tool.
"""

from __future__ import annotations

import json
from typing import Any

from rich.text import Text

from ...catalogs.snapshot import described_place
from ...spec import Tool
from ...values.rendering import as_json
from ...values.visible import visible
from ..command import subcommand, target_argument, tool_argument
from ..output import Output, shown
from ..targets import loaded
from .list import facts_in_words
from .schema_tree import schema_tree, signature_of, type_of

__all__ = ["command", "detailed"]


@subcommand("show")
@target_argument
@tool_argument
def command(output: Output, target: str, name: str) -> None:
    """Show one tool: signature, description, schema, examples.

    NAME is a tool of TARGET, or an alias of one. Loading TARGET runs its code.

    \b
    Examples:
      toolkit show tools.py free_days
      toolkit show builtin edit
    """
    with loaded(target) as loaded_target:
        tool = loaded_target.catalog[name]
        if output.is_json:
            output.json(detailed(tool))
            return
        output.show(signature_of(tool), Text())
        output.show(Text(visible(tool.description)), Text())
        output.show(schema_tree(shown("arguments", "bold"), tool.schema))
        if tool.output_schema is not None:
            title = Text.assemble(("result: ", "bold"), shown(type_of(tool.output_schema), "green"))
            output.show(Text(), schema_tree(title, tool.output_schema))
        if tool.facts.examples:
            output.show(Text("\nexamples", "bold"))
        for example in tool.facts.examples:
            output.show(shown(f"  {json.dumps(as_json(example), ensure_ascii=False)}"))
        output.show(Text())
        for label, text in _about(tool).items():
            output.show(Text.assemble((f"{label}: ", "dim"), shown(text)))


def detailed(tool: Tool) -> dict[str, Any]:
    """Return *tool* as plain JSON: its definition, its examples, its origin and its place in the source code."""
    return {
        **tool.definition,
        "examples": [dict(example) for example in tool.facts.examples],
        "origin": tool.origin,
        "place": described_place(tool),
    }


def _about(tool: Tool) -> dict[str, str]:
    facts = tool.facts
    texts = {
        "facts": facts_in_words(tool),
        "aliases": ", ".join(facts.aliases),
        "group": facts.group or "",
        "found by": facts.search_hint or "",
        "version": facts.version or "",
        "from": described_place(tool),
    }
    return {label: text for label, text in texts.items() if text}
