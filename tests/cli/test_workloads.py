"""The target of `toolkit worker`: a file with flows, with tools, or with an agent."""

from __future__ import annotations

import asyncio

import pytest

from tests.cli.flow_module import FLOWS
from toolkit.cli.call_policy import CallOptions
from toolkit.cli.output import Output
from toolkit.cli.settings_options import load_command_settings
from toolkit.cli.workloads import WorkerOptions, find_host, open_workload

TOOLS = """

from toolkit import tool


@tool(catalog=None)
def pay(bill: str) -> str:
    "Pay a bill."
    return bill
"""

AGENT = """

from toolkit import Agent, Catalog, Dispatcher
from toolkit.providers import ScriptedProvider

agent = Agent(ScriptedProvider(["done"]), Dispatcher(Catalog(pay)))
"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (FLOWS, "no database is named"),
        (FLOWS + TOOLS, "no provider is chosen"),
        (FLOWS + TOOLS + AGENT, "no database is named"),
        (TOOLS, "no provider is chosen"),
    ],
)
def test_a_provider_is_needed_only_for_a_file_with_tools_and_no_agent(shop, content, message):
    shop.write("work.py", content)
    ran = shop.run("worker", "work.py")
    assert (ran.code, message in ran.err) == (2, True), ran.err


@pytest.mark.parametrize("target", ["api.yaml", "openapi:api.yaml"])
def test_an_http_api_is_a_target_for_a_worker(shop, target):
    """An agent is made for it."""
    shop.write("api.yaml", '{"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "paths": {}}')
    ran = shop.run("worker", target)
    assert (ran.code, "no provider is chosen" in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(
    ("content", "kinds"),
    [(FLOWS, ["flow:check", "flow:release"]), (FLOWS + TOOLS + AGENT, ["agent", "flow:check", "flow:release"])],
)
def test_a_worker_runs_all_flows_of_a_file(shop, content, kinds):
    """It also runs the agent of the file, if the file has one."""
    shop.write("work.py", content)
    settings = load_command_settings(database="sqlite:///runs.sqlite")
    options = WorkerOptions(database=None, queue=None, concurrency=1, calls=CallOptions(settings=settings))
    with open_workload("work.py", options, Output()) as workload:
        host = find_host(workload)
        assert sorted(host._kinds._kinds) == kinds
        asyncio.run(workload.close())
