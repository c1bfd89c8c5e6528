"""Kit of AFGA's claims: toy networks, exact expectations over their rounds, both sides of its inequalities."""
