"""
Trusted files at work while another process swaps their content: what counts has to be what the user trusted.

    python -m benchmarks.raced_trust                              every kind of file, 30 seconds each
    python -m benchmarks.raced_trust --kind settings --seconds 5

For each kind of file a project is trusted. Then a second process puts another content in its place and back again, in
three ways: by renaming files, by writing in place, and by exchanging the whole folder. A load that counts the other
content is a violation. A race without loads that count, and without loads that are refused, shows nothing, and is a
violation too.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from toolkit import Catalog, Dispatcher
from toolkit.hooks import ShellHooks
from toolkit.mcp.importing.server_file import ServerFileError, check_trusted, read_server_file
from toolkit.settings import MergedSettings, SettingsError, Trust, load_settings, read_instructions
from toolkit.skills import Skills

from .violations import Report

__all__ = ["KINDS", "WAYS", "race", "run"]

Outcome: TypeAlias = Literal["trusted", "foreign", "refused"]

WAYS = ("rename", "rewrite", "folder")

# The program of the second process. It swaps until its input ends.
_SWAPPER = """
import os, select, shutil, sys
way, folder, name, *texts = sys.argv[1:]
path, beside = os.path.join(folder, name), f"{folder}-beside"
contents = [text.encode() for text in texts]
if way == "folder":
    shutil.copytree(folder, beside)
    open(os.path.join(beside, name), "wb").write(contents[1])
print("ready", flush=True)
turn = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    turn += 1
    if way == "folder":
        os.rename(folder, f"{folder}-moving")
        os.rename(beside, folder)
        os.rename(f"{folder}-moving", beside)
    elif way == "rewrite":
        with open(path, "r+b") as file:
            file.truncate(file.write(contents[turn % 2]))
    else:
        with open(f"{folder}-new", "wb") as file:
            file.write(contents[turn % 2])
        os.replace(f"{folder}-new", path)
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """
    A kind of file that trust is about.

    Attributes:
        name: The file that is swapped, relative to the project.
        contents: The trusted content and the other one. They have the same length, so that a file that is written in
            place is never a mixture that has a meaning of its own.
        load: Loads the file, and says which content counts.
        others: Further files of the project.
    """

    name: str
    contents: tuple[str, str]
    load: Callable[[Path, Trust], Outcome]
    others: tuple[tuple[str, str], ...] = ()


def _load(project: Path, trust: Trust) -> MergedSettings | None:
    try:
        return load_settings(project, user=project.parent / "user", trust=trust, environ={})
    except SettingsError:
        return None


def _decide(is_trusted: bool, is_foreign: bool) -> Outcome:
    return "foreign" if is_foreign else "trusted" if is_trusted else "refused"


def _load_mode(project: Path, trust: Trust) -> Outcome:
    settings = _load(project, trust)
    mode = None if settings is None else settings["mode"]
    return _decide(mode == "auto", mode == "bypass")


def _load_rules(project: Path, trust: Trust) -> Outcome:
    settings = _load(project, trust)
    rules = "" if settings is None else " ".join(rule.text for rule in settings.rules)
    return _decide("good" in rules, "evil" in rules)


def _load_hooks(project: Path, trust: Trust) -> Outcome:
    settings = _load(project, trust)
    commands = "" if settings is None else " ".join(str(hook.command) for hook in settings["hooks"])
    return _decide("good" in commands, "evil" in commands)


def _run_script(project: Path, trust: Trust) -> Outcome:
    settings = _load(project, trust)
    if settings is None or not settings["hooks"]:
        return "refused"
    catalog = Catalog()

    @catalog.tool
    def look() -> str:
        """Look."""
        return "looked"

    dispatcher = Dispatcher(catalog, hooks=[ShellHooks(settings["hooks"])])
    text = dispatcher.call_sync("look", {}).text
    return _decide("good" in text, "evil" in text)


def _load_skills(project: Path, trust: Trust) -> Outcome:
    skills = Skills(Catalog(), project=project, trust=trust)
    texts = " ".join(skill.text for skill in skills.skills)
    return _decide("good" in texts, "evil" in texts)


def _load_instructions(project: Path, trust: Trust) -> Outcome:
    text = read_instructions(project, trust=trust, user=project.parent / "user").text
    return _decide("good" in text, "evil" in text)


def _load_servers(project: Path, trust: Trust) -> Outcome:
    try:
        file = read_server_file(project / ".mcp.json", {})
        check_trusted(file, trust)
    except ServerFileError:
        return "refused"
    return _decide("good" in file.servers, "evil" in file.servers)


def _write_twice(template: str) -> tuple[str, str]:
    return template.replace("WORD", "good"), template.replace("WORD", "evil")


_HOOK = '[[hooks]]\non = "before"\ncommand = "sh {}"\n'
_SCRIPT = 'echo "WORD was run" >&2\nexit 2\n'

KINDS: dict[str, Kind] = {
    "settings": Kind(".toolkit/toolkit.toml", ('mode = "auto"  \n', 'mode = "bypass"\n'), _load_mode),
    "rules": Kind(".toolkit/toolkit.toml", _write_twice('[rules]\nallow = ["bash(WORD)"]\n'), _load_rules),
    "hooks": Kind(".toolkit/toolkit.toml", _write_twice(_HOOK.format("/bin/WORD")), _load_hooks),
    "hook scripts": Kind(
        ".toolkit/check.sh",
        _write_twice(_SCRIPT),
        _run_script,
        ((".toolkit/toolkit.toml", _HOOK.format(".toolkit/check.sh")),),
    ),
    "scripts elsewhere": Kind(
        "tools/check.sh",
        _write_twice(_SCRIPT),
        _run_script,
        ((".toolkit/toolkit.toml", _HOOK.format("tools/check.sh")),),
    ),
    "skills": Kind(".toolkit/skills/review.md", _write_twice("---\ndescription: Look.\n---\nBe WORD."), _load_skills),
    "instructions": Kind("AGENTS.md", _write_twice("Be WORD.\n"), _load_instructions),
    "servers": Kind(".mcp.json", _write_twice('{"mcpServers": {"WORD": {"command": "/bin/cat"}}}'), _load_servers),
}


def race(kind: Kind, way: str, folder: Path, is_over: Callable[[int], bool]) -> Counter[Outcome]:
    """Load files of *kind* while they are swapped, until *is_over* the number of loads, and count the outcomes."""
    project = folder / "project"
    for name, text in ((kind.name, kind.contents[0]), *kind.others):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    trust = Trust(folder / "user" / "trust.json")
    trust.trust(project)
    if kind.name == ".mcp.json":
        trust.trust_content(project / kind.name, kind.contents[0].encode())
    outcomes: Counter[Outcome] = Counter()
    with _swap(kind, way, project):
        while not is_over(outcomes.total()):
            outcomes[kind.load(project, trust)] += 1
    return outcomes


@contextmanager
def _swap(kind: Kind, way: str, project: Path) -> Iterator[None]:
    """Let another process swap the file of *kind*."""
    # With the way "folder" the folder right below the project is exchanged; the project itself for a file in it.
    top = project / Path(kind.name).parts[0] if "/" in kind.name else project
    name = str((project / kind.name).relative_to(top))
    swapper = subprocess.Popen(
        [sys.executable, "-c", _SWAPPER, way, str(top), name, *kind.contents],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert swapper.stdout is not None
        swapper.stdout.readline()
        yield
    finally:
        swapper.communicate()


def race_all(name: str, is_over: Callable[[int], bool], *, needs_both: bool = True) -> Report:
    """Race one kind of file in every way."""
    outcomes: Counter[Outcome] = Counter()
    violations = []
    logging.getLogger("toolkit").setLevel(logging.CRITICAL)
    for way in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            ends = race(KINDS[name], way, Path(folder).resolve(), is_over)
        outcomes += ends
        if ends["foreign"]:
            violations.append(f"{name}, {way}: {ends['foreign']:,} of {ends.total():,} loads counted a foreign content")
    if needs_both and not (outcomes["trusted"] and outcomes["refused"]):
        violations.append(f"{name}: the race shows nothing: {dict(outcomes)}")
    shown = ", ".join(f"{outcome} {count:,}" for outcome, count in outcomes.most_common())
    return Report(f"{name}: {outcomes.total():,} raced loads ({shown})", violations)


async def run(count: int) -> Report:
    """Make *count* loads in all, and report how they ended."""
    each = max(1, count // (len(KINDS) * len(WAYS)))
    reports = [await asyncio.to_thread(race_all, name, lambda loads: loads >= each) for name in KINDS]
    return Report(
        "; ".join(report.line for report in reports), [text for report in reports for text in report.violations]
    )


def main() -> int:
    """Race each kind for some seconds, and print how it went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=list(KINDS), action="append")
    parser.add_argument("--seconds", type=float, default=30.0)
    arguments = parser.parse_args()
    has_violation = False
    for name in arguments.kind or KINDS:
        report = race_all(name, _stop_after(arguments.seconds / len(WAYS)))
        print(report.line, *(f"  VIOLATION {text}" for text in report.violations), sep="\n", flush=True)
        has_violation |= bool(report.violations)
    return int(has_violation)


def _stop_after(seconds: float) -> Callable[[int], bool]:
    """Return a function that is true once that many *seconds* have passed since the first load of a race."""
    started: dict[int, float] = {}

    def is_over(loads: int) -> bool:
        if loads == 0:
            started[0] = time.monotonic()
        return time.monotonic() - started[0] >= seconds

    return is_over


if __name__ == "__main__":
    raise SystemExit(main())
