"""A record of a request, and the answers to it, for the tests of stores."""

from __future__ import annotations

from toolkit.approvals.records import Record
from toolkit.approvals.store import Settlement
from toolkit.decisions import ApprovalRequest

NOW = 1000.0
OUTCOME = {"version": 1, "kind": "ok", "value": {"lines": [1, 2.5, None, "é\udc80"]}}


def record(*, created_at=NOW, arguments=None, **fields):
    """Return a record that is pending."""
    request = ApprovalRequest(tool="write", call_id="c", reason="asks", created_at=created_at, **fields)
    return Record(request=request, arguments={"path": "a"} if arguments is None else arguments, identity="i")


def claim(store, request_id, owner="me", **further):
    return store.settle(request_id, Settlement("claimed", by="ada", owner=owner, now=NOW, **further))


def deny(store, request_id, now=NOW):
    return store.settle(request_id, Settlement("denied", by="ada", now=now))
