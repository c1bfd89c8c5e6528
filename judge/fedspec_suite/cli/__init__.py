"""The command ``fedspec``: one file for each subcommand, and the code that they share."""
