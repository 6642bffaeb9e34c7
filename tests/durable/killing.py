"""
Durable runs whose processes are killed, for `test_kill.py` and `make endurance`; `tests.flows.killing` has flows.

    python -m tests.durable.killing FOLDER SEED KILLS [POSTGRES_URL]

One warm process forks a child for each life of a run. A child dies at a random line of the toolkit, by SIGKILL; the
next child goes on with the same id. A line of JSON is printed for each run: how it ended, and what really happened.
"""

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.killed_children import ROOT, count_lines, die, fork, say
from toolkit import Catalog, Context, Decision, Dispatcher, ToolCall
from toolkit.agent import Agent, Run, sub_run
from toolkit.durable import DurableAgent, DurableError
from toolkit.durable.journal.run_journal import open_journal
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.providers.base import Request
from toolkit.providers.messages import AssistantMessage, UserMessage

MAYBE = "may or may not have happened"
ONCE = ("pay", "send")
"""The tools that must not be run twice; `put` is idempotent, and `look` is read-only."""

PROMPT = "do all of it"
SUB_PROMPT = "do a part of it"
SCRIPTS: dict[str, list[Any]] = {
    PROMPT: [
        [("look", 1), ("look", 2), ("look", 3)],
        [("pay", 1)],
        [("send", 1), ("put", 1)],
        [("delegate", 0), ("look", 4)],
        [("pay", 2), ("pay", 3), ("put", 2)],
        [("send", 2), ("send", 3), ("look", 5)],
        "done",
    ],
    SUB_PROMPT: [
        [("look", 6), ("look", 7)],
        [("pay", 4)],
        [("send", 4)],
        "the part is done",
    ],
}
"""What the model does in each turn: calls of a tool with a number, or its answer."""

CALLS = [call for script in SCRIPTS.values() for turn in script if isinstance(turn, list) for call in turn]


def reply_to(request: Request) -> Any:
    """Return the next turn of the script. It depends on the conversation only, so every process gives the same."""
    prompt = next(message.text for message in request.messages if isinstance(message, UserMessage))
    turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
    scripted = SCRIPTS[prompt][turn]
    if isinstance(scripted, str):
        return scripted
    return [ToolCall(name, {"n": n}, f"{name}-{n}") for name, n in scripted]


@contextlib.contextmanager
def ignore_other_answers() -> Iterator[None]:
    """Pass over the refusal of an answer because another process has answered, gone on since, or come to the end."""
    try:
        yield
    except DurableError as error:
        if error.why not in ("answered", "unknown", "over"):
            raise


class Place:
    """Where one run happens: a database, and a file with one line for every effect."""

    def __init__(self, folder: Path, run_id: str, postgres_url: str | None = None) -> None:
        folder.mkdir(mode=0o700)
        self.database = postgres_url or f"sqlite:///{folder}/runs.sqlite"
        self.effects_file = folder / "effects"
        self.run_id = run_id

    async def live(self, on_start: Callable[[], None]) -> dict[str, Any]:
        """Work on the run until it is done, as one process, and return how it ended."""
        raise NotImplementedError

    def find_violations(self, outcome: dict[str, Any], effects: list[dict[str, Any]], kills: int) -> list[str]:
        """Return what must not have happened in a run whose processes were killed *kills* times."""
        raise NotImplementedError

    def happen(self, **effect: Any) -> None:
        """Write the line of an effect, all at once."""
        handle = os.open(self.effects_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, f"{json.dumps(effect)}\n".encode())
        os.close(handle)

    def read_effects(self) -> list[dict[str, Any]]:
        """Return what really happened, in order."""
        if not self.effects_file.exists():
            return []
        return [json.loads(line) for line in self.effects_file.read_text().splitlines()]

    def find_unknown_steps(self) -> list[str]:
        """Return the keys of the steps whose result says that they may or may not have happened."""
        with contextlib.closing(open_journal(self.database)) as journal:
            steps = journal.read_steps(self.run_id)
        return [key for key, step in steps.items() if MAYBE in json.dumps(step.record)]


class AgentPlace(Place):
    """A run of an agent."""

    def build_agent(self) -> Agent[str]:
        """Make the agent anew, as every process does."""
        catalog = Catalog()

        def happen(tool: str, n: int, context: Context) -> str:
            self.happen(tool=tool, n=n, key=context.idempotency_key)
            return f"{tool} {n} happened"

        @catalog.tool(read_only=True)
        async def look(n: int, context: Context) -> str:
            """Look at something."""
            return happen("look", n, context)

        @catalog.tool
        async def pay(n: int, context: Context) -> str:
            """Pay something."""
            return happen("pay", n, context)

        @catalog.tool(idempotent=True)
        async def put(n: int, context: Context) -> str:
            """Put something somewhere."""
            return happen("put", n, context)

        @catalog.tool(destructive=True, approval="always")
        def send(n: int, context: Context) -> str:
            """Send something away, in a thread, once a person has agreed."""
            return happen("send", n, context)

        @catalog.tool(idempotent=True)
        async def delegate(n: int, context: Context) -> str:
            """Let the model do a part."""
            return await sub_run(SUB_PROMPT, context=context)

        dispatcher = Dispatcher(catalog, permissions=Permissions(mode="auto"))
        return Agent(ScriptedProvider([reply_to] * 40), dispatcher)

    async def live(self, on_start: Callable[[], None]) -> dict[str, Any]:
        """Work on the run until it is done, as one process; every request is approved."""
        durable = DurableAgent(self.build_agent(), self.database, takeover_seconds=1.0, max_lives=1000)
        async with durable:
            on_start()
            run: Run[str] = await durable.run(PROMPT, id=self.run_id)
            while run.status == "waiting":
                decisions = {request.id: Decision.approve(by="ada") for request in run.requests}
                with ignore_other_answers():
                    await durable.resume(self.run_id, decisions)
                run = await durable.run(PROMPT, id=self.run_id)
        text = run.text if run.status == "done" else ""
        return {"status": run.status, "reason": run.reason, "text": text}

    def find_violations(self, outcome: dict[str, Any], effects: list[dict[str, Any]], kills: int) -> list[str]:
        """Return what must not have happened in a run whose processes were killed *kills* times."""
        if (outcome["status"], outcome["text"]) != ("done", "done"):
            return [f"the run ended as {outcome['status']}: {outcome['reason'] or outcome['text']}"]
        violations = []
        counts = Counter((effect["tool"], effect["n"]) for effect in effects)
        keys: dict[tuple[str, int], set[str]] = {call: set() for call in counts}
        for effect in effects:
            keys[effect["tool"], effect["n"]].add(effect["key"])
        if any(len(values) > 1 for values in keys.values()):
            violations.append(f"a step that was repeated got another key: {keys}")
        if len(set().union(*keys.values())) != len(keys):
            violations.append(f"two steps had the same key: {keys}")
        if len(outcome["unknown"]) > kills:
            violations.append(f"after {kills} kills these may have happened: {outcome['unknown']}")
        for tool, n in CALLS:
            if tool == "delegate":
                continue
            count = counts[tool, n]
            if count > (1 if tool in ONCE else 1 + kills):
                violations.append(f"{tool} {n} happened {count} times after {kills} kills")
            if count == 0 and not any(f"{tool}-{n}" in key or "/resume/" in key for key in outcome["unknown"]):
                violations.append(f"{tool} {n} did not happen")
        return violations


def live_and_count(place: Place, number: int, end: Callable[[], None] = die) -> dict[str, Any]:
    """Work on the run in this process, which dies at the *number*-th line, or does *end*; 0 for never."""
    start, line_count = count_lines(number, end=end)
    outcome = asyncio.run(place.live(start))
    return {**outcome, "unknown": place.find_unknown_steps(), "lines": line_count()}


def run_to_the_end(place: Place, deaths: list[int]) -> dict[str, Any]:
    """Let processes work on one run, each of which dies at a line of *deaths*, and return how it ended."""
    kills = 0
    for number in [*deaths, 0]:
        outcome = fork(lambda number=number: live_and_count(place, number))  # type: ignore[misc]  # the default binds it
        if outcome is not None or number == 0:
            break
        kills += 1
    report = {"run": place.run_id, "deaths": deaths, "kills": kills, "outcome": outcome}
    if outcome is None:
        return {**report, "violations": ["the last process broke off"]}
    return {**report, "violations": place.find_violations(outcome, place.read_effects(), kills)}


def kill_processes(
    make_place: Callable[..., Place], folder: str, seed: str, kills: str, postgres_url: str | None = None
) -> None:
    """Kill as many processes as asked for, at most four of each run, and write a line for each run."""
    chance = random.Random(int(seed))  # noqa: S311 -- it chooses where to die
    whole = run_to_the_end(make_place(Path(folder) / "whole", f"{seed}/whole", postgres_url), [])
    say(whole)
    if whole["outcome"] is None:
        return
    killed = number = 0
    while killed < int(kills):
        number += 1
        place = make_place(Path(folder) / str(number), f"{seed}/{number}", postgres_url)
        deaths = [chance.randint(1, whole["outcome"]["lines"]) for _ in range(chance.randint(1, 4))]
        report = run_to_the_end(place, deaths[: int(kills) - killed])
        killed += report["kills"]
        say(report)


def check_killed_runs(module: str, kills: int, folder: Path, *database: str) -> None:
    """Kill processes by running *module*, and check that nothing happened that must not."""
    # Another seed at each run, but always the same one where a run decides whether a change lands.
    seed = 0 if "CI" in os.environ else random.randrange(2**32)
    command = [sys.executable, "-m", module, str(folder), str(seed), str(kills), *database]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    assert ended.returncode == 0, ended.stderr
    reports = [json.loads(line) for line in ended.stdout.splitlines()]
    assert sum(report["kills"] for report in reports) == kills, (seed, reports)
    assert [report["violations"] for report in reports] == [[]] * len(reports), (seed, reports)


if __name__ == "__main__":
    kill_processes(AgentPlace, *sys.argv[1:])
