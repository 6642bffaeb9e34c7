"""Tools that installed distributions offer through entry points."""

import importlib
import sys
import textwrap

import pytest

from tests.catalog_kit import build_tool
from toolkit import (
    Catalog,
    DuplicateTool,
    ToolkitWarning,
)

# Entry points.


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution with these entry points and modules, really."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = []

    def install(name, points, **modules):
        info = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"{point} = {target}" for point, target in points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[toolkit.tools]", *lines]))
        for module, source in modules.items():
            (tmp_path / f"{module}.py").write_text(textwrap.dedent(source))
            names.append(module)
        importlib.invalidate_caches()

    yield install
    for name in names:
        sys.modules.pop(name, None)


WEATHER = """
    from toolkit import Catalog, tool

    @tool(catalog=None, aliases=["sky"])
    def weather(place: str) -> str:
        "Say what the weather is like."

    def plain(a: int):
        "A plain function."

    more = Catalog(plain).alias("simple", "plain")

    class Service:
        @tool
        def serve(self):
            "Serve."

    service = Service()
"""


def test_discovering_adds_the_tools_of_distributions(install):
    """An entry may be a module, a function, a catalog or an object. Each tool has its origin."""
    install("nice-weather", {"module": "weather_tools", "object": "weather_tools:service"}, weather_tools=WEATHER)
    catalog = Catalog()
    assert "weather_tools" not in sys.modules
    assert catalog.discover() is catalog
    assert sorted(catalog.names()) == ["plain", "serve", "weather"]
    assert {tool.origin for tool in catalog} == {"dist:nice-weather"}
    assert catalog["sky"].name == "weather"
    assert catalog["simple"].name == "plain"
    assert catalog["weather"].function.__tool__.origin == "python"


def test_discovering_twice_changes_nothing(install):
    """The same distributions offer the same tools."""
    install("nice-weather", {"one": "weather_again:weather"}, weather_again=WEATHER)
    catalog = Catalog().discover().discover()
    assert catalog.names() == ["weather"]


def test_a_broken_distribution_is_a_warning_and_the_others_are_added(install):
    """Any failure while it is loaded is a warning, even `SystemExit`."""
    install(
        "broken",
        {
            "missing": "weather_missing",
            "raises": "weather_raises",
            "exits": "weather_exits",
            "none": "weather_none:Thing",
        },
        weather_raises="1 / 0",
        weather_exits="raise SystemExit(1)",
        weather_none="class Thing: ...",
    )
    install("fine", {"fine": "weather_fine:weather"}, weather_fine=WEATHER)
    catalog = Catalog()
    with pytest.warns(ToolkitWarning) as caught:
        catalog.discover()
    messages = sorted(str(warning.message) for warning in caught)
    assert [message.split("'")[1] for message in messages] == ["exits", "missing", "none", "raises"]
    assert all("of dist:broken was not added: " in message for message in messages)
    assert all(warning.filename == __file__ for warning in caught)
    assert catalog.names() == ["weather"]


def test_the_error_for_a_clash_with_a_discovered_tool_names_its_distribution(install):
    """Two authors may choose one name."""
    install("nice-weather", {"one": "weather_clash:weather"}, weather_clash=WEATHER)
    catalog = Catalog().discover()
    with pytest.raises(DuplicateTool, match="weather_clash.weather from dist:nice-weather"):
        catalog.add(build_tool("weather"))


def test_another_group_may_be_asked_for(install):
    """A program may have entry points of its own."""
    install("nice-weather", {"one": "weather_group:weather"}, weather_group=WEATHER)
    assert not Catalog().discover("someone.elses")
