"""
Run the official conformance suite of MCP against our server and our client: `make conformance`.

The suite is the npm package `@modelcontextprotocol/conformance`. It runs the scenarios that each protocol revision
requires, and those of the tasks extension, which count here as well. `expected_failures.toml` names the failures that
stay, each with its reason. Any other failure fails the run, and so does an entry that passes or names no required
scenario.

    python -m tests.mcp.conformance                              all of it
    python -m tests.mcp.conformance --role server --revision 2026-07-28
    python -m tests.mcp.conformance --optional                   succeed if Node or the suite cannot be had
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml

from ..node_packages import MissingNode, NodeInstallation, find_package, find_program, install_packages

HERE = Path(__file__).parent
REVISIONS = ("2025-11-25", "2026-07-28")
ROLES = ("server", "client")
SUITE = "@modelcontextprotocol/conformance"
SCENARIO_MILLISECONDS = 120_000
RUN_SECONDS = 1_200
AT_ONCE = 2

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_VERDICT = re.compile(r"^([✓✗]) (\S+): ", re.MULTILINE)


@dataclass(frozen=True)
class Leg:
    """One run of the suite: the scenarios that *revision* requires of *role*."""

    role: str
    revision: str

    def __str__(self) -> str:
        return f"{self.role} {self.revision}"


FURTHER_SCENARIOS = {
    Leg("server", "2026-07-28"): [
        *("tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal"),
        *("tasks-mrtr-input", "tasks-request-headers", "tasks-dispatch-and-envelope"),
    ]
}
"""The scenarios of extensions that our side has. The suite runs them, and does not require them."""


@dataclass(frozen=True)
class Report:
    """
    How a leg went.

    Attributes:
        output: What the suite printed, without colours.
        is_good: Whether the failures are those that are expected.
        passed: The required scenarios that passed.
        required: All required scenarios.
        expected: The failures that are expected, with their reasons.
    """

    leg: Leg
    output: str
    is_good: bool
    passed: list[str]
    required: list[str]
    expected: dict[str, str]
    seconds: float


def main(words: Sequence[str]) -> int:
    """Run what *words* ask for, print how it went, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mcp.conformance", description=__doc__.split("\n\n")[0])
    parser.add_argument("--role", choices=ROLES)
    parser.add_argument("--revision", choices=REVISIONS)
    parser.add_argument("--optional", action="store_true", help="succeed if Node or the suite cannot be had")
    parser.add_argument("--verbose", action="store_true", help="print all that the suite says")
    options = parser.parse_args(words)
    try:
        node = install_packages()
    except MissingNode as missing:
        print(f"conformance: skipped: {missing}")
        return 0 if options.optional else 1
    legs = [
        Leg(role, revision)
        for role in ROLES
        for revision in REVISIONS
        if options.role in (None, role) and options.revision in (None, revision)
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        reports = list(pool.map(lambda leg: run_leg(node, leg), legs))
    for report in reports:
        show(report, verbose=options.verbose)
    return 0 if all(report.is_good for report in reports) else 1


def read_expected_failures(leg: Leg) -> dict[str, str]:
    """Return the entries for *leg* with their reasons."""
    content = tomllib.loads((HERE / "expected_failures.toml").read_text(encoding="utf-8"))
    entries: dict[str, str] = content[leg.role][leg.revision]
    for entry, reason in entries.items():
        if len(reason) < 20:
            raise ValueError(f"expected_failures.toml: {leg}: {entry!r} needs a reason")
    return entries


def run_leg(node: NodeInstallation, leg: Leg) -> Report:
    """Run the suite once."""
    start = time.monotonic()
    suite = [node.program, str(find_program(SUITE, "conformance"))]
    expected = read_expected_failures(leg)
    requirements = find_package(SUITE) / "requirements" / f"{leg.revision}.yaml"
    required: list[str] = yaml.safe_load(requirements.read_text(encoding="utf-8"))[leg.role]
    further = FURTHER_SCENARIOS.get(leg, [])
    required += further
    unknown = [entry for entry in expected if entry.partition(":")[0] not in required]
    with tempfile.TemporaryDirectory() as folder, open_subject(leg) as subject:
        baseline = Path(folder, "expected.yml")
        lines = [f"{leg.role}:", *(f"  - {entry}" for entry in expected)] if expected else [f"{leg.role}: []"]
        baseline.write_text("\n".join(lines), encoding="utf-8")
        run = subprocess.run(
            [
                *(*suite, leg.role, *subject, "--requirements", leg.revision),
                *("--timeout", str(SCENARIO_MILLISECONDS), "--expected-failures", str(baseline)),
                *("--output-dir", str(Path(folder, "results"))),
            ],
            env=node.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=RUN_SECONDS,
        )
    output = _COLOUR.sub("", run.stdout) + "".join(f"\n  ✗ {entry}: no such required scenario" for entry in unknown)
    failing = {entry.partition(":")[0] for entry in expected}
    passed = [name for mark, name in _VERDICT.findall(output) if mark == "✓" and name in required]
    return Report(
        leg=leg,
        output=output,
        is_good=run.returncode == 0 and not unknown and set(further) <= set(passed),
        passed=[name for name in passed if name not in failing],
        required=required,
        expected=expected,
        seconds=time.monotonic() - start,
    )


@contextlib.contextmanager
def open_subject(leg: Leg) -> Iterator[list[str]]:
    """Yield the options that name what the suite tests. What is tested runs until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder, "client")
        words = ["everything_server"] if leg.role == "server" else ["client", str(socket)]
        command = [sys.executable, "-m", f"{__package__}.{words[0]}", *words[1:]]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                address = process.stdout.readline().strip()
                if not address:
                    raise RuntimeError(f"{shlex.join(command)} ended with exit code {process.wait()}")
                relay = [sys.executable, "-I", str(HERE / "relay.py"), str(socket)]
                yield ["--url", address] if leg.role == "server" else ["--command", " ".join(relay)]
            finally:
                process.terminate()


def show(report: Report, *, verbose: bool) -> None:
    """Print how a leg went: the counts, and what differs from the expected failures."""
    if verbose or not report.is_good:
        print(report.output)
    verdict = "as expected" if report.is_good else "FAILED"
    print(
        f"{report.leg}: {len(report.passed)} of {len(report.required)} required scenarios passed, "
        f"{verdict} ({report.seconds:.0f} s)"
    )
    for entry, reason in report.expected.items():
        print(f"    {entry}: {reason}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
