"""Accept good arguments and convert them: ours (jsonschema's verdict) beside pydantic-core (its own) and msgspec."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import jsonschema
import msgspec
from pydantic import ConfigDict, TypeAdapter, create_model

from toolkit import Tool

from .subjects import CALLS, FUNCTIONS, Item, Order
from .timing import Row, best_of, ratio

__all__ = ["rows"]


def pydantic_validator(function: Any) -> Any:
    """The fastest way to the same: one model for the arguments, validated by pydantic-core itself."""
    hints = get_type_hints(function)
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameter.default is inspect.Parameter.empty else parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
    }
    model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
    return TypeAdapter(model).validator.validate_python


def rows() -> list[Row]:
    found: list[Row] = []
    for what, function in FUNCTIONS.items():
        arguments = CALLS[what]
        tool = Tool.of(function)
        check, validate = tool.check, pydantic_validator(function)
        judge = jsonschema.Draft202012Validator(tool.schema)
        struct = msgspec.defstruct(
            "Arguments", [(name, hint) for name, hint in get_type_hints(function).items() if name != "return"]
        )
        best = best_of(
            {
                "toolkit check": lambda check=check, arguments=arguments: check(arguments),
                "pydantic-core validate_python": lambda validate=validate, arguments=arguments: validate(arguments),
                "msgspec convert": lambda struct=struct, arguments=arguments: msgspec.convert(arguments, struct),
                "jsonschema, validator kept": lambda judge=judge, arguments=arguments: judge.is_valid(arguments),
            },
            number=300,
        )
        peer = best["pydantic-core validate_python"]
        found += [
            (
                f"{what}: {name}",
                microseconds,
                ratio(microseconds, peer) if name == "toolkit check" else None,
                "of pydantic-core (at most 1)" if name == "toolkit check" else "",
            )
            for name, microseconds in best.items()
        ]
    return found


assert Item  # the annotations above name it
assert Order
