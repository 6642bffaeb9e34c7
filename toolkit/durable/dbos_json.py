"""
JSON for the rows of DBOS, which would be pickles otherwise.

A pickle runs code when it is read. So `JsonSerializer` writes JSON only. DBOS reads a row by the name of the serializer
that wrote it, and it knows the name of its pickles whatever serializer it was given. `refuse_pickles` closes that door
while a worker runs: a row that was written by another serializer is an error, and nothing in it is loaded.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

from dbos import DBOSClient, Serializer

from .errors import DurableError

__all__ = ["JsonSerializer", "refuse_pickles"]

_ERROR_KEY = "toolkit.error"


class JsonSerializer(Serializer):
    """Writes the arguments, outcomes and errors of workflows as JSON, and refuses everything that is not JSON."""

    def name(self) -> str:
        """Return the name that DBOS writes beside each value."""
        return "toolkit_json"

    def serialize(self, data: Any) -> str:
        """Return *data* as JSON text. An exception is kept as its type and its message."""
        if isinstance(data, BaseException):
            data = {_ERROR_KEY: {"type": type(data).__name__, "message": str(data)}}
        try:
            return json.dumps(data, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError, RecursionError) as error:
            raise DurableError(f"a value for the engine is not JSON: {error}", why="value") from None

    def deserialize(self, serialized_data: str) -> Any:
        """Return what `serialize` was given. An exception is returned as a `DurableError`."""
        try:
            data = json.loads(serialized_data)
        except (TypeError, ValueError, RecursionError) as error:
            raise DurableError(f"a row of the engine is not JSON: {error}", why="store") from None
        if isinstance(data, Mapping) and isinstance(error_data := data.get(_ERROR_KEY), Mapping):
            return DurableError(f"{error_data.get('type')}: {error_data.get('message')}", why="store")
        if isinstance(data, dict) and data.keys() == {"args", "kwargs"}:
            data["args"] = tuple(data["args"])
        return data


@contextlib.contextmanager
def refuse_pickles() -> Iterator[None]:
    """Make DBOS refuse to read a pickle in this process until the end of the block. A process has one worker."""
    # The default of this public parameter is the class that DBOS uses for pickles.
    pickle_class = type(inspect.signature(DBOSClient).parameters["serializer"].default)
    read = pickle_class.deserialize

    def deserialize(self: Any, serialized_data: str) -> Any:
        raise DurableError(
            "a row of the engine was written by another serializer, as a pickle; it is not read, because a pickle can "
            "run any code",
            why="store",
        )

    pickle_class.deserialize = deserialize  # DBOS has no option to turn pickles off
    try:
        yield
    finally:
        pickle_class.deserialize = read
