"""
The parts of the system that a sandbox uses: what every command needs to read, and the programs that it may trust.

Commands read programs and libraries, and the settings that hold no secrets. No user's home folder is among them.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence

from ..safety.paths import is_inside

__all__ = ["find_trusted_program", "list_readable_folders", "list_settings"]

_PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_SETTINGS = """
    alternatives bash.bashrc bash_completion.d ca-certificates ca-certificates.conf crypto-policies debian_version
    default/locale dpkg/origins ethertypes fonts gai.conf gitconfig group host.conf hosts hostname inputrc java
    java-11-openjdk java-17-openjdk java-21-openjdk ld.so.cache ld.so.conf ld.so.conf.d locale.alias locale.conf
    localtime login.defs lsb-release machine-info magic magic.mime mailcap manpath.config mime.types nanorc
    networks nsswitch.conf os-release passwd perl pki/ca-trust pki/tls/certs pki/tls/cert.pem profile profile.d
    protocols python3 python3.11 python3.12 python3.13 resolv.conf rpc services shells ssl/cert.pem ssl/certs
    ssl/openssl.cnf terminfo timezone vim xattr.conf xdg xml
"""


def list_readable_folders(extra_folders: Iterable[str] = ()) -> list[str]:
    """
    Return the folders of programs and libraries, and *extra_folders*, with links resolved.

    Only folders that exist are returned. The Python that runs this code is among them, wherever it is installed,
    because tools are often written in Python. It is left out if its folder is the user's home folder or contains it.
    """
    candidates = [*_PROGRAMS, *filter(_is_narrow, (sys.base_prefix, sys.prefix)), *extra_folders]
    places = dict.fromkeys(os.path.realpath(path) for path in candidates if os.path.exists(path))
    return [path for path in places if not any(path != other and is_inside(path, other) for other in places)]


def list_settings() -> list[str]:
    """Return the files and folders of `/etc` that programs read and that hold no secrets."""
    paths = (f"/etc/{name}" for name in _SETTINGS.split())
    return [path for path in paths if os.path.exists(path)]


def find_trusted_program(name: str, folders: Sequence[str], path: str | None = None) -> str | None:
    """Return the path of the program *name*, or None. One in *folders* does not count: a tool may have put it there."""
    location = shutil.which(name, path=path)
    if location is None or not os.path.isabs(location):
        return None
    real = os.path.realpath(location)
    return None if any(is_inside(candidate, top) for top in folders for candidate in (location, real)) else real


def _is_narrow(folder: str) -> bool:
    """Return whether *folder* is neither the user's home folder nor a folder that contains it."""
    return not is_inside(os.path.realpath(os.path.expanduser("~")), os.path.realpath(folder))
