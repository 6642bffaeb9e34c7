"""Rules about an access of any tool: read, write, url, command, or a kind of the application's own."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest

from toolkit.access import Access, Command, Reads, Url, Writes
from toolkit.builtin import Workspace, builtin_catalog
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions, Rule, RuleError, read_rule
from toolkit.safety import SafetyChecks
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


class Ledger(Access):
    """A kind of the application's own."""

    kind = "ledger"


class Office:
    """Tools that state what they touch in every way there is."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.catalog = catalog = Catalog()

        @catalog.tool
        def save(file: Annotated[Path, Writes]) -> str:
            """Save a file."""
            return "saved"

        @catalog.tool(destructive=True, preflight=lambda arguments: [Writes(arguments["item"])])
        def drop(item: str) -> str:
            """Remove a file."""
            return "dropped"

        @catalog.tool(read_only=True)
        def look(file: Annotated[Path, Reads]) -> str:
            """Read a file."""
            return "looked"

        @catalog.tool(read_only=True)
        def wander(start: str, context: Context) -> str:
            """Read what turns out to be needed."""
            context.permissions.check(Reads(start))
            return "wandered"

        @catalog.tool(preflight=lambda arguments: [Url(arguments["source"]), Writes(arguments["target"])])
        def download(source: str, target: str) -> str:
            """Fetch a page into a file."""
            return "downloaded"

        @catalog.tool(destructive=True)
        def run(line: Annotated[str, Command]) -> str:
            """Run a command."""
            return "ran"

        @catalog.tool
        def book(page: Annotated[str, Ledger]) -> str:
            """Write into a book."""
            return "booked"

        @catalog.tool
        def access(text: str) -> str:
            """Carry the name of an access, and touch nothing."""
            return text

    def add_foreign(self, name: str) -> None:
        tool = Tool.from_schema(
            name,
            "Save a file elsewhere.",
            {"type": "object", "properties": {"to": {"type": "string"}}},
            lambda arguments: "saved",
            destructive=True,
            preflight=lambda arguments: [Writes(arguments["to"])],
        )
        self.catalog.add(replace(tool, origin="mcp:disk"))

    async def kind(self, name: str, *rules: str, mode: Any = "bypass", **arguments: str) -> str:
        dispatcher = Dispatcher(
            self.catalog, permissions=Permissions(mode, rules), safety=SafetyChecks([self.root], without=["host"])
        )
        return (await dispatcher.call(name, arguments)).kind


@pytest.fixture
def office(tmp_path):
    return Office(tmp_path)


# Deny and ask.


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("save", {"file": "src/a"}),
        ("drop", {"item": "lib/../src/a"}),
        ("download", {"source": "https://a.example/", "target": "SRC/a"}),
        ("run", {"line": "echo x > src/a"}),
        ("run", {"line": "ls && cd src; ls >> a"}),
        ("run", {"line": "(cd lib); cd src && echo x > a"}),
        ("run", {"line": "cd missing; cd src; echo x > a"}),
        ("run", {"line": "cd lib & cd other || cd ./src; echo x > a"}),
        ("run", {"line": "pushd src; popd; pushd src; echo x > a"}),
        ("run", {"line": "CDPATH=lib; cd a; echo x > a"}),
        ("run", {"line": "; ".join(f"cd d{number}" for number in range(30)) + "; echo x > a"}),
        ("run", {"line": "sh -c 'echo x > src/a'"}),
        ("run", {"line": "echo x > $where"}),
        ("run", {"line": "cd $where; echo x > a"}),
        ("run", {"line": "echo 'not closed"}),
    ],
)
@pytest.mark.parametrize("word", ["deny", "ask"])
async def test_a_denied_write_is_stopped_for_every_tool(office, name, arguments, word):
    """The write is stated by a marker, a preflight or a redirection, or cannot be known."""
    mode = {"deny": "bypass", "ask": "deny_unlisted"}[word]
    assert await office.kind(name, f"{word} access:write(src/**)", f"allow {name}", mode=mode, **arguments) == "denied"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("save", {"file": "srcs/a"}),
        ("look", {"file": "src/a"}),
        ("download", {"source": "https://src.example/src/", "target": "out/a"}),
        ("run", {"line": "cat < src/a"}),
        ("run", {"line": "ls src 2>/dev/null >&2"}),
        ("run", {"line": "cat <<< src/a"}),
        ("access", {"text": "src/a"}),
    ],
)
async def test_a_call_that_writes_no_path_of_the_rule_runs(office, name, arguments):
    """The call reads, writes other files, or has words that only look like paths."""
    assert await office.kind(name, "deny access:write(src/**)", **arguments) == "ok"


@pytest.mark.parametrize(
    ("rule", "name", "arguments", "kind"),
    [
        ("deny access:read(src/**)", "look", {"file": "src/a"}, "denied"),
        ("deny access:read(src/**)", "run", {"line": "sort < src/a"}, "denied"),
        ("deny access:read(src/**)", "run", {"line": "echo > src/a"}, "ok"),
        ("deny access:path(src/**)", "look", {"file": "src/a"}, "denied"),
        ("deny access:path(src/**)", "save", {"file": "src/a"}, "denied"),
        ("deny access:path(src/**)", "run", {"line": "sort < src/a"}, "denied"),
        ("deny access:write", "save", {"file": "a"}, "denied"),
        ("deny access:write", "access", {"text": "a"}, "ok"),
        ("deny access:write(*)", "drop", {"item": "a"}, "denied"),
        ("deny access:url", "download", {"source": "https://a.example/", "target": "x"}, "denied"),
        (
            "deny access:url(https://a.example/**)",
            "download",
            {"source": "https://A.example/x", "target": "x"},
            "denied",
        ),
        ("deny access:url(https://a.example/**)", "download", {"source": "https://b.example/", "target": "x"}, "ok"),
        ("deny access:command(git push:*)", "run", {"line": "ls; git -C sub push"}, "denied"),
        ("deny access:command(git push:*)", "run", {"line": "git status"}, "ok"),
        ("deny access:ledger(audit*)", "book", {"page": "audit 7"}, "denied"),
        ("deny access:ledger(audit*)", "book", {"page": "Audit 7"}, "ok"),
        ("deny access:ledger(~=AUDIT*)", "book", {"page": "Audit 7"}, "denied"),
        ("deny access", "access", {"text": "a"}, "denied"),
    ],
)
async def test_each_kind_of_access_has_a_word(office, rule, name, arguments, kind):
    """Compared as the kind is: paths, addresses, commands, texts. A tool that is called `access` is just a tool."""
    assert await office.kind(name, rule, **arguments) == kind


async def test_a_rule_applies_to_an_access_that_a_running_tool_asks_about(office):
    """A tool without markers asks with `context.permissions.check`."""
    assert await office.kind("wander", "deny access:read(src/**)", start="src/a") == "failed"
    assert await office.kind("wander", "deny access:read(src/**)", start="lib/a") == "ok"


async def test_a_write_that_a_foreign_tool_states_is_denied(office):
    """A rule may name one origin."""
    office.add_foreign("put")
    assert await office.kind("put", "deny access:write(src/**)", to="src/a") == "denied"
    assert await office.kind("put", "deny mcp:disk/access:write(src/**)", to="src/a") == "denied"
    assert await office.kind("save", "deny mcp:disk/access:write(src/**)", file="src/a") == "ok"
    assert await office.kind("put", "deny mcp:other/access:write(src/**)", to="src/a") == "ok"


# Allow.


@pytest.mark.parametrize(
    ("rules", "name", "arguments", "kind"),
    [
        (["write(out/**)"], "save", {"file": "out/a"}, "ok"),
        (["write(out/**)"], "save", {"file": "out/../a"}, "waiting"),
        (["write(out/**)"], "drop", {"item": "out/a"}, "ok"),
        (["path(out/**)"], "save", {"file": "out/a"}, "ok"),
        (["read(**)"], "save", {"file": "out/a"}, "waiting"),
        (["write"], "access", {"text": "out/a"}, "waiting"),
        (["write(out/**)"], "download", {"source": "https://a.example/", "target": "out/a"}, "waiting"),
        (["url(https://a.example/**)"], "download", {"source": "https://a.example/", "target": "out/a"}, "waiting"),
        (
            ["url(https://a.example/**)", "write(out/**)"],
            "download",
            {"source": "https://a.example/", "target": "out/a"},
            "ok",
        ),
        (
            ["url(https://a.example/**)", "write(out/**)"],
            "download",
            {"source": "https://b.example/", "target": "out/a"},
            "waiting",
        ),
        (["write(out/**)"], "run", {"line": "echo > out/a"}, "waiting"),
        (["command(ls:*)", "command(git status)"], "run", {"line": "ls -l && git status"}, "ok"),
        (["command(ls:*)"], "run", {"line": "ls -l && git status"}, "waiting"),
        (["ledger(~=BOOK*)"], "book", {"page": "book 1"}, "ok"),
    ],
)
async def test_an_allow_holds_if_everything_that_the_call_states_is_allowed(office, rules, name, arguments, kind):
    """Reading aside, which is not asked about; one rule for each thing is enough."""
    allows = [f"allow access:{rule}" for rule in rules]
    assert await office.kind(name, *allows, mode="default", **arguments) == kind


async def test_an_allow_rule_is_for_tools_of_this_program_or_of_the_named_origin(office):
    """A server can state any access."""
    office.add_foreign("put")
    assert await office.kind("put", "allow access:write(out/**)", mode="default", to="out/a") == "waiting"
    assert await office.kind("put", "allow mcp:disk/access:write(out/**)", mode="default", to="out/a") == "ok"


async def test_an_allow_rule_for_a_file_does_not_cover_an_open_world_call(tmp_path):
    """It asks although its file is allowed."""
    catalog = Catalog()

    @catalog.tool(open_world=True)
    def send(file: Annotated[Path, Writes]) -> str:
        """Send something."""
        return "sent"

    dispatcher = Dispatcher(
        catalog, permissions=Permissions("auto", ["allow access:write(out/**)"]), safety=SafetyChecks([tmp_path])
    )
    assert (await dispatcher.call("send", {"file": "out/a"})).kind == "waiting"


# The built-in tools.


@pytest.fixture
def workspace(tmp_path):
    for name in ("src", "secrets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("hello\n")
    return Workspace(tmp_path)


def builtin(workspace, *rules):
    return Dispatcher(
        builtin_catalog(workspace, sandbox="none"), permissions=Permissions("bypass", rules), safety=workspace.safety()
    )


async def test_a_deny_of_writing_stops_edit_as_well(workspace):
    """`deny write(path=src/**)` stops only `write`."""
    edit = ("edit", {"path": "src/a.txt", "edits": [{"old": "hello", "new": "bye"}]})
    calls = [("write", {"path": "src/b.txt", "content": "x"}), edit, ("bash", {"command": "echo x > src/b.txt"})]
    named, by_access = (builtin(workspace, f"deny {rule}(src/**)") for rule in ("write", "access:write"))
    assert [(await by_access.explain(*call)).word for call in calls] == ["deny", "deny", "deny"]
    assert [(await named.explain(*call)).word for call in calls] == ["deny", "allow", "allow"]


async def test_a_deny_of_reading_keeps_grep_from_showing_lines(workspace):
    """This holds in the folder itself, and in a search from above."""
    by = builtin(workspace, "deny access:read(secrets/**)")
    assert (await by.call("grep", {"pattern": "hello", "path": "secrets"})).kind == "denied"
    text = (await by.call("grep", {"pattern": "hello"})).text
    assert "src/a.txt" in text
    assert "secrets" not in text


# What is refused, and what is written.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("access:wirte(src/**)", "did you mean `access:write`"),
        ("access:fetch(https://a.example/**)", "did you mean `access:url`"),
        ("access:run(ls)", "did you mean `access:command`"),
        ("access:teapot", "write one of path, read, write, command, url"),
        ("access:", "no kind of access"),
        ("access:write()", "the pattern is missing"),
        ("access:write(path=src/**)", r"write `access:write\(src/\*\*\)`"),
        ("access:ledger(page~=a)", r"write `access:ledger\(~=a\)`"),
        ("access:write(src/**.py)", "stands alone between slashes"),
        ("access:url(a.example)", "begins with its scheme"),
        ("access:command(ls | wc)", "one simple command"),
        ("access:write(~=src)", "`~=` compares texts"),
    ],
)
def test_a_malformed_access_rule_is_refused_with_a_suggestion(text, words):
    with pytest.raises(RuleError, match=words):
        Rule("deny", text)


def test_an_allow_rule_for_an_access_names_its_origin():
    with pytest.raises(RuleError, match="one origin"):
        read_rule("allow mcp:*/access:write")
    assert read_rule("deny mcp:*/access:write").access == "write"


def test_an_equals_sign_in_a_pattern_does_not_name_a_parameter():
    rule = read_rule("deny access:command(STAGE=test make)")
    assert (rule.argument, rule.pattern) == (None, "STAGE=test make")
