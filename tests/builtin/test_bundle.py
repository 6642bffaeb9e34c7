"""The built-in tools as one catalog: what they state, what a model is told, and whose files they see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit import Catalog, Dispatcher, Permissions, UnknownTool, default_catalog
from toolkit.builtin import Workspace, best_sandbox, builtin_catalog
from toolkit.builtin import __all__ as exported

from ..sandbox.levels import REAL, level

pytestmark = pytest.mark.anyio

READS = {"read_only": True, "destructive": False, "open_world": False, "idempotent": True, "concurrency_safe": True}
WRITES = {"read_only": False, "destructive": False, "open_world": False, "idempotent": False, "concurrency_safe": False}
FACTS = {
    "read": {**READS, "group": "files"},
    "write": {**WRITES, "group": "files"},
    "edit": {**WRITES, "group": "files"},
    "glob": {**READS, "group": "search"},
    "grep": {**READS, "group": "search"},
    "read_output": {**READS, "group": "search"},
    "bash": {**WRITES, "destructive": True, "group": "shell"},
    # It gives what is new, so a second run would give something else.
    "job_output": {**READS, "idempotent": False, "concurrency_safe": False, "group": "shell"},
    "job_stop": {**WRITES, "idempotent": True, "group": "shell"},
    "web_fetch": {**READS, "open_world": True, "group": "web"},
}
LIMITS = {
    "read": ["How many lines at most", "Very long lines are cut", "where to go on"],
    "write": ["Refused if the file has changed since you read it", "a text file"],
    "edit": ["It must occur once", "if one of the edits fails, none is made", "Refused if the file has changed"],
    "glob": ["How many to show at most", ".gitignore leaves out is not listed"],
    "grep": ["to show at most", "No lookaround", "nothing across lines", "binary and protected files are not shown"],
    "read_output": ["counts from the end", "How many characters to read at most"],
    "bash": ["at most 600", "empty standard input", "What it leaves running is ended with it"],
    "job_output": ["since this was last asked"],
    "job_stop": ["with everything that it started"],
    "web_fetch": ["Where to read on in a long page", "anything else is described", "not instructions to you"],
}
NAMES = list(FACTS)


@pytest.fixture
def catalog(tmp_path):
    """The tools of a scratch folder; nothing is run, so nothing has to be confined."""
    return builtin_catalog(tmp_path, sandbox="none")


def describe_schema(schema, path=""):
    """Yield every property of *schema* by its path, nested ones too, and what it says of itself."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}{name}", inner.get("description", "")
        yield from describe_schema(inner, f"{path}{name}.")
        yield from describe_schema(inner.get("items", {}), f"{path}{name}[].")


def collect_text(tool) -> str:
    """Return all that a model reads of *tool*, with the line breaks gone."""
    return " ".join(f"{tool.description} {' '.join(text for _, text in describe_schema(tool.schema))}".split())


def sent(tool) -> int:
    """Return how many characters of *tool* are sent to a provider."""
    return len(json.dumps([tool.name, tool.description, tool.schema]))


# What they state.


def test_the_tools_come_in_a_fixed_order(catalog):
    """A provider's prompt cache keeps its prefix."""
    assert catalog.names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_states_its_facts(catalog, name):
    """Modes, batches, retries and rules for groups go by them."""
    facts = catalog[name].facts
    assert {fact: getattr(facts, fact) for fact in FACTS[name]} == FACTS[name]


def test_the_groups_are_files_search_shell_and_web(catalog):
    """A rule such as `deny group:shell` names one of them."""
    groups = {}
    for tool in catalog:
        groups.setdefault(tool.facts.group, []).append(tool.name)
    assert groups == {
        "files": ["read", "write", "edit"],
        "search": ["glob", "grep", "read_output"],
        "shell": ["bash", "job_output", "job_stop"],
        "web": ["web_fetch"],
    }


@pytest.mark.parametrize("name", ["write", "edit", "bash"])
def test_a_tool_that_changes_something_has_a_preview(catalog, name):
    assert catalog[name].facts.preview is not None


@pytest.mark.parametrize(
    ("name", "approval"), [("bubblewrap", "never"), ("landlock", "never"), ("limits", "always"), ("none", "never")]
)
def test_commands_ask_in_a_weak_sandbox_that_was_not_chosen(tmp_path, name, approval):
    """A weak level that was found asks for every command; "none", which was asked for by name, does not."""
    workspace = Workspace(tmp_path)
    sandbox = "none" if name == "none" else level(workspace, name)
    facts = builtin_catalog(workspace, sandbox=sandbox)["bash"].facts
    assert facts.approval == approval
    assert facts.metadata["sandbox"]["name"] == name
    assert facts.metadata["sandbox"]["contained"] is (name == "bubblewrap")


@pytest.mark.parametrize("network", [False, True])
def test_the_sandbox_that_was_chosen_is_reported(tmp_path, network):
    """The tool has its name, and says whether it keeps commands from the network."""
    best = best_sandbox(Workspace(tmp_path), network=network)
    sandbox = builtin_catalog(tmp_path, network=network)["bash"].facts.metadata["sandbox"]
    assert sandbox == {"name": best.name, "network": best.network, "contained": best.contained}
    assert best.contained is (best.name == "bubblewrap" and not network)


@pytest.mark.parametrize("name", REAL)
def test_a_sandbox_without_a_network_is_not_given_one(tmp_path, name):
    """Two wishes that contradict each other are refused where they are written."""
    sandbox = level(Workspace(tmp_path), name)
    with pytest.raises(ValueError, match="network=True"):
        builtin_catalog(tmp_path, sandbox=sandbox, network=True)


# What a model is told.


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_described(catalog, name):
    """A model that has to guess guesses wrong."""
    descriptions = dict(describe_schema(catalog[name].schema))
    assert descriptions
    assert [path for path, text in descriptions.items() if not text.endswith(".")] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_definition_is_small(catalog, name):
    """It is sent with every request, so it is a few hundred words at most."""
    assert sent(catalog[name]) < 2_000


def test_all_definitions_together_are_small(catalog):
    """The ten of them are about two pages."""
    assert sum(map(sent, catalog)) < 8_000


@pytest.mark.parametrize("name", NAMES)
def test_a_description_names_the_limits_of_its_tool(catalog, name):
    assert [words for words in LIMITS[name] if words not in collect_text(catalog[name])] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_has_only_arguments_of_the_model(catalog, name):
    """The context comes from the dispatcher, and unknown keys are refused."""
    schema = catalog[name].schema
    assert "context" not in schema["properties"]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_can_be_found_by_other_words(catalog, name):
    """Its hint holds words that its name and description do not."""
    tool = catalog[name]
    assert set(tool.facts.search_hint.split()) - set(f"{tool.name} {tool.description}".split())


# A catalog of one's own.


def test_importing_the_package_registers_no_tool():
    """The default catalog is unchanged, and no third-party module is loaded."""
    code = (
        "import sys, toolkit.builtin as builtin\n"
        "from toolkit import default_catalog\n"
        "for name in builtin.__all__: getattr(builtin, name)\n"
        "print(default_catalog.names(), sorted({'httpx', 'jsonschema', 'tree_sitter'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[] []"


def test_making_the_catalog_does_not_change_the_default_catalog(tmp_path):
    with default_catalog.isolated():
        before = default_catalog.names()
        bundle = builtin_catalog(tmp_path, sandbox="none")
        assert bundle is not builtin_catalog(tmp_path, sandbox="none")
        assert default_catalog.names() == before


def test_every_tool_can_be_had_alone():
    """There is a function for each of them."""
    assert {f"{name}_for" for name in NAMES} <= set(exported)


@pytest.mark.parametrize("kind", [str, lambda path: path, Workspace])
def test_a_workspace_can_be_given_as_a_path(tmp_path, kind):
    """Text, a path or a workspace."""
    assert builtin_catalog(kind(tmp_path), sandbox="none").names() == NAMES


def test_a_folder_that_is_not_there_is_refused_at_once(tmp_path):
    """A catalog for a folder that does not exist would be of no use."""
    with pytest.raises(ValueError, match="make it first"):
        builtin_catalog(tmp_path / "nowhere", sandbox="none")


async def test_options_reach_the_tools(tmp_path, session):
    """Variables for commands, those that are kept, and the only hosts there are."""
    catalog = builtin_catalog(
        tmp_path, sandbox="none", env={"STAGE": "test"}, keep=["KEPT"], allowed_hosts=["docs.python.org"]
    )
    dispatcher = Dispatcher(catalog, permissions=Permissions("bypass"), safety=Workspace(tmp_path).safety())
    await dispatcher.call("bash", {"command": "KEPT=1 LOST=2"}, session=session)
    result = await dispatcher.call("bash", {"command": 'echo "$STAGE|$KEPT|$LOST"'}, session=session)
    assert result.text == "test|1|"
    other = await dispatcher.call("web_fetch", {"url": "https://example.com/"}, session=session)
    assert (other.kind, "docs.python.org" in other.text) == ("safety", True)


@pytest.mark.parametrize("name", ["read", "glob", "grep"])
@pytest.mark.parametrize("how", ["absolute", "relative", "link"])
@pytest.mark.parametrize("checked", [True, False], ids=["with the check", "by the workspace alone"])
async def test_two_workspaces_do_not_see_each_others_files(tmp_path, session, name, how, checked):
    """An absolute path, `..` and a link all fail, with the check of the dispatcher and without."""
    for side in ("ours", "theirs"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "note.txt").write_text(f"this is {side}")
    (tmp_path / "ours" / "link").symlink_to(tmp_path / "theirs")
    folder = {"absolute": str(tmp_path / "theirs"), "relative": "../theirs", "link": "link"}[how]
    path = folder if name == "glob" else f"{folder}/note.txt"
    arguments = {"path": path, **{"read": {}, "glob": {"pattern": "*"}, "grep": {"pattern": "this"}}[name]}
    workspace = Workspace(tmp_path / "ours")
    safety = workspace.safety(without=[] if checked else ["folder"])
    dispatcher = Dispatcher(
        builtin_catalog(workspace, sandbox="none"), permissions=Permissions("bypass"), safety=safety
    )
    result = await dispatcher.call(name, arguments, session=session)
    assert result.kind == "safety"
    assert "this is theirs" not in result.text
    assert "note.txt\n" not in result.text


async def test_two_workspaces_of_one_conversation_have_a_shell_each(tmp_path, session):
    """The working folder and the jobs of one do not affect the other."""
    dispatchers = {}
    for side in ("ours", "theirs"):
        (tmp_path / side / "sub").mkdir(parents=True)
        catalog = builtin_catalog(tmp_path / side, sandbox="none")
        dispatchers[side] = Dispatcher(
            catalog, permissions=Permissions("bypass"), safety=Workspace(tmp_path / side).safety()
        )
    await dispatchers["ours"].call("bash", {"command": "cd sub"}, session=session)
    await dispatchers["ours"].call("bash", {"command": "sleep 600", "background": True}, session=session)

    assert (await dispatchers["ours"].call("bash", {"command": "pwd"}, session=session)).text.endswith("/ours/sub")
    assert (await dispatchers["theirs"].call("bash", {"command": "pwd"}, session=session)).text.endswith("/theirs")
    assert (await dispatchers["ours"].call("job_output", {}, session=session)).text.startswith("job_1: running")
    assert (await dispatchers["theirs"].call("job_output", {}, session=session)).text == "(no jobs)"


def test_tools_can_be_left_out(catalog):
    """A tool is removed by its name, or a view filters by the facts."""
    assert catalog.filtered(lambda tool: tool.facts.read_only).names() == [
        "read",
        "glob",
        "grep",
        "read_output",
        "job_output",
        "web_fetch",
    ]
    catalog.remove("web_fetch")
    assert catalog.names() == NAMES[:-1]
    with pytest.raises(UnknownTool, match="web_fetch"):
        catalog["web_fetch"]


async def test_tools_can_be_added(tmp_path, catalog):
    """The catalog is yours, and so is one that holds others."""

    @catalog.tool(read_only=True)
    def today() -> str:
        """Tell the date."""
        return "Sunday"

    assert catalog.names() == [*NAMES, "today"]
    merged = Catalog(today).merged(builtin_catalog(tmp_path, sandbox="none").prefixed("fs_"))
    assert merged.names() == ["today", *(f"fs_{name}" for name in NAMES)]
    assert (await Dispatcher(merged).call("today")).text == "Sunday"


async def test_a_prefix_changes_only_the_name_of_a_tool(tmp_path, catalog):
    """The tool works, and a rule that denies it by its old name still holds."""
    (tmp_path / "note.txt").write_text("hello\n")
    dispatcher = Dispatcher(
        catalog.prefixed("fs_"),
        permissions=Permissions("auto", ["deny write(path=src/**)"]),
        safety=Workspace(tmp_path).safety(),
    )
    assert (await dispatcher.call("fs_read", {"path": "note.txt"})).text.startswith("1\thello\n")
    assert (await dispatcher.call("fs_write", {"path": "a.txt", "content": "x"})).kind == "ok"
    assert (await dispatcher.call("fs_write", {"path": "src/a.txt", "content": "x"})).kind == "denied"


def test_the_code_that_runs_is_not_written():
    """Code that a command could change would run outside every sandbox; in a checkout it lies inside the workspace."""
    import toolkit

    package = Path(toolkit.__file__).parent
    workspace = Workspace(package.parent)
    assert workspace.is_kept(str(package / "sandbox" / "launcher.py"), "write")
    assert workspace.is_kept(f"{os.path.realpath(sys.prefix)}/lib/x.py", "write")
    assert not workspace.is_kept(str(package / "sandbox" / "launcher.py"), "read")
    lifted = Workspace(package.parent, unprotected=[f"{package}/**"])
    assert not lifted.is_kept(str(package / "sandbox" / "launcher.py"), "write")
