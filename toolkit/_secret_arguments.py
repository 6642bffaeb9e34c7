"""Show the arguments of a call without those that its tool marks `Secret`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._plumbing.wording import MASK
from .errors import DefinitionError

__all__ = ["mask_secret_arguments"]


def mask_secret_arguments(tool: Any, arguments: Any) -> Any:
    """
    Return *arguments* with a mask in place of each parameter that *tool* marks `Secret`.

    Args:
        tool: The `Tool`; None if the dispatcher has not found it yet, and then nothing is known to be secret.
        arguments: The arguments of the call, or their JSON text.
    """
    try:
        secrets = () if tool is None else tool.signature.secrets
    except DefinitionError:  # a type in the signature is not defined yet, so any argument may be secret
        return MASK
    if not secrets:
        return arguments
    if not isinstance(arguments, Mapping):
        return MASK  # JSON text, in which a secret may stand anywhere
    return {name: MASK if name in secrets else value for name, value in arguments.items()}
