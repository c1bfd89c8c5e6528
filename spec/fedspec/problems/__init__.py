"""Objectives with known constants and closed-form limits."""
