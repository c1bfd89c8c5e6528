"""Claims about client-centric optimisation; the package above lists the modules in order."""
