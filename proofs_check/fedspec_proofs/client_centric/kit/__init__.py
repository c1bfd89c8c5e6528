"""Kit of the claims: clients and runs of the algorithms, the terms of the bounds, lines of every size."""
