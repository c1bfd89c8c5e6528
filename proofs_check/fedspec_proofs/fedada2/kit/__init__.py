"""Kit of FedAda2's claims: clients with known constants, the right sides of its bounds, inductions."""
