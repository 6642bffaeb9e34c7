"""
`@tool`: where a plain function becomes a tool and stays a plain function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from typing_extensions import Unpack

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
    Make a function a tool: read its signature and docstring, and add it to a catalog.

    Used as `@tool`, `@tool(read_only=True)` or `tool(existing_function)`. The function
    comes back as it is, the same object with the same type. `Options` lists what can be
    stated; `catalog=None` describes without adding.

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
