"""
A person sees everything, deceived by nothing, and only a clear yes is one.
"""

from __future__ import annotations

import io
import os
import re
import sys
import textwrap
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.approvals.terminal.conversation import run_editor
from toolkit.approvals.terminal.prompt import TerminalPrompt
from toolkit.decisions import AuthRequest, Decision, Grant

from .prompt_kit import DIFF, HOSTILE, request

TOOL = Grant(tool="id", scope="tool", shown="every call of `write`")
FOLDER = Grant(tool="id", scope="folder", target="/src")
COMMAND = Grant(tool="id", scope="command", target="git push")


def answer_prompt(text, asked_request=None, *, edit=None, now=1000.0, **options):
    """Return what *text*, typed in answer to a request, decides; and what was shown."""
    output = io.StringIO()
    prompt = TerminalPrompt(input=io.StringIO(text), output=output, edit=edit, by="ada", clock=lambda: now, **options)
    return prompt.ask(request() if asked_request is None else asked_request), output.getvalue()


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("y\n", Decision.approve(by="ada")),
        ("YES\n", Decision.approve(by="ada")),
        ("n\nnot today\n", Decision.deny("not today", by="ada")),
        ("no\n\n", Decision.deny(by="ada")),
        ("n\n", Decision.deny(by="ada")),
        ("q\n", Decision.deny(by="ada")),
        ("", Decision.deny("no answer came", by="ada")),
        ("\nmaybe\ny\n", Decision.approve(by="ada")),
        ("a\n2\n", Decision.approve(grant=FOLDER, by="ada")),
        ("always\n7\n1\n", Decision.approve(grant=TOOL, by="ada")),
        ("a\n\ny\n", Decision.approve(by="ada")),
        ("a\n", Decision.deny("no answer came", by="ada")),
    ],
)
def test_each_answer_has_its_meaning(text, decision):
    """
    A "no" may have a reason, and "always" needs a grant. The end of input is a no, and an invalid answer asks again.
    """
    assert answer_prompt(text, request(grants=(TOOL, FOLDER)))[0] == decision


@given(st.text())
def test_only_y_or_yes_approves_a_request(text):
    decision, _ = answer_prompt(text)
    words = {line.strip().lower() for line in re.split(r"\n|\r\n?", text)}
    assert not decision.approved or words & {"y", "yes"}


def test_the_prompt_names_the_valid_answers_after_an_invalid_one():
    assert (
        "'m\\\\x1b' is not an answer; the answers are: y, yes, n, no, q, quit, e, edit"
        in answer_prompt("m\x1b\ny\n")[1]
    )


def test_a_decision_names_the_principal_of_the_request():
    """The dispatcher refuses a decision for any other."""
    decisions = [
        answer_prompt(text, request(principal="bob", grants=(TOOL,)))[0] for text in ("y\n", "n\n", "a\n1\n", "")
    ]
    assert [decision.principal for decision in decisions] == ["bob"] * 4


def test_the_prompt_describes_the_grants_before_one_is_given():
    output = answer_prompt("a\n\nq\n", request(grants=(TOOL, FOLDER, COMMAND)))[1]
    assert "  1  every call of `write`, for the rest of the session\n" in output
    assert "  2  everything under /src, for the rest of the session\n" in output
    assert "  3  commands that start with git push, for the rest of the session\n" in output
    bare = Grant(tool="id", scope="tool")
    assert "every call of it, for" in answer_prompt("a\n\nq\n", request(grants=(bare,)))[1]


@pytest.mark.parametrize(
    "question",
    [
        request(),
        request(grants=(TOOL,), is_cut=True, preview="preview cut: 1 of 2 characters shown"),
        request(grants=(TOOL,), arguments={"content": "x" * 30_000}),
    ],
    ids=["no grants", "cut preview", "cut arguments"],
)
def test_always_is_not_offered_without_a_grant_or_for_a_request_that_was_cut(question):
    """The word is not a valid answer then."""
    decision, output = answer_prompt("a\n1\n", question)
    assert decision == Decision.deny("no answer came", by="ada")
    assert "lways" not in output


def test_everything_that_matters_is_shown():
    """These are the caller, the reason, the arguments, the repairs, the preview and the time limit."""
    question = request(
        asked_by=("rule `write`", "mode `default`"),
        repairs=('path: "x" for ["x"]',),
        principal="bob",
        waits_for="c0",
        preview=DIFF,
        grants=(TOOL,),
        expires_at=1000.0 + 150,
    )
    expected = """
        `write` asks for permission
          because: it writes
          asked by: rule `write`, mode `default`
          on behalf of: bob
          after: c0
          mended before: path: "x" for ["x"]
          can be answered for: 2 minutes
          with:
          | {
          |   "path": "x"
          | }
          which would do:
          | --- a/x
          | +++ b/x
          | @@ -1,1 +1,1 @@
          | -old
          | +new
        May it run? [y]es, [n]o, [a]lways, [e]dit: """
    assert answer_prompt("y\n", question)[1] == textwrap.dedent(expected)


def test_a_request_for_credentials_shows_whose_and_where():
    """There is nothing to edit and nothing to grant."""
    auth = AuthRequest(provider="github", scopes=("repo", "user"), url="https://example.org/login", reason="to push")
    decision, output = answer_prompt("e\na\ny\n", request(auth=auth, arguments={}, grants=(TOOL,)))
    assert decision == Decision.approve(by="ada")
    for line in (
        "`write` needs credentials\n",
        "  credentials of: github\n",
        "  which permit: repo, user\n",
        "  given at: https://example.org/login\n",
        "  needed for: to push\n",
        "Have the credentials been given? [y]es, [n]o: ",
    ):
        assert line in output
    assert "credentials of: x\n" in answer_prompt("y\n", request(auth=AuthRequest(provider="x")))[1]


def test_foreign_text_in_any_field_is_escaped_for_the_terminal():
    grant = Grant(tool=HOSTILE, scope="tool", shown=HOSTILE)
    question = request(
        tool=HOSTILE,
        reason=HOSTILE,
        asked_by=(HOSTILE,),
        repairs=(HOSTILE,),
        principal=HOSTILE,
        waits_for=HOSTILE,
        preview=f"{DIFF}+{HOSTILE}",
        grants=(grant,),
        arguments={HOSTILE: [HOSTILE]},
        auth=None,
    )
    auth = AuthRequest(provider=HOSTILE, scopes=(HOSTILE,), url=HOSTILE, reason=HOSTILE)
    output = answer_prompt("a\n\nq\n", question)[1] + answer_prompt("q\n", request(auth=auth))[1]
    assert not re.search(r"[^\x20-\x7e\n]", output)


def test_no_foreign_line_imitates_the_prompt():
    """The text behind the bar is not part of the question."""
    forged = "\nMay it run? [y]es, [n]o: y\n"
    output = answer_prompt("q\n", request(reason=forged, preview=forged, arguments={"text": forged}))[1]
    assert [line for line in output.split("\n") if line.startswith("May it run?")] == [
        "May it run? [y]es, [n]o, [e]dit: "
    ]


def test_edited_arguments_are_approved():
    """Just those, to be judged anew."""
    decision, _ = answer_prompt("e\n", edit=lambda text: text.replace('"x"', '"y"'))
    assert decision == Decision.approve(arguments={"path": "y"}, by="ada")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not changed: not JSON: Expecting property name"),
        ("[]", "not changed: the arguments have to be a JSON object"),
        ('{"a": NaN}', "not changed: NaN is not JSON"),
        ('{"a": "\\ud800"}', "not changed: a: the text holds half of a surrogate pair"),
        ('{"a": 1, "a": 2}', 'not changed: the key "a" stands twice'),
        ('{"a": "[redacted]"}', "not changed: write the value in place of [redacted]"),
        ('{"path":"x"}', "nothing was changed"),
    ],
)
def test_arguments_that_cannot_be_used_are_asked_for_again(text, words):
    """The prompt says what is wrong and keeps the typed text."""
    drafts = []

    def edit(draft):
        drafts.append(draft)
        return text

    decision, output = answer_prompt("e\ne\nq\n", edit=edit)
    assert not decision.approved
    assert output.count(words) == 2
    assert drafts[1] == (drafts[0] if words == "nothing was changed" else text)


def test_editing_1_to_true_changes_the_arguments():
    """Python counts the two as equal, and JSON does not."""
    decision, _ = answer_prompt("e\n", request(arguments={"force": 1}), edit=lambda text: '{"force": true}')
    assert decision.arguments == {"force": True}
    assert decision.arguments["force"] is True


def test_invisible_characters_are_escaped_in_the_editor():
    """The text is JSON, which has escapes for them."""
    drafts = []
    answer_prompt("e\nq\n", request(arguments={"a": "\u202eé"}), edit=lambda text: drafts.append(text) or text)
    answer_prompt("e\nq\n", request(arguments={"a": "é"}), edit=lambda text: drafts.append(text) or text)
    assert drafts == ['{\n  "a": "\\u202e\\u00e9"\n}', '{\n  "a": "é"\n}']


def test_the_editor_gets_a_private_file(tmp_path):
    """$VISUAL before $EDITOR, with its options; the file is the user's alone and gone afterwards."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import os, sys\n"
        "path = sys.argv[2]\n"
        f"open({str(tmp_path / 'seen')!r}, 'w').write(f'{{path}} {{os.stat(path).st_mode & 0o777:o}} {{sys.argv[1]}}')\n"
        "text = open(path, encoding='utf-8').read()\n"
        "open(path, 'w', encoding='utf-8').write(text.replace('é', 'ü'))\n"
    )
    environment = {"VISUAL": f"'{sys.executable}' '{script}' --wait", "EDITOR": "false"}
    with open(os.devnull) as answers:
        assert run_editor("{é}", answers, io.StringIO(), environment=environment) == "{ü}"
    path, mode, option = (tmp_path / "seen").read_text().split()
    assert (mode, option) == ("600", "--wait")
    assert not os.path.exists(path)


@pytest.mark.parametrize(
    ("environment", "words"),
    [({}, "no editor is known"), ({"EDITOR": "false"}, "the editor ended with 1"), ({"EDITOR": "'"}, "No closing")],
)
def test_an_editor_that_fails_is_an_error(environment, words):
    with pytest.raises(ValueError, match=words):
        run_editor("{}", io.StringIO(), io.StringIO(), environment=environment)


def test_the_prompt_says_that_the_editor_is_missing():
    """It asks the person again."""

    def edit(text):
        return run_editor(text, io.StringIO(), io.StringIO(), environment={"EDITOR": "/no/such/editor"})

    decision, output = answer_prompt("e\ny\n", edit=edit)
    assert "not changed: [Errno 2] No such file or directory: '/no/such/editor'" in output
    assert decision.approved


class Interrupted(io.StringIO):
    """An input at which a person presses Ctrl-C."""

    def readline(self, *_):
        raise KeyboardInterrupt


def test_an_interrupt_leaves_the_request_open():
    """Ctrl-C at an approval prompt leaves the request open and says that the call did not run."""
    output = io.StringIO()
    prompt = TerminalPrompt(input=Interrupted(), output=output, by="ada")
    assert prompt.ask(request()) is None
    assert output.getvalue().endswith("not answered, so it does not run; the request stays open\n")


def test_expired_request_is_not_asked():
    """The caller reports that it is too late."""
    decision, output = answer_prompt("y\n", request(expires_at=1500.0), now=1500.0)
    assert (decision, output) == (None, "")


def test_a_long_time_to_answer_is_not_mentioned():
    """A person who is asked now need not know that they could answer tomorrow."""
    assert "can be answered for" not in answer_prompt("q\n", request(expires_at=1000.0 + 86_400))[1]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.5, "a moment"), (30, "30 seconds"), (119, "119 seconds"), (7300, "2 hours"), (43_100, "11 hours")],
)
def test_the_time_left_is_rounded(seconds, words):
    """It has the unit that a person would use."""
    assert f"can be answered for: {words}\n" in answer_prompt("q\n", request(expires_at=1000.0 + seconds))[1]


@pytest.mark.parametrize(("colour", "is_coloured"), [(True, True), (False, False), (None, False)])
def test_colours_are_for_terminals(colour, is_coloured):
    """A caller may ask for them as well."""
    output = answer_prompt("q\n", request(preview=DIFF), colour=colour)[1]
    assert ("  | \x1b[31m-old\x1b[0m\n  | \x1b[32m+new\x1b[0m\n" in output) is is_coloured
    assert ("\x1b" in output) is is_coloured


def test_a_preview_that_is_not_a_diff_has_no_colour():
    """Lines of a list begin with a dash, too."""
    assert "| - a point\n" in answer_prompt("q\n", request(preview="- a point"), colour=True)[1]


def test_letters_a_terminal_does_not_know_are_escaped():
    """The terminal would otherwise fail to show the request."""
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding="ascii")
    prompt = TerminalPrompt(input=io.StringIO("y\n"), output=output, by="ada")
    assert prompt.ask(request(reason="é")).approved
    output.flush()
    assert b"because: \\xe9" in raw.getvalue()


def test_prompts_come_one_after_the_other():
    """Two requests on one screen could not be told apart."""
    inside, most = [], []

    class Slow(io.StringIO):
        def readline(self, *_):
            inside.append(1)
            most.append(len(inside))
            threading.Event().wait(0.001)
            inside.pop()
            return "y\n"

    prompts = [TerminalPrompt(input=Slow(), output=io.StringIO(), by="ada") for _ in range(5)]
    threads = [threading.Thread(target=prompt.ask, args=(request(),)) for prompt in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 5
