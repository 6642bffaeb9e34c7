"""
The decorator `@tool`, which describes a plain function as a tool and leaves it a plain function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, Unpack, overload

from .catalog import Catalog, decorate, default_catalog
from .facts import Options

__all__ = ["tool"]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: F, /, *, catalog: Catalog | None = ...) -> F: ...
@overload
def tool(*, catalog: Catalog | None = ..., **options: Unpack[Options]) -> Callable[[F], F]: ...
@overload
def tool(function: F, /, *, catalog: Catalog | None = ..., **options: Unpack[Options]) -> F: ...
def tool(function: Any = None, /, *, catalog: Catalog | None = default_catalog, **options: Unpack[Options]) -> Any:
    """
    Make a tool from a *function*: read its signature and docstring, and add it to a catalog.

    Use it as `@tool`, `@tool(read_only=True)` or `tool(existing_function)`. It returns the function unchanged: the
    same object with the same type. `Options` lists the options. `catalog=None` describes the function without
    adding it to a catalog. Options on the definition of a function go with it into every catalog. Options for a
    function that exists already hold only in the catalog that they are given for.

        @tool(read_only=True, aliases=["cat"])
        async def read_file(path: str, *, limit: int = 2000) -> str:
            \"\"\"
            Read a text file from the project.

            Args:
                path: File path relative to the project root.
                limit: Stop after this many lines.
            \"\"\"
    """
    if function is not None:
        return decorate(function, catalog, **options)
    return lambda function: decorate(function, catalog, **options)
