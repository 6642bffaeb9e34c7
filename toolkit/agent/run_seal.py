"""
A run that travels with its authority: signed, so that nobody can give themselves more.

A plain saved run is data. A sealed one also brings back the mode, the grants, the principal and what the session
had read, just as they were when it was sealed. It does not say that it was never opened before: an old one
brings back what was granted then.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..approvals.seal import Seal
from ..decisions import Grant
from ..errors import ToolkitError
from ..permissions import Permissions
from ..permissions.modes import checked_mode
from ..values.rendering import as_json
from ..values.strictjson.canonical import digest
from .runs import Run

__all__ = ["RunSeal", "SealError"]

_VERSION = 1
_STAMPS = "toolkit.read_stamps"


class SealError(ToolkitError):
    """A sealed run cannot be opened: forged, altered, too old, or sealed by somebody else."""


class RunSeal:
    """
    Seals runs and opens them again.

    Args:
        key: At least 32 random bytes that only the hosts have. Of several the first signs, and all verify.
        clock: Seconds since 1970.
    """

    def __init__(self, key: bytes | str | Sequence[bytes | str], *, clock: Callable[[], float] = time.time) -> None:
        Seal(key)  # says what is wrong with a key
        keys = [key] if isinstance(key, (bytes, str)) else list(key)
        self._keys = [each.encode() if isinstance(each, str) else each for each in keys]
        self._clock = clock

    def sealed(self, run: Run) -> str:
        """*run* as text, with its session's mode, grants, principal and read stamps, signed."""
        session = run.session
        stamps = session.state.get(_STAMPS, {})
        content = {
            "version": _VERSION,
            "sealed_at": self._clock(),
            "run": run.to_json(),
            "mode": session.mode,
            "grants": [asdict(grant) for grant in session.grants],
            "principal": session.principal,
            "stamps": dict(stamps) if isinstance(stamps, Mapping) else {},
        }
        # Signed as text, and sent as that text: nothing has to be written the same way twice.
        text = json.dumps(content, default=as_json)  # what a hook put beside a result may be anything
        return json.dumps({"content": text, "seal": _signature(self._keys[0], text)})

    def opened(self, text: str | bytes, *, max_age_seconds: float | None = None) -> Run:
        """The run that was sealed, with its session as it was; `SealError` for anything else."""
        content = self._content(text)
        age = self._clock() - content["sealed_at"]
        if max_age_seconds is not None and not 0 <= age <= max_age_seconds:
            raise SealError(f"the run was sealed {age:,.0f} s ago, and at most {max_age_seconds:,.0f} s are allowed")
        run = Run.from_json(content["run"])
        session = run.session
        session.principal = content["principal"]
        if content["stamps"]:
            session.state[_STAMPS] = content["stamps"]
        if content["mode"] is not None:
            Permissions().set_mode(checked_mode(content["mode"]), session=session)
        for grant in content["grants"]:
            Permissions.grant(session, Grant(**grant))
        return run

    def _content(self, text: str | bytes) -> dict[str, Any]:
        try:
            outer = json.loads(text)
            signed, seal = outer["content"], outer["seal"].encode()
            # Every key is tried: the time it takes tells nothing.
            is_ours = sum(hmac.compare_digest(_signature(key, signed).encode(), seal) for key in self._keys) > 0
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise SealError("this is no sealed run") from None
        if not is_ours:
            raise SealError("the seal does not fit: the run was forged or altered, or sealed with another key")
        content: dict[str, Any] = json.loads(signed)
        if content["version"] != _VERSION:
            raise SealError(f"a sealed run of version {content['version']!r} cannot be read; version {_VERSION} can")
        return content


def _signature(key: bytes, text: str) -> str:
    return f"v1.{hmac.new(key, digest('toolkit run', text).encode(), 'sha256').hexdigest()}"
