"""
`toolkit agent`: a model on loopback works with tools, in a pipe and in a terminal.
"""

from __future__ import annotations

import os
import pty
import stat
import threading

import pytest

from tests.cli.kit import CANCEL, DONE, LOOK, model, words
from tests.providers.making import NAMES
from tests.providers.protocols import PROTOCOLS, Turn
from tests.providers.stub import KEY, Answer
from toolkit.agent import Run
from toolkit.cli.approval_prompt import confirm
from toolkit.policies.audit import AuditLog
from toolkit.results import ToolCall

from .agent_runs import again, read_saved_run, resume_run

pytestmark = pytest.mark.usefixtures("key")


@pytest.mark.parametrize("provider", NAMES)
def test_every_provider_works_with_the_tools(shop, provider):
    """Each text and each call is a line when piped. The summary is on standard error."""
    with model(LOOK, DONE) as stub:
        ran = shop.run(*words(stub, provider=provider))
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "  I look it up."
    assert lines[1].startswith("✓ free_days")
    assert lines[-1] == "  It is done."
    assert "done after 2 turns, 22 tokens read and 14 written; read: definitions " in ran.err
    assert "the tool speaks" in ran.err


@pytest.mark.parametrize("provider", NAMES)
def test_a_server_that_does_not_stream_works_with_the_tools(shop, provider):
    """It sends one JSON answer for each request, although it was asked for a stream."""
    with model(*(Answer(200, PROTOCOLS[provider].whole(turn, "test-1")) for turn in (LOOK, DONE))) as stub:
        ran = shop.run(*words(stub, provider=provider))
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert (lines[0], lines[-1]) == ("  I look it up.", "  It is done.")


SCRIPT = '[[{"name": "cancel", "arguments": {"day": "2026-05-01"}}], "It is done."]'
SCRIPTED = ("tools.py", "--provider", "scripted:answers.json", "--no-ask")


def test_a_script_needs_no_key(shop):
    """
    A run that waits names the option that continues it, and the second process gets the second answer of the
    script.
    """
    shop.write("answers.json", SCRIPT)
    ran = shop.run("agent", *SCRIPTED, "Cancel it.")
    assert (ran.code, "--save FILE keeps a request, and in a new run --mode or --rule permits" in ran.err) == (
        7,
        True,
    ), ran.err
    ran = shop.run("agent", *SCRIPTED, "Cancel it.", "--save", "run.json")
    assert ran.code == 7
    assert "waiting: `cancel` did not run (request " in ran.err
    assert "answer in a terminal with --resume run.json" in ran.err
    ran = shop.run("chat", *SCRIPTED, "--resume", "run.json", input="Then leave it.\n")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "  It is done."), ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--provider", "scripted"], "no model is chosen"),
        (["--provider", "scripted:nothing.json"], "cannot read the script nothing.json"),
        (["--provider", "scripted:answers.json", "--base-url", "http://localhost"], "takes no base_url; leave it out"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused(shop, words, message):
    shop.write("answers.json", SCRIPT)
    ran = shop.run("agent", "tools.py", "Cancel it.", *words)
    assert (ran.code != 0, message in ran.err) == (True, True), ran.err


def test_the_provider_and_the_model_may_be_one_word(shop, monkeypatch):
    """This holds on the command line and in `toolkit.toml`. A wrong name gets a suggestion."""
    monkeypatch.setenv("LITELLM_PROXY_API_KEY", KEY)
    with model(DONE, DONE) as stub:
        monkeypatch.setenv("LITELLM_PROXY_API_BASE", f"{stub.url}/v1")
        ran = shop.run("agent", "tools.py", "Which days?", "--provider", "litellm:llama-3.3-70b")
        assert ran.code == 0, ran.err
        monkeypatch.setenv("TOOLKIT_PROVIDER", "litellm:qwen3:8b")
        assert shop.run("agent", "tools.py", "Which days?").code == 0
    assert [request.body["model"] for request in stub.heard] == ["llama-3.3-70b", "qwen3:8b"]
    ran = shop.run("agent", "tools.py", "Which days?", "--provider", "antropic:claude")
    assert ran.code != 0
    assert "--provider: the provider 'antropic' is not known; did you mean `anthropic`?" in ran.err


def test_json_output_is_the_run_and_the_lines_go_to_standard_error(shop):
    """So the run can be saved and continued."""
    with model(LOOK, DONE) as stub:
        ran = shop.run(*words(stub, "--json"))
    assert Run.from_json(ran.json).text == "It is done."
    assert "✓ free_days" in ran.err


def test_the_command_line_sets_system_prompt_and_model_and_prompt(shop):
    """The prompt may come from standard input."""
    with model(DONE) as stub:
        shop.run(*words(stub, "--system", "You know the calendar.", prompt="-"), input="Which days?\n")
    (request,) = stub.heard
    assert (request.body["model"], request.body["messages"][0]["role"]) == ("test-1", "user")
    assert "You know the calendar." in str(request.body["system"])
    assert "Which days?" in str(request.body["messages"])


def test_a_call_that_needs_a_person_waits_without_a_terminal(shop):
    """The exit code says so, and the request is shown."""
    with model(CANCEL) as stub:
        ran = shop.run(*words(stub, "--no-ask"))
    assert ran.code == 7
    assert "`cancel` asks for permission" in ran.out
    assert "waiting" in ran.err


def test_rules_and_the_audit_log_apply_to_an_agent(shop):
    with model(CANCEL, DONE) as stub:
        ran = shop.run(*words(stub, "--rule", "allow cancel", "--audit", "calls.jsonl"))
    assert (ran.code, "01 May is a working day" in ran.out) == (0, True)
    assert "outcome" in [line["event"] for line in AuditLog.read("calls.jsonl")]
    with model(CANCEL, DONE) as stub:
        ran = shop.run(*words(stub, "--rule", "deny cancel"))
    assert "cancel" not in str(stub.heard[0].body["tools"])  # the model is not even told of it
    assert "✗ cancel  denied" in ran.out


def test_a_stopped_run_shows_the_reason(shop):
    with model(LOOK, LOOK) as stub:
        ran = shop.run(*words(stub, "--max-turns", "1"))
    assert ran.code == 11
    assert "✗ stopped: " in ran.out


@pytest.mark.parametrize(
    ("further", "code", "says"),
    [
        (["--key-from", "NO_SUCH_KEY"], 2, "--key-from NO_SUCH_KEY: there is no such environment variable"),
        (["--base-url", "not a url"], 2, "error: "),
        (["--model", " "], 2, "--model: has to be a text, and not empty"),
    ],
)
def test_an_invalid_provider_ends_the_command_before_anything_is_loaded(shop, further, code, says):
    with model() as stub:
        ran = shop.run(*words(stub, *further))
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert "the module speaks" not in ran.err


def test_an_empty_prompt_is_refused(shop):
    """The refusal comes before the user is asked anything."""
    with model() as stub:
        ran = shop.run(*words(stub, prompt="-"), input=" \n")
    assert (ran.code, stub.heard) == (2, [])
    assert "error: the prompt is empty; say what to do" in ran.err


def test_a_failure_of_the_provider_is_shown_without_the_key(shop):
    with model(Answer(400, {"error": {"message": "no such model"}})) as stub:
        ran = shop.run(*words(stub))
    assert ran.code == 13
    assert "no such model" in ran.out
    assert KEY not in ran.out + ran.err


def test_the_error_for_a_missing_key_names_the_variable(shop, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    ran = shop.run("agent", "tools.py", "hi", "--provider", "anthropic", "--model", "test-1")
    assert ran.code == 13
    assert "ANTHROPIC_API_KEY" in ran.out


def test_a_key_of_the_environment_is_not_sent_elsewhere(shop, monkeypatch):
    """Another address gets only a key whose variable `--key-from` names."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with model(DONE) as stub:
        shop.run("agent", "tools.py", "hi", "--provider", "anthropic", "--model", "m", "--base-url", stub.url)
    assert all(KEY not in str(request.headers) for request in stub.heard)


def test_plan_mode_only_shows_the_plan(shop):
    """Without a terminal, the user cannot agree to the plan."""
    plan = Turn(calls=(ToolCall("exit_plan", {"plan": "1. Cancel it."}, "p1"),))
    with model(plan) as stub:
        ran = shop.run(*words(stub, "--mode", "plan", "--no-ask"))
    assert ran.code == 0
    assert ran.out.splitlines()[-2:] == ["• the plan:", "  1. Cancel it."]
    assert "planned" in ran.err


def test_a_plan_is_not_confirmed_without_a_terminal(tmp_path):
    """A file with a yes in it is not a terminal."""
    (tmp_path / "file").write_text("y\n" * 40)
    assert confirm("Carry out this plan?", str(tmp_path / "nowhere")) is False
    assert confirm("Carry out this plan?", str(tmp_path / "file")) is False


def test_an_end_of_input_does_not_agree():
    """The user has not said yes."""
    mine, theirs = pty.openpty()
    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(confirm("Carry out this plan?", os.ttyname(theirs))), daemon=True
    )
    asking.start()
    screen = b""
    while not screen.endswith(b": "):
        screen += os.read(mine, 1000)
    os.write(mine, b"\x04")
    asking.join(30)
    os.close(mine)
    os.close(theirs)
    assert answers == [False]


def test_a_run_is_kept_and_continued_with_another_prompt(shop):
    """The model has the whole conversation before it; the file holds what has become of it."""
    with model(LOOK, DONE, Turn(text="Two.")) as stub:
        assert shop.run(*words(stub, "--save", "run.json")).code == 0
        first = read_saved_run()
        ran = shop.run(*again(stub, prompt=["How many are that?"]))
    assert (ran.code, read_saved_run().text, first.text) == (0, "Two.", "It is done.")
    assert "Which days are free?" in str(stub.heard[2].body["messages"])
    assert read_saved_run().id == first.id


def test_only_the_owner_can_read_the_saved_files(shop):
    """The conversation and the requests may hold secrets."""
    with model(CANCEL) as stub:
        shop.run(*words(stub, "--no-ask", "--save", "run.json"))
    files = [path for path in shop.folder.iterdir() if path.name.startswith("run.json")]
    assert sorted(path.name for path in files) == ["run.json", "run.json.approvals.sqlite"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_run_keeps_waiting_without_a_terminal(shop):
    """The request is shown again, and no model is called."""
    with model(CANCEL) as stub:
        shop.run(*words(stub, "--no-ask", "--save", "run.json"))
        ran = shop.run(*again(stub, "--no-ask"))
    assert (ran.code, len(stub.heard), read_saved_run().status) == (7, 1, "waiting")
    assert "`cancel` asks for permission" in ran.out


def test_a_run_that_waits_takes_no_prompt(shop):
    """The open request has to be answered first."""
    with model(CANCEL) as stub:
        shop.run(*words(stub, "--no-ask", "--save", "run.json"))
        ran = shop.run(*again(stub, prompt=["And?"]))
    assert ran.code == 2
    assert "error: the run waits for answers; give them first" in ran.err


def test_a_run_that_reached_a_limit_continues_where_it_stopped(shop):
    """It reached the limit on turns, and needs no prompt."""
    with model(LOOK, DONE) as stub:
        assert shop.run(*words(stub, "--max-turns", "1", "--save", "run.json")).code == 11
        assert shop.run(*again(stub)).code == 0
    assert read_saved_run().text == "It is done."


def test_a_run_that_is_over_wants_a_prompt(shop):
    """There is nothing else to do."""
    with model(DONE) as stub:
        shop.run(*words(stub, "--save", "run.json"))
        ran = shop.run(*again(stub))
    assert (ran.code, len(stub.heard)) == (2, 1)
    assert "nothing to continue; give a prompt" in ran.err


@pytest.mark.parametrize(
    ("further", "says"),
    [
        (["--save", "tools.py"], "tools.py exists already; continue it with --resume, or choose another file"),
        (["--save", "no/run.json"], "no is no folder"),
        (["--resume", "nothing.json"], "nothing.json cannot be read: No such file"),
        (["--resume", "tools.py"], "tools.py holds no run: "),
        (["--save", "a", "--resume", "b"], "not both"),
    ],
)
def test_a_file_that_cannot_hold_the_run_ends_the_command(shop, further, says):
    """The error comes before the user is asked anything."""
    with model() as stub:
        ran = shop.run(*words(stub, *further))
    assert (ran.code, ran.out, stub.heard) == (2, "", [])
    assert says in ran.err


def test_an_empty_prompt_without_a_run_is_an_error(shop):
    with model() as stub:
        ran = shop.run("agent", "tools.py", *words(stub)[3:])
    assert ran.code == 2
    assert "error: the prompt is empty; say what to do" in ran.err


@pytest.mark.long
def test_a_saved_run_with_a_changed_request_is_refused(shop):
    """The store beside the file has the original request."""
    with model(CANCEL) as stub:
        shop.run(*words(stub, "--no-ask", "--save", "run.json"))
        text = (shop.folder / "run.json").read_text()
        (shop.folder / "run.json").write_text(text.replace("2026-05-01", "2026-12-25"))
        with resume_run(stub) as terminal:
            terminal.until("[y]es")
            terminal.type("y\n")
            assert terminal.read_to_end() == 2
    assert "is not what was asked" in terminal.written
    assert "working day" not in terminal.written
