"""The list of events: the same in the code, in the documentation and for commands."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import toolkit.hooks
from toolkit.agent import CatalogChanged as StreamedChange
from toolkit.hooks import CatalogChanged
from toolkit.hooks.events import EVENTS

PAGE = Path(__file__).parents[2] / "docs" / "hooks.md"


def test_the_table_in_the_documentation_is_the_list_of_the_code():
    """Each row has the event, its fields and its name in `toolkit.toml`, in the order of the code."""
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| `(\w+)` \|$", PAGE.read_text(encoding="utf-8"), flags=re.M)
    documented = [(kind, re.findall(r"`(\w+)`", fields), name) for kind, fields, name in rows]
    code = [(kind.__name__, [field.name for field in dataclasses.fields(kind)], name) for name, kind in EVENTS.items()]
    assert documented == code


def test_each_event_is_exported():
    assert {kind.__name__ for kind in EVENTS.values()} <= set(toolkit.hooks.__all__)
    assert list(EVENTS)[:3] == ["call_started", "hook_decided", "person_asked"]


def test_a_change_of_the_catalog_is_one_record_for_hooks_and_for_streams():
    assert CatalogChanged is StreamedChange


def test_a_call_without_listeners_does_not_load_the_event_modules():
    code = """
import sys
from toolkit import Catalog, Dispatcher

def add(a: int) -> int:
    '''Add one.'''
    return a + 1

assert Dispatcher(Catalog(add)).call_sync("add", {"a": 1}).value == 2
print([name for name in sys.modules if name.endswith(("hooks.events", "calls.listeners", "calls.call_events"))])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
