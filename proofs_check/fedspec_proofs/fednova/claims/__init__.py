"""The claims about FedNova; the package above has their order."""
