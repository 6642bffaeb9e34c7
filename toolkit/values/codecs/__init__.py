"""Convert between Python types and JSON: a codec holds a schema, decoding and encoding in one record."""
