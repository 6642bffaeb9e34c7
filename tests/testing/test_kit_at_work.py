"""
The kit on tools that were not written for it: the built-in ones, the standard library.
"""

from __future__ import annotations

import base64
import bisect
import calendar
import colorsys
import difflib
import fnmatch
import glob
import heapq
import html
import ipaddress
import json
import math
import operator
import posixpath
import re
import shlex
import statistics
import string
import subprocess
import sys
import textwrap
import urllib.parse
import warnings
from pathlib import Path

import pytest

from toolkit import Catalog
from toolkit.builtin import Workspace, builtin_catalog
from toolkit.spec import Tool
from toolkit.testing import broken_laws, catalog_of, lint

FUNCTIONS = [
    math.gcd, math.sqrt, math.isclose, statistics.mean, statistics.median, textwrap.shorten, textwrap.fill,
    textwrap.dedent, textwrap.indent, calendar.isleap, calendar.monthrange, html.escape, html.unescape,
    urllib.parse.quote, urllib.parse.unquote, urllib.parse.urlsplit, shlex.split, shlex.quote, fnmatch.fnmatch,
    difflib.get_close_matches, json.dumps, base64.b64encode, string.capwords, colorsys.rgb_to_hsv, bisect.bisect,
    heapq.nlargest, glob.escape, re.escape, ipaddress.ip_network, operator.add, posixpath.normpath,
]  # fmt: skip

EXAMPLES = [
    "01_decorate", "02_existing_functions", "03_types", "04_catalogs", "05_own_types", "06_calls", "07_permissions",
    "08_approval_in_a_web_app", "09_shell_hooks", "11_anthropic_sdk", "12_openai_sdk", "14_agent",
    "16_agent_across_processes", "17_providers", "demo",
]  # fmt: skip


@pytest.mark.long
@pytest.mark.unmeasured
def test_the_builtin_tools_keep_every_law(tmp_path):
    """Those that only read are run, in a folder that they leave as it was."""
    (tmp_path / "notes.txt").write_text("Boil water.\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.md").write_text("# Tea\n")
    catalog = builtin_catalog(Workspace(tmp_path), sandbox="none")
    assert broken_laws(catalog, folder=tmp_path, examples=40) == []


def test_the_builtin_tools_need_no_advice(tmp_path):
    """Their hints are short, their parameters are described, and their facts fit their code."""
    with Workspace(tmp_path) as workspace:
        assert lint(builtin_catalog(workspace, sandbox="none")) == []


@pytest.mark.long
@pytest.mark.usefixtures("own_defaults")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_tools_of_an_example_keep_every_law_and_need_no_advice(example):
    """The violations that the example lists as known do not count."""
    catalog = catalog_of(str(Path(__file__).parents[2] / "examples" / f"{example}.py"))
    assert broken_laws(catalog, examples=15) == []
    assert lint(catalog) == []


def test_the_kit_finds_the_fault_of_its_example():
    """The example shows a tool that fails for a bill without guests."""
    file = Path(__file__).parents[2] / "examples" / "19_testing.py"
    (violation,) = broken_laws(catalog_of(str(file)), examples=15)
    assert (violation.tool, violation.rule, violation.arguments) == (
        "split_bill",
        "declared-failures",
        {"cents": 0, "people": 0},
    )


@pytest.mark.long
@pytest.mark.unmeasured
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_the_standard_library_keeps_every_law_but_one(function):
    """Its parameters are not described. Most have no annotations, so their schemas accept any value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        described = Tool.described(function)
    violations = broken_laws(Catalog(described), examples=8)
    assert {violation.rule for violation in violations} <= {"described"}


@pytest.mark.filterwarnings("ignore:.*no parameter has a type:toolkit.ToolkitWarning")
def test_a_standard_function_raises_for_values_that_no_annotation_forbids():
    """The schema allows null, and the function does not."""
    (violation,) = [
        candidate
        for candidate in broken_laws(Catalog(Tool.described(html.escape, read_only=True)), examples=8)
        if candidate.rule != "described"
    ]
    assert violation.rule == "declared-failures"
    assert violation.arguments == {"s": None}
    assert "annotate its parameters" in violation.remedy


def test_the_error_names_the_extra_if_hypothesis_is_missing():
    """A recorder needs no extra."""
    source = textwrap.dedent("""
        import sys
        sys.modules["hypothesis"] = None
        from toolkit.testing import Recorder, arguments
        Recorder()
        try:
            arguments({"type": "object"})
        except Exception as error:
            print(type(error).__name__, error)
    """)
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert (
        run.stdout
        == "ToolkitError hypothesis is not installed; run pip install '.[testing]' in a checkout of toolkit\n"
    )


def test_importing_the_kit_does_not_import_hypothesis_or_the_laws():
    source = (
        "import sys, toolkit.testing; print([m for m in sys.modules if 'hypothesis' in m or 'toolkit.testing.' in m])"
    )
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_an_unknown_name_of_the_kit_is_an_attribute_error():
    import toolkit.testing

    assert all(hasattr(toolkit.testing, name) for name in toolkit.testing.__all__)
    with pytest.raises(AttributeError, match="argument"):
        _ = toolkit.testing.argument
