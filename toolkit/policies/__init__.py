"""The policies of a dispatcher besides permissions: retries, classification of errors, redaction and the audit log."""
