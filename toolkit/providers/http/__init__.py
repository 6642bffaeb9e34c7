"""Talk HTTP to a provider: requests, streams, failures, waits."""
