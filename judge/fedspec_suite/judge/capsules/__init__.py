"""Capsules: the failures of one offer in a file, which is read as data and can be played again."""
