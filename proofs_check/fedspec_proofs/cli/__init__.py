"""The commands of the ledger, and what they share."""
