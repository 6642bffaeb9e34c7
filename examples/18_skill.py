"""Use skills: prompts in Markdown files that a model calls like tools, each with the tools that its file lists."""

import asyncio
import shutil
import tempfile
from pathlib import Path

from toolkit import Decision, Dispatcher, Permissions, ToolCall
from toolkit.agent import Agent
from toolkit.builtin import Workspace, builtin_catalog
from toolkit.providers import ScriptedProvider
from toolkit.settings import Trust
from toolkit.skills import Skills


async def review(dispatcher: Dispatcher) -> None:
    """Call a skill, which works on its own prompt and returns an answer."""
    provider = ScriptedProvider(
        [
            [ToolCall("tool_search", {"query": "review a file"})],
            [ToolCall("review", {"path": "tea.py", "style": "blunt"})],
            [ToolCall("read", {"path": "tea.py"})],  # the next replies are inside the skill
            "1. Line 2: `boil` never returns the water.",
            "The review found one thing: `boil` returns nothing.",
        ]
    )
    run = await Agent(provider, dispatcher).run("Is tea.py any good?")
    inside = provider.requests[2]
    print("asked inside:", inside.messages[0].text.splitlines()[0])
    print("tools inside:", ", ".join(inside.tools))
    print("answer:", run.text)


async def release(dispatcher: Dispatcher) -> None:
    """Call a skill that writes; it asks before it starts, and again with the change itself."""
    provider = ScriptedProvider(
        [
            [ToolCall("release-notes", {"input": "1.1, with lemon"})],
            [ToolCall("read", {"path": ".toolkit/skills/release-notes/template.md"})],
            [ToolCall("write", {"path": "NOTES.md", "content": "# Release 1.1\n\nTea, now with lemon.\n"})],
            "I wrote NOTES.md.",
            "The notes are written.",
        ]
    )
    agent = Agent(provider, dispatcher)
    run = await agent.run("Write the notes for 1.1, please.")
    while run.status == "waiting":
        request = run.requests[0]
        print(f"asks: {request.tool}: {request.preview.splitlines()[0]}")
        run = await agent.resume(run, {request.id: Decision.approve(by="ada")})
    print("answer:", run.text)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        shutil.copytree(Path(__file__).parent / "skills", project / ".toolkit" / "skills")
        (project / "tea.py").write_text("def boil(water):\n    water.heat()\n")

        workspace = Workspace(project)
        trust = Trust(Path(folder, "trust.json"))  # the user's own; without a path, in their configuration
        skills = Skills(builtin_catalog(workspace), project=project, trust=trust)
        print("before it is trusted:", skills.ignored[0].why.partition("; ")[2])
        trust.trust(project)
        skills.refresh()
        dispatcher = Dispatcher(skills, permissions=Permissions("default"), safety=workspace.safety())
        for skill in skills.skills:
            kind = "only reads" if skills[skill.name].facts.read_only else "may change something"
            print(f"{skill.name}: {kind}; {', '.join(skill.tools)}")

        await review(dispatcher)
        await release(dispatcher)

        # A line that a person types is replaced by the text of the skill.
        print(skills.expanded("/review tea.py").splitlines()[0])

        # Any change needs trust again, and an approval of the old text does not hold for the new.
        (project / ".toolkit" / "skills" / "haiku.md").write_text("---\ndescription: Write a haiku.\n---\n{input}\n")
        skills.refresh()
        print("after a change:", len(skills.skills), "skills")


if __name__ == "__main__":
    asyncio.run(main())
