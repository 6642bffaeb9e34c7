"""Types for the tests of resources."""

__all__ = ["Database"]


class Database:
    """Neither callable nor a context manager."""

    def __init__(self, name: str = "default") -> None:
        self.name = name
