"""The claims about client-centric optimisation; the package above has their order."""
