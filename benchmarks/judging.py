"""What permissions cost a read-only call that nothing speaks against, beside the same dispatch without them."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

from toolkit import Catalog, Dispatcher, Permissions, Reads, SafetyChecks

from .dispatching import best_of
from .subjects import CALLS, FUNCTIONS
from .timing import Row, ratio

__all__ = ["rows"]

OTHERS = [
    "allow read",
    "allow fs_*",
    "allow bash(git status)",
    "allow web_fetch(url=https://docs.python.org/**)",
    "ask bash(git commit:*)",
    "ask group:mail",
    "ask write(path=docs/**)",
    "deny bash(git push:*)",
    "deny write(path=secrets/**)",
    "deny mcp:github/*",
]
"""Ten rules, none of them about the tool that is called."""

BY_NAME = [*OTHERS[1:], "allow add"]
"""Ten rules, and one names the tool."""

ABOUT_IT = [*OTHERS[1:], "deny add(a=13)"]
"""Ten rules, and one looks at an argument, so that each call has to be judged."""

MANY = [f"deny tool_{number}(path=secrets/{number}/**)" for number in range(100)]


async def _size(path: Annotated[Path, Reads]) -> int:
    return 1


async def _unmarked_size(path: Path) -> int:
    return 1


def _dispatcher(function: Any, permissions: Permissions | None, folder: str) -> Dispatcher:
    catalog = Catalog()
    name = function.__name__.removeprefix("_")
    catalog.tool(function, name=name, description="What the benchmark calls.", read_only=True)
    return Dispatcher(catalog, permissions=permissions, safety=SafetyChecks([folder]))


async def _measured(folder: str) -> list[Row]:
    add, arguments = FUNCTIONS["two integers"], CALLS["two integers"]
    file = {"path": os.path.join(folder, "notes.txt")}
    bare = _dispatcher(add, None, folder)
    gates = {
        "default mode, ten rules": Permissions("default", OTHERS),
        "default mode, ten rules, one about its name": Permissions("default", BY_NAME),
        "default mode, a hundred deny rules": Permissions("default", MANY),
        "default mode, ten rules, one about its arguments": Permissions("default", ABOUT_IT),
    }
    gated = {what: _dispatcher(add, permissions, folder) for what, permissions in gates.items()}
    unmarked, marked = _dispatcher(_unmarked_size, None, folder), _dispatcher(_size, None, folder)
    judged = _dispatcher(_size, Permissions("default", OTHERS), folder)
    candidates: dict[str, Any] = {
        # Whoever follows a slow one finds the caches cold: the first of the quick ones does not count.
        "warming up": lambda: bare.call("add", arguments),
        "bare": lambda: bare.call("add", arguments),
        **{what: lambda each=each: each.call("add", arguments) for what, each in gated.items()},
        "warming up again": lambda: unmarked.call("unmarked_size", file),
        "not marked": lambda: unmarked.call("unmarked_size", file),
        "marked": lambda: marked.call("size", file),
        "marked, default mode, ten rules": lambda: judged.call("size", file),
    }
    for what, candidate in candidates.items():
        result = await candidate()
        assert result.kind == "ok", f"{what}: {result.text}"
    best = await best_of(candidates)
    found: list[Row] = [("two integers: no permissions", best["bare"], None, "")]
    for what in gates:
        limit = " (at most 2)" if what == "default mode, ten rules" else ""
        found.append((f"two integers: {what}", best[what], ratio(best[what], best["bare"]), f"of none{limit}"))
    found.append(("one path, not marked", best["not marked"], None, ""))
    found += [
        (f"one path, {what}", best[what], ratio(best[what], best["not marked"]), "of not marked")
        for what in ("marked", "marked, default mode, ten rules")
    ]
    return found


async def _argument_rule_holds(folder: str) -> None:
    """See that the rule about an argument is really asked."""
    dispatcher = _dispatcher(FUNCTIONS["two integers"], Permissions("default", ABOUT_IT), folder)
    result = await dispatcher.call("add", {"a": 13, "b": 1})
    assert result.kind == "denied", result.text


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_argument_rule_holds(folder))
        return asyncio.run(_measured(folder))
