"""What FedAda2's claims share: clients with known constants, the right sides of its bounds, inductions."""
