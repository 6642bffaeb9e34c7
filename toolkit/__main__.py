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
    run()


if __name__ == "__main__":
    main()
