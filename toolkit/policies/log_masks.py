"""
Keeps credentials out of the log of an HTTP library, which writes the whole address of each request.

A parameter of a query whose name says that it is a credential is masked, and so is what stands before the host. A key
under another name is masked if it was hidden before the request was sent.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from traceback import format_exception

from .._plumbing.newest_items import NewestItems
from .credentials import MIN_SECRET_CHARS, is_credential_header, redact_credentials
from .redaction import MASK, Redaction

__all__ = ["LogMask", "mask_log"]

_MAX_SECRETS = 1_000
_PARAMETER = re.compile(r"""([?&])([^\s=&?#"']+)=([^\s&#"']+)""")
_BEFORE_HOST = re.compile(r"""://[^\s/?#"']+@""")


class LogMask(logging.Filter):
    """Masks the credentials in the records of a logger. It knows the newest 1,000 that were hidden."""

    def __init__(self) -> None:
        super().__init__()
        self._secrets: NewestItems[str, Redaction] = NewestItems(_MAX_SECRETS)

    def hide(self, secrets: Iterable[str]) -> None:
        """Mask *secrets* from now on. A short one is left out, because it may be a part of any word."""
        for secret in secrets:
            if len(secret) >= MIN_SECRET_CHARS:
                self._secrets[secret] = self._secrets.get(secret) or redact_credentials([secret])

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 -- the handler reports a record that cannot be written
            return True
        masked = self._mask(message)
        if masked != message:
            record.msg, record.args = masked, ()
        if record.exc_info and record.exc_info[1] is not None:
            trace = "".join(format_exception(record.exc_info[1])).rstrip("\n")
            if self._mask(trace) != trace:
                record.exc_info, record.exc_text = None, self._mask(trace)
        return True

    def _mask(self, text: str) -> str:
        text = _PARAMETER.sub(_mask_parameter, _BEFORE_HOST.sub(f"://{MASK}@", text))
        for redaction in list(self._secrets.values()):
            text = redaction.mask_text(text)
        return text


def _mask_parameter(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}={MASK}" if is_credential_header(match[2]) else match[0]


def mask_log(name: str) -> LogMask:
    """Return the mask of the logger *name*, which has one."""
    logger = logging.getLogger(name)
    mask = next((item for item in logger.filters if isinstance(item, LogMask)), None)
    if mask is None:
        mask = LogMask()
        logger.addFilter(mask)
    return mask
