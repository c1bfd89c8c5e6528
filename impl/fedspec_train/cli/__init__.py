"""Commands that train, and code that they share."""
