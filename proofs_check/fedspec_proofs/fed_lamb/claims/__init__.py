"""The claims about Fed-LAMB; the package above has their order."""
