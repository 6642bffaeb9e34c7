"""
The user's hooks and skills, honoured by the command line.
"""

from __future__ import annotations

import os

import pytest

from tests.cli.kit import CANCEL, DONE, LOOK, model, words
from tests.providers.stub import KEY
from tests.skills.kit import write_skill
from toolkit.settings.trust import Trust

BLOCK = """
[[hooks]]
on = "before"
tools = "{tools}"
command = "echo 'not on my machine' >&2; exit 2"
"""


@pytest.fixture
def user(tmp_path, monkeypatch):
    """The user's configuration folder; the key of the model is known."""
    monkeypatch.setenv("MY_KEY", KEY)
    folder = tmp_path / "config" / "toolkit"
    folder.mkdir(parents=True)
    return folder


def test_a_blocking_hook_in_hooks_toml_blocks_a_call(shop, user):
    """The user's hooks and skills honoured (a blocking hook in `toolkit.toml` was ignored, and the call went through)."""
    (user / "toolkit.toml").write_text(BLOCK.format(tools="free_days"))
    ran = shop.run("call", "tools.py", "free_days", "year=2026")
    assert ran.code == 5
    assert ran.json["error"]["message"] == "not on my machine"
    assert "the tool speaks" not in ran.err
    assert shop.run("call", "tools.py", "flaky", "failures=0").code == 0


def test_a_blocking_hook_blocks_the_calls_of_an_agent(shop, user):
    """The user's hooks and skills honoured."""
    (user / "toolkit.toml").write_text(BLOCK.format(tools="free_days"))
    with model(LOOK, DONE) as stub:
        ran = shop.run(*words(stub, "--json"))
    assert ran.code == 0
    assert "not on my machine" in ran.out
    assert "2026-05-01" not in ran.out


def test_a_hook_can_keep_an_agent_from_starting(shop, user):
    """The user's hooks and skills honoured: `agent_start` too."""
    (user / "toolkit.toml").write_text('[[hooks]]\non = "agent_start"\ncommand = "echo closed >&2; exit 2"\n')
    with model(DONE) as stub:
        ran = shop.run(*words(stub))
    assert (ran.code, stub.heard) == (11, [])
    assert "closed" in ran.out + ran.err


def test_one_hook_may_change_a_call_and_another_ask_about_it(shop, user):
    """Each hook sees the call by itself, so no answer is lost."""
    (user / "toolkit.toml").write_text(
        """
[[hooks]]
on = "before"
command = '''echo '{"action": "modify", "arguments": {"year": 1999}}' '''
[[hooks]]
on = "before"
command = '''echo '{"action": "ask", "reason": "really?"}' '''
"""
    )
    ran = shop.run("call", "tools.py", "free_days", "year=2026", "--no-ask")
    assert ran.code == 7
    assert ran.json["request"]["arguments"]["year"] == 1999


def test_a_hook_file_with_mistakes_ends_the_command(shop, user):
    """No call runs without its hooks."""
    (user / "toolkit.toml").write_text('[[hooks]]\non = "befor"\ncommand = "true"\n')
    ran = shop.run("call", "tools.py", "free_days", "year=2026")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean 'before'" in ran.err.replace("`", "'")


def test_the_hooks_of_a_project_count_after_its_folder_is_trusted(shop, user):
    """Before that, a note names each one with the remedy."""
    shop.write(".toolkit/toolkit.toml", BLOCK.format(tools="*"))
    ran = shop.run("call", "tools.py", "free_days", "year=2026")
    assert ran.code == 0
    assert "ignored: " in ran.err
    Trust().trust(shop.folder)
    assert shop.run("call", "tools.py", "free_days", "year=2026").code == 5


def test_explain_names_the_hooks_that_do_not_run(shop, user):
    """They may still block a call that `explain` allows."""
    (user / "toolkit.toml").write_text(BLOCK.format(tools="free_days"))
    ran = shop.run("explain", "tools.py", "free_days", "year=2026")
    assert ran.code == 0
    (warning,) = ran.json["warnings"]
    assert warning.startswith("hooks are not run here; user hooks")
    assert warning.endswith("may still deny or change the call")
    assert not shop.run("explain", "tools.py", "flaky").json["warnings"]


# Skills.


def test_the_users_skills_stand_beside_the_tools(shop, user):
    """The user's hooks and skills honoured: listed, shown, searched and called."""
    write_skill(
        user / "skills" / "plan_trip.md", "tools: [free_days]", "Plan a trip in {input}.", description="Plans a trip."
    )
    assert [tool["name"] for tool in shop.run("list", "tools.py").json][-1] == "plan_trip"
    assert shop.run("show", "tools.py", "plan_trip").json["description"] == "Plans a trip."
    assert shop.run("search", "tools.py", "trip").json[0]["name"] == "plan_trip"
    assert shop.run("schema", "tools.py", "plan_trip").json["name"] == "plan_trip"
    assert shop.run("call", "tools.py", "plan_trip", "input=May").json["text"] == "Plan a trip in May."


def test_a_skill_is_a_slash_command_in_a_prompt(shop, user):
    """The user's skills honoured by `toolkit agent`."""
    write_skill(
        user / "skills" / "plan_trip.md", "tools: [free_days]", "Plan a trip in {input}.", description="Plans a trip."
    )
    with model(DONE) as stub:
        command = words(stub)
        command[2] = "/plan_trip May"
        assert shop.run(*command).code == 0
    assert "Plan a trip in May." in str(stub.heard[0])


def test_the_error_of_an_invalid_skill_has_its_file_and_line(shop, user):
    """It has the reason as well. The tools are still there."""
    write_skill(user / "skills" / "odd.md", "tools: [fre_days]")
    ran = shop.run("list", "tools.py")
    assert ran.code == 0
    assert "a skill is left out: " in ran.err
    assert "did you mean `free_days`?" in ran.err
    assert "a skill is left out" not in shop.run("call", "tools.py", "free_days", "year=2026").err


def test_the_skills_of_a_project_count_after_its_folder_is_trusted(shop, user):
    """Before that, a note names each one."""
    write_skill(shop.folder / ".toolkit" / "skills" / "mine.md", description="Does mine.")
    ran = shop.run("list", "tools.py")
    assert f"ignored: {os.path.realpath(shop.folder)}" in ran.err
    Trust().trust(shop.folder)
    assert "mine" in [tool["name"] for tool in shop.run("list", "tools.py").json]


def test_a_hook_that_allows_a_call_does_not_approve_the_call(shop, user):
    (user / "toolkit.toml").write_text('[[hooks]]\non = "before"\ncommand = "true"\n')
    with model(CANCEL, DONE) as stub:
        assert shop.run(*words(stub, "--no-ask")).code == 7
