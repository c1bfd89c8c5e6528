"""Implementations to measure: one folder each, run in its own process and environment."""
