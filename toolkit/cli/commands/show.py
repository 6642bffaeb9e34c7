"""
`toolkit show`: show all that is known about one tool.
"""

from __future__ import annotations

import json
from typing import Any

from rich.text import Text

from ...catalogs.snapshot import describe_place, is_foreign
from ...spec import Tool
from ...values.rendering import as_json
from ...values.visible import make_visible
from ..command import subcommand, target_argument, tool_argument
from ..output import Output, to_safe_text
from ..user_extensions import open_extended_target
from .list import describe_facts
from .schema_tree import describe_type, render_schema_tree, render_signature

__all__ = ["command", "tool_to_json"]


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
    with open_extended_target(target, output, unless=name) as loaded_target:
        tool = loaded_target.catalog[name]
        if output.is_json:
            output.json(tool_to_json(tool))
            return
        output.show(render_signature(tool), Text())
        output.show(Text(make_visible(tool.description)), Text())
        output.show(render_schema_tree(to_safe_text("arguments", "bold"), tool.schema))
        if tool.output_schema is not None:
            title = Text.assemble(("result: ", "bold"), to_safe_text(describe_type(tool.output_schema), "green"))
            output.show(Text(), render_schema_tree(title, tool.output_schema))
        if tool.facts.examples:
            output.show(Text("\nexamples", "bold"))
        for example in tool.facts.examples:
            output.show(to_safe_text(f"  {json.dumps(as_json(example), ensure_ascii=False)}"))
        output.show(Text())
        for label, text in _label_facts(tool).items():
            output.show(Text.assemble((f"{label}: ", "dim"), to_safe_text(text)))


def tool_to_json(tool: Tool) -> dict[str, Any]:
    """Return *tool* as plain JSON: its definition, its examples, its origin and its place in the source code."""
    return {
        **tool.definition,
        "examples": [dict(example) for example in tool.facts.examples],
        "origin": tool.origin,
        "place": describe_place(tool),
    }


def _label_facts(tool: Tool) -> dict[str, str]:
    facts = tool.facts
    texts = {
        "facts": describe_facts(tool),
        "aliases": ", ".join(facts.aliases),
        "group": facts.group or "",
        "search hint": facts.search_hint or "",
        "version": facts.version or "",
        "origin": tool.origin if is_foreign(tool) else "",
        "from": describe_place(tool),
    }
    return {label: text for label, text in texts.items() if text}
