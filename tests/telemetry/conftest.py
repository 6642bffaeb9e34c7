"""What the tests of telemetry share."""

from __future__ import annotations

import pytest


@pytest.fixture
def recording():
    """The spans and metrics that a test records."""
    from tests.telemetry.kept_spans import KeptSpans  # the SDK of OpenTelemetry may be missing

    return KeptSpans()
