"""
Decorate every public function of some packages: `python -m tests.functions.existing_functions json textwrap`.

It runs in a process of its own, because importing a whole package may do anything. Each function is decorated in a
catalog of its own. The last line of the output is a report in JSON: how many became tools, how many were refused with a
reason, and what went wrong in any other way. Before that, each function has a line, so that one that hangs is known.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from types import ModuleType

from jsonschema import Draft202012Validator

from toolkit import Catalog, DefinitionError
from toolkit.functions.callables import subject_of

SKIPPED = {
    "antigravity": "opens a browser",
    "this": "prints a poem",
    "idlelib": "an editor with windows",
    "turtle": "opens a window",
    "turtledemo": "opens a window",
    "tkinter": "needs a display",
    "test": "the tests of Python itself",
    "lib2to3": "deprecated; its tests are inside",
    "ensurepip": "installs pip",
    "xxlimited": "an example in C",
    "nt": "Windows only",
    "msilib": "Windows only",
    "winreg": "Windows only",
    "winsound": "Windows only",
}
"""Modules that are not imported, and why. So are modules whose name begins with an underscore, and `__main__`."""

_PARTS_SKIPPED = {"tests", "test", "testing", "conftest", "_vendor", "vendored", "__main__"}


def iter_modules(package: str) -> Iterator[ModuleType]:
    """Import a package and each of its public modules; what cannot be imported is passed over."""
    names = [package]
    while names:
        name = names.pop()
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit):  # noqa: BLE001 -- another system, or a package that is not installed
            continue
        yield module
        for entry in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
            last = entry.name.rpartition(".")[2]
            if not last.startswith("_") and last not in _PARTS_SKIPPED and entry.name not in SKIPPED:
                names.append(entry.name)


def iter_functions(module: ModuleType, package: str) -> Iterator[tuple[str, object]]:
    """Yield the public functions that *module* offers, if they were written in the same package."""
    listed = getattr(module, "__all__", None)
    listed = [name for name in listed if isinstance(name, str)] if isinstance(listed, (list, tuple)) else []
    for name in dict.fromkeys([*listed, *dir(module)]):
        function = None if name.startswith("_") else getattr(module, name, None)
        if not callable(function) or isinstance(function, type) or not inspect.isroutine(function):
            continue
        home = str(getattr(function, "__module__", None)).partition(".")[0].lstrip("_")
        if name in listed or home == package.partition(".")[0]:
            yield f"{module.__name__}.{name}", function


def decorate(function: object) -> tuple[str, str]:
    """Return "built", "refused" or "crashed", and the reason or what went wrong."""
    catalog = Catalog()
    try:
        catalog.tool(function)
        (tool,) = catalog
        Draft202012Validator.check_schema(tool.schema)
        if tool.output_schema is not None:
            Draft202012Validator.check_schema(tool.output_schema)
    except DefinitionError as error:
        reason = str(error)
        names_it = subject_of(function) in reason or "parameter `" in reason
        return ("refused", reason) if names_it and len(reason) > 20 else ("crashed", f"a poor reason: {reason!r}")
    except BaseException:  # noqa: BLE001 -- anything else is a crash
        return "crashed", traceback.format_exc(limit=-4)
    return "built", ""


def decorate_all(packages: list[str]) -> dict:
    """Return the report about all functions of *packages*."""
    functions: dict[int, object] = {}
    outcomes, reasons, crashes = Counter(), [], {}
    for package in packages:
        for module in iter_modules(package):
            for name, function in iter_functions(module, package):
                if id(function) in functions:
                    continue
                functions[id(function)] = function  # kept, so that no other gets its id
                print(name, file=sys.__stdout__, flush=True)
                outcome, text = decorate(function)
                outcomes[outcome] += 1
                if outcome == "crashed":
                    crashes[name] = text
                elif outcome == "refused":
                    reasons.append(f"{name}: {text}")
    counts = {outcome: outcomes[outcome] for outcome in ("built", "refused")}
    return {"functions": len(functions), **counts, "reasons": reasons, "crashes": crashes}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.environ["BROWSER"] = "true"
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        report = decorate_all(sys.argv[1:])
    print(json.dumps(report))  # noqa: T201 -- the report is what this program is for
