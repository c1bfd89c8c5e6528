"""Claims about FedNova; the package above lists the modules in order."""
