"""
Rules as text and as objects: what they mean, and what is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

import pytest

from tests.permissions.rule_kit import bash, build_request
from toolkit.access import Access, Command, Reads, Url, Writes, accesses_in
from toolkit.permissions.judge import PermissionRequest
from toolkit.permissions.rule_mistakes import find_mistake
from toolkit.permissions.rules import Rule, RuleError, allows_together, read_rule
from toolkit.results import ToolCall
from toolkit.spec import Tool


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def write(path: Annotated[Path, Writes], text: str = "") -> None:
    """Write a file."""


def web_fetch(url: Annotated[str, Url], save_as: Annotated[Path | None, Writes] = None) -> None:
    """Fetch a page."""


def paint(colour: Colour, size: float = 1.0, wet: bool = False, labels: dict[str, str] | None = None) -> None:
    """Paint something."""


class Table(Access):
    kind = "table"


@dataclass
class Point:
    x: int
    y: int


def copy(sources: list[Annotated[Path, Reads]], to: Annotated[Path | None, Writes] = None) -> None:
    """Copy files."""


def place(at: Point, note: str | None = None) -> None:
    """Put something somewhere."""


def store(path: str, folder: Path = Path()) -> None:
    """Store something; the parameters have no markers."""


def idle() -> None:
    """Do nothing."""


def holds(rule: str | Rule, request: PermissionRequest) -> bool:
    """Return whether a rule is about the tool, and about this call of it."""
    rule = read_rule(rule) if isinstance(rule, str) else rule
    return rule.concerns(request.tool, request.names) and rule.matches(request)


# Which tools.


@pytest.mark.parametrize("word", ["allow", "ask", "deny"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bash", True),
        ("ba*", True),
        ("*", True),
        ("b?sh", True),
        ("BASH", False),
        ("bas", False),
        ("bashful", False),
        ("group:shell", True),
        ("group:sh*", True),
        ("group:files", False),
        ("python/bash", True),
        ("python/*", True),
        ("mcp:github/bash", False),
        ("mcp:github/*", False),
    ],
)
def test_a_rule_is_about_names_groups_and_origins(word, name, expected):
    """The forms that a name can have, for a tool written in Python."""
    tool = Tool.described(bash, group="shell")
    assert Rule(word, name).concerns(tool, frozenset({"bash"})) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("deny bash", True),
        ("ask bash", True),
        ("deny shell", True),
        ("deny old_bash", True),
        ("deny mcp:github/bash", True),
        ("deny mcp:*/*", True),
        ("deny mcp:gitlab/bash", False),
        ("deny group:shell", True),
        ("allow bash", False),
        ("allow shell", False),
        ("allow *", False),
        ("allow group:shell", False),
        ("allow python/bash", False),
        ("allow mcp:github/bash", True),
        ("allow mcp:github/*", True),
        ("allow mcp:github/shell", False),
        ("allow mcp:github/old_bash", False),
        ("allow mcp:githu/bash", False),
        ("allow mcp:github/x/bash", False),
    ],
)
def test_deny_follows_a_tool_and_allow_does_not(text, expected):
    """
    The tool has another origin, an alias and a former name. Only an allow rule with its origin fits it, and every
    deny rule that names it.
    """
    tool = replace(Tool.described(bash, group="shell", aliases=["shell"]), origin="mcp:github")
    assert read_rule(text).concerns(tool, frozenset({"bash", "shell", "old_bash"})) is expected


def test_a_renamed_tool_is_still_denied_by_its_first_name():
    """This holds although the request does not list the first name."""
    tool = Tool.described(bash).renamed("run")
    assert Rule("deny", "bash").concerns(tool, frozenset({"run"}))
    assert not Rule("allow", "bash").concerns(tool, frozenset({"run", "bash"}))


# Which calls.


@pytest.mark.parametrize("word", ["allow", "ask", "deny"])
@pytest.mark.parametrize(
    ("text", "function", "arguments", "expected"),
    [
        ("bash", bash, {"command": "ls"}, True),
        ("bash(ls)", bash, {"command": "ls"}, True),
        ("bash(command=ls)", bash, {"command": "ls"}, True),
        ("bash(git push:*)", bash, {"command": "git push origin"}, True),
        ("bash(git push:*)", bash, {"command": "git pushx"}, False),
        ("bash(cwd=src*)", bash, {"command": "ls", "cwd": "src/x"}, True),
        ("bash(cwd=src*)", bash, {"command": "ls"}, False),
        ("write(path=src/**)", write, {"path": "src/a/b.py"}, True),
        ("write(src/**)", write, {"path": "src/a/b.py"}, True),
        ("write(write=src/**)", write, {"path": "src/a/b.py"}, True),
        ("write(read=src/**)", write, {"path": "src/a/b.py"}, False),
        ("write(path=src/**)", write, {"path": "src-evil/b.py"}, False),
        ("write(path=src/**)", write, {"path": "src/../b.py"}, False),
        ("write(text=hello*)", write, {"path": "x", "text": "hello\nworld"}, True),
        ("write(text=hello)", write, {"path": "x", "text": "hello world"}, False),
        ("web_fetch(url=https://docs.python.org/**)", web_fetch, {"url": "https://docs.python.org/3/"}, True),
        ("web_fetch(https://docs.python.org/**)", web_fetch, {"url": "https://docs.python.org/3/"}, True),
        ("web_fetch(https://docs.python.org/**)", web_fetch, {"url": "https://evil.org/3/"}, False),
        ("web_fetch(*)", web_fetch, {"url": "https://evil.org:81/3?x"}, True),
        ("web_fetch(save_as=out/*)", web_fetch, {"url": "https://x.org", "save_as": "out/x"}, True),
        ("web_fetch(save_as=out/*)", web_fetch, {"url": "https://x.org"}, False),
        ("paint(red)", paint, {"colour": "red"}, True),
        ("paint(colour=red)", paint, {"colour": "red"}, True),
        ("paint(colour=RED)", paint, {"colour": "red"}, False),
        ("paint(size=5)", paint, {"colour": "red", "size": 5.0}, True),
        ("paint(size=5)", paint, {"colour": "red", "size": 5}, True),
        ("paint(size=0.5)", paint, {"colour": "red", "size": 0.5}, True),
        ("paint(wet=true)", paint, {"colour": "red", "wet": True}, True),
        ("paint(wet=True)", paint, {"colour": "red", "wet": True}, False),
        ("paint(labels=*)", paint, {"colour": "red", "labels": {"a": "b"}}, True),
        ("paint(labels=*)", paint, {"colour": "red"}, False),
        ("paint(labels=*)", paint, {"colour": "red", "labels": {}}, False),
        ("place(at=*)", place, {"at": {"x": 1, "y": 2}}, True),
        ("place(note=*)", place, {"at": {"x": 1, "y": 2}}, False),
        ("place(shape=*)", place, {"at": {"x": 1, "y": 2}}, False),
        ("store(path=src/*)", store, {"path": "src/x"}, True),
        ("store(path=src/*)", store, {"path": "src/../x"}, False),
        ("store(folder=a/*)", store, {"path": "x", "folder": "a/./b"}, True),
        ("store(folder=a/*)", store, {"path": "x", "folder": "a/../b"}, False),
        ("place(note=https://a.org/**)", place, {"at": {"x": 1, "y": 2}, "note": "https://a.org/b"}, True),
        ("place(note=https://a.org/**)", place, {"at": {"x": 1, "y": 2}, "note": "https://a.org.b/b"}, False),
    ],
)  # fmt: skip
def test_every_form_of_a_rule_matches_its_arguments(word, text, function, arguments, expected):
    """Allow, ask and deny agree about a single value."""
    assert holds(f"{word} {text}", build_request(function, arguments)) is expected


@pytest.mark.parametrize(
    ("text", "arguments", "allowed", "denied"),
    [
        ("copy(sources=src/*)", {"sources": ["src/a", "src/b"]}, True, True),
        ("copy(sources=src/*)", {"sources": ["src/a", "etc/b"]}, False, True),
        ("copy(sources=src/*)", {"sources": ["etc/a", "etc/b"]}, False, False),
        ("copy(sources=src/*)", {"sources": []}, False, False),
        ("copy(src/*)", {"sources": ["src/a"], "to": "etc/b"}, False, True),
        ("copy(to=src/*)", {"sources": ["x"], "to": "src/b"}, True, True),
        ("copy(to=src/*)", {"sources": ["x"]}, False, False),
        ("copy(read=src/*)", {"sources": ["src/a"], "to": "etc/b"}, True, True),
        ("copy(path=src/*)", {"sources": ["src/a"], "to": "etc/b"}, False, True),
    ],
)
def test_an_allow_rule_has_to_match_all_values_and_a_deny_rule_one(text, arguments, allowed, denied):
    request = build_request(copy, arguments)
    assert holds(f"allow {text}", request) is allowed
    assert holds(f"deny {text}", request) is denied
    assert holds(f"ask {text}", request) is denied


@pytest.mark.parametrize(
    ("text", "accesses", "allowed", "denied"),
    [
        ("place(orders)", [Table("orders")], True, True),
        ("place(table=ord*)", [Table("orders"), Table("order_lines")], True, True),
        ("place(table=orders)", [Table("orders"), Table("users")], False, True),
        ("place(table=orders)", [], False, False),
        ("place(table=orders)", [Writes("orders")], False, False),
        ("place(src/**)", [Writes("src/x"), Table("orders")], True, True),
        ("place(https://a.org/**)", [Writes("src/x"), Url("https://a.org/b")], True, True),
        ("place(ls)", [Writes("src/x"), Url("https://a.org/b"), Command("ls")], True, True),
        ("place(url=https://a.org/**)", [Url("https://a.org/b"), Url("https://b.org/b")], False, True),
        ("place(command=rm:*)", [Command("ls; rm x")], False, True),
    ],
)
def test_rules_are_compared_with_the_accesses_of_the_preflight(text, accesses, allowed, denied):
    """If there are accesses of several kinds, commands count first, then addresses, then paths."""
    request = build_request(place, {"at": {"x": 1, "y": 2}}, accesses=accesses)
    assert holds(f"allow {text}", request) is allowed
    assert holds(f"deny {text}", request) is denied


def test_a_deny_about_a_kind_sees_more_than_the_parameter_of_that_name():
    """The parameter says `x`, and `preflight` knows in which folder."""
    request = build_request(store, {"path": "x"}, accesses=[Writes("secrets/x")])
    assert holds("deny store(path=secrets/**)", request)
    assert not holds("allow store(path=secrets/**)", request)


def test_an_extra_argument_does_not_hide_an_access():
    """A tool may accept any key, and a model could send a harmless value under the name of the rule."""

    def anything(**rest: str) -> None:
        """Take anything."""

    request = build_request(anything, {"write": "src/x"}, accesses=[Writes("/etc/passwd")])
    assert not holds("allow anything(write=src/**)", request)
    assert holds("deny anything(write=/etc/**)", request)


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("src/*", "src/x", True),
        ("src/*", "src/../x", False),
        ("src/*", "src\\..\\x", False),
        ("*..*", "main..topic", True),
        ("m*", "main..topic", True),
        ("../*", "../x", True),
    ],
)
def test_a_text_that_leaves_a_folder_does_not_match_a_wildcard(pattern, value, expected):
    """A tool may use any text as a path. A pattern may begin with `../`, and a name may contain two dots."""
    request = build_request(place, {"at": {"x": 1, "y": 2}, "note": value})
    assert holds(f"allow place(note={pattern})", request) is expected


@pytest.mark.parametrize(
    ("text", "value", "allowed", "denied"),
    [
        ("say(rm:*)", "ls && rm x", False, True),
        ("say(rm:*)", "rm x", False, True),
        ("say(rm:*)", "rm:x", True, True),
        ("say(rm:*)", "ls", False, False),
        ("say(rm:*)", "it's", False, True),
        ("say(words=user:*)", "user:5", True, True),
        ("say(words=user:*)", "it's", False, False),
    ],
)
def test_a_command_prefix_is_searched_for_in_plain_text(text, value, allowed, denied):
    """The parameter has no marker, and the rule `rm:*` means a command."""

    def say(words: str) -> None:
        """Say something."""

    request = build_request(say, {"words": value})
    assert holds(f"allow {text}", request) is allowed
    assert holds(f"deny {text}", request) is denied


class Unreadable:
    """A value that raises when it is looked at."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("function", "text", "arguments"),
    [
        (place, "place(note=x)", {"note": Unreadable()}),
        (place, "place(note=x)", {"note": float("nan")}),
        (write, "write(path=**)", {"path": Path("a\0b")}),
        (write, "write(path=**)", {"path": Path("a" * 5000)}),
        (web_fetch, "web_fetch(url=https://a.org/**)", {"url": "https://a.org@b.org/"}),
        (web_fetch, "web_fetch(url=https://a.org/**)", {"url": "a.org/x"}),
        (web_fetch, "web_fetch(docs.python.org/**)", {"url": "https://a.org/"}),
        (bash, "bash(command=ls)", {"command": "ls ("}),
        (bash, "bash(rm *)", {"command": "ls"}),
    ],
)
def test_a_value_that_cannot_be_compared_matches_deny_rules_and_no_allow_rules(function, text, arguments):
    request = build_request(idle)
    tool = Tool.described(function)
    touched = [
        access for name, kind in tool.signature.accesses.items() for access in accesses_in(arguments.get(name), kind)
    ]
    request = replace(request, tool=tool, arguments=arguments, accesses=tuple(touched))
    assert not Rule("allow", text).matches(request)
    assert not allows_together([Rule("allow", text), Rule("allow", text)], request)
    assert Rule("deny", text).matches(request)
    assert Rule("ask", text).matches(request)


def test_a_tool_without_python_parameters_is_compared_by_its_schema():
    """A hand-written schema names the parameters, in order."""
    schema = {"type": "object", "properties": {"query": {"type": "string"}, "most": {"type": "integer"}}}
    tool = Tool.from_schema("search", "Search.", schema, lambda arguments: None)
    request = build_request(tool, {"query": "cats", "most": 5}, origin="mcp:web")
    assert holds("allow mcp:web/search(c*s)", request)
    assert holds("allow mcp:web/search(most=5)", request)
    assert not holds("allow search(c*s)", request)
    assert holds("deny search(cats)", request)
    assert not holds("deny search(query=dogs)", request)


# Several rules.


@pytest.mark.parametrize(
    ("rules", "command", "expected"),
    [
        (["git status:*", "npm test"], "git status -s && npm test", True),
        (["git status:*", "command=npm test"], "git status -s && npm test", True),
        (["git status:*", "npm test"], "git status && npm test && rm x", False),
        (["git status:*", "npm test"], "git status > x", False),
        (["git status:*"], "git status; git status -s", True),
        (["git status:*"], "npm test", False),
        ([], "ls", False),
    ],
)
def test_several_rules_may_allow_the_commands_of_a_line_together(rules, command, expected):
    """Together they cover the whole line, or they do not hold."""
    request = build_request(bash, {"command": command})
    assert allows_together([Rule("allow", f"bash({pattern})") for pattern in rules], request) is expected


def test_several_values_need_one_rule_for_all_of_them():
    """Two rules with a path each do not make one with both."""
    request = build_request(copy, {"sources": ["a/x", "b/x"]})
    both = [Rule("allow", "copy(sources=a/*)"), Rule("allow", "copy(sources=b/*)")]
    assert not allows_together(both, request)
    assert allows_together([*both, Rule("allow", "copy(sources=**)")], request)
    assert allows_together([*both, Rule("allow", "copy")], request)


def test_deny_and_ask_rules_do_not_allow_a_call():
    request = build_request(bash, {"command": "ls"})
    assert not allows_together([Rule("deny", "bash(ls)"), Rule("ask", "bash")], request)


# Rules that never could.


def refund(
    amount: Decimal,
    order: int,
    currency: Literal["eur", "usd"] = "eur",
    urgent: bool = False,
    note: str = "",
    items: list[str] | None = None,
) -> None:
    """Give money back."""


CONDITIONS = {
    "amount>100": "amount>",
    "amount >= 100": "amount>=",
    "amount = 500": "amount=",
    "order!=5": "order!=",
    "order<5": "order<",
    "amount=500, order=1": "order=",
    "amount=500,order>1": "order>",
    "urgent, order==2": "order==",
}
IMPOSSIBLE = [
    *("amount=ten", "amount==500", "amount= 500", "x", "order=1.5", "order=ten", "currency=yen"),
    "urgent=True",
]
POSSIBLE = [
    *("amount=500", "amount=5*", "500", "order=7", "urgent=true", "currency=eur", "note=a>b, c=d", "items=x", "~=ten"),
]


@pytest.mark.parametrize(
    ("text", "function", "message"),
    [
        ("write(pth=src/**)", write, "no parameter `pth`; it has `path`"),
        ("idle(x=1)", idle, "no parameter `x`"),
        ("bash(rm *)", bash, "takes a command here: `*` stands only at the end"),
        ("bash(FOO=1 rm:*)", bash, "no parameter `FOO`"),
        ("web_fetch(docs.python.org/**)", web_fetch, "takes a url here"),
        ("copy(sources=src/**x)", copy, "takes a path here"),
        *((f"refund({text})", refund, f"`{sign}` in it is no condition") for text, sign in CONDITIONS.items()),
        *((f"refund({text})", refund, "by its schema") for text in IMPOSSIBLE),
        *((f"refund({text})", refund, None) for text in POSSIBLE),
        ("bash", bash, None),
        ("bash(rm:*)", bash, None),
        ("paint(red)", paint, None),
        ("write(url=https://a.org/**)", write, None),
        ("write(path=src/**)", write, None),
    ],
)
def test_a_rule_that_cannot_be_compared_with_a_tool_can_be_found(text, function, message):
    """The reason names the remedy, for a program that lists rules."""
    mistake = find_mistake(Rule("deny", text), Tool.described(function))
    assert mistake is None if message is None else message in mistake


# Texts in upper and lower case.


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        ("eur", "EUR", True),
        ("EUR", "eur", True),
        ("eu*", "EURO", True),
        ("e?r", "EUR", True),
        ("STRASSE", "straße", True),
        ("É", "e\u0301", True),
        ("eur", "usd", False),
        ("eur", "EUR ", False),
    ],
)
@pytest.mark.parametrize("word", ["deny", "ask", "allow"])
@pytest.mark.parametrize("form", ["pay(currency~={})", "pay(~={})"])
def test_a_text_rule_can_ignore_case(form, word, pattern, value, fits):
    """`~=` in place of `=`; alone, it is about the first parameter."""

    def pay(currency: str) -> None:
        """Pay."""

    tool = Tool.described(pay)
    rule = Rule(word, form.format(pattern))
    request = PermissionRequest(
        call=ToolCall("pay"), tool=tool, names=frozenset({"pay"}), arguments={"currency": value}
    )
    assert rule.matches(request) == fits
    assert Rule(word, form.format(pattern).replace("~=", "=", 1)).text != rule.text


@pytest.mark.parametrize("text", ["deny pay(currency~=eur)", "ask pay(~=e*)", "allow access:write(out/**)"])
def test_every_form_of_a_rule_is_read_back_unchanged(text):
    assert str(read_rule(text)) == text
    assert read_rule(str(read_rule(text))) == read_rule(text)


def test_a_rule_for_paths_cannot_ignore_case():
    """The kind of a value may decide how it is compared. Then `~=` is refused or warned of."""
    with pytest.raises(RuleError, match="write `=`"):
        Rule("deny", "write(path~=src/**)")

    def save(file: Annotated[Path, Writes]) -> None:
        """Save."""

    assert "`~=` compares texts" in str(find_mistake(Rule("deny", "save(file~=src/**)"), Tool.described(save)))


def test_a_text_that_leaves_a_folder_does_not_match_if_case_is_ignored():
    """It may be a path."""

    def save(name: str) -> None:
        """Save."""

    tool = Tool.described(save)
    request = PermissionRequest(
        call=ToolCall("save"), tool=tool, names=frozenset({"save"}), arguments={"name": "SRC/../x"}
    )
    assert not Rule("allow", "save(name~=src/*)").matches(request)
