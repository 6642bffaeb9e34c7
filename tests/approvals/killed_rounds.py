"""How a round of killed processes ended."""

from __future__ import annotations

from typing import Any

MAYBE = "may or may not have happened"


def ending(outcome: dict[str, Any]) -> str:
    """Return how a round ended for the last process, checked against what really happened."""
    first, second = outcome["third"]
    effects = outcome["effects"]
    assert (second["why"], second["outcome"] is not None) == ("answered", True), outcome
    assert outcome["intents"] >= effects, outcome
    assert effects <= (2 if outcome["kind"] == "idempotent" else 1), outcome
    text, kind = first["outcome"]["text"], first["outcome"]["kind"]
    if MAYBE in text:
        assert (first["why"], kind, effects) == (None, "failed", outcome["effects_then"]), outcome
        assert outcome["kind"] != "idempotent", outcome
        return "told that it is unknown"
    assert (kind, text) == ("ok", "did it"), outcome
    if first["why"] is not None:
        assert (first["why"], effects, outcome["effects_then"]) == ("answered", 1, 1), outcome
        return "told the outcome"
    # It ran now: for the first time, or again because that is harmless.
    assert effects == outcome["effects_then"] + 1, outcome
    assert outcome["effects_then"] == 0 or outcome["kind"] == "idempotent", outcome
    return "ran it"
