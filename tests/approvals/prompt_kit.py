"""Requests for the tests of what a person is asked."""

from __future__ import annotations

from toolkit.decisions import ApprovalRequest

__all__ = ["DIFF", "HOSTILE", "request"]
DIFF = "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-old\n+new\n"


def request(**options):
    """Return a request, with *options* in place of its usual fields."""
    defaults = {
        "tool": "write",
        "call_id": "c1",
        "reason": "it writes",
        "arguments": {"path": "x"},
        "created_at": 1000.0,
    }
    return ApprovalRequest(**{**defaults, **options})


HOSTILE = "\x1b[2J\x1b]0;title\x07\r\u202e\u200b\x9b31m\ud800"
