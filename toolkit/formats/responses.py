"""
Functions that read a provider's response, as an SDK's object or as JSON.

A response may have many kinds of faults. Every call in it is still passed on, because the provider expects an answer to
every call: the dispatcher reports what is wrong with the name or the arguments. These functions raise an error only if
the object is not a response at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ProviderError
from ..results import ToolCall
from .base import Naming, Offering, check_offering
from .schemas.forced_nulls import remove_forced_nulls
from .schemas.property_names import restore_own_names

__all__ = ["build_call", "build_response_error", "get_field", "get_first_field", "get_list", "has_field"]

_MAX_ERROR_CHARS = 300


def get_field(record: Any, name: str) -> Any:
    """Return the value under *name* in a dictionary, or the attribute of an object. Return None if there is none."""
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)


def get_first_field(record: Any, *names: str) -> Any:
    """Return the first field of *names* that has a value, or None. JSON and the SDKs have different names."""
    return next((value for name in names if (value := get_field(record, name)) is not None), None)


def has_field(record: Any, *names: str) -> bool:
    """Return whether *record* has at least one of *names*. The value may be anything, including None."""
    if isinstance(record, Mapping):
        return any(name in record for name in names)
    return any(hasattr(record, name) for name in names)


def get_list(record: Any, name: str, provider: str) -> list[Any]:
    """Return the list under *name*; an empty one if there is no value. Raise `ProviderError` if it is no list."""
    value = get_field(record, name)
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        raise ProviderError(f"{provider}: `{name}` of the response is no list but {type(value).__name__}")
    return list(value)


def build_response_error(provider: str, response: Any, missing_field: str) -> ProviderError:
    """
    Return the error to raise for an object that is not a response.

    The error says that the field *missing_field*, which holds the calls, is missing, unless the response reports an
    error itself or is a stream.
    """
    error = get_field(response, "error")
    if error:
        message = get_field(error, "message") or error
        return ProviderError(f"{provider}: the response is an error: {str(message)[:_MAX_ERROR_CHARS]}")
    advice = "collect it first" if has_field(response, "__next__", "__anext__") else f"it has no `{missing_field}`"
    return ProviderError(f"{provider}: a {type(response).__name__} is no response; {advice}")


def build_call(
    naming: Naming,
    catalog: Offering | None,
    name: Any,
    arguments: Any,
    call_id: Any,
    *,
    metadata: dict[str, Any] | None = None,
) -> ToolCall:
    """
    Return one call, with the tool's name in the catalog.

    With *catalog*, parameters get the tool's own names again, and the nulls that strict mode forced are removed.
    """
    if catalog is not None:
        check_offering(catalog)
    # The provider expects an answer to a call without a usable name as well. No tool is called "".
    own, tool = naming.resolve(name if isinstance(name, str) else "", catalog)
    if isinstance(arguments, Mapping) and not isinstance(arguments, dict):
        arguments = dict(arguments)
    if tool is not None and not naming.any_property_names:
        arguments = restore_own_names(arguments, tool)
    if tool is not None:
        arguments = remove_forced_nulls(arguments, tool)
    return ToolCall(own, arguments, "" if call_id is None else str(call_id), metadata=metadata)
