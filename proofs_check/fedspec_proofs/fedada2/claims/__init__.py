"""The claims about FedAda2; the package above has their order."""
