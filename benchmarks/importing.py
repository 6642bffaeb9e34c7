"""`import toolkit` beside `import asyncio` alone, each in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from .timing import Row, ratio

__all__ = ["rows"]

_CODE = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def microseconds(module: str, environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", _CODE.format(module)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(run.stdout) * 1e6


def rows() -> list[Row]:
    modules = ["asyncio", "toolkit", "anthropic", "pydantic_ai"]
    best = dict.fromkeys(modules, float("inf"))
    with tempfile.TemporaryDirectory() as cache:
        # Compiled once, as an installed package is; the first turn fills the cache.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(20):
            for module in modules if turn < 4 else modules[:2]:
                best[module] = min(best[module], microseconds(module, environment))
    return [
        (
            f"import {module}",
            best[module],
            ratio(best[module], best["asyncio"]) if module != "asyncio" else None,
            "of asyncio (at most 1.3)" if module == "toolkit" else "",
        )
        for module in modules
    ]
