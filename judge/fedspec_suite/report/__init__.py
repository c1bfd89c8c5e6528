"""Reports of verdicts, on a terminal and in files."""
