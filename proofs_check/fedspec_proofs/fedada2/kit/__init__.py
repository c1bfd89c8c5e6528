"""Tools for FedAda2's claims: clients with known constants, right sides of its bounds, inductions."""
