"""
The dialogue with a person at a terminal about one request, until there is a decision.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

from ...decisions import ApprovalRequest, Decision, Grant
from ...errors import ToolkitError
from ...policies.redaction import MASK
from ...values.strictjson.checks import find_flaws, loads
from ...values.visible import make_visible
from .question_form import CallDenied, QuestionForm
from .screens import Screen, describe_grant

__all__ = ["Conversation", "RuleKeeper", "run_editor"]


class RuleKeeper(Protocol):
    """An object that keeps "always" answers for later sessions, as rules in a file."""

    path: Path

    def rule_for(self, request: ApprovalRequest, grant: Grant) -> str | None:
        """Return the allow rule that says the same as *grant*; None if no rule would help."""

    def keep(self, rule: str) -> None:
        """Write *rule* to the file; raise `ToolkitError` if that fails."""


class Conversation:
    """
    A dialogue about one request, which shows the request and asks until the answer is clear.

    Only a clear yes approves the call. If an answer is not understood, the question is asked again. The end of input
    denies the call. Ctrl-C is no answer: the request stays open, and the call does not run.

    Args:
        request: The request to decide.
        answers: The stream from which the answers of the person are read.
        screen: The screen that shows the request and the questions.
        edit: A function that lets the person change a text, and returns the new text.
        by: The name of the person, for the decision.
        keeper: Keeps "always" answers for later sessions, if the person wants that.
    """

    def __init__(
        self,
        request: ApprovalRequest,
        answers: TextIO,
        screen: Screen,
        *,
        edit: Callable[[str], str],
        by: str,
        keeper: RuleKeeper | None = None,
    ) -> None:
        self._request = request
        self._answers = answers
        self._screen = screen
        self._edit = edit
        self._by = by
        self._keeper = keeper
        self._draft: str | None = None
        self._actions: dict[str, Callable[[], Decision | None]] = {
            **dict.fromkeys(("y", "yes"), self._approve),
            **dict.fromkeys(("n", "no"), self._deny_with_reason),
            **dict.fromkeys(("q", "quit"), self._deny),
        }

    def decide(self, now: float) -> Decision | None:
        """Show the request, ask until the answer is clear, and return the decision; return None after Ctrl-C."""
        try:
            return self._ask_until_clear(now)
        except EOFError:
            return self._deny_at_end("no answer came")
        except KeyboardInterrupt:
            with contextlib.suppress(OSError, ValueError):
                self._screen.say("\nnot answered, so it does not run; the request stays open")
            return None
        except (OSError, ValueError) as error:  # The terminal is gone or closed, or sends bytes that are not text.
            return self._deny_at_end(f"no person could be asked: {error}")

    def _ask_until_clear(self, now: float) -> Decision:
        question = self._build_question(is_whole=self._screen.show(self._request, now, lists_questions=False))
        _drop_typed_text(self._answers)
        if self._request.questions:
            return self._answer_questions()
        while True:
            answer = self._ask(question)
            action = self._actions.get(answer.lower())
            if action is None:
                valid_answers = ", ".join(dict.fromkeys(self._actions))
                shown = make_visible(answer[:40], keep_lines=False)
                self._screen.say(f"{shown!r} is not an answer; the answers are: {valid_answers}")
            elif (decision := action()) is not None:
                return decision

    def _answer_questions(self) -> Decision:
        try:
            answers = QuestionForm(self._screen, self._ask).answer_all(self._request.questions)
        except CallDenied:
            return self._deny_with_reason()
        return self._approve(answers=answers)

    def _deny_at_end(self, reason: str) -> Decision:
        with contextlib.suppress(OSError, ValueError):
            self._screen.say()
        return self._deny(reason)

    def _build_question(self, *, is_whole: bool) -> str:
        """Return the question, and register the answers that are possible for this request."""
        if self._request.auth is not None:
            return "Have the credentials been given? [y]es, [n]o: "
        offered = ["[y]es", "[n]o"]
        if is_whole and self._request.grants:
            self._actions |= dict.fromkeys(("a", "always"), self._approve_with_grant)
            offered.append("[a]lways")
        self._actions |= dict.fromkeys(("e", "edit"), self._approve_edited)
        return f"May it run? {', '.join([*offered, '[e]dit'])}: "

    def _ask(self, question: str) -> str:
        self._screen.say(question, end="")
        line = self._answers.readline()
        if not line:
            raise EOFError
        return line.strip()

    def _approve(self, **options: Any) -> Decision:
        return Decision.approve(by=self._by, principal=self._request.principal, **options)

    def _deny(self, reason: str = "") -> Decision:
        return Decision.deny(reason, by=self._by, principal=self._request.principal)

    def _deny_with_reason(self) -> Decision:
        try:
            return self._deny(self._ask("Why not? The model is told; it may be left empty: "))
        except EOFError:
            return self._deny()

    def _approve_with_grant(self) -> Decision | None:
        """Return an approval with one of the offered grants; return None if the person goes back."""
        grants = self._request.grants
        for number, grant in enumerate(grants, 1):
            self._screen.say(f"  {number}  {describe_grant(grant)}")
        grants_by_number = {str(number): grant for number, grant in enumerate(grants, 1)}
        while answer := self._ask("Which one? A number, or nothing to go back: "):
            if answer in grants_by_number:
                self._offer_to_keep(grants_by_number[answer])
                return self._approve(grant=grants_by_number[answer])
            self._screen.say(f"there is no such number; they go from 1 to {len(grants)}")
        return None

    def _offer_to_keep(self, grant: Grant) -> None:
        """Ask whether to keep *grant* as a rule for later sessions, and keep it after a clear yes."""
        rule = None if self._keeper is None else self._keeper.rule_for(self._request, grant)
        if self._keeper is None or rule is None:
            return
        shown = make_visible(rule, keep_lines=False)
        self._screen.say(f"  for later sessions too: allow {shown}, in {self._keeper.path}")
        if self._ask("Keep this rule? [y]es, or nothing for this session only: ").lower() not in ("y", "yes"):
            return
        try:
            self._keeper.keep(rule)
        except ToolkitError as error:
            self._screen.say(make_visible(f"not kept: {error}", keep_lines=False))
        else:
            self._screen.say("kept")

    def _approve_edited(self) -> Decision | None:
        """
        Return an approval with the arguments that the person has changed.

        If the changed arguments cannot be used, or nothing was changed, say so and return None.
        """
        original = _format_json(self._request.arguments)
        try:
            self._draft = self._edit(original if self._draft is None else self._draft)
            arguments = _parse_arguments(self._draft)
        except (ValueError, OSError) as error:
            self._screen.say(f"not changed: {make_visible(str(error), keep_lines=False)}")
            return None
        if _format_json(arguments) == original:
            self._draft = None
            self._screen.say("nothing was changed")
            return None
        return self._approve(arguments=arguments)


def _parse_arguments(text: str) -> dict[str, Any]:
    """Return the arguments that *text* contains; raise `ValueError` if they cannot be used."""
    arguments = loads(text)
    if not isinstance(arguments, dict):
        raise ValueError("the arguments have to be a JSON object")  # noqa: TRY004 -- the text is wrong, not its type
    if problems := find_flaws(arguments):
        raise ValueError(str(problems[0]))
    if MASK in json.dumps(arguments):
        # The masked value is not known here, so the tool would get the mask itself instead of the value.
        raise ValueError(f"write the value in place of {MASK}, or answer yes or no")
    return arguments


def run_editor(text: str, answers: TextIO, output: TextIO, *, environment: Mapping[str, str] = os.environ) -> str:
    """
    Let the person change *text* in the editor $VISUAL or $EDITOR, and return the new text.

    Raises:
        ValueError: There is no editor, or it fails.
        OSError: The editor cannot be started.
    """
    command = shlex.split(environment.get("VISUAL") or environment.get("EDITOR") or "")
    if not command:
        raise ValueError("no editor is known; set VISUAL or EDITOR to one")
    with tempfile.TemporaryDirectory(prefix="toolkit-") as folder:
        path = os.path.join(folder, "arguments.json")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        process = subprocess.run(  # noqa: S603 -- it runs the editor that the person has chosen
            [*command, path], check=False, stdin=_file_descriptor(answers), stdout=_file_descriptor(output)
        )
        if process.returncode:
            raise ValueError(f"the editor ended with {process.returncode}")
        with open(path, encoding="utf-8") as file:
            return file.read()


def _format_json(arguments: Mapping[str, Any]) -> str:
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=2)
    # An editor, like a terminal, would not show some characters as they are, so these are written as escapes.
    return text if make_visible(text) == text else json.dumps(dict(arguments), indent=2)


def _file_descriptor(stream: TextIO) -> int | None:
    """Return the file descriptor of *stream*, for another program; return None if it has none."""
    with contextlib.suppress(OSError, ValueError):
        return stream.fileno()
    return None


def _drop_typed_text(stream: TextIO) -> None:
    """Drop the text that was typed before the question was shown, because it cannot be meant as an answer."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import termios

        if stream.isatty():
            termios.tcflush(stream.fileno(), termios.TCIFLUSH)
