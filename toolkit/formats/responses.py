"""
Reading what a provider sent: an SDK's object or the JSON itself.

A response may be odd in many ways, and every call in it is still passed on,
because every call wants an answer: the dispatcher words what is wrong with its
name or arguments. Only what is no response at all is an error here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ProviderError
from ..results import ToolCall
from .base import Offering, check_offering
from .schemas.forced_nulls import without_forced_nulls
from .schemas.property_names import own_properties
from .wire_names import Naming

__all__ = ["called", "field", "has_field", "listed", "no_response"]

_MOST_SAID = 300


def field(record: Any, name: str) -> Any:
    """The value under *name* in a dictionary, or the attribute of an object; None if there is none."""
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)


def has_field(record: Any, *names: str) -> bool:
    """Whether *record* has one of *names*, with whatever value."""
    if isinstance(record, Mapping):
        return any(name in record for name in names)
    return any(hasattr(record, name) for name in names)


def listed(record: Any, name: str, provider: str) -> list[Any]:
    """The list under *name*; empty if nothing stands there, `ProviderError` if something else does."""
    found = field(record, name)
    if found is None:
        return []
    if not isinstance(found, (list, tuple)):
        raise ProviderError(f"{provider}: `{name}` of the response is no list but {type(found).__name__}")
    return list(found)


def no_response(provider: str, response: Any, wanted: str) -> ProviderError:
    """What to raise for something that has no place for calls: *wanted* is that place."""
    error = field(response, "error")
    if error:
        said = field(error, "message") or error
        return ProviderError(f"{provider}: the response is an error: {str(said)[:_MOST_SAID]}")
    advice = "collect it first" if has_field(response, "__next__", "__anext__") else f"it has no `{wanted}`"
    return ProviderError(f"{provider}: a {type(response).__name__} is no response; {advice}")


def called(
    naming: Naming,
    catalog: Offering | None,
    *,
    name: Any,
    arguments: Any,
    id: Any,  # noqa: A002 -- what everyone calls it
    metadata: dict[str, Any] | None = None,
) -> ToolCall:
    """One call, with the catalog's name; with *catalog*, without the nulls that strict mode forced."""
    if catalog is not None:
        check_offering(catalog)
    # A call without a usable name still wants an answer: no tool is called "".
    own, tool = naming.called(name if isinstance(name, str) else "", catalog)
    if isinstance(arguments, Mapping) and not isinstance(arguments, dict):
        arguments = dict(arguments)
    if tool is not None and not naming.properties:
        arguments = own_properties(arguments, tool)
    if tool is not None:
        arguments = without_forced_nulls(arguments, tool)
    return ToolCall(own, arguments, "" if id is None else str(id), metadata=metadata)
