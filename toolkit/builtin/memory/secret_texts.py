"""
Texts that look like credentials, which a note should not hold.

The patterns are those of well-known issuers, and assignments to names such as `password`. They find what was copied by
mistake. They cannot find every secret.
"""

from __future__ import annotations

import re

__all__ = ["SECRET_PATTERNS", "find_secret"]

SECRET_PATTERNS = (
    (
        "a private key",
        re.compile(r"(?s)-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}KEY-----|\Z)"),
    ),
    ("a key of OpenAI or Anthropic", re.compile(r"\bsk-[A-Za-z0-9_-]{16,}")),
    ("a token of GitHub", re.compile(r"\b(?:gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")),
    ("a token of GitLab", re.compile(r"\bglpat-[A-Za-z0-9_-]{16,}")),
    ("a key of Amazon", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("a key of Google", re.compile(r"\bAIza[A-Za-z0-9_-]{30,}")),
    ("a token of Slack", re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,}")),
    ("a signed token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")),
    (
        "a password in an address",
        re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,100}:[^\s/@]{3,200}@", re.IGNORECASE),
    ),
    (
        "a password or key",
        re.compile(
            r"(?<![A-Za-z0-9])(?:\w{0,40}_)?"
            r"(?:(?:pg)?password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token)"
            r"[\"']?\s{0,3}(?:[:=]|\bis\b)\s{0,3}[\"'`]?(?=[^\s\"'`]{0,200}[0-9!$%&*#@])[^\s\"'`<>{]{6,}",
            re.IGNORECASE,
        ),
    ),
)
"""What a text seems to hold, and the pattern that covers all of it."""


def find_secret(text: str) -> str | None:
    """Return what *text* seems to hold, such as "a private key", or None."""
    return next((kind for kind, pattern in SECRET_PATTERNS if pattern.search(text)), None)
