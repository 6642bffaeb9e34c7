"""Functions with parameters that a model cannot send, and helpers that describe them."""

import warnings

import pytest

from toolkit import (
    DefinitionError,
    Tool,
    ToolkitWarning,
)

__all__ = ["fetch", "names", "omissions", "refusal", "Session", "URL"]


class Session: ...


class URL: ...


def fetch(url: str | URL, session: Session | None = None, *, retries: int = 3):
    """Fetch a page."""
    return [url, session, retries]


def names(tool):
    return list(tool.schema["properties"])


def refusal(function, **options):
    with pytest.raises(DefinitionError) as caught:
        Tool.described(function, **options)
    return str(caught.value)


def omissions(function, **options):
    """Return the warnings about what the schema leaves out, and the tool."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spec = Tool.described(function, **options)
    assert all(warning.category is ToolkitWarning for warning in caught)
    return [str(warning.message) for warning in caught], spec
