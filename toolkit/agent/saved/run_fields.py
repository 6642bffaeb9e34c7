"""
The statuses of a run, and the fields of a saved run and a saved sub-run with what each has to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, Literal, TypeAlias, get_args

from ...providers.messages import UserMessage, message_from_json
from ..budgets import LimitName

__all__ = ["Status", "Stop", "check_run_fields", "check_sub_run_fields", "read_items", "read_user_message"]

Status: TypeAlias = Literal["done", "waiting", "stopped", "failed", "planned", "running"]
"""How far a run has come."""
Stop: TypeAlias = LimitName | Literal["halt", "length", "refusal", "other", "cancelled", "output"]
"""
What stopped a run: a limit of its budget, a hook, the length of a reply, the model, the provider, the caller, or an
answer that is not of the agent's type.
"""


def check_run_fields(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a saved run; raise `ValueError` that names the field if one is not right."""
    data = {"agent": "", **data}  # it is saved only if the run was handed over
    for name, (wanted, expected) in _FIELD_CHECKS.items():
        if name not in data or not _fits(data[name], wanted):
            raise ValueError(f"not a run: `{name}` has to be {expected}")
    if unknown_names := data.keys() - _FIELD_CHECKS.keys():
        raise ValueError(f"not a run: unknown {', '.join(sorted(map(repr, unknown_names)))}")
    return data


def check_sub_run_fields(data: Any) -> Mapping[str, Any]:
    """Return the fields of a saved sub-run, those that may be missing too; raise `ValueError` if *data* is none."""
    sub_data = {"provider": None, "budget": None, **data} if isinstance(data, Mapping) else {}
    tools = sub_data.get("tools")
    if (
        sub_data.keys() != {"call_id", "system", "tools", "version", "output", "provider", "budget", "run"}
        or not isinstance(sub_data["call_id"], str)
        or not isinstance(sub_data["system"], str)
        or not isinstance(sub_data["version"], str | None)
        or not isinstance(sub_data["provider"], str | None)
        or not (tools is None or (isinstance(tools, list) and all(isinstance(name, str) for name in tools)))
    ):
        raise ValueError("not a sub-run: it has a call_id, a system prompt, a list of tools or null, a version, a run")
    return sub_data


def read_user_message(data: Any) -> UserMessage:
    """Return the message of the user in *data*; raise `ValueError` if it is none."""
    message = message_from_json(data)
    if not isinstance(message, UserMessage):
        raise ValueError("not a message of the user")  # noqa: TRY004 -- unread JSON
    return message


def read_items(items: list[Any], read: Callable[[Any], Any], place: str) -> Iterator[Any]:
    """Yield what *read* returns for each of *items*. A `ValueError` of it names the *place* and the index."""
    for index, item in enumerate(items):
        try:
            yield read(item)
        except ValueError as error:
            raise ValueError(f"{place}[{index}]: {error}") from error


def _fits(value: Any, wanted: Any) -> bool:
    """Return whether *value* is of the type *wanted*, or whether the function *wanted* says so."""
    return bool(wanted(value) if isinstance(wanted, FunctionType) else isinstance(value, wanted))


_STOPS: frozenset[Any] = frozenset({None, *(word for part in get_args(Stop) for word in get_args(part) or (part,))})

_FIELD_CHECKS: dict[str, tuple[Any, str]] = {
    "id": (lambda value: isinstance(value, str) and bool(value), "a text that is not empty"),
    "status": (lambda value: isinstance(value, str) and value in get_args(Status), "a status"),
    "reason": (str, "a text"),
    "stop": (lambda value: isinstance(value, str | None) and value in _STOPS, "what stopped it, or null"),
    "messages": (list, "a list"),
    "spent": (Mapping, "an object"),
    "usage": (Mapping, "an object"),
    "plan": (str | None, "a text or null"),
    "answer": (
        lambda value: value is None or (isinstance(value, Mapping) and value.keys() == {"json"}),
        'an object with "json", or null',
    ),
    "refused_answers": (lambda value: type(value) is int and value >= 0, "a whole number"),
    "unread": (list, "a list"),
    "subs": (list, "a list"),
    "session": (Mapping, "an object"),
    "summary": (Mapping | None, "an object or null"),
    "reply_count": (lambda value: type(value) is int and value >= 0, "a whole number"),
    "agent": (str, "a text"),
}
