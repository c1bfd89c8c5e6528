"""Capsules: files with the failing cases of one offer, read as data only, for ``fedspec replay``."""
