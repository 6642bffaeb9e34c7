"""Tools for the tests of catalogs."""

from toolkit import Tool

__all__ = ["build_tool"]


def build_tool(name, **options):
    """A tool of this name; a closure, so each one is another."""

    def function(a: int = 1) -> int:
        return a

    return Tool.described(function, name=name, description=f"Do {name}.", **options)
