"""
The entry point of `python -m toolkit` and of the command `toolkit`.

It runs the command line if its packages are installed. Otherwise it says how to install them.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or exit with the command that installs its packages if they are missing."""
    _open_missing_streams()
    try:
        from .cli.main import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.exit(f"error: {error}")
    try:
        run()
    finally:
        # Dataclasses make their methods by running text. If Ctrl-C comes meanwhile, Python remembers that, and ends
        # `python -m toolkit` by the signal, whatever the exit code is. Running any other text makes Python forget it.
        exec("")  # noqa: S102 -- an empty text


def _open_missing_streams() -> None:
    """
    Open the standard streams that the process was started without, as by `2>&-`, on nothing.

    Their numbers are the lowest, so a database that is opened first would have one of them, and get what others print.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 -- it stays open
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    main()
