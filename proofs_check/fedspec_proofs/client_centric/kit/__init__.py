"""Tools for the claims: clients, runs of the algorithms, terms of the bounds, and inequalities for every size."""
