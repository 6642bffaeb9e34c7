"""
A saved run that keeps its authority. It is signed, so that a change to the saved text cannot add authority.

A plain saved run is only data. A sealed run also restores the mode, the grants, the principal and the stamps of the
files that the session had read, as they were when it was sealed. The seal does not prove that the run was never
opened before: an old sealed run restores the grants of that time.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar, overload

from ..approvals.seal import Seal
from ..decisions import Grant
from ..errors import ToolkitError
from ..permissions import Permissions
from ..permissions.modes import check_mode
from ..values.rendering import as_json
from ..values.strictjson.canonical import digest_parts
from .runs import Run

__all__ = ["RunSeal", "SealError"]

T = TypeVar("T")

_VERSION = 1
_STAMPS_KEY = "toolkit.read_stamps"


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
        Seal(key)  # raises if a key is not good enough
        keys = [key] if isinstance(key, (bytes, str)) else list(key)
        self._keys = [one_key.encode() if isinstance(one_key, str) else one_key for one_key in keys]
        self._clock = clock

    def seal(self, run: Run[Any]) -> str:
        """Return *run* as signed text, with its session's mode, grants, principal and read stamps."""
        session = run.session
        stamps = session.state.get(_STAMPS_KEY, {})
        content = {
            "version": _VERSION,
            "sealed_at": self._clock(),
            "run": run.to_json(),
            "mode": session.mode,
            "grants": [asdict(grant) for grant in session.grants],
            "principal": session.principal,
            "stamps": dict(stamps) if isinstance(stamps, Mapping) else {},
        }
        # The text itself is signed and sent, so the reader need not produce exactly the same JSON again.
        text = json.dumps(content, default=as_json)  # the metadata that a hook adds to a result may not be JSON
        return json.dumps({"content": text, "seal": _sign_text(self._keys[0], text)})

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
        run = Run.from_json(content["run"], output=output)
        session = run.session
        session.principal = content["principal"]
        if content["stamps"]:
            session.state[_STAMPS_KEY] = content["stamps"]
        if content["mode"] is not None:
            Permissions().set_mode(check_mode(content["mode"]), session=session)
        for grant in content["grants"]:
            Permissions.grant(session, Grant(**grant))
        return run

    def _verify_content(self, text: str | bytes) -> dict[str, Any]:
        try:
            envelope = json.loads(text)
            signed_text, seal = envelope["content"], envelope["seal"].encode()
            # Every key is tried, so that the time does not tell which key fits.
            is_ours = sum(hmac.compare_digest(_sign_text(key, signed_text).encode(), seal) for key in self._keys) > 0
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise SealError("this is no sealed run") from None
        if not is_ours:
            raise SealError("the seal does not fit: the run was forged or altered, or sealed with another key")
        content: dict[str, Any] = json.loads(signed_text)
        if content["version"] != _VERSION:
            raise SealError(f"a sealed run of version {content['version']!r} cannot be read; version {_VERSION} can")
        return content


def _sign_text(key: bytes, text: str) -> str:
    return f"v1.{hmac.new(key, digest_parts('toolkit run', text).encode(), 'sha256').hexdigest()}"
