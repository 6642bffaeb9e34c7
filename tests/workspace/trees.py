"""Trees of folders, files and links, and paths through them."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
TARGETS = st.one_of(PATHS, PATHS.map(lambda path: f"../{path}"), st.sampled_from(["/", "..", ".", "/etc/passwd"]))
TREES = st.lists(st.tuples(PATHS, st.one_of(st.sampled_from(["file", "folder"]), TARGETS)), max_size=12)


def plant(folder, tree):
    """Make what fits of a drawn tree, inside *folder*: a link that was drawn before may lead out of it."""
    for path, kind in tree:
        place = os.path.join(folder, path)
        if not Path(os.path.realpath(os.path.dirname(place))).is_relative_to(os.path.realpath(folder)):
            continue
        try:
            if kind == "file":
                open(place, "x").close()
            elif kind == "folder":
                os.mkdir(place)
            else:
                os.symlink(kind, place)
        except OSError:
            pass
