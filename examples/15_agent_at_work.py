"""
Let an agent mend a project: `make demo` runs this.

The agent looks around and plans. A person approves its plan and its edit. It makes a
mistake and recovers, and runs the tests it finds. The model plays a script; the rest is
real: files, commands in a sandbox, permissions, approvals. It needs no key and no network.

    make demo PROVIDER=anthropic        a real model does the same; so do openai, openai_responses and gemini
    make demo PROVIDER=openai MODEL=qwen3 BASE_URL=http://localhost:11434/v1 API_KEY=...

The key is in the provider's own variable, such as ANTHROPIC_API_KEY. A server of yours gets API_KEY, if it needs one.
With AUDIT=FILE, a log of the calls is kept there.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from toolkit import (
    Agent,
    ApprovalRequest,
    AuditLog,
    Decision,
    Dispatcher,
    Permissions,
    TerminalPrompt,
    Tool,
    ToolCall,
    tool,
)
from toolkit.agent import Run
from toolkit.builtin import Workspace, builtin_catalog
from toolkit.cli.display import AgentDisplay
from toolkit.providers import (
    AnthropicProvider,
    AssistantMessage,
    GeminiProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    ScriptedProvider,
)

FILES = {
    "shop/__init__.py": "",
    "tests/__init__.py": "",
    "shop/prices.py": (
        '"""What things cost."""\n\n\n'
        "def total(prices: list[float], *, discount: float = 0.0) -> float:\n"
        '    """The sum of *prices*, less *discount* (0.1 is ten per cent)."""\n'
        "    return sum(prices) * (1 + discount)\n"
    ),
    "tests/test_prices.py": (
        "import unittest\n\nfrom shop.prices import total\n\n\n"
        "class Total(unittest.TestCase):\n"
        "    def test_sum(self):\n        self.assertEqual(total([4, 2]), 6)\n\n"
        "    def test_discount(self):\n        self.assertEqual(total([10], discount=0.5), 5)\n"
    ),
    "CHANGES.md": "# Changes\n\n- The shop opens.\n",
    ".env": "PAYMENT_KEY=hunter2\n",
}
SYSTEM = "You are a careful engineer in a small Python project. Say in a sentence what you do, then do it."
TASK = "A discount makes things dearer. Find out why, mend it, run the tests, and note it in CHANGES.md."
RULES = ["allow bash(python3 -m unittest:*)"]
PLAN = """\
1. In `shop/prices.py` subtract the discount instead of adding it.
2. Run `python3 -m unittest` and see `test_discount` pass.
3. Note the change in `CHANGES.md`."""


def says(text: str, *calls: ToolCall) -> AssistantMessage:
    return AssistantMessage(text=text, calls=tuple(calls))


SCRIPT = [
    says(
        "I look around first.",
        ToolCall("glob", {"pattern": "**/*.py"}, "1"),
        ToolCall("grep", {"pattern": "discount"}, "2"),
    ),
    says(
        "The function and its test, side by side.",
        ToolCall("read", {"path": "shop/prices.py"}, "3"),
        ToolCall("read", {"path": "tests/test_prices.py"}, "4"),
        ToolCall("read", {"path": ".env"}, "5"),
    ),
    says("That is the mistake; here is my plan.", ToolCall("exit_plan", {"plan": PLAN}, "6")),
    says(
        "First the sign.",
        ToolCall(
            "edit", {"path": "shop/prices.py", "edits": [{"old": "(1 + discounts)", "new": "(1 - discount)"}]}, "7"
        ),
    ),
    says(
        "I misread the line; once more.",
        ToolCall(
            "edit", {"path": "shop/prices.py", "edits": [{"old": "(1 + discount)", "new": "(1 - discount)"}]}, "8"
        ),
    ),
    says("Now the tests.", ToolCall("bash", {"command": "python3 -m unittest"}, "9")),
    says(
        "They pass. Is there a tool for the changes?",
        ToolCall("tool_search", {"query": "add a line to the change log"}, "10"),
    ),
    says("There is.", ToolCall("note_change", {"text": "A discount makes things cheaper, not dearer."}, "11")),
    says("A discount was added instead of subtracted. It is mended, both tests pass, and CHANGES.md says so."),
]

Model: TypeAlias = AnthropicProvider | GeminiProvider | OpenAIProvider | OpenAIResponsesProvider | ScriptedProvider
PROVIDERS: dict[str, Callable[..., Model]] = {
    "anthropic": AnthropicProvider,
    "openai": OpenAIProvider,
    "openai_responses": OpenAIResponsesProvider,
    "gemini": GeminiProvider,
}
MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai": "gpt-5",
    "openai_responses": "gpt-5",
    "gemini": "gemini-2.5-pro",
}


def note_change_for(workspace: Workspace) -> Tool:
    """Add a tool of the project's own, which is not in the prompt until a search finds it."""

    @tool(catalog=None, defer=True, group="project", search_hint="write an entry into the change log")
    def note_change(text: str) -> str:
        """Add a line to CHANGES.md.

        Args:
            text: What a user of the project will notice, in one sentence.
        """
        changes = workspace.read("CHANGES.md").decode() + f"- {text}\n"
        workspace.write("CHANGES.md", changes.encode())
        return changes

    return Tool.of(note_change)


def ada(request: ApprovalRequest) -> Decision:
    """Approve every request of the script."""
    return Decision.approve(by="ada")


def you(request: ApprovalRequest) -> Decision:
    """Ask in the terminal."""
    return TerminalPrompt().ask(request) or Decision.deny("no person could be asked")


async def agreed(agent: Agent, run: Run, decide: Callable[[ApprovalRequest], Decision]) -> Run:
    """Answer the requests of the run until it waits no more."""
    while run.status == "waiting":
        run = await agent.resume(run, {request.id: decide(request) for request in run.requests})
    return run


async def work(model: Model, decide: Callable[[ApprovalRequest], Decision], workspace: Workspace) -> Run:
    catalog = builtin_catalog(workspace).add(note_change_for(workspace))
    permissions, safety = Permissions("default", RULES), workspace.safety()
    audit = AuditLog(os.environ["AUDIT"]) if os.environ.get("AUDIT") else None
    async with model, Dispatcher(catalog, permissions=permissions, safety=safety, audit=audit) as dispatcher:
        with AgentDisplay() as display:
            agent = Agent(model, dispatcher, system=SYSTEM, mode="plan", on_event=display.show)
            display.say(f"The task: {TASK}\n")
            run = await agreed(agent, await agent.run(TASK), decide)
            if run.status != "planned":
                return run
            display.say("The plan counts as agreed to; from here on changes are asked for.\n")
            return await agreed(agent, await agent.execute(run), decide)


def chosen_model(environ: Mapping[str, str]) -> tuple[Model, Callable[[ApprovalRequest], Decision]]:
    """Choose the model and the asker."""
    chosen = environ.get("PROVIDER") or "scripted"
    if chosen == "scripted":
        return ScriptedProvider(SCRIPT), ada
    if chosen not in PROVIDERS:
        sys.exit(f"PROVIDER={chosen}: there are scripted, {', '.join(PROVIDERS)}")
    options = {}
    if environ.get("BASE_URL"):
        # The provider's own key goes to the provider alone; a server of yours has another, or none.
        options = {"base_url": environ["BASE_URL"], "api_key": environ.get("API_KEY") or None}
    return PROVIDERS[chosen](environ.get("MODEL") or MODELS[chosen], **options), you


def main() -> None:
    model, decide = chosen_model(os.environ)
    with tempfile.TemporaryDirectory() as folder, Workspace(folder) as workspace:
        for name, content in FILES.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
        run = asyncio.run(work(model, decide, workspace))
        if run.status == "failed":
            sys.exit(f"\nthe model could not be asked: {run.reason}")
        print(f"\n{run.status} {run.reason}".rstrip(), f"after {run.turns} turns since the plan; CHANGES.md reads:\n")
        print(Path(folder, "CHANGES.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
