"""Keep a thousand tools out of the prompt until a search finds them."""

import asyncio
import json

from toolkit import Catalog, Dispatcher, Permissions, Session, Tool
from toolkit.builtin import tool_search_for

THINGS = ["invoice", "customer", "shipment", "meeting", "ticket", "photo", "playlist", "recipe", "sensor", "contract"]
PLACES = ["archive", "mobile", "partner", "billing", "support", "warehouse", "school", "garden", "studio", "office"]
ACTIONS = {
    "create": "Create a new {thing} in the {place} system.",
    "find": "Find every {thing} of the {place} system that fits some words.",
    "update": "Change the fields of one {thing} in the {place} system.",
    "delete": "Delete one {thing} from the {place} system for good.",
    "export": "Write each {thing} of the {place} system to a spreadsheet.",
    "share": "Let somebody else see one {thing} of the {place} system.",
    "count": "Count the entries of type {thing} in the {place} system.",
    "approve": "Mark one {thing} of the {place} system as approved.",
    "print": "Send one {thing} of the {place} system to a printer.",
    "restore": "Bring back one {thing} that the {place} system has deleted.",
}
SCHEMA = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "description": "Which one: its number, or words that describe it."},
        "notify": {"type": "boolean", "description": "Whether its owner gets a message."},
    },
    "required": ["key"],
    "additionalProperties": False,
}


def thousand_tools() -> Catalog:
    """Make a catalog as a company has it: ten systems, ten kinds of things, ten actions."""
    catalog = Catalog()
    for place in PLACES:
        for thing in THINGS:
            for action, text in ACTIONS.items():
                name = f"{place}_{action}_{thing}"
                catalog.add(
                    Tool.from_schema(
                        name,
                        text.format(thing=thing, place=place),
                        SCHEMA,
                        lambda arguments, name=name: f"{name}: done with {arguments['key']}",
                        defer=True,
                        group=place,
                        read_only=action in ("find", "count"),
                        destructive=action == "delete",
                    )
                )
    return catalog.add(tool_search_for(catalog))


def tokens(*things: object) -> int:
    """Estimate the tokens: four characters each."""
    return len(json.dumps(things, separators=(",", ":"))) // 4


async def main() -> None:
    catalog, session = thousand_tools(), Session()
    dispatcher = Dispatcher(catalog, permissions=Permissions("auto", ["deny garden_*"]))
    offered, summary = catalog.definitions(session=session), catalog.summary(max_tokens=500)
    print(f"{len(catalog) - 1:,} tools, in tokens (estimated):")
    print(f"  every definition      {tokens(catalog.definitions(deferred=True)):>8,}")
    print(f"  search and a summary  {tokens(offered, summary):>8,}")
    print(f"  search alone          {tokens(offered):>8,}")
    print("the summary begins:", summary.splitlines()[0])

    query = "bring back a delted shipment at the warehouse"
    # The first search builds the index; in a thread, so that the event loop goes on.
    for found in await asyncio.to_thread(catalog.search, query, 2):
        print(f"{query!r} finds {found.tool.name} ({found.score:.2f}), by {', '.join(found.words)}")

    result = await dispatcher.call("tool_search", {"query": query, "limit": 1}, session=session)
    print("a model gets:", result.text[:150], "...")
    print("definitions from then on:", [each["name"] for each in catalog.definitions(session=session)])
    print((await dispatcher.call(session.loaded[0], {"key": "4711"}, session=session)).text)

    result = await dispatcher.call("tool_search", {"query": "select:garden_find_photo"}, session=session)
    print("what the rules deny is not found:", result.value["note"])
    nothing = await asyncio.to_thread(catalog.search, "qwertz")
    print("what fits nothing finds nothing:", nothing.advice[:60], "...")


asyncio.run(main())
