"""
The words of other libraries: each is refused with the word to write here.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import toolkit
from toolkit import Agent, Catalog, CatalogError, Context, Decision, DefinitionError, Dispatcher, Facts, tool
from toolkit.agent import Budget, Run
from toolkit.durable import DurableAgent
from toolkit.providers import AnthropicProvider, OpenAIProvider, ScriptedProvider


def greet() -> str:
    """Greet."""
    return "hello"


def build_agent():
    return Agent(ScriptedProvider(["Hello."]))


OPTIONS = {
    "Agent: there is no option 'model'; the model belongs to the first argument": lambda: Agent(
        model="openai:gpt-4o", tools=[greet], instructions="x"
    ),
    "Agent: the first argument is the provider": lambda: Agent(tools=[greet]),
    "write one of output, system": lambda: Agent(ScriptedProvider([]), zzz=1),
    "Agent.run: there is no option 'message_history'; .*`run=earlier_run`": lambda: build_agent().run_sync(
        "x", message_history=[]
    ),
    "Agent.run: there is no option 'deps'; .*`resources=": lambda: build_agent().run_sync("x", deps=1),
    "Agent.run: there is no option 'usage_limits'; .*Budget": lambda: build_agent().run_sync("x", usage_limits=1),
    "Agent.run: there is no option 'max_turns'; .*Agent": lambda: build_agent().run_sync("x", max_turns=1),
    "Agent.run: the option 'resource' is not known; did you mean `resources`": lambda: build_agent().run_sync(
        "x", resource=1
    ),
    "Agent.resume: there is no option 'deps'; .*`resources=": lambda: build_agent().resume_sync(None, {}, deps=1),
    "Agent.resume: the option 'resource' is not known; did you": lambda: build_agent().resume_sync(
        None, {}, resource=1
    ),
    "Agent.execute: there is no option 'context'; .*`resources=": lambda: build_agent().execute_sync(None, context=1),
    "Agent.execute: the option 'mod' is not known; did you mean `mode`": lambda: build_agent().execute_sync(
        None, mod=1
    ),
    "Agent.stream: there is no option 'message_history'; .*`run=": lambda: build_agent().stream(
        "x", message_history=[]
    ),
    "Agent.run: there is no option 'user_prompt'; .*`prompt`": lambda: build_agent().run_sync(user_prompt="x"),
    "Agent.stream: there is no option 'input'; .*`prompt`": lambda: build_agent().stream(input="x"),
    "got Agent; write \\[agent.as_tool": lambda: Agent(ScriptedProvider([]), build_agent()),
    "Budget: there is no option 'turns'; .*Agent\\(max_turns": lambda: Budget(turns=3),
    "Budget: there is no option 'usd'; .*`cost`": lambda: Budget(usd=3),
    "Budget: the option 'token' is not known; did you mean `tokens`": lambda: Budget(token=3),
    "Dispatcher: there is no option 'deps'; .*`resources=": lambda: Dispatcher([greet], deps=1),
    "Catalog.add takes no facts; write `catalog.tool\\(function, defer=...\\)`": lambda: Catalog().add(
        greet, defer=True
    ),
    "OpenAIProvider: there is no option 'api_base'; .*`base_url`": lambda: OpenAIProvider("m", api_base="http://x"),
    "AnthropicProvider: the option 'api_kye' is not known; did you mean `api_key`": lambda: AnthropicProvider(
        "m", api_kye="k"
    ),
}


@pytest.mark.parametrize("message", OPTIONS)
def test_the_error_for_an_option_of_another_library_names_ours(message):
    with pytest.raises(TypeError, match=message):
        OPTIONS[message]()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"retries": 3}, "`Dispatcher(retry="),
        ({"name_override": "g"}, "the name is `name`"),
        ({"defer_loading": True}, "write `defer=True`"),
    ],
)
def test_the_error_for_a_fact_of_another_library_names_ours(options, word):
    with pytest.raises(DefinitionError, match=re.escape(word)):
        tool(greet, catalog=None, **options)


ATTRIBUTES = [
    (lambda: Decision, "reject", "there is no `Decision.reject`; write `Decision.deny(reason)`"),
    (lambda: Run(status="done"), "final_output", "there is no `Run.final_output`; the answer is `run.output`"),
    (lambda: Run(status="done"), "data", "there is no `Run.data`; the answer is `run.output`"),
    (lambda: Run(status="done"), "all_messages", "the messages are `run.messages`"),
    (lambda: Run(status="done"), "new_messages", "the messages are `run.messages`"),
    (lambda: Run(status="waiting"), "interruptions", "what people have to answer is `run.requests`"),
    (build_agent, "run_stream", "there is no `Agent.run_stream`; write `agent.stream(prompt)`"),
    (build_agent, "run_streamed", "there is no `Agent.run_streamed`; write `agent.stream(prompt)`"),
    (build_agent, "iter", "write `agent.stream(prompt)`"),
    (build_agent, "invoke", "write `agent.run_sync(prompt)`"),
    (build_agent, "kickoff", "write `agent.run_sync(prompt)`"),
    (lambda: DurableAgent, "run_sync", "there is no `DurableAgent.run_sync`; write `asyncio.run(main())`"),
    (build_agent, "tool", "tools are the second argument: `Agent(provider, [function])`"),
    (lambda: Agent, "tool_plain", "there is no `Agent.tool_plain`; tools are the second argument"),
    (lambda: Context(facts=Facts()), "deps", "`name: Inject[Type]`"),
    (lambda: Context(facts=Facts()), "elicit", "`await context.ask("),
    (lambda: Context(facts=Facts()), "report_progress", "`context.report("),
]


@pytest.mark.parametrize(("build", "name", "word"), ATTRIBUTES)
def test_the_error_for_an_attribute_of_another_library_names_ours(build, name, word):
    owner = build()
    assert not hasattr(owner, name)
    with pytest.raises(AttributeError, match=re.escape(word)):
        getattr(owner, name)


def test_the_error_for_arguments_given_by_name_shows_the_dictionary():
    with pytest.raises(TypeError, match=re.escape('call_sync("greet", {"city": ...})')):
        Dispatcher([greet]).call_sync("greet", city="Rome")


def exports_of_packages():
    """Return each name that a package in `toolkit` offers and `toolkit` does not, with one such package."""
    packages = [path.parent.name for path in Path(toolkit.__file__).parent.glob("*/__init__.py")]
    names = {
        name: package
        for package in packages
        for name in getattr(importlib.import_module(f"toolkit.{package}"), "__all__", ())
    }
    return {
        name: package
        for name, package in names.items()
        if name not in toolkit.__all__ and importlib.util.find_spec(f"toolkit.{name}") is None
    }


def test_the_error_for_a_name_missing_in_the_root_names_its_package():
    """This holds for each name of each package, and a name of two packages has both."""
    for name, package in exports_of_packages().items():
        with pytest.raises(ImportError, match=f"toolkit has no {name}; write .*`from toolkit.{package} import {name}`"):
            getattr(toolkit, name)
    with pytest.raises(ImportError, match="write `from toolkit.durable import DurableAgent`"):
        from toolkit import DurableAgent  # noqa: F401
    with pytest.raises(ImportError, match="`from toolkit.agent import Event` or `from toolkit.hooks import Event`"):
        from toolkit import Event  # noqa: F401


def test_a_package_whose_name_another_package_offers_can_be_imported():
    """`toolkit.testing` has a strategy `calls`, and there is a package `toolkit.calls`."""
    script = "from toolkit import calls; assert calls.__name__ == 'toolkit.calls'; assert not hasattr(calls, 'nothing')"
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(AttributeError):
        toolkit.nothing_of_this_name  # noqa: B018


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("Runner", "`Agent(provider, tools).run_sync(prompt)`"),
        ("function_tool", "write `@tool`"),
        ("RunContext", "a parameter of type `Context`"),
        ("ModelRetry", "raise `ToolError` or `BadArgs`"),
        ("TestModel", "`from toolkit.providers import ScriptedProvider`"),
        ("FastMCP", "`from toolkit.mcp import serve`"),
        ("UsageLimits", "`from toolkit.agent import Budget`"),
    ],
)
def test_the_error_for_a_name_of_another_library_names_ours(name, word):
    with pytest.raises(ImportError, match=re.escape(word)):
        getattr(toolkit, name)


@pytest.mark.parametrize("build", [lambda agent: Agent(ScriptedProvider([]), [agent]), Catalog, Catalog().add])
def test_the_error_for_an_agent_among_tools_names_as_tool(build):
    with pytest.raises(CatalogError, match=re.escape("is not a tool; write `agent.as_tool(name, description)`")):
        build(build_agent())


def test_an_agent_needs_no_tools():
    assert build_agent().run_sync("hi").output == "Hello."


def test_a_budget_is_copied_and_pickled():
    budget = Budget(tokens=3)
    assert copy.copy(budget) == pickle.loads(pickle.dumps(budget)) == budget
