"""Kit of Fed-LAMB's claims: problems, rounds of its algorithm, the right sides of its bounds, walks."""
