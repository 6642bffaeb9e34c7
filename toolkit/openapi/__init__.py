"""
An HTTP API as a catalog: each operation of an OpenAPI document is a tool.

    catalog = Catalog.from_openapi("openapi.yaml", base_url="https://api.example.com")

OpenAPI 3.0, 3.1, 3.2 and Swagger 2.0 are read. The extra `openapi` installs PyYAML, which only documents in YAML need.

What cannot be read raises `DefinitionError`, with its place in the document, and the operation is refused.

The modules, each of which uses only modules before it:

    documents.py → files.py → patterns.py → discriminators.py → schemas.py → parameters.py → requests.py →
    servers.py → credentials.py → calls.py → loading.py
"""

from __future__ import annotations

from .documents import Operation
from .loading import OpenAPICatalog, RefusedOperation, load_openapi

__all__ = ["OpenAPICatalog", "Operation", "RefusedOperation", "load_openapi"]
