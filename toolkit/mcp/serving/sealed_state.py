"""
The state that a client carries from a question to its answer, in revision 2026-07-28.

A state is encrypted and authenticated with a key that only the servers have. It says which request for approval is
answered, which call it belongs to, for whom, and until when. A state proves that a server asked this question about
this call. It does not prove that the answer is new: the store of the approvals ensures that an answer is used once.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias

from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState

from ...approvals.seal import read_keys
from ...errors import ToolkitError
from ...values.strictjson.canonical import digest_parts, encode_canonical

__all__ = ["Keys", "OpenQuestion", "StateError", "StateSeal", "digest_request"]

Keys: TypeAlias = "bytes | str | Sequence[bytes | str]"

_VERSION = 1
_KEY_BYTES = 32


class StateError(ToolkitError):
    """A state that cannot be accepted. `why` is the reason in one word, for programs."""

    def __init__(self, message: str, why: Literal["forged", "expired", "arguments", "principal"]) -> None:
        super().__init__(message)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """
    A question that a client was asked to put to its user.

    Attributes:
        request: The id of the request for approval, or the request itself if requests are sealed and not stored.
        digest: The digest of the call that asks, as `digest_request` returns it.
        principal: On whose behalf the call was made.
        session: The id of the conversation that the call belongs to.
    """

    request: str | dict[str, Any]
    digest: str
    principal: str | None
    session: str | None


class StateSeal:
    """
    A maker and reader of states.

    Args:
        key: At least 32 random bytes, or several keys: the first one seals, and all of them open states. Without a key
            the process makes one of its own, and only this process can open its states.
        max_age_seconds: How long a state can be used.
    """

    def __init__(
        self, key: Keys | None = None, *, max_age_seconds: float = 600.0, clock: Callable[[], float] = time.time
    ) -> None:
        if not max_age_seconds > 0:
            raise ValueError(f"a state has to be valid for more than 0 seconds, got {max_age_seconds!r}")
        self._keys = [os.urandom(_KEY_BYTES)] if key is None else read_keys(key)
        self._codec = AESGCMRequestStateCodec(self._keys)
        self._max_age_seconds = max_age_seconds
        self._clock = clock

    def seal(self, question: OpenQuestion) -> str:
        """Return the state of *question*, which only a server with the key can read or make."""
        content = {"version": _VERSION, "expires_at": self._clock() + self._max_age_seconds, **asdict(question)}
        return self._codec.seal(json.dumps(content, separators=(",", ":")).encode())

    def open(self, state: str, *, digest: str, principal: str | None) -> OpenQuestion:
        """Return the question of *state*; raise `StateError` if it is forged, too old, or of another call or user."""
        content = self._read(state)
        if not self._clock() < content["expires_at"]:
            raise StateError("this answer comes too late: the question has expired; call the tool again", "expired")
        if content["principal"] != principal:
            raise StateError("this question was put to another user; call the tool again", "principal")
        if content["digest"] != digest:
            raise StateError(
                "this question was about another call: the tool or its arguments differ; call the tool again",
                "arguments",
            )
        return OpenQuestion(**{field.name: content[field.name] for field in fields(OpenQuestion)})

    def _read(self, state: str) -> dict[str, Any]:
        try:
            content = json.loads(self._codec.unseal(state))
        except (InvalidRequestState, ValueError):
            raise StateError(
                "this request state was not made by this server, or was altered; call the tool again without it",
                "forged",
            ) from None
        if not isinstance(content, dict) or content.get("version") != _VERSION:
            raise StateError("this request state is of another version; call the tool again without it", "forged")
        return content

    def derive_session_id(self, principal: str) -> str:
        """Return the id of the conversation of *principal*: the same in every process that has the key."""
        return f"mcp-{self.derive_id('toolkit mcp conversation', principal)}"

    def derive_id(self, *parts: str) -> str:
        """Return an id for *parts* that cannot be guessed, and is the same in every process that has the key."""
        return digest_parts(parts[0], self._keys[0].hex(), *parts[1:])[:32]


def digest_request(kind: str, name: str, arguments: Mapping[str, Any] | None) -> str:
    """Return the digest of a call of a tool, or of another *kind*; raise `ValueError` if its arguments are not JSON."""
    return digest_parts("toolkit mcp call", kind, name, encode_canonical(dict(arguments or {})))
