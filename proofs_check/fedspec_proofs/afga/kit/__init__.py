"""What AFGA's claims share: toy networks, exact expectations over their rounds, both sides of its inequalities."""
