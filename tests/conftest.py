"""
What all tests share: the event loop, the hypothesis profiles, and what is spared them.

`HYPOTHESIS_PROFILE=thorough` draws twenty times as many examples as a plain `pytest`. `all`, for `make test-all`,
draws 8 in place of 60, and `quick`, for `make test`, 5. In CI they are the same in every run, so more of them would find
nothing that these do not; a plain `pytest` tries something new each time.

Before Python 3.12, a test marked `unmeasured`, every property and the tests of limits add nothing to the coverage: they
try thousands of cases, or large ones, and being watched costs them as much again, or several times. The lines that they
reach have quick tests of their own. From Python 3.12 on, being watched costs next to nothing.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import ssl
import sys
import textwrap
import warnings
from collections import defaultdict
from zlib import crc32

import certifi
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# Fixtures are found here by their names.
from tests.postgres import postgres_schema_url, postgres_server, postgres_url, shared_postgres_url  # noqa: F401
from tests.sandbox.trials import remember_trials
from toolkit import default_catalog

# A busy machine is not a bug: no deadline, and no complaint that drawing types takes time.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
# What decides whether a change lands should not depend on chance; at home every run tries something new.
settings.register_profile("default", max_examples=60, derandomize="CI" in os.environ, **_PATIENT)
settings.register_profile("quick", settings.get_profile("default"), max_examples=5)
settings.register_profile("all", settings.get_profile("default"), max_examples=8)
settings.register_profile("thorough", max_examples=1200, **_PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
if settings.get_current_profile_name() in ("quick", "all"):
    # Constants of all loaded modules are drawn as well, so what a seed means would depend on the files that a worker has
    # run before. To look for them, and for those that fit, takes longer than a few examples.
    providers._get_local_constants = lambda: providers._local_constants
# What a test starts elsewhere finds the table of characters here, and need not make it.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.abspath(".hypothesis"))


_PUBLIC_AUTHORITIES = {certifi.where(), os.environ.get("SSL_CERT_FILE")} - {None}
_load_verify_locations = ssl.SSLContext.load_verify_locations


def _load_own_authorities(context, cafile=None, capath=None, cadata=None):
    """Leave out the public authorities: each HTTP client takes 30 ms for them, and no test reaches a public host."""
    if cafile not in _PUBLIC_AUTHORITIES:
        _load_verify_locations(context, cafile, capath, cadata)


ssl.SSLContext.load_verify_locations = _load_own_authorities
remember_trials()


_UNMEASURED = {"properties", "test_limits.py", "test_hostile.py"}
"""Folders and files whose tests add nothing to the coverage."""


def pytest_configure(config):
    """Make the marks known."""
    config.addinivalue_line("markers", "unmeasured: adds nothing to the coverage, and takes a fraction of the time")
    config.addinivalue_line("markers", "long: takes long; `make test` leaves it out, `make test-all` runs it")
    config.addinivalue_line("markers", "first_cases(count): the cases after the first *count* of a test are `long`")
    config.addinivalue_line(
        "markers", "one_case_in(count): of *count* cases of a test in a row, all but one are `long`"
    )


MAX_CASES = 2
"""How many cases of a test `make test` runs, unless a mark says which."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark most cases of tests with many as `long`; a few of them show in `make test` what is broken."""
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    for test_cases in cases.values():
        quick_cases = set(_choose_quick_cases(test_cases))
        for item in test_cases:
            if item not in quick_cases:
                item.add_marker("long")


def _choose_quick_cases(test_cases):
    """Return the cases of a test that `make test` runs: the same in every run."""
    first_cases, one_case_in = map(test_cases[0].get_closest_marker, ("first_cases", "one_case_in"))
    if first_cases:
        return test_cases[: first_cases.args[0]]
    if one_case_in:
        return test_cases[:: one_case_in.args[0]]
    if len(test_cases) <= MAX_CASES:
        return test_cases
    # Every so many of them would miss a value of a parameter that changes as often.
    by_chance = sorted(test_cases, key=lambda item: crc32(item.nodeid.encode(errors="backslashreplace")))
    return by_chance[:MAX_CASES]


def pytest_collection_finish():
    """Keep what was imported out of the collector's sight: looking at it all costs 0.1 seconds each time."""
    gc.collect()
    gc.freeze()
    # The usual 700 make the collector look every few milliseconds, at objects that are still in use.
    gc.set_threshold(5_000)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Stop measuring the coverage for what is not to add to it."""
    is_slow = "coverage" in sys.modules and sys.version_info < (3, 12)
    is_left_out = item.get_closest_marker("unmeasured") or not _UNMEASURED.isdisjoint(item.path.parts)
    coverage = sys.modules["coverage"].Coverage.current() if is_slow and is_left_out else None
    if coverage is None:
        return (yield)
    coverage.stop()
    try:
        return (yield)
    finally:
        with warnings.catch_warnings(action="ignore"):  # of what was imported before
            coverage.start()


@pytest.fixture
def anyio_backend():
    """The core is asyncio's."""
    return "asyncio"


@pytest.fixture
def write_module(tmp_path, monkeypatch):
    """Write a module that can be imported by its name, and forget it when the test is over."""
    monkeypatch.syspath_prepend(tmp_path)
    # What a test imports would otherwise answer for a module of the same name in the next.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = []

    def write(name, source):
        path = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        importlib.invalidate_caches()
        names.append(name)
        return name

    yield write
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def own_defaults(own_forms):
    """Tools and codecs that a test registers for everyone, and settings of loggers, are forgotten afterwards."""
    disabled_level = logging.root.manager.disable
    loggers = [logging.getLogger(name) for name in ("toolkit", "toolkit.hooks")]
    levels, handlers = [logger.level for logger in loggers], [logger.handlers[:] for logger in loggers]
    with default_catalog.isolated():
        yield
    logging.disable(disabled_level)
    for logger, level, own_handlers in zip(loggers, levels, handlers, strict=True):
        logger.setLevel(level)
        logger.handlers[:] = own_handlers


@pytest.fixture
def own_forms():
    """Codecs that a test registers are forgotten afterwards."""
    from toolkit.values.codecs.registered import REGISTERED_BASES, REGISTERED_FACTORIES

    tables = (REGISTERED_FACTORIES, REGISTERED_BASES)
    entries_before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, entries_before, strict=True):
        table.clear()
        table.update(entries)
