"""The names of the variables that a shell keeps, and their values."""

from __future__ import annotations

import pytest

from toolkit.builtin.commands.shell_state import (
    check_variable_names,
    parse_state,
)


@pytest.mark.parametrize(
    ("output", "state"),
    [
        (b"", None),
        (b"cwd=/a\0", ("/a", {})),
        (b"cwd=/a\0KEPT=x=y\0", ("/a", {"KEPT": "x=y"})),
        (b"cwd=/a\0LOST=x\0", ("/a", {})),
        (b"cwd=relative\0", None),
        (b"noise\0cwd=/evil\0cwd=/a\0KEPT=cut off", ("/a", {})),
        (b"cwd=/a\0KEPT=" + b"x" * 40_000 + b"\0", ("/a", {})),
        (b"\xff=\xfe\0cwd=/\xff\0", ("/\udcff", {})),
    ],
)
def test_only_the_requested_variables_are_read_from_the_output(output, state):
    """Anything that the command started could have written other variables there."""
    assert parse_state(output, ["KEPT"]) == state


def test_duplicate_variable_names_are_dropped_in_order():
    assert check_variable_names(["B", "A", "B"]) == ("B", "A")
