"""
Look for command lines that are judged harmless and start a program all the same.

    python -m tests.properties.fuzz_commands --lines 1000000 --seed 1 --workers 2

Lines are generated, and every line that neither a check nor a deny rule for the stand-in stops is really run by bash.
A stand-in that starts is a finding: bash and the reader disagree about that line.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from toolkit.permissions.commands import commands_concerned
from toolkit.safety.commands import judged

from .bash_runs import Bash
from .command_lines import STAND_IN, command_lines

__all__ = ["Tally", "fuzz", "is_harmless", "real_lines"]

_BATCH = 400
_CHUNK = 20_000
_CORPUS = Path(__file__).parents[1] / "safety" / "corpus"


@dataclass
class Tally:
    """
    What came of some lines.

    Attributes:
        lines: How many were generated.
        harmless: How many were judged harmless and run.
        findings: Those that started the stand-in.
        hung: Those that did not come to an end.
    """

    lines: int = 0
    harmless: int = 0
    findings: list[str] = field(default_factory=list)
    hung: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count *other* in."""
        self.lines += other.lines
        self.harmless += other.harmless
        self.findings += other.findings
        self.hung += other.hung


def is_harmless(line: str) -> bool:
    """Return whether no check stops *line*, nor a rule that denies the stand-in."""
    return not commands_concerned(line, f"{STAND_IN}:*") and judged(line) is None


def real_lines() -> list[str]:
    """Return the lines of both corpora."""
    lines = [line for name in ("harmless", "dangerous") for line in (_CORPUS / f"{name}.txt").read_text().splitlines()]
    return [
        line.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")
        for line in lines
        if line and not line.startswith("# ")
    ]


def fuzz(seed: int, count: int, *, harmless: Callable[[str], bool] = is_harmless) -> Tally:
    """Generate *count* lines from *seed*, and run those that are *harmless*."""
    tally = Tally(lines=count)
    bash = Bash()
    try:
        lines = islice(command_lines(seed, real_lines()), count)
        for batch in _batches(line for line in lines if "\0" not in line and harmless(line) and _may_run(line)):
            tally.harmless += len(batch)
            tally.findings += bash.start_stand_in(batch)
        tally.hung = list(dict.fromkeys(bash.hung))
    finally:
        bash.close()
    return tally


def _may_run(line: str) -> bool:
    # Signals reach beyond the folder where the sandbox is a weak one.
    return "kill" not in line.translate({ord(sign): None for sign in "\\'\"\n"})


def _batches(lines: Iterable[str]) -> Iterable[list[str]]:
    lines = iter(lines)
    while batch := list(islice(lines, _BATCH)):
        yield batch


def main() -> int:
    """Run the chunks side by side, and tell what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    begun = time.monotonic()
    total = Tally()
    chunks = -(-options.lines // _CHUNK)
    with ProcessPoolExecutor(options.workers) as pool:
        # Every chunk has a seed of its own, so that the number of workers changes nothing.
        pending = [pool.submit(fuzz, options.seed * 1_000_000 + at, min(_CHUNK, options.lines)) for at in range(chunks)]
        for future in as_completed(pending):
            tally = future.result()
            total.add(tally)
            for line in tally.findings:
                print(f"finding: {line!r}", flush=True)
    seconds = time.monotonic() - begun
    print(
        f"{total.lines} lines, {total.harmless} ({total.harmless / total.lines:.1%}) harmless and run, "
        f"{len(total.hung)} did not end, {len(total.findings)} findings, {seconds:.0f} s"
    )
    return 1 if total.findings else 0


if __name__ == "__main__":
    sys.exit(main())
