"""How long a provider asks us to wait."""

from __future__ import annotations

import pytest

from toolkit.providers.http.retry_after import find_retry_wait

NOW = 1_700_000_000.0
LATER = "2023-11-14T22:13:50Z"  # thirty seconds after it
RETRY_INFO = {"error": {"details": [{"@type": "ErrorInfo"}, {"retryDelay": "37.5s"}]}}


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, None, 7.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:25 GMT"}, None, 5.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, None, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, None, 9.0),
        ({}, RETRY_INFO, 37.5),
        ({"retry-after": "2"}, RETRY_INFO, 2.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, None, 360.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}, None, 0.02),
        ({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "20ms"}, None, None),
        ({"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": LATER}, None, 30.0),
        ({"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": LATER[:-1]}, None, 30.0),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "1s",
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": LATER,
            },
            None,
            30.0,
        ),
        ({"x-ratelimit-remaining-tokens": "0"}, None, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "soon"}, None, None),
        ({"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "soon"}, None, None),
        ({}, {"error": {"details": [{"retryDelay": "soon"}]}}, None),
        ({}, {"error": {"details": "none"}}, None),
        ({}, {"error": "no"}, None),
        ({}, "busy", None),
        ({}, None, None),
    ],
)
def test_the_wait_is_read_from_headers_and_body(headers, body, seconds):
    """The plainest statement counts, and an odd value has no effect."""
    assert find_retry_wait(headers, body, now=lambda: NOW) == seconds


def test_a_reset_time_in_the_past_asks_for_no_wait():
    headers = {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": LATER}
    assert find_retry_wait(headers, now=lambda: NOW + 99) == 0.0
