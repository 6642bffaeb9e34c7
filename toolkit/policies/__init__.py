"""Hold what a dispatcher is given besides permissions: retries, classification, redaction, audit."""
