"""The implementations that are measured: one folder each, run in a process and an environment of its own."""
