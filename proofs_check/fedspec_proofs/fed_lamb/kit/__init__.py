"""Tools for Fed-LAMB's claims: problems, rounds of the algorithm, right sides of its bounds, and random instances."""
