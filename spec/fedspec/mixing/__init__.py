"""Aggregation and mixing rules: how a server combines messages, and how clients combine models."""
