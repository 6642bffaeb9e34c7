"""
Convert between Python types and JSON: a codec holds a schema, decoding and encoding in one record.

`Codec` and `register_codec` are public. The rest is the machinery that reads signatures.
"""

from __future__ import annotations

from .annotated import apply_metadata, read_field_default
from .base import (
    Codec,
    HintReader,
    OutputRefusal,
    Refusal,
    RefusedMetadata,
    Schema,
    Undescribable,
    Unresolved,
    UnsendableType,
    type_name,
)
from .code_writer import UNSURE, CodeWriter, compile_codec
from .decode_cache import use_decode_cache
from .definitions import assemble_schema
from .encode_writer import compile_encode
from .foreign import has_registered_codec, register_codec
from .objects import MISSING, ObjectField, object_codec
from .rules import create_hint_reader
from .schema_code import build_schema_emitter
from .schema_first import make_strict_codec
from .typed_dicts import read_typed_dict_fields

__all__ = [
    "MISSING",
    "UNSURE",
    "CodeWriter",
    "Codec",
    "HintReader",
    "ObjectField",
    "OutputRefusal",
    "Refusal",
    "RefusedMetadata",
    "Schema",
    "Undescribable",
    "Unresolved",
    "UnsendableType",
    "apply_metadata",
    "assemble_schema",
    "build_schema_emitter",
    "compile_codec",
    "compile_encode",
    "create_hint_reader",
    "has_registered_codec",
    "make_strict_codec",
    "object_codec",
    "read_field_default",
    "read_typed_dict_fields",
    "register_codec",
    "type_name",
    "use_decode_cache",
]
