"""The commands that train, and what they share."""
