"""Claims about Fed-LAMB; the package above lists the modules in order."""
