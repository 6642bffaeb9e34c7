"""Match the patterns of rules: names, paths, URLs, commands."""
