"""What is printed and drawn of runs."""
