"""The command ``fedspec``: a file for each of its words, and what they share."""
