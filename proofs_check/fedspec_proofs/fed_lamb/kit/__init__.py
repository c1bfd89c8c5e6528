"""What Fed-LAMB's claims share: problems, rounds of its algorithm, the right sides of its bounds, walks."""
