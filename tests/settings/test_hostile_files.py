"""
Files that are made to stall a command: they are refused after little work, with a clear message.
"""

from __future__ import annotations

import json
import sys
import tomllib

import pytest

from toolkit.mcp.importing.server_file import ServerFileError, read_server_file
from toolkit.settings import SettingsError

LONG = "k" * 100_000
HOOK = '[[hooks]]\non = "before"\ncommand = "{}"\n'


def refuse(place, text: str) -> tuple[str, ...]:
    """Return the problems with the settings of an untrusted project."""
    place.settings(text)
    with pytest.raises(SettingsError) as caught:
        place.load()
    return caught.value.problems


def test_reading_ends_after_twenty_mistakes_with_a_note(place):
    """A thousand unknown keys cost no more than twenty."""
    problems = refuse(place, "".join(f"unknown{number} = 1\n" for number in range(1000)))
    assert len(problems) == 21
    assert all("is not known" in problem for problem in problems[:20])
    assert problems[-1] == "there may be more; reading ended after 20 mistakes"


@pytest.mark.parametrize(
    "text",
    [
        "[limits]\n" + "".join(f"unknown{number} = 1\n" for number in range(1000)),
        "[rules]\ndeny = [" + '"(", ' * 1000 + "]",
        "".join(f"[mcp_servers.s{number}]\nunknown = 1\n" for number in range(1000)),
        "[mcp_servers.one]\n" + "".join(f"unknown{number} = 1\n" for number in range(1000)),
        '[[hooks]]\non = "never"\n' * 100,
        "[[hooks]]\n" + "".join(f"unknown{number} = 1\n" for number in range(1000)),
        "".join(f'[prices."{number}"]\n' for number in range(1000)),
    ],
    ids=["a table", "rules", "servers", "a server", "hooks", "a hook", "prices"],
)
def test_no_part_of_the_settings_reports_more_than_twenty_mistakes(place, text):
    """Every reader of a part adds to the one list."""
    assert len(refuse(place, text)) == 21


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("".join(f"k{number}=1\n" for number in range(20_000)), "more than 10,000 lines, keys"),
        ("[a]\n" * 50_000, "more than 10,000 lines, keys"),
        ("x = {" + "a = 1, " * 20_000 + "}", "more than 10,000 lines, keys"),
        ("x = " + "[" * 50_000, "more than 20 levels"),
        ("x = " + "{a=" * 50_000, "more than 20 levels"),
        ("[" + "a." * 50_000 + "a]", "more than 20 levels"),
        ("a." * 50_000 + "a = 1", "more than 20 levels"),
        ("#" * 300_000, "larger than 262,144 bytes"),
        ("[rules]\ndeny = [" + '"a",' * 20_000 + "]", "more than 10,000 lines, keys"),
        ("[rules]\ndeny = [" + "1," * 90_000 + "]", "more than 10,000 lines, keys"),
        ("\n" * 200_000, "more than 10,000 lines"),
        ("#\n" * 100_000, "more than 10,000 lines"),
        ("[budget]\ntokens = " + "9" * 200_000, "a number or a key with more than 200 characters"),
        ("[budget]\ntokens = 0x" + "f" * 5_000, "a number or a key with more than 200 characters"),
    ],
    ids=[
        *("keys", "tables", "an inline table", "lists", "tables in tables", "a header", "a dotted key", "bytes"),
        *("texts", "numbers", "lines", "comments", "a long number", "a long hexadecimal number"),
    ],
)
def test_a_file_that_no_settings_need_is_one_mistake_and_is_not_parsed(place, monkeypatch, text, why):
    """The parser of the standard library takes quadratic time for some of them."""
    parsed: list[int] = []
    parse = tomllib.loads
    monkeypatch.setattr(tomllib, "loads", lambda text: parsed.append(len(text)) or parse(text))
    (problem,) = refuse(place, text)
    assert why in problem
    assert sum(parsed) == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (HOOK.format("true") * 101, "more than 100 hooks"),
        (HOOK.format("a " * 50_000), "more than 20,000 characters"),
        (HOOK.format("a") + "files = [" + "'aaaaaaa'," * 5_000 + "]\n", "more than 20,000 characters"),
        (HOOK.format("a " * 1200) * 50, "more than 20,000 characters"),
        (HOOK.format("env " * 2400), "it runs too many commands"),
    ],
    ids=["hooks", "a command", "files", "commands", "programs"],
)
def test_an_oversized_hook_is_one_mistake(place, text, why):
    """Its words are not looked up on the disk."""
    (problem,) = refuse(place, text)
    assert why in problem


@pytest.mark.parametrize(
    "text",
    [f"{LONG} = 1", f'mode = "{LONG}"', f'[rules]\ndeny = ["({LONG}"]', f"[mcp_servers.{LONG}]\ncommand = 5"],
    ids=["key", "value", "rule", "name"],
)
def test_a_message_about_a_long_text_is_short(place, text):
    assert all(len(problem) <= 1100 for problem in refuse(place, text))


def test_the_work_for_unknown_keys_does_not_grow_with_their_number(place):
    """Counted in calls of functions of this package, because seconds say nothing on a busy machine."""

    def count_calls(number_of_keys: int) -> int:
        calls = 0

        def count(frame, event, argument):
            nonlocal calls
            calls += event == "call" and "toolkit" in frame.f_code.co_filename

        place.settings("".join(f"unknown{number} = 1\n" for number in range(number_of_keys)))
        sys.setprofile(count)
        try:
            with pytest.raises(SettingsError):
                place.load()
        finally:
            sys.setprofile(None)
        return calls

    count_calls(30)  # fills caches
    assert count_calls(3000) < count_calls(30) + 3000 * 12


def test_many_files_beside_the_settings_are_not_read(place):
    """An untrusted project is only asked for its settings."""
    place.settings('mode = "plan"')
    for number in range(2500):
        place.write(f"project/.toolkit/skills/{number}.md", "x")
    assert place.load()["mode"] == "plan"


# Files of servers.


def write_servers(place, servers: object):
    return place.write("project/.mcp.json", json.dumps({"mcpServers": servers}))


def test_a_file_of_servers_reports_twenty_mistakes(place):
    """The last line has the number of the others."""
    path = write_servers(place, {f"s{number}": {"command": 5} for number in range(100)})
    problems = read_server_file(path, {}).problems
    assert (len(problems), problems[-1]) == (21, ".mcp.json: there are 80 more mistakes")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (json.dumps({"mcpServers": {f"s{number}": {"command": "x"} for number in range(5000)}}), "200 are allowed"),
        ("[" * 100_000, "nested too deeply"),
        (
            '{"mcpServers": {' + ", ".join(f'"s{number}": {{}}' for number in [*range(9000), 8999]) + "}}",
            "stands twice",
        ),
        (" " * 300_000, "larger than 262,144 bytes"),
    ],
    ids=["servers", "lists", "a key twice", "bytes"],
)
def test_an_oversized_file_of_servers_is_refused(place, text, why):
    with pytest.raises(ServerFileError, match=why):
        read_server_file(place.write("project/.mcp.json", text), {})
