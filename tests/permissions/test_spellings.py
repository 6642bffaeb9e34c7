"""What a deny or ask holds for, whatever a model writes for the value: other spellings, None, no arguments at all."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.permissions.spellings import list_spellings
from toolkit.spec import Tool

from .rule_kit import build_request

pytestmark = pytest.mark.anyio


@dataclass
class Order:
    file: Path
    amount: Decimal = Decimal(1)
    note: str | None = None


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


def pay(amount: Decimal) -> str:
    """Pay."""
    return "paid"


def ping() -> str:
    """Ping."""
    return "pong"


def say(text: str | None = None) -> str:
    """Say."""
    return "said"


def mark(numbers: list[int | None]) -> str:
    """Mark."""
    return "marked"


def order(what: Order) -> str:
    """Order."""
    return "ordered"


def let(rights: Rights) -> str:
    """Let."""
    return "let"


def scale(by: float) -> str:
    """Scale."""
    return "scaled"


async def judge(rule: str, function: Any, arguments: dict[str, Any], **facts: Any) -> str:
    """Return what becomes of a call, for a tool of this program or a schema of a server."""
    facts = facts or {"read_only": True}
    tool = (
        Tool.described(function, **facts)
        if callable(function)
        else Tool.from_schema("run", "Run.", function, lambda arguments: 1, origin="mcp:box", **facts)
    )
    mode = "auto" if tool.facts.read_only else "default"
    return (await Dispatcher(Catalog(tool), permissions=Permissions(mode, [rule])).call(tool.name, arguments)).kind


NAMELESS = {"type": "object"}
FILE = {"type": "object", "properties": {"file": {"type": "string"}, "at": {"type": "string"}}}


@pytest.mark.parametrize(
    ("condition", "function", "held", "other"),
    [
        # A pattern with wildcards sees a number as people write it.
        ("amount=1???", pay, {"amount": "1000.00"}, {"amount": "100.000"}),
        ("amount=50*", pay, {"amount": "5e2"}, {"amount": "5.1e2"}),
        ("amount=0.00*", pay, {"amount": "1e-7"}, {"amount": "0.01"}),
        # A text may be a path.
        ("file=secrets/**", FILE, {"file": "./secrets/x"}, {"file": "secret/x"}),
        ("file=secrets/**", FILE, {"file": "a/../SECRETS//x"}, {"file": "a/secrets/x"}),
        ("secrets/key", FILE, {"file": "secrets/./key"}, {"file": "secrets/keys"}),
        ("file=secrets/key", FILE, {"file": "./" * 4000 + "secrets/key"}, {"file": "x" * 9000}),
        ("file=.env", FILE, {"file": "a/../.env"}, {"file": ".env.example"}),
        ("what=src/x", order, {"what": {"file": "a/../src/x"}}, {"what": {"file": "src/y"}}),
        # One place, one moment, one number.
        ("at=10.0.0.1", FILE, {"at": "::ffff:10.0.0.1"}, {"at": "10.0.0.2"}),
        ("at=2026-12-24T10:00:00Z", FILE, {"at": "2026-12-24t10:00:00z"}, {"at": "2026-12-24t10:00:01z"}),
        ("by=9007199254740993", scale, {"by": 9007199254740993}, {"by": 9007199254740994}),
        # A combination holds each of its flags.
        ("rights=2", let, {"rights": 3}, {"rights": 1}),
        ("rights=3", let, {"rights": 3}, {"rights": 2}),
        # None is null, and `*` is any value.
        ("text=null", say, {}, {"text": "x"}),
        ("text=null", say, {"text": None}, {"text": "nil"}),
        ("text=*", say, {"text": "x"}, {}),
        ("text~=*", say, {"text": "x"}, {}),
        ("numbers=null", mark, {"numbers": [1, None]}, {"numbers": [1]}),
        # A server that declares no parameters takes any.
        ("rm*", NAMELESS, {"cmd": "rm x"}, {"cmd": "ls"}),
    ],
)
@pytest.mark.parametrize(("word", "kind"), [("deny", "denied"), ("ask", "waiting")])
async def test_a_deny_or_ask_holds_for_other_spellings(condition, function, held, other, word, kind):
    name = function.__name__ if callable(function) else "run"
    assert await judge(f"{word} {name}({condition})", function, held) == kind
    assert await judge(f"{word} {name}({condition})", function, other) == "ok"


@pytest.mark.parametrize(("word", "kind"), [("deny", "denied"), ("ask", "waiting")])
@pytest.mark.parametrize(
    ("function", "arguments"), [(ping, {}), (say, {}), (mark, {"numbers": []}), (NAMELESS, {}), (NAMELESS, {"a": 1})]
)
async def test_a_deny_or_ask_of_anything_holds_for_every_call(function, arguments, word, kind):
    """A search does not show a tool with such a deny either."""
    name = function.__name__ if callable(function) else "run"
    assert await judge(f"{word} {name}(*)", function, arguments) == kind


@pytest.mark.parametrize(
    ("rule", "function", "arguments", "kind"),
    [
        ("allow mark(numbers=1)", mark, {"numbers": [1, 1]}, "ok"),
        ("allow mark(numbers=1)", mark, {"numbers": [1, None]}, "waiting"),
        ("allow mark(numbers=n*)", mark, {"numbers": [None]}, "waiting"),
        ("allow mark(numbers=*)", mark, {"numbers": [1, None]}, "ok"),
        ("allow let(rights=1)", let, {"rights": 1}, "ok"),
        ("allow let(rights=1)", let, {"rights": 3}, "waiting"),
        ("allow order(what=*)", order, {"what": {"file": "x"}}, "ok"),
        ("allow say(text=*)", say, {}, "waiting"),
        ("allow ping(*)", ping, {}, "waiting"),
        ("allow pay(amount=5)", pay, {"amount": "5.00"}, "waiting"),
        ("allow mcp:box/run(rm*)", NAMELESS, {"cmd": "rm x"}, "waiting"),
        ("allow mcp:box/run(file=src/*)", FILE, {"file": "./src/x"}, "waiting"),
        ("allow say(text=\u00e9)", say, {"text": "e\u0301"}, "waiting"),
    ],
)
async def test_an_allow_stays_narrow(rule, function, arguments, kind):
    assert await judge(rule, function, arguments, destructive=True) == kind


async def test_a_secret_is_compared_and_not_its_mask():
    """The JSON form of a secret of pydantic is the same for every secret."""
    pydantic = pytest.importorskip("pydantic")

    def log_in(token) -> str:
        """Log in."""
        return "in"

    for hint, secret in ((pydantic.SecretStr, "abc"), (list[pydantic.SecretStr], ["abc"])):
        log_in.__annotations__["token"] = hint
        assert await judge("deny log_in(token=abc)", log_in, {"token": secret}) == "denied"
        assert await judge("allow log_in(token=abc)", log_in, {"token": secret}, destructive=True) == "ok"
        assert await judge("allow log_in(token=abd)", log_in, {"token": secret}, destructive=True) == "waiting"


@pytest.mark.parametrize("pattern", ["~/.ssh/**", "/home/ada/.ssh/**"])
async def test_a_tool_may_take_a_tilde_for_the_home_folder(monkeypatch, pattern):
    monkeypatch.setenv("HOME", "/home/ada")
    texts = ["~/.ssh/id", "/home/ada/.ssh/id", "~/x/../.ssh/id", "~/id"]
    kinds = [await judge(f"deny run(file={pattern})", FILE, {"file": text}) for text in texts]
    assert kinds == ["denied", "denied", "denied", "ok"]


def test_a_long_number_is_not_written_out():
    """This would take a gigabyte."""
    assert list_spellings("1e999999999") == {"1e999999999"}


@pytest.mark.parametrize("pattern", ["a/**b", "~bob/x", "**/x"])
def test_a_pattern_that_is_no_path_is_compared_as_text(pattern):
    rule = Permissions("auto", [f"deny say(text={pattern})"]).rules[0]
    assert not rule.matches(build_request(say, {"text": "c"}))
