"""
The command line. Commands only parse their arguments and print; other packages do the work.

`toolkit.cli.display` shows an agent at work. The command line needs click and rich, which the extra `cli` installs.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr
from .._plumbing.distribution import install_hint

if TYPE_CHECKING:
    from .argument_values import arguments_of

__all__ = ["arguments_of"]

__getattr__ = _lazy_getattr(__name__, {"arguments_of": "argument_values"})

for _name in ("click", "rich"):
    if find_spec(_name) is None:
        raise ModuleNotFoundError(
            f"the command line needs {_name}, which is not installed; {install_hint('cli')}", name=_name
        )
