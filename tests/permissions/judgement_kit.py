"""A tool that records its runs, and judges that give a fixed answer."""

import asyncio
from dataclasses import dataclass

from toolkit.access import Access
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.verdicts import Finding

__all__ = [
    "asking",
    "build_world",
    "fails",
    "fails_async",
    "Hostile",
    "later",
    "Query",
    "raising",
    "Saying",
    "Tables",
    "RecordedCatalog",
]


@dataclass
class RecordedCatalog:
    """A catalog, and what its tools did."""

    catalog: Catalog
    ran: list

    async def call(self, name="note", arguments=None, *, session=None, **options):
        return await Dispatcher(self.catalog, **options).call(name, arguments or {}, session=session)


def build_world(**facts):
    """Make a catalog with a tool `note` that keeps the text it is given."""
    world = RecordedCatalog(Catalog(), [])

    @world.catalog.tool(**facts)
    async def note(text: str = "x", paths: list[str] | None = None) -> str:
        """Note it."""
        world.ran.append(text)
        return "noted"

    return world


class Saying:
    """A judge that says one thing, or does what a function says, and keeps what it was asked."""

    def __init__(self, answer):
        self.answer, self.requests = answer, []

    def judge(self, request):
        self.requests.append(request)
        return self.answer(request) if callable(self.answer) else self.answer


async def later(answer):
    await asyncio.sleep(0)
    return answer


def raising(request):
    raise RuntimeError("no idea")


class Hostile:
    """An object that raises when it is compared."""

    def __eq__(self, other):
        raise RuntimeError("do not compare")

    __hash__ = None


async def fails_async(arguments):
    raise RuntimeError("no idea")


def fails(arguments):
    raise RuntimeError("no idea")


# Preflight.


class Query(Access):
    """A kind of the application's own."""

    kind = "query"


class Tables:
    """Refuses to touch what is secret, asks about what is odd, fails on what is broken."""

    name = "tables"
    kinds = ("query",)

    def judge(self, access):
        if access.target == "broken":
            raise RuntimeError("no idea")
        words = {"secret": "deny", "odd": "ask"}
        return Finding(words[access.target], "x", f"{access.target} table") if access.target in words else None


def asking(preflight):
    """Make a catalog whose tool states what it touches by a function."""
    return build_world(read_only=True, preflight=preflight)
