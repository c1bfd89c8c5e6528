"""How verdicts look on a terminal and in a file."""
