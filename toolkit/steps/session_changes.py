"""
The state of a session that a saved run has to keep, and what a step changes in it.

A step that is not run again leaves out what its call did to the session: it found deferred tools, read files, got a
grant, changed the mode, started a job, or returned a text that was cut and can be read on. So the record of a step has
these changes. Several calls run at the same time, and a change is added to what the others did. The reader of a record
trusts it, because a grant and a mode are authority.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ..calls.background.jobs import find_jobs, jobs_of
from ..calls.kept_outputs import KeptOutput, output_memory
from ..decisions import Grant
from ..permissions import Permissions
from ..permissions.modes import check_mode
from ..session import Session

__all__ = ["SessionState", "apply_changes", "count_written", "describe_changes", "read_state"]

_STAMPS_KEY = "toolkit.read_stamps"
_WRITTEN_KEY = "toolkit.written_output_bytes"
_FIELDS = frozenset(("loaded", "unloading", "stamps", "grants", "revoked", "mode", "last_job", "outputs"))
_OUTPUT_FIELDS = tuple(field.name for field in fields(KeptOutput))
_MAX_TEXT_BYTES = 1_000_000
_MAX_RUN_BYTES = 8_000_000
"""How much of one text, and of all texts of one run, the records have. The rest ends with the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """
    The state of a session at one moment.

    Attributes:
        loaded: The deferred tools that were found.
        unloading: When they are unloaded; see `Session.unloading`.
        stamps: The digests of the files that were read, by path.
        last_job: The number of the job in the background that was started last. The job ends with its process.
        outputs: The texts of results that were cut, each with its principal.
        written_bytes: How many bytes of such texts records have.
    """

    loaded: tuple[str, ...] = ()
    unloading: Mapping[str, Any] = field(default_factory=dict)
    stamps: Mapping[str, str]
    grants: tuple[Grant, ...] = ()
    mode: str | None = None
    last_job: int = 0
    outputs: Sequence[tuple[str | None, KeptOutput]] = ()
    written_bytes: int = 0


def read_state(session: Session) -> SessionState:
    """Return the state of *session* at this moment."""
    stamps = session.state.get(_STAMPS_KEY, {})
    return SessionState(
        loaded=session.loaded,
        unloading=session.unloading,
        stamps=dict(stamps) if isinstance(stamps, Mapping) else {},
        grants=session.grants,
        mode=session.mode,
        last_job=0 if (jobs := find_jobs(session)) is None else jobs.last_number,
        outputs=output_memory.list_outputs(session),
        written_bytes=session.state.get(_WRITTEN_KEY, 0),
    )


def describe_changes(before: SessionState | None, after: SessionState) -> dict[str, Any]:
    """Return as JSON what has changed since *before*; None stands for a new session. What has not changed is absent."""
    before = SessionState(stamps={}) if before is None else before
    stamps = {path: sha256 for path, sha256 in after.stamps.items() if before.stamps.get(path) != sha256}
    changes: dict[str, Any] = {
        "loaded": [name for name in after.loaded if name not in before.loaded],
        "unloading": after.unloading if after.unloading != before.unloading else {},
        "stamps": stamps,
        "grants": [asdict(grant) for grant in after.grants if grant not in before.grants],
        "revoked": [asdict(grant) for grant in before.grants if grant not in after.grants],
        "last_job": after.last_job if after.last_job != before.last_job else 0,
        "outputs": _describe_outputs(before, after),
    }
    changes = {name: change for name, change in changes.items() if change}
    return changes if after.mode == before.mode else {**changes, "mode": after.mode}


def _describe_outputs(before: SessionState, after: SessionState) -> list[dict[str, Any]]:
    """Return the texts that came since *before*, the newest first, as far as the records of a run may have them."""
    known, bytes_left = {(principal, output.handle) for principal, output in before.outputs}, _MAX_RUN_BYTES
    bytes_left -= before.written_bytes
    described = list[dict[str, Any]]()
    for principal, output in reversed(after.outputs):
        if (principal, output.handle) in known or bytes_left <= 0:
            continue
        text = output.text.encode("utf-8", "replace")[: min(_MAX_TEXT_BYTES, bytes_left)].decode("utf-8", "ignore")
        bytes_left -= len(text.encode())
        described.append({**asdict(output), "text": text, "principal": principal})
    return described


def count_written(changes: Mapping[str, Any], session: Session) -> None:
    """Count the texts in *changes*, which are in the record of a step of *session*."""
    size = sum(len(item["text"].encode("utf-8", "replace")) for item in changes.get("outputs", ()))
    if size:
        session.state[_WRITTEN_KEY] = session.state.get(_WRITTEN_KEY, 0) + size


def apply_changes(changes: Mapping[str, Any], session: Session) -> None:
    """Make *changes*, which `describe_changes` returned, in *session*, or raise `ValueError` and change nothing."""
    loaded, stamps = changes.get("loaded", []), changes.get("stamps", {})
    if unknown_names := changes.keys() - _FIELDS:
        raise ValueError(f"not the changes of a session: unknown {', '.join(sorted(map(repr, unknown_names)))}")
    if not isinstance(loaded, list) or not all(isinstance(name, str) for name in loaded):
        raise ValueError("not the changes of a session: `loaded` has to be a list of names")
    if not isinstance(stamps, Mapping) or not all(isinstance(part, str) for item in stamps.items() for part in item):
        raise ValueError("not the changes of a session: `stamps` has to be an object of digests by path")
    outputs, last_job = _read_outputs(changes.get("outputs", [])), changes.get("last_job", 0)
    if type(last_job) is not int:
        raise ValueError("not the changes of a session: `last_job` has to be a number")
    grants, revoked = _read_grants(changes, "grants"), _read_grants(changes, "revoked")
    mode = None if changes.get("mode") is None else check_mode(changes["mode"])
    unloading = changes.get("unloading", session.unloading)
    if not isinstance(unloading, Mapping):
        raise ValueError("not the changes of a session: `unloading` has to be an object")  # noqa: TRY004 -- unread JSON
    session.restore_unloading(unloading)
    session.load(*loaded)
    if stamps:
        session.state.setdefault(_STAMPS_KEY, {}).update(stamps)
    for grant in revoked:
        Permissions.revoke(session, grant)
    for grant in grants:
        Permissions.grant(session, grant)
    if "mode" in changes:
        Permissions().set_mode(mode, session=session)
    if last_job:
        jobs_of(session).continue_after(last_job)
    for principal, output in reversed(outputs):
        output_memory.restore(session, output, principal)
    count_written(changes, session)


def _read_outputs(items: Any) -> list[tuple[str | None, KeptOutput]]:
    try:
        outputs = [(item["principal"], KeptOutput(**{name: item[name] for name in _OUTPUT_FIELDS})) for item in items]
    except (TypeError, KeyError) as error:
        raise ValueError(f"not the changes of a session: `outputs` has to be a list of texts ({error!r})") from error
    if not all(isinstance(output.text, str) and isinstance(output.handle, str) for _, output in outputs):
        raise ValueError("not the changes of a session: `outputs` has to be a list of texts")
    return outputs


def _read_grants(changes: Mapping[str, Any], name: str) -> list[Grant]:
    items = changes.get(name, [])
    try:
        grants = [Grant(**item) for item in items]
        for grant in grants:
            Permissions.grant(Session(), grant)  # raises if it is no grant
    except TypeError as error:
        raise ValueError(f"not the changes of a session: `{name}` has to be a list of grants ({error})") from error
    return grants
