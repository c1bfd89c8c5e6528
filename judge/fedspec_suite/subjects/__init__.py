"""Adapters of published packages; the judge runs each in its own virtual environment."""
