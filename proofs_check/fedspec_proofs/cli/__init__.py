"""Commands of the ledger, and their shared code."""
