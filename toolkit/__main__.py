"""
The entry point of `python -m toolkit` and of the command `toolkit`.

It runs the command line if its packages are installed. Otherwise it says how to install them.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or exit with the command that installs its packages if they are missing."""
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


if __name__ == "__main__":
    main()
