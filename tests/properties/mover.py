"""
Moves the files and folders of a folder about, as fast as it can, until its standard input ends; prints `ready`, and how often.

Run as a process of its own: `python -P mover.py ROOT OUTSIDE SEED`. Files, folders and links change places, are
renamed to and fro, and links lead elsewhere; above all, names change places with their doors, which are links to the
same names outside. Nothing is ever brought in from there: names are held by the descriptors of folders that were
inside at the start.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import select
import stat
import sys

_EXCHANGE = 2
_libc = ctypes.CDLL(None, use_errno=True)
KEPT = "vendor"
"""A folder that stays where it is, with all that is in it."""
DOOR = ".door"
"""How the link is called that leads to where a name has a namesake outside."""
_SHARE_OPEN = 0.2


def names_in(root):
    """Return every name below *root*, with the descriptor of its folder; links are not followed."""
    places = []
    for _, folders, files, fd in os.fwalk(root, follow_symlinks=False):
        folder_fd = os.dup(fd)
        if KEPT in folders:
            folders.remove(KEPT)
        places += [(folder_fd, name) for name in (*folders, *files)]
    return places


def exchange(place, other_place):
    """Let two names change places, if the system can do that in one step and one is not above the other."""
    (at, name), (there, another) = place, other_place
    _libc.renameat2(at, os.fsencode(name), there, os.fsencode(another), _EXCHANGE)


def away_and_back(place, draw):
    """Let a name be another for a moment."""
    at, name = place
    other = f"{name}.{draw.randrange(3)}.away"
    os.rename(name, other, src_dir_fd=at, dst_dir_fd=at)
    os.rename(other, name, src_dir_fd=at, dst_dir_fd=at)


def is_free(place):
    """Return whether a name is a link, and no door."""
    at, name = place
    return stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode) and not name.endswith(DOOR)


def point(place, target):
    """Let a link lead to *target* from now on."""
    at, name = place
    with contextlib.suppress(FileExistsError):
        os.symlink(target, f"{name}.new", dir_fd=at)
    os.rename(f"{name}.new", name, src_dir_fd=at, dst_dir_fd=at)


def main(root, outside, seed):
    draw = random.Random(seed)
    names = names_in(root)
    plain = sorted({name for _, name in names})
    targets = [*plain, "..", ".", "/", outside, f"../{os.path.basename(outside)}", f"{KEPT}/.env", KEPT]
    targets += [f"{outside}/{name}" for name in plain] + [f"{name}/{other}" for name in plain for other in plain]
    doors = [
        (place, (place[0], f"{place[1]}{DOOR}")) for place in names if (place[0], f"{place[1]}{DOOR}") in set(names)
    ]
    links = list(filter(is_free, names))
    moves, opened = 0, []
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while moves % 64 or not select.select([sys.stdin], [], [], 0)[0]:
        moves += 1
        with contextlib.suppress(OSError):
            match draw.randrange(8):
                case 0:
                    point(draw.choice(links), draw.choice(targets))
                case 1:
                    away_and_back(draw.choice(names), draw)
                case 2:
                    pair = draw.choice(names), draw.choice(names)
                    exchange(*pair)
                    exchange(*pair)  # or soon nothing would be where its name says
                case _ if len(opened) > len(doors) * _SHARE_OPEN:
                    exchange(*opened.pop(draw.randrange(len(opened))))
                case _:
                    opened.append(draw.choice(doors))
                    exchange(*opened[-1])
    sys.stdout.write(str(moves))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
