"""Aggregation: what the server makes of its clients' messages."""
