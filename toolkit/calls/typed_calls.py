"""
Calls by a program that has the function of the tool, and wants what the function returns.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from ..errors import UnknownTool

if TYPE_CHECKING:
    from ..catalogs.views import CatalogView
    from ..results import ToolResult
    from .call_copies import CallKeywords

__all__ = ["TypedCalls"]

T = TypeVar("T")


class TypedCalls:
    """The methods of a dispatcher whose result has the return type of a function."""

    if TYPE_CHECKING:
        catalog: CatalogView

        def call(
            self, name: str, arguments: Any = None, **options: Unpack[CallKeywords]
        ) -> Coroutine[Any, Any, ToolResult]: ...
        def wait_for(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T: ...

    @overload
    async def call_typed(
        self, function: Callable[..., Coroutine[Any, Any, T]], arguments: Any = None, **options: Unpack[CallKeywords]
    ) -> T: ...
    @overload
    async def call_typed(
        self, function: Callable[..., T], arguments: Any = None, **options: Unpack[CallKeywords]
    ) -> T: ...
    async def call_typed(
        self, function: Callable[..., Any], arguments: Any = None, **options: Unpack[CallKeywords]
    ) -> Any:
        """
        Run one call of the tool that *function* is, as `call` does, and return the object that the function returned.

        Raises:
            UnknownTool: The function is no tool of this dispatcher.
            ToolkitError: The call failed or waits; it is the error that `ToolResult.unwrap` raises.
            ValueError: The call succeeded without the object: it comes from a cache, or was masked.
        """
        tool = next((tool for tool in self.catalog if tool.function is function), None)
        if tool is None:
            raise UnknownTool(getattr(function, "__name__", repr(function)), self.catalog.names())
        result = await self.call(tool.name, arguments, **options)
        result.unwrap()
        if result.returned is None and result.value is not None:
            raise ValueError(
                f"the object that `{tool.name}` returned is not there, because the result comes from a cache or was "
                "masked; use `call`, whose result has the `value`"
            )
        return result.returned

    @overload
    def call_typed_sync(
        self, function: Callable[..., Coroutine[Any, Any, T]], arguments: Any = None, **options: Unpack[CallKeywords]
    ) -> T: ...
    @overload
    def call_typed_sync(
        self, function: Callable[..., T], arguments: Any = None, **options: Unpack[CallKeywords]
    ) -> T: ...
    def call_typed_sync(
        self, function: Callable[..., Any], arguments: Any = None, **options: Unpack[CallKeywords]
    ) -> Any:
        """Run one call as `call_typed` does, from sync code."""
        return self.wait_for(lambda: self.call_typed(function, arguments, **options))
