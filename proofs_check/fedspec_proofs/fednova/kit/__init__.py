"""Kit of FedNova's claims: rounds of its algorithms on quadratics, the constants of its bounds, instances."""
