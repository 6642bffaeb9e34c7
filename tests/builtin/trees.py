"""What the tests of `glob` and `grep` share: making trees, and calling a tool by hand."""

from __future__ import annotations

import os

from toolkit.context import Context
from toolkit.workspace import Workspace

CLOCK = 1_700_000_000


def plant(root, files):
    """Write *files*, text or bytes by path; the later ones are newer, and a path that ends in `/` is a folder."""
    os.makedirs(root, exist_ok=True)
    for age, (path, content) in enumerate(files.items()):
        place = os.path.join(root, path)
        os.makedirs(place if path.endswith("/") else os.path.dirname(place), exist_ok=True)
        if not path.endswith("/"):
            with open(place, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        os.utime(place, (CLOCK + age, CLOCK + age))
    return Workspace(root)


def run_by_hand(tool, *arguments, **options):
    """Return what the function of *tool* returns outside a dispatcher."""
    context = options.pop("context", None) or Context(facts=tool.facts)
    return tool.function(*arguments, **options, context=context)
