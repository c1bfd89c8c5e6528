"""What is printed and drawn of claims and of worst cases."""
