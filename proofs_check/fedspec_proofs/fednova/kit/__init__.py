"""Tools for FedNova's claims: rounds of its algorithms on quadratics, constants of its bounds, random instances."""
