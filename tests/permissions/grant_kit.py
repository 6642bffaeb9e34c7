"""Tools, and helpers that offer and compare grants, for the tests of grants."""

from pathlib import Path
from typing import Annotated

from toolkit.access import Command, Writes
from toolkit.spec import Tool

__all__ = ["BASH", "write", "WRITE"]


async def bash(command: Annotated[str, Command]) -> str:
    """Run a command."""
    return command


async def write(path: Annotated[Path, Writes]) -> str:
    """Write a file."""
    return str(path)


BASH = Tool.described(bash, destructive=True)
WRITE = Tool.described(write)
