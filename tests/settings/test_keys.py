"""The table of keys, and the page about it."""

from __future__ import annotations

import re
from pathlib import Path

from toolkit.cli.commands import serve
from toolkit.settings.keys import KEYS
from toolkit.settings.layers import _OTHER_VARIABLES

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
WORDS = {
    "trusted": "does not count",
    "smaller": "counts if it is smaller",
    "stricter": "counts if it is stricter",
    "adds": "counts",
    "never": "is a mistake",
}


def test_the_page_says_how_a_project_may_tighten_each_key():
    """The table in the docs has the rule of each key."""
    rows = re.findall(r"^\| `([a-z_.]+)` \| .+ \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [name for name, _ in rows] == list(KEYS)
    for name, effect in rows:
        assert re.split("[;:] ", effect)[0] == WORDS[KEYS[name].project], name


def test_each_key_has_a_different_variable():
    """No variable has a name that toolkit uses for something else."""
    variables = [key.variable for key in KEYS.values() if key.variable is not None]
    assert len(set(variables)) == len(variables)
    assert _OTHER_VARIABLES.isdisjoint(variables)
    assert {serve._KEY_VARIABLE, serve._TOKEN_VARIABLE} <= _OTHER_VARIABLES
    assert [key.name for key in KEYS.values() if key.variable is None] == ["prices", "hooks", "mcp_servers"]
