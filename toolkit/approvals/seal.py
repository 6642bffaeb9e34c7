"""
Signatures for requests that no store keeps, and for records in a store that others could write.

A seal proves that this dispatcher made the request, for this tool, and that the request was not altered. It does not
prove that the request was never used before. Only a store can prove that, so the receiver of a sealed request has to
remember its id.

A record is signed as a whole in each of its states: what was shown, what runs, who decided, who claimed it and what
the outcome was. A record with no signature, or with a wrong one, is refused. An older copy of a record has a valid
signature of its own. A store object refuses a copy that is older than the state it has seen itself.
"""

from __future__ import annotations

import hmac
import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._plumbing.forks import unlock_in_children
from .._plumbing.newest_items import NewestItems
from ..decisions import ApprovalRequest
from ..values.strictjson.canonical import digest_parts, encode_canonical
from .records import ApprovalError, Record, dump_record

__all__ = ["RecordSeal", "Seal", "is_signed", "read_keys", "sign_content"]

_VERSION = "v1"
_MIN_KEY_BYTES = 32
_MAX_REMEMBERED = 10_000
_CANONICAL = json.JSONEncoder(allow_nan=False, sort_keys=True, separators=(",", ":"))
# How far a record has come in each state. No state follows the last step.
_STEPS = {"pending": 0, "claimed": 1, "denied": 2, "done": 2}


class Seal:
    """
    A signer of requests, which also tells its own requests from forged or altered ones.

    Args:
        key: At least 32 random bytes that only the dispatchers have. Of several keys the first signs and all verify, so
            that a key can be replaced while requests are on their way.
    """

    __slots__ = ("_keys",)

    def __init__(self, key: bytes | str | Sequence[bytes | str]) -> None:
        self._keys = read_keys(key)

    def sign(self, request: ApprovalRequest, identity: str) -> ApprovalRequest:
        """Return *request* with its seal for the tool of this *identity*; raise `ValueError` if it is not JSON."""
        return replace(request, seal=sign_content(self._keys[0], _request_content(request, identity)))

    def derive_id(self, *parts: str | None) -> str:
        """Return an id for a request: 128 bits that are the same for the same *parts* and cannot be guessed."""
        content = digest_parts("toolkit request id", *parts).encode()
        return hmac.new(self._keys[0], content, "sha256").hexdigest()[:32]

    def verify(self, request: ApprovalRequest, identity: str) -> bool:
        """Return whether *request* is unchanged since it was sealed for the tool of this *identity*."""
        try:
            content = _request_content(request, identity)
        except ValueError:
            return False  # A request that cannot be written as JSON was never sealed.
        return is_signed(self._keys, content, request.seal or "")


class RecordSeal:
    """
    A signer of a store's records, which also refuses records that others have written, altered or put back.

    Args:
        key: As for `Seal`.
    """

    def __init__(self, key: bytes | str | Sequence[bytes | str]) -> None:
        self._keys = read_keys(key)
        self._steps: NewestItems[str, int] = NewestItems(_MAX_REMEMBERED)
        self._lock = unlock_in_children(threading.Lock())

    def has_same_keys(self, other: RecordSeal) -> bool:
        """Return whether this object and *other* sign and verify with the same keys."""
        return len(self._keys) == len(other._keys) and all(map(hmac.compare_digest, self._keys, other._keys))

    def sign(self, record: Record) -> Record:
        """Return *record* with its signature; raise `ValueError` if it is not JSON."""
        return replace(record, seal=sign_content(self._keys[0], _record_content(record)))

    def check(self, record: Record) -> None:
        """
        Raise `ApprovalError` unless *record* is unchanged since it was signed.

        Raise it also if the record is older than a state that was seen before.
        """
        name = record.request.id[:64]
        if record.seal is None:
            raise ApprovalError(
                f"request {name} carries no signature: it was kept without the key, or altered; call "
                f"`{record.request.tool[:64]}` again",
                why="forged",
            )
        if not self._is_own(record):
            raise ApprovalError(
                f"the signature of request {name} does not fit: its record was altered, or signed with another key; "
                f"call `{record.request.tool[:64]}` again",
                why="forged",
            )
        if _STEPS[record.state] < self._steps.get(record.request.id, 0):
            raise ApprovalError(
                f"request {name} is {record.state} in the store, and was answered before: an older copy was put back",
                why="forged",
            )
        self.remember(record)

    def _is_own(self, record: Record) -> bool:
        try:
            content = _record_content(record)
        except (ValueError, RecursionError):
            return False  # A record that cannot be written as JSON was never signed.
        return is_signed(self._keys, content, record.seal or "")

    def remember(self, record: Record) -> None:
        """Remember the state that *record*, which is in the store now, has reached."""
        step = _STEPS[record.state]
        if step:
            with self._lock:
                self._steps[record.request.id] = step


def read_keys(key: bytes | str | Sequence[bytes | str]) -> list[bytes]:
    """Return the keys of a seal as bytes; raise `ValueError` if one of them is not good enough, or if there is none."""
    is_single = isinstance(key, (bytes, str)) or not isinstance(key, Sequence)
    keys: list[Any] = [key] if is_single else list(key)
    if not keys:
        raise ValueError(f"a seal needs a key; {_REMEDY}")
    return [_check_key(single_key) for single_key in keys]


_REMEDY = "make one with secrets.token_bytes(32), and keep it where only the dispatchers can read it"


def _check_key(key: Any) -> bytes:
    if not isinstance(key, (bytes, str)):
        raise ValueError(f"a key has to be bytes or text, got {type(key).__name__}; {_REMEDY}")  # noqa: TRY004 -- options
    data = key.encode() if isinstance(key, str) else key
    if len(data) < _MIN_KEY_BYTES:
        raise ValueError(f"a key needs at least {_MIN_KEY_BYTES} bytes, got {len(data)}; {_REMEDY}")
    return data


def _request_content(request: ApprovalRequest, identity: str) -> bytes:
    fields = {name: value for name, value in request.to_json().items() if name != "seal"}
    return digest_parts("toolkit approval request", _VERSION, encode_canonical(fields), identity).encode()


def _record_content(record: Record) -> bytes:
    # The record is read back from its text, so that the signature covers what the store holds.
    fields = json.loads(dump_record(replace(record, seal=None)))
    return digest_parts("toolkit approval record", _VERSION, _CANONICAL.encode(fields)).encode()


def sign_content(key: bytes, content: bytes) -> str:
    """Return the seal of *content*."""
    return f"{_VERSION}.{hmac.new(key, content, 'sha256').hexdigest()}"


def is_signed(keys: Sequence[bytes], content: bytes, seal: str) -> bool:
    """Return whether one of *keys* has made this *seal* of *content*."""
    signature = seal.encode(errors="surrogatepass")
    # Every key is tried, so that the time it takes does not show which key fits.
    return sum(hmac.compare_digest(sign_content(key, content).encode(), signature) for key in keys) > 0
