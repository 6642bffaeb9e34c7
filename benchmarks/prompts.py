"""
What 1,000 tools cost in a prompt: every definition, a summary with search, search alone.

And how much of each request of a run a provider's prompt cache can hold: the beginning that the next request shares.

The tools are the first thousand of `../shared/search-dev`; the tokens those of
Tekken, the tokenizer that mistral-common brings along.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import warnings
from pathlib import Path
from typing import Any

from tests.providers.prefixes import FAMILIES, converse, measure_shares
from toolkit import Catalog, Session, Tool
from toolkit.builtin import tool_search_for

DATA = Path(__file__).parents[2] / "shared" / "search-dev"
_MOST = 1000


def catalog_of(lines: list[dict[str, Any]]) -> Catalog:
    """A catalog of deferred tools, with `tool_search` in front of them."""
    catalog = Catalog()
    for number, line in enumerate(lines):
        schema = {"type": "object", "properties": line["parameters"], "required": line["required"] or []}
        name = f"{''.join(c if c.isalnum() and c.isascii() else '_' for c in line['name'])[:50]}_{number}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some of them say nothing about themselves, and that is their fault
            catalog.add(
                Tool.from_schema(
                    name if name[0].isalpha() else f"t_{name}",
                    line["description"],
                    _cleaned(schema),
                    lambda arguments: None,
                    defer=True,
                    group=line["pool"],
                )
            )
    return catalog.add(tool_search_for(catalog))


def _cleaned(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without types that are none, of which real definitions have many."""
    known = ("string", "integer", "number", "boolean", "array", "object", "null")
    properties = {
        name: {key: value for key, value in each.items() if value and (key != "type" or value in known)}
        for name, each in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def print_shared_prefixes() -> None:
    """Print how much of each request of ten turns the next one begins with, for each provider."""
    print("\nHow much of a request the next one begins with, in ten turns with a search and a result that is cut\n")
    print("| | at least | if no tool is added | tools added |\n|---|--:|--:|--:|")
    for family in FAMILIES:
        shares = measure_shares(family, asyncio.run(converse(family)))
        least, usual = min(shares).share, min(share for share, has_other_tools in shares if not has_other_tools)
        print(f"| {family} | {least:.1%} | {usual:.1%} | {sum(share.has_other_tools for share in shares)} |")


def main() -> None:
    print_shared_prefixes()
    if not DATA.exists():
        print(f"{DATA} is not there: the tokens of 1,000 definitions were not counted")
        return
    from mistral_common import __file__ as package
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    tokenizer = Tekkenizer.from_file(next((Path(package).parent / "data").glob("tekken*.json")))

    def tokens(*things: Any) -> int:
        texts = [each if isinstance(each, str) else json.dumps(each, separators=(",", ":")) for each in things]
        return sum(len(tokenizer.encode(text, bos=False, eos=False)) for text in texts)

    with gzip.open(DATA / "tools.jsonl.gz", "rt") as file:
        lines = [json.loads(line) for _, line in zip(range(_MOST), file, strict=False)]
    catalog, session = catalog_of(lines), Session()
    every = [_for_a_model(each) for each in catalog.definitions(deferred=True)]
    offered = [_for_a_model(each) for each in catalog.definitions(session=session)]
    eager = tokens(every)
    rows = [
        ("every definition", eager),
        ("tool_search and a summary of at most 1,000 tokens", tokens(offered, catalog.summary(max_tokens=1000))),
        ("tool_search alone", tokens(offered)),
    ]
    print(f"\nTokens of {len(catalog) - 1:,} tools (Tekken of mistral-common)\n")
    print("| | tokens | of every definition |\n|---|--:|--:|")
    for what, count in rows:
        print(f"| {what} | {count:,} | {count / eager:.3f} |")


def _for_a_model(definition: Any) -> dict[str, Any]:
    return {key: definition[key] for key in ("name", "description", "input_schema")}


if __name__ == "__main__":
    main()
