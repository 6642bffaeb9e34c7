"""
What a command works on, and what is said where it cannot be loaded.
"""

from __future__ import annotations

import contextlib

import pytest

from tests.cli.kit import DONE, model, words
from tests.cli.terminals import Terminal
from tests.providers.protocols import Turn
from tests.providers.stub import KEY
from toolkit.cli.targets import open_target
from toolkit.errors import CatalogError
from toolkit.results import ToolCall

BROKEN = "import nothing_of_this_name\n"


@pytest.mark.parametrize("target", ["tools.py", "tools.py:catalog", "./tools.py", "shop_tools", "shop_tools:catalog"])
def test_a_target_is_a_file_or_a_module_or_a_catalog_in_one(shop, target):
    """Files and modules in the current folder among them."""
    (shop.folder / "shop_tools.py").write_text((shop.folder / "tools.py").read_text())
    with open_target(target) as target_catalog:
        assert target_catalog.catalog.names()[0] == "free_days"
        assert target_catalog.safety is None


def test_a_module_in_the_current_folder_is_found_without_being_installed(shop):
    shop.write("goods/tools.py", (shop.folder / "tools.py").read_text())
    assert shop.process("list", "goods.tools:catalog").json[0]["name"] == "free_days"


def test_the_built_in_target_has_the_safety_checks_of_the_current_folder(shop):
    with open_target("builtin") as target_catalog:
        assert target_catalog.safety is not None
        assert "read" in target_catalog.catalog


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("no_such_module", "install it, or correct the name"),
        ("no_such_file.py", "there is no such file"),
        ("tools.py:nothing", "has no 'nothing'"),
        ("", "no module is named"),
        ("./tools", "./tools is no Python file; name one that ends in `.py`, or a module"),
        ("http://127.0.0.1:9/mcp", "cannot be reached"),
    ],
)
def test_a_target_that_cannot_be_loaded_is_an_error_with_the_remedy(shop, target, says):
    ran = shop.run("list", target)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith("error: ")
    assert says in ran.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BROKEN, "No module named 'nothing_of_this_name'"),
        ("1/0", "it raised ZeroDivisionError: division by zero"),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("x = 1", "has no tools"),
        ("raise ValueError('\\x1b[2J')", "\\x1b[2J"),
    ],
)
def test_a_module_that_fails_is_an_error_in_one_line(shop, text, says):
    """The line has the message of the module with its control characters escaped, and no traceback."""
    shop.write("bad.py", text)
    ran = shop.run("list", "bad.py")
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err


def test_debug_shows_the_traceback_of_the_module(shop):
    shop.write("bad.py", "def deep():\n    1/0\n\ndeep()\n")
    ran = shop.run("list", "bad.py", "--debug")
    assert ran.code == 2
    assert "Traceback" in ran.err
    assert "in deep" in ran.err
    assert ran.err.splitlines()[-1].startswith("error: cannot load 'bad.py'")


def test_a_tool_that_cannot_be_described_is_an_error_of_its_author(shop):
    """Told with the parameter and the remedy."""
    shop.write(
        "odd.py",
        "from toolkit import Catalog\ncatalog = Catalog()\n@catalog.tool\ndef f(x: 'Nowhere') -> None:\n    'Do it.'\n",
    )
    ran = shop.run("show", "odd.py", "f")
    assert (ran.code, ran.out) == (2, "")
    assert "Nowhere" in ran.err
    assert [entry["name"] for entry in shop.run("list", "odd.py").json] == ["f"]


def test_a_block_that_raises_ends_the_target(shop):
    """An error inside the block is not mistaken for a failure to load."""
    with pytest.raises(KeyError), open_target("builtin"):
        raise KeyError("x")
    with pytest.raises(CatalogError), open_target("x://y"):
        raise AssertionError


# A dispatcher, and several targets.

DISPATCHER = '''
from toolkit import Catalog, Dispatcher, Inject, Permissions, ToolError

catalog = Catalog()


class Database:
    def __init__(self, rows):
        self.rows = rows


@catalog.tool(read_only=True)
def count(db: Inject[Database]) -> int:
    """Count the rows."""
    return db.rows


@catalog.tool
def add(n: int) -> int:
    """Add rows."""
    return n


@catalog.tool(read_only=True)
def secret() -> str:
    """Tell a secret."""
    return "hush"


class Shout:
    def after(self, call, result):
        print("shouted", call.name)
        return result


resources = {Database: Database(7)}
dispatcher = Dispatcher(catalog, resources=resources, hooks=[Shout()], permissions=Permissions("auto", ["deny secret"]))
'''


@pytest.fixture
def db(shop):
    shop.write("db.py", DISPATCHER)
    return shop


def test_a_dispatcher_is_a_target_with_its_policies(db):
    ran = db.run("call", "db.py:dispatcher", "count")
    assert (ran.code, ran.json["value"]) == (0, 7)
    assert "shouted count" in ran.err  # its own hook
    assert db.run("call", "db.py:dispatcher", "secret").code == 5  # its own rule
    assert [tool["name"] for tool in db.run("list", "db.py:dispatcher").json] == ["count", "add", "secret"]
    assert db.run("explain", "db.py:dispatcher", "secret").json["word"] == "deny"


def test_the_users_rules_and_hooks_count_beside_those_of_a_dispatcher(db, tmp_path):
    """`module:dispatcher` as a target: the command can only make it stricter."""
    assert db.run("call", "db.py:dispatcher", "count", "--rule", "deny count").code == 5
    assert db.run("call", "db.py:dispatcher", "secret", "--rule", "allow secret", "--mode", "bypass").code == 5
    assert db.run("call", "db.py:dispatcher", "add", "n=1", "--no-ask").code == 7  # mode `default` of the user
    assert db.run("call", "db.py:dispatcher", "add", "n=1", "--mode", "auto").code == 0
    (tmp_path / "config" / "toolkit").mkdir(parents=True)
    hooks = '[[hooks]]\non = "before"\ntools = "count"\ncommand = "exit 2"\n'
    (tmp_path / "config" / "toolkit" / "toolkit.toml").write_text(hooks)
    assert db.run("call", "db.py:dispatcher", "count").code == 5


@pytest.mark.long
def test_the_user_is_asked_about_a_call_of_a_dispatcher_without_a_prompt(db):
    """The target is `module:dispatcher`, and the terminal asks."""
    with contextlib.closing(Terminal(["-m", "toolkit", "call", "db.py:dispatcher", "add", "n=3"])) as terminal:
        terminal.until("[y]es")
        terminal.type("y\n")
        assert terminal.read_to_end() == 0
    assert terminal.lines()[-1] == "3"


def test_a_dispatcher_cannot_have_a_second_audit_log(db):
    """The message says where to write it."""
    ran = db.run("call", "db.py:dispatcher", "count", "--audit", "log.jsonl")
    assert ran.code == 2
    assert "Dispatcher(..., audit=AuditLog(path))" in ran.err


@pytest.mark.parametrize(
    ("options", "is_told"),
    [
        ("permissions=Permissions()", True),
        ("classify={KeyError: ToolError}", True),
        ("hooks=[LoopGuard()]", True),
        ("timeout_seconds=3", False),
    ],
)
@pytest.mark.filterwarnings("default::toolkit.ToolkitWarning")
def test_a_note_names_a_dispatcher_whose_policies_the_target_leaves_out(shop, options, is_told):
    shop.write(
        "desk.py",
        "from toolkit import Catalog, Dispatcher, Permissions, ToolError\n"
        "from toolkit.hooks import LoopGuard\n\n"
        "catalog = Catalog()\n\n\n"
        '@catalog.tool(read_only=True)\ndef ring() -> str:\n    """Ring."""\n    return "rang"\n\n\n'
        f"desk = Dispatcher(catalog, {options})\n",
    )
    warning = (
        "warning: desk.py has the dispatcher `desk`, whose rules, hooks and resources do not hold here; desk.py:desk"
    )
    assert (warning in shop.run("call", "desk.py", "ring").err) is is_told
    assert "desk.py:desk" not in shop.run("call", "desk.py:desk", "ring").err


def test_several_targets_are_one_catalog(db):
    names = [tool["name"] for tool in db.run("list", "tools.py,db.py:catalog").json]
    assert names == ["free_days", "cancel", "order", "flaky", "sleep", "broken", "count", "add", "secret"]
    ran = db.run("call", "tools.py, db.py:catalog", "secret")
    assert (ran.code, ran.json["text"]) == (0, "hush")
    assert db.run("call", "tools.py,db.py:dispatcher", "secret").code == 5


def test_builtin_can_stand_beside_others(db):
    """Several targets: the safety checks of the workspace hold for all."""
    with open_target("builtin,tools.py") as target_catalog:
        assert target_catalog.safety is not None
        assert {"read", "free_days"} <= set(target_catalog.catalog.names())


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("db.py:catalog,other.py", "`count`"),
        ("tools.py,", "no module is named"),
        ("tools.py,nothing.py", "there is no such file"),
        ("builtin,db.py:dispatcher", "two of these targets have policies of their own"),
        ("db.py:dispatchr", "its catalogs and dispatchers are catalog, dispatcher"),
    ],
)
def test_targets_that_do_not_fit_together_are_refused_with_the_reason(db, target, says):
    db.write(
        "other.py", "from toolkit import tool\n\n@tool(catalog=None)\ndef count() -> int:\n    'Count.'\n    return 1\n"
    )
    ran = db.run("list", target)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


# Resources.


def test_the_option_with_gives_tools_their_resources(db):
    ran = db.run("call", "db.py:catalog", "count", "--with", "db.py:resources")
    assert (ran.code, ran.json["value"]) == (0, 7)
    db.write("made.py", "from db import Database\n\ndef resources():\n    return {Database: lambda: Database(9)}\n")
    assert db.run("call", "db.py:catalog", "count", "--with", "made.py:resources").json["value"] == 9


def test_a_call_needs_only_the_resources_of_its_tool(db):
    assert db.run("call", "db.py:catalog", "secret").code == 0
    assert db.run("explain", "db.py:catalog", "count").code == 0
    ran = db.run("call", "db.py:catalog", "count")
    assert ran.code == 2
    assert "resources are missing: `count` wants Database; give them with --with MODULE:NAME" in ran.err


def test_an_agent_gets_the_resources_too(db, monkeypatch):
    """Tools with `Inject` (`--with module:resources`), in `toolkit agent` and `toolkit check`."""
    monkeypatch.setenv("MY_KEY", KEY)
    turn = Turn(calls=(ToolCall("count", {}, "c1"),))
    with model(turn, DONE) as stub:
        command = words(stub, "--with", "db.py:resources")
        command[1] = "db.py:catalog"
        ran = db.run(*command)
        assert (ran.code, "    7" in ran.out.splitlines()) == (0, True)
        assert db.run(*command[:-2]).code == 2  # without it, no model is asked
    assert len(stub.heard) == 2
    checked = db.run("check", "db.py:catalog", "--with", "db.py:resources", "--examples", "3")
    assert checked.json["laws"] == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("db.py", "name the dictionary in the module too: db.py:resources"),
        ("db.py:nothing", "has no 'nothing'"),
        ("db.py:count", "it raised TypeError"),
        ("odd.py:number", "expected a dictionary from types to values"),
        ("odd.py:later", "it is async"),
        ("nothing.py:x", "there is no such file"),
    ],
)
def test_resources_that_cannot_be_used_are_an_error_with_the_remedy(db, name, says):
    db.write("odd.py", "number = 5\nasync def later():\n    return {}\n")
    ran = db.run("call", "db.py:catalog", "count", "--with", name)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_two_values_for_one_type_are_refused(db):
    """Which one is meant cannot be known."""
    ran = db.run("call", "db.py:catalog", "count", "--with", "db.py:resources", "--with", "db.py:resources")
    assert ran.code == 2
    assert "Database has a value already" in ran.err
