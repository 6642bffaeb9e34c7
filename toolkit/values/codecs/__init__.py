"""
Convert between Python types and JSON: a codec holds a schema, decoding and encoding in one record.

`Codec` and `register_codec` are public. The rest is the machinery that reads signatures. Importing this package fills
the tables in `base`.
"""

from __future__ import annotations

from . import aliases, choices, containers, mappings, records, scalars, texts, unions  # noqa: F401 -- these modules fill the tables
from .annotated import annotated_codec, field_notes
from .base import Codec, Reader, Refusal, Schema, Undescribable, Unresolved, type_name
from .code_writer import UNSURE, Writer, compiled
from .decode_cache import remembering
from .definitions import assembled
from .foreign import register_codec
from .objects import MISSING, Field, object_codec
from .schema_code import plain_emitter
from .schema_first import judged
from .typed_dicts import typed_dict_fields

__all__ = [
    "MISSING",
    "UNSURE",
    "Codec",
    "Field",
    "Reader",
    "Refusal",
    "Schema",
    "Undescribable",
    "Unresolved",
    "Writer",
    "annotated_codec",
    "assembled",
    "compiled",
    "field_notes",
    "judged",
    "object_codec",
    "plain_emitter",
    "register_codec",
    "remembering",
    "type_name",
    "typed_dict_fields",
]
