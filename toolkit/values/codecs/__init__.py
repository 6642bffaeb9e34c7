"""
Convert between Python types and JSON: a codec holds a schema, decoding and encoding in one record.

`Codec` and `register_codec` are public. The rest is the machinery that reads signatures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._lazy_names import lazy_getattr as _lazy_getattr

if TYPE_CHECKING:
    from .annotated import apply_metadata
    from .base import (
        Codec,
        HintReader,
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
    from .foreign import register_codec
    from .objects import MISSING, ObjectField, object_codec, read_field_default
    from .refusals import OutputRefusal, Refusal
    from .registered import has_registered_codec
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

# Reading the first signature loads most of them. Programs that only import the package load none.
__getattr__ = _lazy_getattr(
    __name__,
    {
        "apply_metadata": "annotated",
        **dict.fromkeys(
            (
                "Codec",
                "HintReader",
                "RefusedMetadata",
                "Schema",
                "Undescribable",
                "Unresolved",
                "UnsendableType",
                "type_name",
            ),
            "base",
        ),
        **dict.fromkeys(("UNSURE", "CodeWriter", "compile_codec"), "code_writer"),
        "use_decode_cache": "decode_cache",
        "assemble_schema": "definitions",
        "compile_encode": "encode_writer",
        "register_codec": "foreign",
        "create_hint_reader": "rules",
        **dict.fromkeys(("MISSING", "ObjectField", "object_codec", "read_field_default"), "objects"),
        **dict.fromkeys(("OutputRefusal", "Refusal"), "refusals"),
        "has_registered_codec": "registered",
        "build_schema_emitter": "schema_code",
        "make_strict_codec": "schema_first",
        "read_typed_dict_fields": "typed_dicts",
    },
)
