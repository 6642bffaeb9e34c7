"""For whom calls are made, and which conversation they belong to."""

from __future__ import annotations

import json

import pytest
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.authentication import SimpleUser, UnauthenticatedUser

from toolkit.mcp.serving import conversations
from toolkit.mcp.serving.conversations import Conversations
from toolkit.mcp.serving.sealed_state import StateError, StateSeal

KEY = b"k" * 32


def user_of(**fields):
    """Return the user of an access token."""
    return AuthenticatedUser(AccessToken(token="t", client_id="app", scopes=[], **fields))


@pytest.mark.parametrize(
    ("user", "principal"),
    [
        (None, "local"),
        (UnauthenticatedUser(), "local"),
        (SimpleUser("ada"), "ada"),
        (user_of(), "app"),
        (user_of(subject="ada"), "ada"),
        (user_of(subject="ada", claims={"iss": "https://login.example"}), "ada of https://login.example"),
    ],
)
def test_the_user_of_any_authentication_is_the_principal(user, principal):
    """A subject is unique only among those of its issuer, so both are named."""
    assert Conversations(StateSeal(KEY), "local").find_principal(user) == principal


def test_users_have_one_conversation_each_and_the_oldest_is_forgotten(monkeypatch):
    """The number of conversations in memory is bounded."""
    monkeypatch.setattr(conversations, "_MAX_PRINCIPALS", 2)
    registry = Conversations(StateSeal(KEY))
    ada, bob = registry.session_of_principal("ada"), registry.session_of_principal("bob")
    assert registry.session_of_principal("ada") is ada
    registry.session_of_principal("eve")
    assert registry.session_of_principal("ada") is ada
    assert registry.session_of_principal("bob") is not bob
    assert registry.session_of_question(None, "ada") is registry.session_of_question("x", None) is None


@pytest.mark.parametrize("content", [[], {"version": 2}, "text"])
def test_a_state_of_another_version_is_refused(content):
    """A state that a later server sealed with the same key is not read."""
    seal = StateSeal(KEY)
    with pytest.raises(StateError, match="another version"):
        seal.open(seal._codec.seal(json.dumps(content).encode()), digest="", principal=None)
