"""Tools for the tests of catalogs."""

from toolkit import Catalog, Context, Tool

__all__ = ["build_plain_catalog", "build_tool"]


def build_tool(name, **options):
    """Make a tool of this name; its function is a closure, so each tool is another."""

    def function(a: int = 1) -> int:
        return a

    return Tool.described(function, name=name, description=f"Do {name}.", **options)


def build_plain_catalog():
    """Make a catalog with a tool that runs in the loop, and one that needs a thread and reports."""
    catalog = Catalog()

    @catalog.tool(read_only=True, aliases=["plus"])
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @catalog.tool
    def shout(text: str, context: Context) -> str:
        """Say it louder."""
        context.report(1, 1)
        return text.upper()

    return catalog
