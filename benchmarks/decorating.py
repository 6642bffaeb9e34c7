"""Decorating 500 functions of five parameters, docstrings included, until their schemas can be sent."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from anthropic import beta_tool
from pydantic_ai import Tool as PydanticTool

from toolkit import Catalog

from .subjects import five_parameter_functions
from .timing import Row, ratio

__all__ = ["rows"]

COUNT = 500


def ours(functions: list[Any]) -> None:
    catalog = Catalog()
    for function in functions:
        catalog.tool(function)


def ours_finished(functions: list[Any]) -> None:
    catalog = Catalog()
    for function in functions:
        catalog.tool(function)
    catalog.definitions()


def anthropic(functions: list[Any]) -> None:
    for function in functions:
        beta_tool(function)


def pydantic_ai(functions: list[Any]) -> None:
    for function in functions:
        PydanticTool(function)


def rows() -> list[Row]:
    candidates: dict[str, Callable[[list[Any]], None]] = {
        "toolkit": ours,
        "toolkit, definitions included": ours_finished,
        "anthropic beta_tool": anthropic,
        "pydantic-ai Tool": pydantic_ai,
    }
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(5):
        for name, candidate in candidates.items():
            functions = five_parameter_functions(COUNT)
            start = time.perf_counter()
            candidate(functions)
            best[name] = min(best[name], (time.perf_counter() - start) / COUNT * 1e6)
    fastest = min(("anthropic beta_tool", "pydantic-ai Tool"), key=best.__getitem__)
    return [
        (
            f"{name}, one function",
            best[name],
            ratio(best[name], best[fastest]) if name.startswith("toolkit") else None,
            f"of {fastest} (at most 0.25)" if name == "toolkit" else "",
        )
        for name in candidates
    ]
