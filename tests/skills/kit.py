"""
A folder of skills beside the tools of a shed.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from tests.agent.kit import Shed
from toolkit.agent import Agent
from toolkit.dispatcher import Dispatcher
from toolkit.providers import ScriptedProvider
from toolkit.skills import Skills

__all__ = ["Desk", "write_skill"]


def write_skill(path: Path, front: str = "", text: str = "Do it.", *, description: str = "Does it.") -> Path:
    """Write a skill file at *path* with *front* matter; the description is added unless it is empty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"description: {description}"] if description else []
    lines += textwrap.dedent(front).strip().splitlines()
    path.write_text("\n".join(["---", *lines, "---", text]), encoding="utf-8")
    return path


class Desk:
    """Skills of one folder, the tools of a shed, and an agent for each script."""

    def __init__(self, folder: Path, mode: str = "default", rules: tuple[str, ...] = (), **options: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.shed = Shed(mode, rules)
        self.skills = Skills(self.shed.catalog, folder, **options)

    def write(self, name: str, front: str = "", text: str = "Do it.", **options: Any) -> Path:
        """Write a file, and have it read."""
        path = write_skill(self.folder / name, front, text, **options)
        self.skills.refresh()
        return path

    @property
    def problems(self) -> list[str]:
        """What is wrong, with places relative to the folder."""
        return [str(problem).removeprefix(f"{self.folder}/") for problem in self.skills.problems]

    @property
    def names(self) -> list[str]:
        """The skills that count."""
        return [skill.name for skill in self.skills.skills]

    def dispatcher(self, **options: Any) -> Dispatcher:
        options.setdefault("permissions", self.shed.permissions)
        return Dispatcher(self.skills, **options)

    def agent(self, script: list[Any], *, dispatcher: Dispatcher | None = None, **options: Any) -> Agent:
        agent = Agent(ScriptedProvider(script), dispatcher or self.dispatcher(), **options)
        agent.asked = agent._options.provider.requests
        return agent
