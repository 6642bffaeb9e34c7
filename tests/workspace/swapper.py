"""
Swaps files, folders and links as fast as it can, until its standard input ends; prints how often.

Run as a process of its own: `python swapper.py ROOT OUTSIDE SEED`.
"""

from __future__ import annotations

import ctypes
import os
import random
import select
import sys

_EXCHANGE = 2
_libc = ctypes.CDLL(None, use_errno=True)


def exchange(place, other_place):
    """Let two names, each with its folder's descriptor, change places: in one step, or in three."""
    (at, name), (there, another) = place, other_place
    if getattr(_libc, "renameat2", None) and not _libc.renameat2(
        at, os.fsencode(name), there, os.fsencode(another), _EXCHANGE
    ):
        return
    os.rename(name, f"{name}.swap", src_dir_fd=at, dst_dir_fd=at)
    os.rename(another, name, src_dir_fd=there, dst_dir_fd=at)
    os.rename(f"{name}.swap", another, src_dir_fd=at, dst_dir_fd=there)


def point(link, target):
    """Let *link* lead to *target* from now on."""
    os.symlink(target, f"{link}.new")
    os.rename(f"{link}.new", link)


def main(root, outside, seed):
    draw = random.Random(seed)
    os.chdir(root)
    name = os.path.basename(outside)
    # By descriptors: `deep/er` may be a link just now, and through it the swaps would bring in what is outside.
    here, deep, er = (os.open(path, os.O_PATH) for path in (".", "deep", "deep/er"))
    doors = [
        ((here, "door"), (here, "door.link")),
        ((here, "leaf"), (here, "leaf.link")),
        ((er, "door"), (deep, "door.link")),
        ((deep, "er"), (here, "er.link")),
    ]
    targets = [
        "door",
        f"../{name}",
        outside,
        "deep/er/door",
        "door/file",
        "leaf",
        "..",
        f"door/../../{name}",
        "hop",
        "/",
        "vendor",
        "vendor",
    ]
    swaps = 0
    while swaps % 64 or not select.select([sys.stdin], [], [], 0)[0]:
        swaps += 1
        if draw.random() < 0.75:
            exchange(*draw.choice(doors))
        else:
            point(draw.choice(("hop", "deep/hop")), draw.choice(targets))
    sys.stdout.write(str(swaps))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
