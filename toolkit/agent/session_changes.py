"""
The state of a session that a saved run has to keep, and what a step changes in it.

A step that is not run again leaves out what its call did to the session: it found deferred tools, read files, got a
grant, or changed the mode. So the record of a step has these changes. Several calls run at the same time, and a change
is added to what the others did. The reader of a record trusts it, because a grant and a mode are authority.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..decisions import Grant
from ..permissions import Permissions
from ..permissions.modes import check_mode
from ..session import Session

__all__ = ["SessionState", "apply_changes", "describe_changes", "read_state"]

_STAMPS_KEY = "toolkit.read_stamps"
_FIELDS = frozenset(("loaded", "stamps", "grants", "revoked", "mode"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """
    The state of a session at one moment.

    Attributes:
        loaded: The deferred tools that were found.
        stamps: The digests of the files that were read, by path.
        grants: What a person has agreed to for the rest of the session.
        mode: The permission mode of the session, if it has one of its own.
    """

    loaded: tuple[str, ...] = ()
    stamps: Mapping[str, str]
    grants: tuple[Grant, ...] = ()
    mode: str | None = None


def read_state(session: Session) -> SessionState:
    """Return the state of *session* at this moment."""
    stamps = session.state.get(_STAMPS_KEY, {})
    return SessionState(
        loaded=session.loaded,
        stamps=dict(stamps) if isinstance(stamps, Mapping) else {},
        grants=session.grants,
        mode=session.mode,
    )


def describe_changes(before: SessionState | None, after: SessionState) -> dict[str, Any]:
    """Return as JSON what has changed since *before*; None stands for a new session. What has not changed is absent."""
    before = SessionState(stamps={}) if before is None else before
    stamps = {path: sha256 for path, sha256 in after.stamps.items() if before.stamps.get(path) != sha256}
    changes: dict[str, Any] = {
        "loaded": [name for name in after.loaded if name not in before.loaded],
        "stamps": stamps,
        "grants": [asdict(grant) for grant in after.grants if grant not in before.grants],
        "revoked": [asdict(grant) for grant in before.grants if grant not in after.grants],
    }
    changes = {name: change for name, change in changes.items() if change}
    return changes if after.mode == before.mode else {**changes, "mode": after.mode}


def apply_changes(changes: Mapping[str, Any], session: Session) -> None:
    """
    Make *changes*, which `describe_changes` returned, in *session*. What the session has besides stays.

    Raises:
        ValueError: *changes* are something else, or of a later version. Nothing is changed then.
    """
    loaded, stamps = changes.get("loaded", []), changes.get("stamps", {})
    if unknown_names := changes.keys() - _FIELDS:
        raise ValueError(f"not the changes of a session: unknown {', '.join(sorted(map(repr, unknown_names)))}")
    if not isinstance(loaded, list) or not all(isinstance(name, str) for name in loaded):
        raise ValueError("not the changes of a session: `loaded` has to be a list of names")
    if not isinstance(stamps, Mapping) or not all(isinstance(part, str) for item in stamps.items() for part in item):
        raise ValueError("not the changes of a session: `stamps` has to be an object of digests by path")
    grants, revoked = _read_grants(changes, "grants"), _read_grants(changes, "revoked")
    mode = None if changes.get("mode") is None else check_mode(changes["mode"])
    session.load(*loaded)
    if stamps:
        session.state.setdefault(_STAMPS_KEY, {}).update(stamps)
    for grant in revoked:
        Permissions.revoke(session, grant)
    for grant in grants:
        Permissions.grant(session, grant)
    if "mode" in changes:
        Permissions().set_mode(mode, session=session)


def _read_grants(changes: Mapping[str, Any], name: str) -> list[Grant]:
    items = changes.get(name, [])
    try:
        grants = [Grant(**item) for item in items]
        for grant in grants:
            Permissions.grant(Session(), grant)  # raises if it is no grant
    except TypeError as error:
        raise ValueError(f"not the changes of a session: `{name}` has to be a list of grants ({error})") from error
    return grants
