"""Small programs that are run with this package and with its peers: `python -m benchmarks.comparison`."""
