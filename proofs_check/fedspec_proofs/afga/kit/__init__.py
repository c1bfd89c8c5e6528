"""Tools for AFGA's claims: toy networks, exact expectations over their rounds, and both sides of its inequalities."""
