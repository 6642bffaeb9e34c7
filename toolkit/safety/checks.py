"""
The safety checks, which judge what a call is about to touch before the user is asked.

The checks hold in every mode. A check is switched off only by its name. Every finding is reported. If a check raises an
error, the call is denied. A check is not a boundary: it judges what a tool says it will do, at that moment. The
boundary is a sandbox.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol

from .._option_checks import describe_type, require_list
from ..access import Access
from ..errors import find_nearest
from ..verdicts import Finding
from .hosts import AllowedHosts, check_url
from .paths import BadPath, Folders, ResolvedPath, explain_protection, resolve_path
from .protected_files import BUILT_IN, Protected, ProtectedFiles
from .repositories import find_repository_rule

if TYPE_CHECKING:
    from .commands.files import CommandFiles

__all__ = ["Check", "SafetyChecks"]

_log = logging.getLogger("toolkit")


class Check(Protocol):
    """
    One safety check.

    A check may also have an attribute `kinds`, the kinds of access that it judges. Without it, the check judges every
    access.
    """

    @property
    def name(self) -> str:
        """The name by which the application switches the check off, such as "dangerous-command"."""

    def judge(self, access: Access) -> Finding | None:
        """Return a finding against *access* with the word "ask" or "deny", or None if there is none."""


class SafetyChecks:
    """
    The built-in checks and the application's own checks.

    The built-in checks are "folder" (paths stay inside the folders), "protected-file" (secrets, and files that make
    programs run code), "dangerous-command", and "host" (addresses inside a machine or a private network).

    Args:
        folders: The folders that tools may touch. Relative paths start in the first one. The default is the current
            folder.
        read_only_folders: The folders that tools may only read.
        protected: Further patterns or paths that tools neither read nor write; a folder is meant with its content. A
            `Protected` object has its own description, level and exceptions.
        unprotected: Built-in patterns that are switched off, by their exact text.
        allowed_hosts: Hosts that tools may reach although they are private, such as "localhost:8080".
        without: The names of the checks that are switched off.
        further: The application's own checks.
        strict: Whether a check refuses a call that it would otherwise ask about. A person, a rule or mode `bypass` can
            answer an ask, but nothing lifts a refusal: `sudo` and `rm -rf /tmp` then run in no mode.

    Attributes:
        has_further_checks: Whether a check of the application is active.
    """

    def __init__(
        self,
        folders: Sequence[str | os.PathLike[str]] | None = None,
        *,
        read_only_folders: Sequence[str | os.PathLike[str]] = (),
        protected: Iterable[str | os.PathLike[str] | Protected] = (),
        unprotected: Iterable[str] = (),
        allowed_hosts: Iterable[str] = (),
        without: Iterable[str] = (),
        further: Iterable[Check] = (),
        strict: bool = False,
    ) -> None:
        if not isinstance(strict, bool):
            raise TypeError(f"strict cannot be {describe_type(strict)}; give True or False")
        self._strict = strict
        self._folders = Folders([os.getcwd()] if folders is None else folders, read_only=read_only_folders)
        files = ProtectedFiles(
            _build_protected_table(require_list(protected, "protected"), require_list(unprotected, "unprotected"))
        )
        built_in: list[Check | _FileCheck] = [
            _FileCheck("folder", self._folders.find_objection),
            _FileCheck("protected-file", functools.partial(_find_protection, files)),
            _CommandCheck(self._folders, files),
            _HostCheck(AllowedHosts(allowed_hosts)),
        ]
        checks = _index_by_name(built_in, further)
        off = require_list(without, "without")
        for name in off:
            if name not in checks:
                raise ValueError(f"without: there is no check {name!r}{_suggest_names(name, checks)}")
        self._checks = {name: (check, _kinds_of(check)) for name, check in checks.items() if name not in off}
        self.has_further_checks = not {check.name for check in built_in}.issuperset(self._checks)

    @property
    def folders(self) -> list[str]:
        """The resolved folders that tools may touch."""
        return [*self._folders.writable, *self._folders.read_only]

    @property
    def root(self) -> str:
        """The resolved folder in which relative paths start."""
        return self._folders.root

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the active checks, in order."""
        return tuple(self._checks)

    def judge(self, accesses: Iterable[Access]) -> list[Finding]:
        """Return every finding against *accesses*, in their order. The list is empty if there is none."""
        findings: list[Finding] = []
        for access in accesses:
            # An object that is no access has no kind. Every check looks at it, fails and so refuses it.
            kind, file = getattr(access, "kind", None), _AccessedFile(access, self._folders)
            for name, (check, kinds) in self._checks.items():
                if kinds is None or kind is None or kind in kinds:
                    finding = _run_check(name, check, file)
                    if finding is not None:
                        findings.append(_refuse_instead(finding) if self._strict else finding)
        return findings


class _AccessedFile:
    """The file of one access. Both checks of files look at it, and the links in its path are followed once."""

    __slots__ = ("_folders", "_places", "access")

    def __init__(self, access: Access, folders: Folders) -> None:
        self.access = access
        self._folders = folders
        self._places: tuple[ResolvedPath, ...] | None = None

    @property
    def places(self) -> tuple[ResolvedPath, ...]:
        """The places that the path may lead to. Reading this raises the errors of `Folders.places`."""
        if self._places is None:
            self._places = self._folders.places(self.access.target)
        return self._places


def _run_check(name: str, check: Check | _FileCheck, file: _AccessedFile) -> Finding | None:
    try:
        finding = check.judge_file(file) if isinstance(check, _FileCheck) else check.judge(file.access)
        return None if finding is None else _validate_finding(finding, f"check `{name}`")
    except Exception as error:  # noqa: BLE001 -- after any error the access was not judged
        by = f"check `{name}`"
        _log.warning("%s failed", by, exc_info=True)
        return _refusal(by, f"{by} failed ({type(error).__name__}), so the call is denied; fix the check")


def _validate_finding(finding: object, by: str) -> Finding | None:
    """Return the finding of a check under the check's name, or a refusal if the finding is not valid."""
    if finding is None:
        return None
    if isinstance(finding, Finding) and finding.word in {"ask", "deny"}:
        return replace(finding, by=by, source="arguments" if finding.source == "arguments" else "check")
    if isinstance(finding, Finding) and finding.word == "allow":
        return None  # a check cannot lift a restriction
    if isinstance(finding, Coroutine):
        finding.close()
    answer = repr(finding.word) if isinstance(finding, Finding) else f"a {type(finding).__name__}"
    return _refusal(
        by, f"{by} returned {answer}; fix the check: it has to return a Finding that asks or denies, or None"
    )


def _refuse_instead(finding: Finding) -> Finding:
    if finding.word != "ask":
        return finding
    return replace(finding, word="deny", reason=f"{finding.reason}; the checks are strict, so the call is refused")


def _refusal(by: str, reason: str) -> Finding:
    return Finding("deny", by, reason, "check")


class _FileCheck:
    """
    A check that judges the places which a path leads to.

    *find_objection* returns why the path may not be accessed, or None if it may be.
    """

    kinds = ("read", "write")

    def __init__(
        self,
        name: str,
        find_objection: Callable[[str, Sequence[ResolvedPath], Literal["read", "write"]], str | None],
    ) -> None:
        self.name = name
        self._find_objection = find_objection

    def judge_file(self, file: _AccessedFile) -> Finding | None:
        """Return a finding against the access to *file*, or None if there is none."""
        try:
            places = file.places
        except BadPath as error:
            return Finding("deny", self.name, str(error), "arguments")  # the model may send other arguments
        except ValueError as error:
            return _refusal(self.name, str(error))
        access = file.access
        reason = self._find_objection(access.target, places, "read" if access.kind == "read" else "write")
        return None if reason is None else _refusal(self.name, reason)


def _find_protection(
    files: ProtectedFiles, path: str, places: Sequence[ResolvedPath], access: Literal["read", "write"]
) -> str | None:
    # Judge the file under each of its names: a link called notes.txt may lead to .env, and .env to another file.
    for name in {name: None for place in places for name in (*place.other_names, place.path)}:
        rule = files.find_rule(name, access)
        if rule is None and access == "write":
            rule = find_repository_rule(files, name)
        if rule is not None:
            return explain_protection(name, rule, "SafetyChecks")
    return None


class _CommandCheck:
    name = "dangerous-command"
    kinds = ("command",)

    def __init__(self, folders: Folders, files: ProtectedFiles) -> None:
        self._folders = folders
        self._protected = files
        self._files: CommandFiles | None = None

    def judge(self, access: Access) -> Finding | None:
        from .commands.check import (  # imported late: slow to load, and most calls run no command
            CommandFiles,
            check_command,
        )

        if self._files is None:
            self._files = CommandFiles(self._protected, self._folders)
        return check_command(access.target, self._files)


class _HostCheck:
    name = "host"
    kinds = ("url",)

    def __init__(self, allowed: AllowedHosts) -> None:
        self._allowed = allowed

    def judge(self, access: Access) -> Finding | None:
        return check_url(access.target, self._allowed)


# Helpers that read the options of the application.


def _index_by_name(built_in: Iterable[Check | _FileCheck], further: Iterable[Check]) -> dict[str, Check | _FileCheck]:
    by_name = {check.name: check for check in built_in}
    for check in further:
        name = getattr(check, "name", None)
        if not isinstance(name, str) or not name or not callable(getattr(check, "judge", None)):
            raise TypeError(f"further: {check!r} is not a check; it needs a `name` and a method `judge(access)`")
        if name in by_name:
            raise ValueError(f"further: there are two checks {name!r}; give one another name")
        by_name[name] = check
    return by_name


def _kinds_of(check: Check | _FileCheck) -> frozenset[str] | None:
    kinds = getattr(check, "kinds", None)
    return None if kinds is None else frozenset(require_list(kinds, f"kinds of check {check.name}"))


def _build_protected_table(
    protected: list[str | os.PathLike[str] | Protected], unprotected: list[str]
) -> list[Protected]:
    patterns = [rule.pattern for rule in BUILT_IN]
    for pattern in unprotected:
        if pattern not in patterns:
            raise ValueError(
                f"unprotected: there is no built-in pattern {pattern!r}{_suggest_names(pattern, patterns)}"
            )
    lifted = set(unprotected)
    added = [_as_protected(entry) for entry in protected]
    own = (
        []
        if _OWN_PATTERN in lifted
        else [Protected(entry, _OWN_DESCRIPTION, "not written") for entry in _config_patterns()]
    )
    return [*(rule for rule in BUILT_IN if rule.pattern not in lifted), *added, *map(_resolve_pattern, (*own, *added))]


_OWN_PATTERN = ".config/toolkit/**"
_OWN_DESCRIPTION = next(rule.what for rule in BUILT_IN if rule.pattern == _OWN_PATTERN)


def _config_patterns() -> list[str]:
    """Return the patterns of the user's toolkit configuration under XDG_CONFIG_HOME and under `~/.config`."""
    bases = (os.environ.get("XDG_CONFIG_HOME", ""), os.path.expanduser("~/.config"))
    return [f"{base}/toolkit/**" for base in bases if os.path.isabs(base)]


def _as_protected(entry: str | os.PathLike[str] | Protected) -> Protected:
    if isinstance(entry, Protected):
        return entry
    pattern = entry if isinstance(entry, str) else os.path.abspath(entry)
    # The name may be that of a folder, now or later. So it always stands for the content of a folder too.
    if not pattern.endswith(("/", "\\", "**")):
        pattern = f"{pattern}/**"
    return Protected(pattern, "a file that the application protects")


def _resolve_pattern(rule: Protected) -> Protected:
    """Return *rule* with the links in its folders followed, if its pattern begins at the root of the disk."""
    if not os.path.isabs(rule.pattern):
        return rule
    names = rule.pattern.split("/")
    plain = next((at for at, name in enumerate(names) if "*" in name or "?" in name), len(names))
    try:
        folder = resolve_path("/".join(names[:plain]) or "/", "/")
    except ValueError:
        return rule  # this process cannot follow the path, for example into another user's home
    return replace(rule, pattern="/".join((folder, *names[plain:])))


def _suggest_names(name: str, candidates: Iterable[str]) -> str:
    names = find_nearest(name, candidates) or list(candidates)[:10]
    return f"; did you mean {' or '.join(f'`{candidate}`' for candidate in names)}?"
