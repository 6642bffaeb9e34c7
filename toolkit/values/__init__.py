"""Handle JSON and Python values: strict JSON, patterns, schemas, codecs."""
