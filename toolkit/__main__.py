"""
`python -m toolkit`, and the command `toolkit`: the command line, or how to get it.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; without its packages, say which command installs them."""
    try:
        from .cli.main import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.exit(f"error: {error}")
    run()


if __name__ == "__main__":
    main()
