"""The classifier with a fixed clock, and responses of several clients, for the tests of classification."""

import types

import httpx

from toolkit.policies import classify
from toolkit.policies.classify import compile_rules

__all__ = ["classify_error", "family", "httpx_status", "REQUESTS"]


def classify_error(error, rules=(), **options):
    """Return what *error* counts as by *rules*, written as a user writes them."""
    return classify.classify_error(error, compile_rules(rules), **options)


def family(module: str, tree: dict[str, tuple[str, ...]]) -> types.SimpleNamespace:
    """Return classes as a package that is not installed here has them: names, bases, module."""
    classes: dict[str, type] = {}
    for name, bases in tree.items():
        parents = tuple(classes.get(base) or getattr(__import__("builtins"), base) for base in bases)
        classes[name] = type(name, parents, {"__module__": module})
    return types.SimpleNamespace(**classes)


REQUESTS = family(
    "requests.exceptions",
    {
        "RequestException": ("OSError",),
        "HTTPError": ("RequestException",),
        "ConnectionError": ("RequestException",),
        "ProxyError": ("ConnectionError",),
        "SSLError": ("ConnectionError",),
        "Timeout": ("RequestException",),
        "ConnectTimeout": ("ConnectionError", "Timeout"),
        "ReadTimeout": ("Timeout",),
        "ChunkedEncodingError": ("RequestException",),
        "InvalidURL": ("RequestException", "ValueError"),
        "TooManyRedirects": ("RequestException",),
    },
)


def httpx_status(status, **headers):
    request = httpx.Request("POST", "http://example.test/")
    response = httpx.Response(status, headers=headers, request=request)
    return httpx.HTTPStatusError(f"status {status}", request=request, response=response)
