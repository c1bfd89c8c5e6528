"""Claims about FedAda2; the package above lists the modules in order."""
