"""Helpers of the tests of checks in annotations and classes."""

__all__ = ["fail", "inside"]


def inside(path):
    """The check of the issue: a path that must stay inside."""
    if ".." in path:
        raise ValueError("stays outside the project")
    return path


def fail(text):
    raise ValueError(text)
