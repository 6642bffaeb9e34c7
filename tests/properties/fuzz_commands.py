"""
Look for command lines that are judged harmless and start a program all the same.

    python -m tests.properties.fuzz_commands --lines 1000000 --seed 1 --workers 2

Lines are generated, and every line that neither a check nor a deny rule for the stand-in stops is really run by bash.
Lines are short, so one in six has been there before; it is counted, but not judged and run again.
A stand-in that starts is a finding: bash and the reader disagree about that line.
A control line has to start the stand-in at the beginning, or the fuzzer stops with an error. It also ends every batch: a
line that breaks the stand-in is counted with those that did not end, and the others are run again without it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from toolkit.permissions.patterns.commands import commands_concerned
from toolkit.safety.commands.check import check_command

from .bash_runs import Bash
from .command_lines import STAND_IN, command_lines, unescape

__all__ = ["Tally", "fuzz", "fuzz_all", "is_harmless", "real_lines"]

_CHUNK = 10_000
_QUOTING = str.maketrans("", "", "\\'\"\n")
_VERDICTS: dict[int, bool] = {}
_CORPUS = Path(__file__).parents[1] / "safety" / "corpus"


@dataclass
class Tally:
    """
    What came of some lines.

    Attributes:
        lines: How many were generated.
        harmless: How many were judged harmless; each of them was run, those that are the same once.
        findings: Those that started the stand-in.
        hung: Those that did not come to an end, or that broke the stand-in, so that they say nothing.
    """

    lines: int = 0
    harmless: int = 0
    findings: list[str] = field(default_factory=list)
    hung: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The lines that were judged harmless and run, of all."""
        return self.harmless / max(self.lines, 1)

    def add(self, other: Tally) -> None:
        """Count *other* in; a line that both hold is listed once."""
        self.lines += other.lines
        self.harmless += other.harmless
        # One process may come across a line again that another has run.
        self.findings = list(dict.fromkeys(self.findings + other.findings))
        self.hung = list(dict.fromkeys(self.hung + other.hung))


def is_harmless(line: str) -> bool:
    """Return whether no check stops *line*, nor a rule that denies the stand-in."""
    return not commands_concerned(line, f"{STAND_IN}:*") and check_command(line) is None


def real_lines() -> list[str]:
    """Return the lines of the corpora."""
    names = ("harmless", "dangerous", "hidden", "hidden_look_alikes")
    lines = [line for name in names for line in (_CORPUS / f"{name}.txt").read_text().splitlines()]
    lines = [unescape(line) for line in lines if line and not line.startswith("# ")]
    # Of the hidden commands, the fuzzer also gets the lines with the stand-in in place.
    return [*lines, *(line.replace("rm -rf /", STAND_IN) for line in lines if "rm -rf /" in line)]


def fuzz(
    seed: int,
    count: int,
    *,
    harmless: Callable[[str], bool] = is_harmless,
    max_findings: int = 100,
    batch: int = 2_000,
    verdicts: dict[int, bool] | None = None,
) -> Tally:
    """
    Generate lines, and run those that are judged harmless.

    Args:
        seed: What decides on the lines.
        count: How many are generated.
        harmless: The judge.
        max_findings: How many are enough to stop.
        batch: How many lines share one bash.
        verdicts: By the hash of a line, what the judge said of it. A line that is in it is counted again, but neither
            judged nor run again. New lines are added.
    """
    tally = Tally()
    bash = Bash()
    verdicts = {} if verdicts is None else verdicts

    def generate() -> Iterator[str]:
        for line in islice(command_lines(seed, real_lines()), count):
            tally.lines += 1
            key = hash(line)
            verdict = verdicts.get(key)
            if verdict is None:
                verdict = verdicts[key] = harmless(line) and _may_run(line)
                if verdict:
                    yield line
            tally.harmless += verdict

    try:
        bash.require_control()
        for lines in _batches(generate(), batch):
            tally.findings += bash.start_stand_in(lines)
            if len(tally.findings) >= max_findings:
                break
        tally.hung = list(dict.fromkeys([*bash.hung, *bash.spoiled]))
    finally:
        bash.close()
    return tally


def fuzz_all(seed: int, count: int, *, workers: int, on_chunk: Callable[[Tally, Tally], None] | None = None) -> Tally:
    """
    Do the same with several processes.

    Every chunk has a seed of its own, so the number of processes changes nothing. The tally of a chunk, and that of
    all so far, are given to *on_chunk*.
    """
    total = Tally()
    sizes = [min(_CHUNK, count - begun) for begun in range(0, count, _CHUNK)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        pending = [pool.submit(_fuzz_chunk, seed * 1_000_000 + at, size) for at, size in enumerate(sizes)]
        for future in as_completed(pending):
            tally = future.result()
            total.add(tally)
            if on_chunk is not None:
                on_chunk(tally, total)
    return total


def _fuzz_chunk(seed: int, count: int) -> Tally:
    """Fuzz in a process of the pool, which remembers the lines of its earlier chunks."""
    return fuzz(seed, count, verdicts=_VERDICTS)


def _may_run(line: str) -> bool:
    # Signals reach beyond the folder where the sandbox is a weak one.
    return "kill" not in line.translate(_QUOTING)


def _batches(lines: Iterator[str], size: int) -> Iterator[list[str]]:
    while batch := list(islice(lines, size)):
        yield batch


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Run the chunks side by side, and tell what was found."""
    parser = argparse.ArgumentParser(description="Look for lines that are judged harmless and start a program.")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    begun = time.monotonic()

    def tell(chunk: Tally, total: Tally) -> None:
        for line in chunk.findings:
            _tell(f"finding: {line!r}")
        _tell(
            f"seed {options.seed}: {total.lines} lines, {total.harmless} ({total.share:.1%}) harmless and run, "
            f"{len(total.hung)} did not end, {len(total.findings)} findings, {time.monotonic() - begun:.0f} s"
        )

    tally = fuzz_all(options.seed, options.lines, workers=options.workers, on_chunk=tell)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
