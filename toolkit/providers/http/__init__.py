"""HTTP communication with a provider: requests, streams, failures and waiting times."""
