"""
Masking of secrets in everything that leaves the dispatcher.

Redaction is applied to texts, values, parts, errors, repairs, requests, logs
and progress. It is never applied to the arguments that a tool runs with. Rules
are texts, regular expressions or functions. The values of parameters marked
`Secret` are always masked. If rules overlap, everything that any of them covers
is masked.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .._lazy_names import LazyModule
from .._plumbing.wording import MASK
from ..content import AudioPart, FilePart, ImagePart, JsonPart, Part, ResourcePart, TextPart, is_uri
from ..context import Progress
from ..errors import BadArgs, ErrorInfo, Problem
from ..results import ToolResult
from ..values.rendering import as_json, describe_value, dict_with_unique_keys
from ..values.strictjson.checks import loads
from ..values.visible import make_visible

if TYPE_CHECKING:
    import urllib.parse as url_parsing

    from ..decisions import ApprovalRequest
    from ..questions import AnsweredQuestion, Question
else:
    url_parsing = LazyModule("urllib.parse")

__all__ = ["MASK", "Redaction", "RedactionRule", "fold_name", "without_secrets"]

_log = logging.getLogger("toolkit")

RedactionRule: TypeAlias = "str | re.Pattern[str] | Callable[[str], str]"
_SpanFinder: TypeAlias = Callable[[str], Iterable[tuple[int, int]]]
_ESCAPED_MORE = re.compile(r"""\\u([0-9a-f]{4})|\\"|[&'+<>`]""")
_Media = TypeVar("_Media", AudioPart, ImagePart, ResourcePart)


class Redaction:
    """The rules for masking, for one call or for all calls."""

    __slots__ = ("_functions", "_patterns", "_texts")

    def __init__(self, rules: Iterable[RedactionRule] = ()) -> None:
        self._texts: list[_SpanFinder] = []
        self._patterns: list[_SpanFinder] = []
        self._functions: list[Callable[[str], str]] = []
        if isinstance(rules, str) or not isinstance(rules, Iterable):
            raise TypeError("redact wants a list of rules; put the text into one")  # not shown, because it is a secret
        for rule in rules:
            self._add_rule(rule)

    def _add_rule(self, rule: RedactionRule) -> None:
        if isinstance(rule, str):
            if not rule:
                raise ValueError("an empty text cannot be redacted; name what has to be masked")
            self._texts += [_build_span_finder(form) for form in _list_forms(rule)]
        elif isinstance(rule, re.Pattern) and isinstance(rule.pattern, str):
            self._patterns.append(_build_pattern_finder(rule))
        elif callable(rule):
            self._functions.append(rule)
        else:
            raise TypeError(f"redact wants texts, compiled patterns or functions, got {type(rule).__name__}")

    def __bool__(self) -> bool:
        return bool(self._texts or self._patterns or self._functions)

    def with_secrets(self, secrets: Iterable[Any]) -> Redaction:
        """
        Return a redaction that also masks *secrets*.

        It masks these values, and all values inside them, wherever they appear in a text.
        """
        rules = {rule for secret in secrets for rule in _rules_for(secret)}
        if not rules:
            return self
        extended = Redaction(rule for rule in rules if isinstance(rule, str))
        numbers = [_build_pattern_finder(rule) for rule in rules if isinstance(rule, re.Pattern)]
        extended._texts += numbers + self._texts
        extended._patterns += self._patterns
        extended._functions += self._functions
        return extended

    def mask_text(self, text: str) -> str:
        return self._mask_by((*self._texts, *self._patterns), text)

    def _mask_by(self, finders: Iterable[_SpanFinder], text: str) -> str:
        covered_spans = sorted(span for spans in finders for span in spans(text) if span[0] < span[1])
        if covered_spans:
            text = _mask_spans(text, covered_spans)
        for function in self._functions:
            text = _apply_function(function, text)
        return text

    def render_reason(self, reason: str) -> str:
        """Return *reason* as a person reads it: first masked, then with its hidden characters made visible."""
        return make_visible(self.mask_text(reason))

    def mask_value(self, value: Any) -> Any:
        """Return *value* with all secrets in it masked. A value that is not JSON is converted to JSON first."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.mask_text(value)
        # Containers of other classes are converted to plain ones first: their own methods may do anything, and fail.
        if type(value) is list:
            return [self.mask_value(item) for item in value]
        if type(value) is dict:
            return dict_with_unique_keys(
                [(self.mask_text(str(key)), self.mask_value(item)) for key, item in value.items()]
            )
        if isinstance(value, (int, float)):
            return self._mask_number(value)
        return self.mask_value(as_json(value))

    def _mask_number(self, value: float) -> Any:
        """Return *value*, or a mask if the whole number is a secret. A pattern may also mask a part."""
        text = _format_number(value)
        for whole in (text, text.removesuffix(".0")):
            if any(span == (0, len(whole)) for spans in self._texts for span in spans(whole)):
                return MASK
        masked = self._mask_by(self._patterns, text)
        return value if masked == text else masked

    def mask_result(self, result: ToolResult) -> ToolResult:
        """Mask *result* in place, and return it. The exception in `error.cause` is not masked; it is never sent."""
        text, value, full_text, parts = result.text, result.value, result.full_text, list(result.parts)
        result.text = self.mask_text(text)
        result.value = self.mask_value(value)
        result.full_text = self.mask_value(full_text)
        result.parts = [self._mask_part(part) for part in parts]
        is_same_text = result.text == text and result.full_text == full_text
        if not is_same_text or _differ(result.value, value) or _differ(result.parts, parts):
            result.returned = None  # it holds what was masked
        result.repairs = [self.mask_text(note) for note in result.repairs]
        result.retries = [self.mask_text(note) for note in result.retries]
        result.metadata = self.mask_value(result.metadata)
        if result.error is not None:
            result.error = ErrorInfo(
                self.mask_text(result.error.message), self.mask_value(result.error.details), result.error.cause
            )
        if result.request is not None:
            result.request = self.mask_request(result.request)
        return result

    def mask_request(self, request: ApprovalRequest) -> ApprovalRequest:
        auth = request.auth
        if auth is not None:
            auth = replace(auth, reason=self.mask_text(auth.reason), url=self.mask_value(auth.url))
        return replace(
            request,
            arguments=self.mask_value(dict(request.arguments)),
            reason=self.mask_text(request.reason),
            preview=self.mask_value(request.preview),
            repairs=tuple(self.mask_text(note) for note in request.repairs),
            edits=tuple(
                replace(edit, before=self.mask_value(dict(edit.before)), after=self.mask_value(dict(edit.after)))
                for edit in request.edits
            ),
            questions=tuple(map(self._mask_question, request.questions)),
            answers=tuple(map(self.mask_answered, request.answers)),
            # A grant with a secret is left out, because a masked grant would allow something else.
            grants=tuple(grant for grant in request.grants if self.mask_text(grant.shown) == grant.shown),
            auth=auth,
        )

    def _mask_question(self, question: Question) -> Question:
        return replace(
            question,
            message=self.mask_text(question.message),
            schema=self.mask_value(dict(question.schema)),
            request=None if question.request is None else self.mask_value(dict(question.request)),
        )

    def mask_answered(self, answered: AnsweredQuestion) -> AnsweredQuestion:
        from ..questions import DECLINED, AnsweredQuestion  # few tools ask

        answer = answered.answer if answered.answer is DECLINED else self.mask_value(answered.answer)
        return AnsweredQuestion(question=self._mask_question(answered.question), answer=answer)

    def mask_progress(self, progress: Progress) -> Progress:
        return replace(progress, message=self.mask_value(progress.message), value=self.mask_value(progress.value))

    def _mask_part(self, part: Part) -> Part:
        if isinstance(part, TextPart):
            return TextPart(self.mask_text(part.text))
        if isinstance(part, FilePart):
            media_type, name = self.mask_value(part.media_type), self.mask_value(part.name)
            return replace(part, uri=self.mask_text(part.uri), media_type=media_type, name=name)
        if isinstance(part, ResourcePart):
            part = replace(part, uri=self._mask_uri(part.uri), content=self._mask_content(part.content))
            return self._mask_media_type(part, None)
        if isinstance(part, AudioPart):
            return self._mask_media_type(part, "audio/redacted")
        if isinstance(part, ImagePart):
            return self._mask_media_type(part, "image/redacted")
        return JsonPart(self.mask_value(part.value)) if isinstance(part, JsonPart) else part

    def _mask_media_type(self, part: _Media, substitute: Any) -> _Media:
        """Return *part* with its media type masked. What is no media type any more is replaced by *substitute*."""
        try:
            return replace(part, media_type=self.mask_value(part.media_type))
        except ValueError:
            return replace(part, media_type=substitute)

    def _mask_uri(self, uri: str) -> str:
        """Return *uri* masked. What is no URI any more, because its scheme was masked too, becomes one."""
        masked = self.mask_text(uri)
        return masked if is_uri(masked) else f"redacted:{url_parsing.quote(masked, errors='replace') or 'all'}"

    def _mask_content(self, content: str | bytes | None) -> str | bytes | None:
        """Return the content of a resource masked. Bytes are read as UTF-8, and bytes that are none stay."""
        if content is None:
            return None
        if isinstance(content, str):
            return self.mask_text(content)
        text = content.decode(errors="surrogateescape")
        masked = self.mask_text(text)
        if masked == text:
            return content
        try:
            return masked.encode(errors="surrogateescape")
        except UnicodeEncodeError:  # a rule that is a function may write any text
            return masked.encode(errors="replace")


def _apply_function(function: Callable[[str], str], text: str) -> str:
    try:
        output: Any = function(text)
    except Exception as error:  # noqa: BLE001 -- the rule is the user's; a text that it could not check must not leave
        output = error
    if isinstance(output, str):
        return output
    # The traceback is not logged, because it may show the text.
    _log.warning("a redaction rule gave %s instead of text; the whole text is masked", type(output).__name__)
    return MASK


def _mask_spans(text: str, covered_spans: list[tuple[int, int]]) -> str:
    """Return *text* with a mask in place of each span in *covered_spans*, which is sorted and may have overlaps."""
    pieces: list[str] = []
    end = 0
    for start, stop in covered_spans:
        if start >= end:
            pieces += [text[end:start], MASK]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


def _list_forms(text: str) -> set[str]:
    """Return the forms in which *text* may appear: unchanged, as in JSON, as in a Python repr, and as in a URL."""
    quoted = [url_parsing.quote(text, safe=safe, errors="replace") for safe in ("", "/")]
    plus = url_parsing.quote_plus(text, errors="replace")
    escaped = [json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)]
    escaped += [form.replace("/", r"\/") for form in escaped]  # PHP writes it so, and .NET has the escapes below
    escaped.append(_ESCAPED_MORE.sub(lambda part: "\\u" + (part[1] or f"{ord(part[0][-1]):04x}").upper(), escaped[0]))
    return {text, *escaped, repr(text)[1:-1], *quoted, plus}


def _build_span_finder(form: str) -> _SpanFinder:
    def spans(text: str) -> Iterator[tuple[int, int]]:
        start, step = text.find(form), len(form)
        while start >= 0:
            yield start, start + len(form)
            # The text may overlap itself. In a run of it, the next place is found by what the last step added, because
            # each search takes time for the whole text.
            if step < len(form) and text.startswith(form[-step:], start + len(form)):
                start += step
            else:
                following = text.find(form, start + 1)
                start, step = following, following - start

    return spans


def _build_pattern_finder(pattern: re.Pattern[str]) -> _SpanFinder:
    return lambda text: (match.span() for match in pattern.finditer(text))


def _rules_for(secret: Any) -> Iterator[str | re.Pattern[str]]:
    """Yield the rules that mask one secret, both as the model sent it and as the tool sees it."""
    if callable(reveal := getattr(secret, "get_secret_value", None)):  # a secret type of pydantic hides its value
        secret = reveal()
    yield from _rules_for_json(as_json(secret))
    if isinstance(secret, (bytes, bytearray)):
        yield from _rules_for_json(secret.decode(errors="replace"))
    elif secret is not None and not isinstance(secret, (str, int, float, Mapping, list, tuple, AbstractSet)):
        yield from _rules_for_json(describe_value(secret))


def _rules_for_json(value: Any) -> Iterator[str | re.Pattern[str]]:
    """Yield a rule for each leaf of a JSON value. A boolean, null and an empty text are not secrets."""
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _rules_for_json(item)
    elif isinstance(value, str):
        yield from [value] if value else []
    elif value is not None and not isinstance(value, bool):
        # Inside a longer number the same digits are not the secret.
        yield re.compile(rf"(?<!\d){re.escape(_format_number(value))}(?!\d)")


def _format_number(value: float) -> str:
    return hex(value) if isinstance(value, int) and value.bit_length() > 3000 else repr(value)


def _differ(masked: Any, value: Any) -> bool:
    try:
        return bool(masked != value)
    except Exception:  # noqa: BLE001 -- a hook may have set any object as the value
        return True


# Problems with arguments.


def without_secrets(error: BadArgs, secrets: frozenset[str], *arguments: Any) -> BadArgs:
    """
    Return an error with the same problems as *error* and no value of a parameter in *secrets*.

    A problem with such a parameter is reported without its value. A problem with another parameter is reported with the
    secret masked, because the tool's own check may quote any argument.

    *arguments* are the arguments of the call, in every form that the caller has: JSON text, an object, decoded. The new
    error has no cause, because the cause may quote the value.
    """
    return BadArgs(lambda: _mask_problems(error, secrets, arguments))


def _mask_problems(error: BadArgs, secrets: frozenset[str], arguments: tuple[Any, ...]) -> list[Problem]:
    folded_names = frozenset(map(fold_name, secrets))
    objects = [_decode_arguments(form) for form in arguments]
    if objects and not any(isinstance(form, Mapping) for form in objects):
        # The value that was sent in place of an object may be the secret itself.
        return [_drop_quoted_value(problem) for problem in error.problems]
    items = [item for form in objects if isinstance(form, Mapping) for item in form.items()]
    redaction = Redaction().with_secrets(value for name, value in items if fold_name(name) in folded_names)
    masked = []
    for problem in error.problems:
        if problem.path and fold_name(problem.path[0]) in folded_names:
            masked.append(Problem("the value does not fit", problem.path[:1]))
        else:  # the secret may also have been sent as a key
            path = [redaction.mask_text(step) if isinstance(step, str) else step for step in problem.path]
            masked.append(Problem(redaction.mask_text(problem.message), path))
    return masked


def _drop_quoted_value(problem: Problem) -> Problem:
    text, got, _ = problem.message.partition(", got ")
    return Problem(text, problem.path) if got else problem


def _decode_arguments(arguments: Any) -> Any:
    """Return *arguments* decoded if they are JSON text, also if that text contains JSON text once more."""
    for _ in range(2):
        if not isinstance(arguments, (str, bytes, bytearray)):
            break
        try:
            arguments = loads(arguments)
        except ValueError:  # an error about text that is not JSON quotes no value
            break
    return arguments


def fold_name(name: object) -> str:
    """Return *name* in a form that is equal for two keys that the repair of arguments takes for the same name."""
    return "".join(letter for letter in str(name).casefold() if letter.isalnum())
