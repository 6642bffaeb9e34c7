"""What the tests of telemetry share."""

from tests.telemetry.kept_spans import kept  # noqa: F401 -- a fixture is found here by its name
