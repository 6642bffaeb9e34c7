"""Run commands, and the jobs that go on in the background."""
