"""The claims about AFGA and CAFGA; the package above has their order."""
