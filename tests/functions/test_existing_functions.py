"""
Every public function of the standard library and of the packages in the development group, decorated.

Each becomes a tool or is refused with a reason, and none crashes. `existing_functions.json` records how many. The
numbers differ between versions of Python and of the packages, so they are held only roughly.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from types import FunctionType

import pytest

from tests.functions import existing_functions
from tests.functions.existing_functions import SKIPPED

HERE = Path(__file__).parent
RECORD = json.loads((HERE / "existing_functions.json").read_text(encoding="utf-8"))
STANDARD = "the standard library"

PROGRAMS = {
    "ruff": "a program",
    "tree-sitter": "classes in C",
    "tree-sitter-bash": "one function in C",
    "jiter": "three functions in Rust",
    "opentelemetry-sdk": "classes in a namespace of several packages",
    "opentelemetry-util-genai": "the same",
    "opentelemetry-exporter-otlp-proto-http": "the same",
    "opentelemetry-proto": "classes that are made from a protocol",
    "playwright": "classes that drive a browser",
}
"""The packages of the development group that are not decorated, and why."""

MODULES = {"attrs": "attr", "google-genai": "google.genai", "griffelib": "griffe", "pyyaml": "yaml"}
"""The module of a package, where it has another name."""


def decorate(packages, seconds):
    """Decorate all functions of *packages* in a process of its own, and return its report."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "tests.functions.existing_functions", *packages]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, check=False, env=environment, cwd=HERE.parents[1]
        )
    except subprocess.TimeoutExpired as error:
        last = (error.stdout or b"").decode(errors="replace").splitlines()[-1:]
        pytest.fail(f"it takes longer than {seconds} seconds; the last function was {last}")
    assert ended.returncode == 0, f"{ended.stdout[-300:]}\n{ended.stderr[-2000:]}"
    return json.loads(ended.stdout.splitlines()[-1])


def check(report, recorded):
    """Check that nothing crashed, and that about as many became tools as recorded; a few may differ by version."""
    assert not report["crashes"], json.dumps(report["crashes"], indent=1)[:4000]
    assert report["built"] + report["refused"] == report["functions"]
    share = recorded["refused"] / recorded["functions"]
    reasons = "\n".join(report["reasons"])[:8000]
    assert report["built"] >= 0.75 * recorded["built"] - 3, reasons
    assert report["refused"] <= (share + 0.1) * report["functions"] + 3, reasons


@pytest.mark.long
@pytest.mark.unmeasured
def test_every_public_function_of_the_standard_library_is_built_or_refused():
    names = [name for name in sorted(sys.stdlib_module_names) if not name.startswith("_") and name not in SKIPPED]
    check(decorate(names, 1800), RECORD[STANDARD])


LARGE = [name for name, row in RECORD.items() if row["functions"] >= 200 and name != STANDARD]
SMALL = [name for name in RECORD if name not in (STANDARD, *LARGE)]


@pytest.mark.long
@pytest.mark.unmeasured
@pytest.mark.parametrize("names", [*([name] for name in LARGE), SMALL], ids=[*LARGE, "the others"])
def test_every_public_function_of_a_package_is_built_or_refused(names):
    """The packages that are needed to develop; the small ones in one process, because it takes longer to start."""
    modules = {name: MODULES.get(name, name.replace("-", "_")) for name in names}
    installed = {name: module for name, module in modules.items() if importlib.util.find_spec(module.partition(".")[0])}
    if not installed:
        pytest.skip(f"{names[0]} is not installed")
    recorded = sum((Counter(RECORD[name]) for name in installed), Counter())
    check(decorate(list(installed.values()), 1800), recorded)


@pytest.mark.long
@pytest.mark.unmeasured
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "share"), [("pandas", 0.7), ("httpx", 0.9)])
def test_most_functions_that_a_package_offers_at_its_top_become_tools(name, share):
    """The others take a DataFrame, or return a context manager."""
    package = pytest.importorskip(name)
    functions = [value for key, value in vars(package).items() if key[0] != "_" and isinstance(value, FunctionType)]
    outcomes = [existing_functions.decorate(function) for function in functions]
    assert not [text for outcome, text in outcomes if outcome == "crashed"]
    assert sum(outcome == "built" for outcome, _ in outcomes) >= share * len(functions), outcomes


def test_every_package_of_the_development_group_is_recorded():
    """A package that is added is decorated too, or said to have no functions."""
    project = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = [*project["dependency-groups"]["dev"], *project["project"]["dependencies"]]
    names = {re.match(r"[A-Za-z0-9_.-]+", line)[0] for line in requirements}
    assert names - PROGRAMS.keys() - RECORD.keys() == set()


@pytest.mark.parametrize("reason", SKIPPED.values(), ids=SKIPPED)
def test_a_module_that_is_not_imported_has_a_reason(reason):
    assert len(reason) > 5
