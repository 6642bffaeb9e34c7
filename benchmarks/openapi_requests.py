"""
Which values arrive at an HTTP API as the caller wrote them, in every place and style of OpenAPI.

    python -m benchmarks.openapi_requests [--peers]

The API is the application of the tests, which answers with the value that it read. Each operation is called with a few
values. A value arrives, ends with an error of the library or of the server, or is another one for the server. With
`--peers`, fastmcp sends the same values, if it is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from tests.openapi.styles_app import PARAMETERS, build_app
from toolkit import Catalog, Dispatcher, SafetyChecks

__all__ = ["main"]

_HOST = "api.test"
_VALUES: dict[str, list[Any]] = {
    "text": ["plain", "a b", "a/b", "a,b&c=d", "50%", "ä"],
    "number": [7, -1],
    "list": [["a"], ["a", "b c"], ["d/e", "f,g"], ["ä", "&"]],
    "object": [{"a": "b"}, {"a": "b c", "d": "e/f"}, {"g": "h,i"}, {"ä": "&"}],
}

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


def call_with_toolkit(app: Any) -> Call:
    """Return a function that calls an operation of *app* with this library."""
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{_HOST}")
    catalog = Catalog.from_openapi(app.openapi(), client=client)
    dispatcher = Dispatcher(catalog, safety=SafetyChecks(allowed_hosts=[_HOST]))

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        return (await dispatcher.call(name, arguments)).unwrap()

    return call


def call_with_fastmcp(app: Any) -> Call:
    """Return a function that calls an operation of *app* with fastmcp."""
    from fastmcp import FastMCP

    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{_HOST}")
    server = FastMCP.from_openapi(app.openapi(), client=client)

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        return (await server.call_tool(name, arguments)).structured_content

    return call


async def count_outcomes(call: Call) -> dict[str, Counter[str]]:
    """Return how many values arrive, end with an error, or are read as others, for each place."""
    outcomes: dict[str, Counter[str]] = {}
    for parameter in PARAMETERS:
        for value in _VALUES[parameter.kind]:
            try:
                answer = await call(str(parameter), {"value": value})
                outcome = "arrives" if answer == {"value": value} else "another value"
            except Exception:  # noqa: BLE001 -- what a library raises is its result
                outcome = "error"
            outcomes.setdefault(parameter.place, Counter())[outcome] += 1
    return outcomes


def main(arguments: list[str]) -> int:
    """Print a row for each library and place; return 1 if this library sends another value."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.openapi_requests", description="Send values.")
    parser.add_argument("--peers", action="store_true", help="send the values with fastmcp too")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    callers = {"toolkit": call_with_toolkit} | ({"fastmcp": call_with_fastmcp} if options.peers else {})
    app, wrong = build_app(), 0
    print("| library | place | arrives | error | another value |\n|---|---|--:|--:|--:|")
    for name, build_call in callers.items():
        for place, counts in asyncio.run(count_outcomes(build_call(app))).items():
            print(f"| {name} | {place} | {counts['arrives']} | {counts['error']} | {counts['another value']} |")
            wrong += counts["another value"] if name == "toolkit" else 0
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
