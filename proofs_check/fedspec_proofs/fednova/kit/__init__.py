"""What FedNova's claims share: rounds of its algorithms on quadratics, what its bounds are made of, instances."""
