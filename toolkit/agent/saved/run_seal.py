"""
Saved runs that keep their authority.

A plain saved run is only data. `dump_run` also writes what its session has, for a place that is trusted. A sealed run
restores the mode, the grants, the principal and the stamps of the files that the session had read. It is signed, so
that a change to the saved text cannot add authority. The seal does not prove that the run was never opened before: an
old sealed run restores the grants of that time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from ...approvals.seal import is_signed, read_keys, sign_content
from ...errors import ToolkitError
from ...steps.records import VERSION, as_strict_json, read_fields
from ...steps.session_changes import apply_changes, describe_changes, read_state
from ...values.strictjson.canonical import digest_parts
from .runs import Run

__all__ = ["RunSeal", "SealError", "dump_run", "load_run"]

T = TypeVar("T")

_AUTHORITY = ("mode", "grants", "stamps")
_RUN_FIELDS: dict[str, tuple[type, ...]] = {"run": (dict,), "session": (dict,), "principal": (str, type(None))}


def dump_run(run: Run[Any]) -> dict[str, Any]:
    """Return *run* as JSON, with the principal, the grants, the mode and the read files of its session."""
    session = run.session
    changes = describe_changes(None, read_state(session))
    return as_strict_json(
        {"version": VERSION, "run": run.to_json(), "session": changes, "principal": session.principal}
    )


def load_run(record: Mapping[str, Any], *, output: Any = None) -> Run[Any]:
    """Return the run that `dump_run` wrote, with its session as it was. *output* is as for `Run.from_json`."""
    data = read_fields(record, "the record of a run", _RUN_FIELDS, ("run",))
    run: Run[Any] = Run.from_json(data["run"], output=output)
    run.session.principal = data.get("principal")
    apply_changes(data.get("session", {}), run.session)
    return run


class SealError(ToolkitError):
    """A sealed run cannot be opened: it was forged or altered, is too old, or was sealed with another key."""


class RunSeal:
    """
    A seal for runs: it turns a run into signed text, and such text into a run again.

    Args:
        key: At least 32 random bytes that only the hosts know, or several such keys. The first key signs, and a seal
            of any of them is accepted.
        clock: A function that returns the seconds since 1970.
    """

    def __init__(self, key: bytes | str | Sequence[bytes | str], *, clock: Callable[[], float] = time.time) -> None:
        self._keys = read_keys(key)
        self._clock = clock

    def seal(self, run: Run[Any]) -> str:
        """Return *run* as signed text, with its session's mode, grants, principal and read stamps."""
        record = dump_run(run)
        record["session"] = {name: change for name, change in record["session"].items() if name in _AUTHORITY}
        # The text itself is signed and sent, so the reader need not produce exactly the same JSON again.
        text = json.dumps({**record, "sealed_at": self._clock()})
        return json.dumps({"content": text, "seal": sign_content(self._keys[0], _digest_text(text))})

    @overload
    def open(self, text: str | bytes, *, max_age_seconds: float | None = None, output: None = None) -> Run: ...
    @overload
    def open(self, text: str | bytes, *, max_age_seconds: float | None = None, output: type[T]) -> Run[T]: ...
    @overload
    def open(self, text: str | bytes, *, max_age_seconds: float | None = None, output: object) -> Run[Any]: ...
    def open(self, text: str | bytes, *, max_age_seconds: float | None = None, output: Any = None) -> Run[Any]:
        """
        Return the run that was sealed in *text*, with its session as it was.

        *output* is the type of its answer, as for `Run.loads`.

        Raises:
            SealError: *text* is not a run of this version that one of the keys has sealed, or it is older than
                *max_age_seconds*.
        """
        content = self._verify_content(text)
        age = self._clock() - content["sealed_at"]
        if max_age_seconds is not None and not 0 <= age <= max_age_seconds:
            raise SealError(f"the run was sealed {age:,.0f} s ago, and at most {max_age_seconds:,.0f} s are allowed")
        return load_run({name: value for name, value in content.items() if name != "sealed_at"}, output=output)

    def _verify_content(self, text: str | bytes) -> dict[str, Any]:
        try:
            envelope = json.loads(text)
            signed_text = envelope["content"]
            is_ours = is_signed(self._keys, _digest_text(signed_text), envelope["seal"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise SealError("this is no sealed run") from None
        if not is_ours:
            raise SealError("the seal does not fit: the run was forged or altered, or sealed with another key")
        content: dict[str, Any] = json.loads(signed_text)
        if content["version"] != VERSION:
            raise SealError(f"a sealed run of version {content['version']!r} cannot be read; version {VERSION} can")
        return content


def _digest_text(text: str) -> bytes:
    return digest_parts("toolkit run", text).encode()
