"""All problems of a bad call, worded, beside `jsonschema.iter_errors` alone."""

from __future__ import annotations

from typing import Any

import jsonschema

from toolkit import BadArgs, Tool

from .subjects import BAD_CALLS, FUNCTIONS
from .timing import Row, best_of, ratio

__all__ = ["rows"]


def problems(tool: Tool, arguments: dict[str, Any]) -> object:
    try:
        return tool.check(arguments)
    except BadArgs as error:
        return error.problems


def rows() -> list[Row]:
    found: list[Row] = []
    for what, function in FUNCTIONS.items():
        arguments, tool = BAD_CALLS[what], Tool.of(function)
        judge = jsonschema.Draft202012Validator(tool.schema)
        best = best_of(
            {
                "toolkit": lambda tool=tool, arguments=arguments: problems(tool, arguments),
                "jsonschema iter_errors": lambda judge=judge, arguments=arguments: list(judge.iter_errors(arguments)),
            },
            number=50,
        )
        peer = best["jsonschema iter_errors"]
        found.append(
            (f"{what}: toolkit", best["toolkit"], ratio(best["toolkit"], peer), "of iter_errors (at most 1.2)")
        )
        found.append((f"{what}: jsonschema iter_errors", peer, None, ""))
    return found
