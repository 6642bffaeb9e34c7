"""
Previews: what a person is shown before they agree to a call.

A tool's `preview=` tells what is about to happen, in its own words or as a diff with `file_change`. A preview only
reads, and has a time limit. If the preview fails, no person is asked and the call does not run. The text is made
visible, and is cut if it is too long. A preview that was cut says so in its first line.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import inspect
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._plumbing.wording import format_seconds
from ..concurrency.futures import retrieve_exception
from ..decisions import Precondition
from ..errors import ToolkitError
from ..facts import bind_call
from ..results import ToolCall
from ..spec import Tool
from ..values.rendering import as_json, describe_value
from ..values.visible import make_visible
from .file_diffs import describe_content, find_changed_paths, read_file_state, render_diff
from .read_only_guard import read_only

__all__ = ["NO_PREVIEW", "Preview", "PreviewFailed", "combined", "file_change", "find_changed_paths", "preview_of"]

_CUT = "preview cut: "
_NO_GRANT = "it cannot be granted for the session"
_MAX_ERROR_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """
    A description of what a call is about to do, with the files that must not change before the call runs.

    Attributes:
        text: The text that a person reads.
        preconditions: The files that the preview was made from, as they were then.
        is_cut: Whether a part of the text is left out.
    """

    text: str
    preconditions: tuple[Precondition, ...] = ()
    is_cut: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"the text of a preview has to be text, got {type(self.text).__name__}")


NO_PREVIEW = Preview(text="")


class PreviewFailed(ToolkitError):  # noqa: N818 -- the name says what happened
    """A preview could not be made. So no person is asked, and the call does not run."""


def file_change(
    path: str | os.PathLike[str],
    new: str | bytes | None,
    *,
    root: str | os.PathLike[str] | None = None,
    shown_as: str | None = None,
) -> Preview:
    """
    Return a preview of the difference between the present file and *new*.

    The preview has the precondition that the file stays as it is until the call runs.

    Args:
        path: The file that the call is going to change.
        new: The content that the file is going to have. Text is encoded as UTF-8. None means that the file is removed.
        root: The folder that a relative path starts from; by default the working folder.
        shown_as: The name to show for the file; by default *path* as it was given.
    """
    full_path = os.path.join(os.getcwd() if root is None else root, path)
    name = make_visible(os.fspath(path) if shown_as is None else shown_as, keep_lines=False)
    try:
        real_path = os.path.realpath(full_path)
        file = read_file_state(real_path)
    except (OSError, ValueError) as error:
        raise PreviewFailed(f"{name} cannot be compared: {make_visible(str(error), keep_lines=False)}") from error
    content = new.encode(errors="surrogatepass") if isinstance(new, str) else new
    digest = None if file is None else file.sha256
    notes = (
        [f"{name} leads to {make_visible(real_path, keep_lines=False)}\n"]
        if real_path != os.path.abspath(full_path)
        else []
    )
    if file is not None:
        notes += [f"{name} {fact}\n" for fact in file.facts]
    if file is not None and file.content is None:
        notes.append(
            f"{name} is too large to be compared: {file.size_and_digest} before, {describe_content(content)} after\n"
        )
    else:
        notes.append(render_diff(None if file is None else file.content, content, name))
    return Preview(text="".join(notes), preconditions=(Precondition(path=real_path, sha256=digest),))


def combined(*previews: Preview) -> Preview:
    """Return one preview of several changes, in their order."""
    is_cut = any(preview.is_cut for preview in previews)
    texts = [preview.text for preview in previews if preview.text]
    if is_cut:
        texts.insert(0, f"{_CUT}a part of it is not whole; {_NO_GRANT}")
    conditions = dict.fromkeys(condition for preview in previews for condition in preview.preconditions)
    return Preview(text="\n\n".join(texts), preconditions=tuple(conditions), is_cut=is_cut)


async def preview_of(
    tool: Tool,
    decoded: Mapping[str, Any],
    *,
    call: ToolCall | None = None,
    in_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
    seconds: float = 5.0,
    max_chars: int = 20_000,
    redact: Callable[[str], str] = lambda text: text,
) -> Preview:
    """
    Return the preview that *tool* makes for *decoded* arguments; its text is empty if the tool has nothing to say.

    The tool's `preview=` gets a copy of the arguments, and the *call* if it has a parameter of that name. It returns
    text, JSON, a `Preview` or None.

    Args:
        in_thread: Runs a blocking function in a thread, with the context variables of the caller, and returns its
            result. A function that takes too long is left to run, and stays read-only.
        seconds: How long the preview may take.
        max_chars: The limit beyond which the text is cut.
        redact: Masks secrets in a text. It runs before the text is cut or made visible, because after that it would
            not find them.

    Raises:
        PreviewFailed: The preview raises, takes longer than *seconds* or tries to write.
    """
    function = tool.facts.preview
    if function is None:
        return NO_PREVIEW
    attempts: list[str] = []
    try:
        with read_only() as attempts:
            # The task inherits the guard. The code after this block does not.
            make_preview = bind_call(function, copy.copy(call))
            task = asyncio.create_task(_run_preview(make_preview, copy.deepcopy(dict(decoded)), in_thread))
    except Exception as error:
        raise _build_error(tool, redact(describe_value(error))) from error
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()
        task.add_done_callback(retrieve_exception)
    if not done:
        raise _build_error(tool, f"it took longer than {format_seconds(seconds)}")
    if task.cancelled():
        raise _build_error(tool, "it was cancelled")
    preview, failure = task.result()
    if isinstance(failure, KeyboardInterrupt):
        raise failure
    if attempts:
        raise _build_error(tool, f"a preview may only read, and this one tried to {redact(attempts[0])}") from failure
    if failure is not None:
        why = str(failure) if isinstance(failure, ToolkitError) else describe_value(failure)
        raise _build_error(tool, redact(why)) from failure
    return _make_visible(replace(preview, text=redact(preview.text)), max_chars)


async def _run_preview(
    function: Callable[..., Any], arguments: dict[str, Any], in_thread: Callable[[Callable[[], Any]], Awaitable[Any]]
) -> tuple[Preview, BaseException | None]:
    """
    Return the preview that *function* makes and None, or an empty preview and the error that it raised.

    The error is returned, because a task would throw a `SystemExit` into the event loop.
    """
    context = contextvars.copy_context()  # contains the guard, also if the thread has another context
    try:
        answer: Any = (
            function(arguments)
            if inspect.iscoroutinefunction(function)
            else await in_thread(lambda: context.run(function, arguments))
        )
        if inspect.isawaitable(answer):
            answer = await answer
        return _as_preview(answer), None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 -- the author's code may raise anything; see the docstring
        return NO_PREVIEW, error


def _as_preview(answer: Any) -> Preview:
    if isinstance(answer, Preview):
        return answer
    if answer is None or isinstance(answer, str):
        return Preview(text=answer or "")
    return Preview(text=json.dumps(as_json(answer), ensure_ascii=False, indent=2))


def _make_visible(preview: Preview, max_chars: int) -> Preview:
    """Return *preview* made visible, and cut to *max_chars*; the line that says so is not counted."""
    # The text is cut first, because it costs more to make a character visible than to count it.
    text = make_visible(preview.text[:max_chars])
    total_chars = len(text) + max(0, len(preview.text) - max_chars)
    if total_chars > max_chars:
        line = f"{_CUT}{min(len(text), max_chars):,} of {total_chars:,} characters shown; {_NO_GRANT}"
        return replace(preview, text=f"{line}\n{text[:max_chars]}", is_cut=True)
    if preview.is_cut and not text.startswith(_CUT):
        text = f"{_CUT}its author left something out; {_NO_GRANT}\n{text}"
    return replace(preview, text=text)


def _build_error(tool: Tool, why: str) -> PreviewFailed:
    message = make_visible(why[:_MAX_ERROR_CHARS], keep_lines=False)
    return PreviewFailed(f"the preview of `{tool.name}` failed, so no person can be asked: {message}")
