"""
The words of other libraries: each is refused with the word to write here.
"""

from __future__ import annotations

import copy
import importlib
import pickle
import re

import pytest

import toolkit
from toolkit import Agent, Catalog, Context, Decision, DefinitionError, Dispatcher, Facts, tool
from toolkit.agent import Budget, Run
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
def test_an_option_of_another_library_is_told_ours(message):
    with pytest.raises(TypeError, match=message):
        OPTIONS[message]()


@pytest.mark.parametrize(
    ("options", "word"), [({"retries": 3}, "`Dispatcher(retry="), ({"name_override": "g"}, "the name is `name`")]
)
def test_a_fact_of_another_library_is_told_ours(options, word):
    with pytest.raises(DefinitionError, match=re.escape(word)):
        tool(greet, catalog=None, **options)


ATTRIBUTES = [
    (lambda: Decision, "reject", "there is no `Decision.reject`; write `Decision.deny(reason)`"),
    (lambda: Run(status="done"), "final_output", "there is no `Run.final_output`; the answer is `run.output`"),
    (lambda: Run(status="done"), "data", "there is no `Run.data`; the answer is `run.output`"),
    (lambda: Run(status="done"), "all_messages", "the messages are `run.messages`"),
    (build_agent, "run_stream", "write `agent.stream(prompt)`"),
    (lambda: Context(facts=Facts()), "deps", "`name: Inject[Type]`"),
]


@pytest.mark.parametrize(("build", "name", "word"), ATTRIBUTES)
def test_an_attribute_of_another_library_is_told_ours(build, name, word):
    owner = build()
    assert not hasattr(owner, name)
    with pytest.raises(AttributeError, match=re.escape(word)):
        getattr(owner, name)


@pytest.mark.parametrize("name", ["Budget", "Run", "ScriptedProvider", "FallbackProvider", "OpenAIProvider"])
def test_a_name_that_is_looked_for_in_the_root_is_told_its_package(name):
    with pytest.raises(ImportError, match=f"write `from toolkit.* import {name}`") as caught:
        getattr(toolkit, name)
    package = re.search(r"from (\S+) import", str(caught.value))[1]
    assert hasattr(importlib.import_module(package), name)


def test_an_agent_needs_no_tools():
    assert build_agent().run_sync("hi").output == "Hello."


def test_a_budget_is_copied_and_pickled():
    budget = Budget(tokens=3)
    assert copy.copy(budget) == pickle.loads(pickle.dumps(budget)) == budget
