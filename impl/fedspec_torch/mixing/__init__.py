"""Aggregation: what the server makes of its clients' changes, one block of clients after the other."""
