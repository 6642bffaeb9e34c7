"""
A page in the browser that shows tools, calls, approvals, runs and flows as they happen.

    inspector = Inspector(dispatcher)
    app = inspector.app()          # a Starlette application
    inspector.token                # the page is at http://127.0.0.1:8000/#token=TOKEN

The extra `inspector` installs starlette and uvicorn. They are imported when one of these names is first used.
"""

from __future__ import annotations

from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr
from .._plumbing.distribution import install_hint as _install_hint
from ..errors import ToolkitError as _ToolkitError

if TYPE_CHECKING:
    from .application import Inspector
    from .history import History

__all__ = ["History", "Inspector"]


_load = _lazy_getattr(__name__, {"History": "history", "Inspector": "application"})


def __getattr__(name: str) -> object:
    """Load what a name stands for; say what to install if that is missing."""
    if name == "Inspector" and (_find_spec("starlette") is None or _find_spec("uvicorn") is None):
        raise _ToolkitError(f"the inspector needs starlette and uvicorn; {_install_hint('inspector')}")
    return _load(name)
